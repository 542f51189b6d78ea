/* SPDX-License-Identifier: Apache-2.0 */
/* A Horovod worker's HTTP client; see horovod_http.h. */
#include "tests/support/horovod_http.h"

#include <err.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TRIES = 3, RETRY_US = 500 * 1000, READ_SIZE = 64 * 1024 };

/* The received part of an answer. */
struct answer {
    char *data; /* owned, terminated */
    size_t length;
    size_t body; /* where it begins; 0: the head is not whole */
};

void horovod_http_init(struct horovod_http *http, const char *host, const char *port)
{
    struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *found;
    int rc = getaddrinfo(host, port, &hints, &found);
    if (rc != 0)
        errx(1, "%s:%s: %s", host, port, gai_strerror(rc));
    *http = (struct horovod_http){ .host = host };
    memcpy(&http->address, found->ai_addr, sizeof http->address);
    freeaddrinfo(found);
}

static int dial(const struct horovod_http *http)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const void *)&http->address, sizeof http->address) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool send_whole(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = send(fd, data, length, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        data += n;
        length -= (size_t)n;
    }
    return true;
}

static bool send_request(const struct horovod_http *http, int fd, const char *method,
                         const char *path, const void *body, size_t length)
{
    char *head;
    int nhead = asprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %zu\r\n\r\n", method,
                         path, http->host, length);
    if (nhead < 0 || !(head = realloc(head, (size_t)nhead + length + 1)))
        errx(1, "out of memory");
    if (length > 0)
        memcpy(head + nhead, body, length);
    bool sent = send_whole(fd, head, (size_t)nhead + length);
    free(head);
    return sent;
}

static bool read_more(int fd, struct answer *answer)
{
    answer->data = realloc(answer->data, answer->length + READ_SIZE + 1);
    if (!answer->data)
        errx(1, "out of memory");
    ssize_t n = recv(fd, answer->data + answer->length, READ_SIZE, 0);
    answer->length += n > 0 ? (size_t)n : 0;
    answer->data[answer->length] = '\0';
    return n > 0;
}

static void read_head(int fd, struct answer *answer)
{
    while (answer->body == 0 && read_more(fd, answer)) {
        const char *end = memmem(answer->data, answer->length, "\r\n\r\n", 4);
        if (end)
            answer->body = (size_t)(end + 4 - answer->data);
    }
}

static void read_body(int fd, struct answer *answer)
{
    const char *header = strstr(answer->data, "\r\nContent-Length:");
    if (!header || header >= answer->data + answer->body)
        return;
    size_t length = strtoul(header + strlen("\r\nContent-Length:"), NULL, 10);
    while (answer->length - answer->body < length && read_more(fd, answer))
        ;
    if (answer->length - answer->body > length)
        answer->length = answer->body + length;
}

/* The status, 0 if none has come. */
static int read_answer(int fd, struct answer *answer)
{
    int status = 0;
    read_head(fd, answer);
    if (answer->body == 0 || sscanf(answer->data, "%*s %d", &status) != 1)
        return 0;
    read_body(fd, answer);
    return status;
}

static int try_once(const struct horovod_http *http, const char *method, const char *path,
                    const void *body, size_t length, struct answer *answer)
{
    int status = 0, fd = dial(http);
    if (fd < 0)
        return 0;
    if (send_request(http, fd, method, path, body, length))
        status = read_answer(fd, answer);
    close(fd);
    return status;
}

static void count(struct horovod_http *http, const char *method, int status)
{
    http->not_there += status == 404;
    ++*(*method == 'P' ? &http->puts : *method == 'G' ? &http->gets : &http->deletes);
}

static void give_body(struct answer *answer, char **reply, size_t *nreply)
{
    *nreply = answer->length - answer->body;
    memmove(answer->data, answer->data + answer->body, *nreply + 1);
    *reply = answer->data;
    answer->data = NULL;
}

int horovod_http_request(struct horovod_http *http, const char *method, const char *path,
                         const void *body, size_t length, char **reply, size_t *nreply)
{
    int status = 0;
    for (int i = 0; i < TRIES; i++) {
        struct answer answer = { 0 };
        status = try_once(http, method, path, body, length, &answer);
        bool good = status == 200 || status == 404;
        if (good && reply)
            give_body(&answer, reply, nreply);
        free(answer.data);
        if (good) {
            count(http, method, status);
            return status;
        }
        http->failures++;
        usleep(RETRY_US);
    }
    errx(1, "%s %s: HTTP request failed, status %d", method, path, status);
}

void horovod_http_desert(struct horovod_http *http, const char *path)
{
    int fd = dial(http);
    if (fd < 0 || !send_request(http, fd, "GET", path, NULL, 0))
        err(1, "GET %s", path);
    close(fd);
}
