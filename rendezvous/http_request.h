/* SPDX-License-Identifier: Apache-2.0 */
/* What a request asks for, read from its whole head (http_head.h) by the system's HTTP parser, and
 * the rules on headers that decide where its body ends or that we do not play along with.
 *
 * Refused with an HTTP status:
 *   400  what the parser refuses; a target that is not a path; Host missing (HTTP/1.1) or twice;
 *        Authorization, Origin or Sec-Fetch-Site twice; Content-Length twice, beside
 *        Transfer-Encoding, or not 1 to 19 digits; a transfer coding other than "chunked"; Upgrade; Trailer; Connection with more
 *        than 8 options
 *   411  PUT without Content-Length
 *   413  a body longer than HTTP_BODY_MAX
 *   417  Expect, other than "100-continue"
 *   501  a method that HTTP does not have, a chunked body */
#ifndef RENDEZVOUS_HTTP_REQUEST_H
#define RENDEZVOUS_HTTP_REQUEST_H

#include "rendezvous/http_head.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_BODY_MAX = 4 * 1024 * 1024 };

/* A piece of somebody else's text, not terminated. */
struct http_text {
    const char *data;
    size_t length;
};

struct http_request {
    int method;         /* enum http_method */
    const char *target; /* a path and maybe a query, still encoded; borrowed from the head */
    size_t target_length;
    uint64_t body_length;
    bool keep_alive; /* the client would like to go on */
    bool http10;
    bool waits; /* for "100 Continue" before it sends its body */
    struct http_text authorization, host, origin, fetch_site; /* without blanks around; NULL if not
                                                                 there; borrowed as well */
};

/* 0, or the HTTP status of the refusal. */
int http_request_parse(struct http_request *request, const struct http_head *head);

#endif
