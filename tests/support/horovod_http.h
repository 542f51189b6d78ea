/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP client inside an unmodified Horovod worker, with everything that a server must put up
 * with:
 *   a connection for each request, three header lines in this spelling, Content-Length also where
 *   there is no body, head and body in one write; the client hangs up.
 * It reads as little of the answer as that client: the second word of the first line is the status;
 * names of headers are compared case-sensitively; without Content-Length the body is what came in
 * the same read as the end of the head; an early end cuts the body short without complaint.
 * Anything but 200 and 404 is a failure: tried three times, 500 ms apart, then the end of the
 * worker. It cannot read chunked answers, which the real one can; nothing here limits how long it
 * takes. */
#ifndef TESTS_SUPPORT_HOROVOD_HTTP_H
#define TESTS_SUPPORT_HOROVOD_HTTP_H

#include <netinet/in.h>
#include <stddef.h>

struct horovod_http {
    const char *host; /* as Host says it, without a port */
    struct sockaddr_in address;
    long puts, gets, deletes; /* that were answered with 200 or 404 */
    long not_there;           /* of them with 404 */
    long failures;
};

/* HOROVOD_GLOO_RENDEZVOUS_ADDR (IPv4, a name or an address) and _PORT. Ends the program if that
 * leads nowhere. */
void horovod_http_init(struct horovod_http *http, const char *host, const char *port);

/* Returns 200 or 404, or ends the program. `reply`, unless it is NULL, gets the body, which the
 * caller frees, and `*nreply` its length. */
int horovod_http_request(struct horovod_http *http, const char *method, const char *path,
                         const void *body, size_t length, char **reply, size_t *nreply);

/* Sends a GET and hangs up without reading. */
void horovod_http_desert(struct horovod_http *http, const char *path);

#endif
