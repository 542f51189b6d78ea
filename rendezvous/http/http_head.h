/* SPDX-License-Identifier: Apache-2.0 */
/* The head of an HTTP request, cut out of a byte stream line by line. A head that two HTTP
 * parsers could read differently (request smuggling) is refused here.
 *
 * Happy path: bytes are taken until the empty line; the head is then whole, in `text`, and
 * http_head_next() gives its lines to http_request.h.
 * Refused with an HTTP status as soon as it shows:
 *   400  a line that does not end in CR LF, a control or non-ASCII byte, a request line that is not
 *        "METHOD TARGET HTTP/x.y" with single spaces, a header line that is folded or is not "name:value"
 *   414  a request line longer than HTTP_REQUEST_LINE_MAX; 501 if not even its method ends there
 *   431  a header line, all of them, or their number beyond the limits below
 *   505  HTTP, but neither 1.0 nor 1.1
 *   500  out of memory */
#ifndef RENDEZVOUS_HTTP_HTTP_HEAD_H
#define RENDEZVOUS_HTTP_HTTP_HEAD_H

#include "lib/base/wire.h"
#include "rendezvous/http/http_text.h"

#include <stdbool.h>
#include <stddef.h>

/* Lengths of lines are without, that of all headers with their CR LF. */
enum {
    HTTP_REQUEST_LINE_MAX = 2 * 1024,
    HTTP_HEADER_MAX = 4 * 1024,
    HTTP_HEADERS_SIZE_MAX = 16 * 1024,
    HTTP_HEADERS_MAX = 64
};

struct http_head {
    struct wire_writer text; /* the lines so far, each with its CR LF */
    size_t line;             /* where the last one begins */
    size_t headers;          /* where the first header line begins; 0 inside the request line */
    int count;               /* of header lines */
    bool after_cr;
};

enum { HTTP_HEAD_MORE = 0, HTTP_HEAD_WHOLE = 1 };

/* Takes bytes up to the end of the head and says how many in `*used`. Returns HTTP_HEAD_MORE,
 * HTTP_HEAD_WHOLE, or the HTTP status of the refusal. */
int http_head_take(struct http_head *head, const char *data, size_t length, size_t *used);

/* The lines of a whole head, one each call, without CR LF; false after the last. `*at` is 0 before
 * the first call. The text is borrowed from the head. */
bool http_head_next(const struct http_head *head, size_t *at, struct http_text *line);

/* Splits a line into parts that point into it. Returns false if the line is malformed. */
struct http_request_line {
    struct http_text method, target;
    int major, minor;
};
bool http_request_line_split(struct http_text line, struct http_request_line *parts);

struct http_header {
    struct http_text name, value; /* blanks may stand at the end of the value, none in front */
};
bool http_header_split(struct http_text line, struct http_header *header);

/* The client has sent an empty line instead of a request, and gets no answer. */
bool http_head_empty(const struct http_head *head);

/* Wipes and frees the bytes; ready for the next head. A zeroed struct is ready as well. */
void http_head_reset(struct http_head *head);

#endif
