/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP answers; see answers.h. */
#include "tests/fuzz/answers.h"

#include "tests/fuzz/fuzz.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char begins[] = "HTTP/1.1 ";

/* A terminated copy of the head that begins at `data`; to be freed. */
static char *copy_head(const char *data, size_t length)
{
    PROMISE(data);
    const char *end = memmem(data, length, "\r\n\r\n", 4);
    PROMISE(end);
    size_t size = (size_t)(end + 4 - data);
    PROMISE(!memchr(data, '\0', size));
    char *head = strndup(data, size);
    PROMISE(head);
    return head;
}

static void check_lines(const char *head)
{
    for (const char *line = strstr(head, "\r\n") + 2; *line != '\r';
         line = strstr(line, "\r\n") + 2) {
        size_t length = strcspn(line, "\r\n"), name = strcspn(line, ":");
        PROMISE(line[length] == '\r' && line[length + 1] == '\n');
        PROMISE(0 < name && name < length && line[name + 1] == ' ');
        for (size_t i = 0; i < length; i++)
            PROMISE(line[i] >= ' ' && line[i] <= '~');
    }
}

static bool begins_answer(const char *data, size_t length)
{
    return length >= strlen(begins) && memcmp(data, begins, strlen(begins)) == 0;
}

static void check_json(const char *data, size_t length)
{
    const char *end;
    char *text = strndup(data, length);
    cJSON *json = cJSON_ParseWithOpts(text, &end, true);
    PROMISE(json);
    cJSON_Delete(json);
    free(text);
}

/* Returns the length of the body that begins at `data`. */
static size_t check_body(const char *head, const char *data, size_t left)
{
    const char *header = strstr(head, "\r\nContent-Length: ");
    bool is_json = strstr(head, "\r\nContent-Type: application/json") != NULL;
    if (strncmp(head + strlen(begins), "204", 3) == 0)
        return 0;
    PROMISE(header && !strstr(header + 2, "\r\nContent-Length: "));
    size_t length = strtoul(header + strlen("\r\nContent-Length: "), NULL, 10);
    bool there = left >= length && (left == length || begins_answer(data + length, left - length));
    if (!there) {
        PROMISE(left == 0 || begins_answer(data, left)); /* to HEAD */
        return 0;
    }
    if (is_json && length > 0)
        check_json(data, length);
    return length;
}

int answers_check(const char *data, size_t length, int *status)
{
    int count = 0;
    bool closed = false;
    *status = 0;
    for (size_t at = 0; at < length; count++) {
        PROMISE(!closed);
        PROMISE(begins_answer(data + at, length - at));
        char *head = copy_head(data + at, length - at);
        check_lines(head);
        at += strlen(head);
        *status = atoi(head + strlen(begins));
        if (*status == 100) {
            count--; /* no answer yet */
        } else {
            PROMISE(*status >= 200 && *status <= 599);
            closed = strstr(head, "\r\nConnection: close\r\n") != NULL;
            PROMISE(closed || strstr(head, "\r\nConnection: keep-alive\r\n"));
            at += check_body(head, data + at, length - at);
        }
        free(head);
    }
    return count;
}
