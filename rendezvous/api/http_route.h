/* SPDX-License-Identifier: Apache-2.0 */
/* The table of routes.
 *
 *   /healthz  /                   every client
 *   /metrics  /v1/jobs  /v1/jobs/ID    a client with a key, or the job's own user
 *   /rank_and_size/HOST:LOCAL_RANK  /SCOPE/KEY   the same; in the job that the client has proved,
 *                                 or the only one
 *
 * The first row that matches a path decides: no key can be stored under /v1/jobs or in the
 * scope rank_and_size. 404 for a path that no row matches, 405 for a method that the path does not
 * have, 413 for a body that is longer than the route takes (GET drops its own). */
#ifndef RENDEZVOUS_API_HTTP_ROUTE_H
#define RENDEZVOUS_API_HTTP_ROUTE_H

#include "rendezvous/api/http_exchange.h"

struct http_route {
    const char *path; /* segments that are "*" stand for any */
    const char *name; /* the path in metrics, as in the comment above */
    enum http_method method;
    bool open; /* to everybody */
    size_t body_max;
    http_handler_fn *handle;
};

/* Splits a target; false if it has more segments than any route. */
bool http_path_split(struct http_path *path, const char *target, size_t length);

/* The route of a request, by its head alone; NULL, and the answer, if there is none. */
const struct http_route *http_route_find(const struct http_request *request, struct http_path *path,
                                         struct http_answer *answer);

/* For metrics: the number of a route's path, which its methods share, and how many there are. */
int http_route_index(const struct http_route *route);
int http_route_count(void);
const char *http_route_name(int index);

/* The handlers. Each is in the file of its name, except the first. */
http_handler_fn http_healthz;
http_handler_fn http_page, http_metrics;
http_handler_fn http_jobs, http_job, http_job_put, http_job_delete;
http_handler_fn http_key_value_get, http_key_value_put, http_key_value_delete, http_key_value_post;
http_handler_fn http_rank_and_size;

#endif
