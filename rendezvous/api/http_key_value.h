/* SPDX-License-Identifier: Apache-2.0 */
/* The key-value store over HTTP, for tools and for unmodified Horovod workers (key_value.h; the
 * handlers are declared in http_route.h, and act in the job that the client has proved).
 *
 *   GET /SCOPE/KEY                 200 and the bytes; 404 without a body if there is no such key
 *   GET /SCOPE/KEY?wait=SECONDS    held until the key comes; 204 if it has not after that time
 *   PUT, DELETE /SCOPE/KEY         200 without a body, also for a key that was not there
 *   POST /SCOPE/KEY                {"add": N}; 200 {"value": SUM}
 *   GET /rank_and_size/HOST:LOCAL_RANK    the six numbers of that place, or six times -1
 *
 * A worker of Horovod's asks every 10 ms for /SCOPE/RANK, the only key that it waits for; such a
 * GET is held for HTTP_GLOO_HOLD_MS, so that it need not ask so often. All others are answered at
 * once.
 *
 * Refused, in a line that names what is wrong: 400 a scope, key, query or body; 403 the scopes that
 * are ours; 404 a job that does not exist or is over; 405, 409, 413, 507. */
#ifndef RENDEZVOUS_API_HTTP_KEY_VALUE_H
#define RENDEZVOUS_API_HTTP_KEY_VALUE_H

#include "rendezvous/api/http_exchange.h"
#include "rendezvous/store/key_value.h"

struct rendezvous_job;
struct rendezvous_slot;

enum { HTTP_GLOO_HOLD_MS = 1000 };

/* The job that the request is about. NULL, and the answer, if the job does not exist or has
 * ended. */
struct rendezvous_job *http_key_value_job(const struct http_service *service,
                                          const struct http_exchange *exchange,
                                          struct http_answer *answer);

/* The arguments of a handler of /SCOPE/KEY. */
struct http_key_value_target {
    struct rendezvous_job *job;
    struct key_value_bytes scope, key;
};

/* False, and the answer, if the request is refused for its job or names. */
bool http_key_value_target(struct http_key_value_target *target, const struct http_service *service,
                           const struct http_exchange *exchange, struct http_answer *answer);

/* Fills in the answer to a request that the store has refused with `status`. */
void http_key_value_refuse(struct http_answer *answer, int status,
                           const struct http_key_value_target *target);

/* Fills in the answer and returns false if the request has a query. */
bool http_key_value_no_query(const struct http_exchange *exchange, struct http_answer *answer);

#endif
