/* SPDX-License-Identifier: Apache-2.0 */
/* Unauthenticated clients that speak HTTP: the rows of tests/bad/http.tsv with a wrong key, each
 * on a connection of its own, whose sending side is closed after the request. Only the health
 * check and the page are open to them. */
#include "tests/support/unauthenticated.h"

#include "tests/support/http_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_for_all(const struct wire_writer *request)
{
    static const char *const starts[] = { "GET / ", "HEAD / ", "GET /healthz ", "HEAD /healthz " };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (request->length >= strlen(starts[i]) &&
            memcmp(request->data, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* Its answers, as rows have them. */
static void ask_row(const struct http_row *row, char answers[HTTP_ROW_TEXT_SIZE])
{
    struct wire_writer received = { 0 };
    int fd = dial();
    send_all(fd, row->request.data, row->request.length);
    shutdown(fd, SHUT_WR);
    read_to_end(fd, &received);
    wire_put_u8(&received, 0);
    http_row_statuses((const char *)received.data, answers);
    wire_writer_fini(&received);
    close(fd);
}

int unauthenticated_requests(char **arguments)
{
    struct http_row row;
    char answers[HTTP_ROW_TEXT_SIZE];
    int tried = 0, successful = 0;
    for (; http_row_next(stdin, arguments[0], &row); tried++, http_row_fini(&row)) {
        ask_row(&row, answers);
        if (is_for_all(&row.request) || (*answers != '2' && !strstr(answers, ",2")))
            continue;
        printf("%s %s: %s\n", row.id, row.sentence, answers);
        successful++;
    }
    printf("%d tried, %d successful\n", tried, successful);
    return successful > 0 || tried < 100;
}
