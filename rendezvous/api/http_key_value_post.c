/* SPDX-License-Identifier: Apache-2.0 */
/* POST /SCOPE/KEY: adds to a number; see http_key_value.h. */
#include "rendezvous/api/http_key_value.h"
#include "rendezvous/api/http_route.h"
#include "rendezvous/store/add_request.h"
#include "rendezvous/world/rendezvous_job.h"

static bool read_body(const struct http_exchange *exchange, int64_t *number,
                      struct http_answer *answer)
{
    struct err err = { 0 };
    if (exchange->length > ADD_REQUEST_MAX) {
        http_answer_text(answer, 413, "a body of %zu bytes: expected %d at most", exchange->length,
                         ADD_REQUEST_MAX);
        return false;
    }
    if (add_request_read(exchange->body, exchange->length, number, &err) == HVD_OK)
        return true;
    http_answer_text(answer, 400, "%s", err.text);
    return false;
}

bool http_key_value_post(struct http_service *service, struct http_exchange *exchange,
                         struct http_answer *answer)
{
    struct http_key_value_target target;
    int64_t number;
    int64_t sum;
    if (!http_key_value_no_query(exchange, answer) ||
        !http_key_value_target(&target, service, exchange, answer) ||
        !read_body(exchange, &number, answer))
        return true;
    struct key_value *store = target.job->store;
    int rc = key_value_add(store, target.scope, target.key, number, &sum);
    if (rc != 200) {
        http_key_value_refuse(answer, rc, &target);
        return true;
    }
    key_value_wake(store, &service->woken);
    http_answer_text(answer, 200, "{\"value\": %lld}", (long long)sum);
    answer->type = "application/json";
    return true;
}
