/* SPDX-License-Identifier: Apache-2.0 */
/* Reading requests that are data; see http_rows.h. */
#include "tests/support/http_rows.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 8 };

static void stop(const char *what, const char *text)
{
    fprintf(stderr, "http_rows: %s: '%s'\n", what, text);
    exit(EXIT_FAILURE);
}

static void copy(char out[HTTP_ROW_TEXT_SIZE], const char *text)
{
    if (strlen(text) >= HTTP_ROW_TEXT_SIZE)
        stop("too long", text);
    strcpy(out, text);
}

/* The byte that an escape means; `*at` is behind its backslash and moves on. */
static unsigned char unescape(const char **at)
{
    static const char letters[] = "rnt\\", bytes[] = "\r\n\t\\";
    char hex[3] = "", letter = *(*at)++;
    const char *known = letter ? strchr(letters, letter) : NULL;
    if (known)
        return (unsigned char)bytes[known - letters];
    if (letter != 'x' || !**at)
        stop("no escape", *at);
    memcpy(hex, *at, 2);
    *at += 2;
    return (unsigned char)strtoul(hex, NULL, 16);
}

static void put_key(struct wire_writer *out, const char *key)
{
    wire_put_bytes(out, "Authorization: Bearer ", 22);
    wire_put_bytes(out, key, strlen(key));
    wire_put_bytes(out, "\r\n", 2);
}

static void put(struct wire_writer *out, const char *text, const char *key)
{
    static const char mark[] = "{key}";
    if (strcmp(text, "-") == 0)
        return;
    while (*text) {
        if (strncmp(text, mark, sizeof mark - 1) == 0) {
            put_key(out, key);
            text += sizeof mark - 1;
        } else if (*text == '\\') {
            text++;
            wire_put_u8(out, unescape(&text));
        } else {
            wire_put_u8(out, (unsigned char)*text++);
        }
    }
}

static void put_fill(struct wire_writer *out, const char *text, const char *key, int count)
{
    struct wire_writer fill = { 0 };
    put(&fill, text, key);
    for (int i = 0; i < count; i++)
        wire_put_bytes(out, fill.data, fill.length);
    wire_writer_fini(&fill);
}

static void parse(char *line, const char *key, struct http_row *row)
{
    char *columns[COLUMNS] = { 0 };
    int count = 0;
    for (char *at; count < COLUMNS && (at = strsep(&line, "\t"));)
        columns[count++] = at;
    if (count < COLUMNS || line)
        stop("not 8 columns", columns[0]);
    copy(row->id, columns[0]);
    copy(row->sentence, columns[1]);
    copy(row->answers, columns[2]);
    copy(row->end, columns[3]);
    put(&row->request, columns[4], key);
    put_fill(&row->request, columns[5], key, atoi(columns[6]));
    put(&row->request, columns[7], key);
}

bool http_row_next(FILE *file, const char *key, struct http_row *row)
{
    char *line = NULL;
    size_t size = 0;
    bool found = false;
    *row = (struct http_row){ 0 };
    while (!found && getline(&line, &size, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        found = *line && *line != '#';
    }
    if (found)
        parse(line, key, row);
    free(line);
    return found;
}

void http_row_fini(struct http_row *row)
{
    wire_writer_fini(&row->request);
}

void http_row_statuses(const char *received, char answers[HTTP_ROW_TEXT_SIZE])
{
    static const char version[] = "HTTP/1.1 ";
    size_t length = 0;
    strcpy(answers, "-");
    while ((received = strstr(received, version)) && length + 5 < HTTP_ROW_TEXT_SIZE) {
        received += sizeof version - 1;
        length += (size_t)snprintf(answers + length, HTTP_ROW_TEXT_SIZE - length, "%s%.3s",
                                   length > 0 ? "," : "", received);
    }
}
