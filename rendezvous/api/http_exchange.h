/* SPDX-License-Identifier: Apache-2.0 */
/* One request that is whole and allowed, and what its handler has at hand. */
#ifndef RENDEZVOUS_API_HTTP_EXCHANGE_H
#define RENDEZVOUS_API_HTTP_EXCHANGE_H

#include "rendezvous/base/memory_budget.h"
#include "rendezvous/base/wait_list.h"
#include "rendezvous/http/http_access.h"
#include "rendezvous/http/http_answer.h"
#include "rendezvous/http/http_request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rendezvous_job;
struct job_table;
struct metrics;
struct http_service;

/* What a handler may do to the workers of a job. */
struct http_workers {
    /* Asks every rank of a job what it is doing, unless a rank query is under way; wakes the
     * watchers of the job when all ranks have answered. HVD_ERR_NOMEM, HVD_ERR_INVALID when
     * places are not known yet. */
    int (*ask)(struct http_service *service, struct rendezvous_job *job, uint64_t now_ms);

    /* Ends a job of a service. Refuses the workers that wait, and tells the workers that are in
     * its world. */
    void (*end)(struct http_service *service, struct rendezvous_job *job, const char *why,
                uint64_t now_ms);

    /* A worker of Horovod's own has left its world, or has none yet, and waits for the next world
     * of an elastic job; when this returns it may have it. HVD_ERR_REMOVED, HVD_ERR_NOMEM. */
    int (*wait)(struct http_service *service, struct rendezvous_job *job, int worker,
                uint64_t now_ms);

    /* A worker of Horovod's own listens for notifications at the addresses in `text`. */
    void (*listens)(struct http_service *service, int worker, const char *text, size_t length);
};

/* What answers are made from; owned by the server. */
struct http_service {
    struct job_table *job_table;
    struct metrics *metrics;
    const struct http_workers *workers;
    struct memory_budget coming; /* bytes received of requests that are incomplete or queued */
    struct wait_list woken;      /* requests that can go on */
    uint64_t epoch_ms;           /* since 1970, when the loop's clock said 0 */
};

enum { HTTP_SEGMENTS_MAX = 3 };

/* Pieces of a target, not decoded: what would need an escape is refused by the character sets. */
struct http_path {
    int count; /* of segments; "/" has none */
    struct http_text segments[HTTP_SEGMENTS_MAX];
    struct http_text query; /* without '?'; data NULL if there is none */
};

struct http_exchange {
    enum http_method method; /* HEAD is GET here */
    struct http_path path;
    struct http_access access;
    const char *body;
    size_t length;
    uint64_t now_ms;

    /* A handler that cannot answer yet joins `waiter` to a list, sets `held_until_ms` and returns
     * false; it is called again when it was woken, or when that time has come, then with `last`: it
     * must answer. */
    struct waiter *waiter;
    uint64_t began_ms; /* when the request was whole */
    uint64_t held_until_ms;
    bool patient; /* held without a limit: only an event ends it */
    bool last;

    int first_worker, workers; /* who may have sent it (struct rendezvous_stream) */
    bool waits;                /* the worker `worker` waits for its next world with it */
    int worker;
};

/* Fills in the answer. False: not yet. */
typedef bool http_handler_fn(struct http_service *service, struct http_exchange *exchange,
                             struct http_answer *answer);

#endif
