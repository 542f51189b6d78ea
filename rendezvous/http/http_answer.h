/* SPDX-License-Identifier: Apache-2.0 */
/* An answer, and its encoding. */
#ifndef RENDEZVOUS_HTTP_HTTP_ANSWER_H
#define RENDEZVOUS_HTTP_HTTP_ANSWER_H

#include "lib/base/wire.h"

#include <stdbool.h>
#include <stddef.h>

enum { HTTP_ALLOW_SIZE = 64 };

/* The body is the first of these that is set: `made`, unless it is empty (freed by
 * http_answer_fini()); `body`, borrowed until the answer has been put; the status in words. */
struct http_answer {
    int status;
    const char *type;            /* Content-Type, borrowed for ever; NULL: text/plain */
    char allow[HTTP_ALLOW_SIZE]; /* of 405: the methods that the path has; "": no header Allow */
    const char *body;
    size_t length;
    bool has_body; /* `body` counts, even if it is empty */
    struct wire_writer made;
    const char *headers; /* further ones, each with its CR LF; borrowed until put; NULL: none */
};

/* A line of text as the body, for people; a newline is added. */
void http_answer_text(struct http_answer *answer, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void http_answer_fini(struct http_answer *answer);

/* Bytes of a body that is not the status in words. */
size_t http_answer_length(const struct http_answer *answer);

enum http_connection { HTTP_CLOSE, HTTP_KEEP_ALIVE };

/* Appends head and body, in one piece; 500 if there was no memory for `made`. Names of headers
 * are spelled exactly as Horovod's workers expect them. No cache may keep an answer
 * (Cache-Control: no-store). 204 has neither body nor length. */
void http_answer_put(struct wire_writer *out, const struct http_answer *answer, bool head_only,
                     enum http_connection connection);

#endif
