/* SPDX-License-Identifier: Apache-2.0 */
/* What is answered where: the table of routes, and answers as bytes. */
#ifndef RENDEZVOUS_HTTP_ROUTE_H
#define RENDEZVOUS_HTTP_ROUTE_H

#include "lib/base/wire.h"
#include "rendezvous/http_request.h"

#include <stdbool.h>

/* Texts are borrowed for ever. */
struct http_answer {
    int status;
    const char *type;  /* Content-Type */
    const char *body;  /* NULL: the status in words */
    const char *allow; /* Allow, of 405 */
};

/* Finds who answers the request and lets it: 404 for an unknown path, 405 for a method that the
 * path does not have. HEAD is GET without the body. */
void http_route(const struct http_request *request, struct http_answer *answer);

enum http_connection { HTTP_CLOSE, HTTP_KEEP_ALIVE };

/* Appends head and body. Names of headers are spelled exactly as Horovod's workers expect them. */
void http_answer_put(struct wire_writer *out, const struct http_answer *answer, bool head_only,
                     enum http_connection connection);

#endif
