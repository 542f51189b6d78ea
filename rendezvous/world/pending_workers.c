/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts and refuses workers until all have come; see pending_workers.h.
 * pending_workers_assign.c gives them ranks. */
#include "rendezvous/world/pending_workers.h"

#include "lib/base/text.h"
#include "rendezvous/base/deadline.h"
#include "rendezvous/world/pending_workers_text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_FIRST = 4 };

void pending_workers_init(struct pending_workers *pending, const char *job, int size,
                          uint64_t start_timeout_ms)
{
    *pending = (struct pending_workers){
        .size = size,
        .start_timeout_ms = start_timeout_ms,
        .deadline_ms = PENDING_WORKERS_NEVER,
        .job = job,
    };
}

void pending_workers_fini(struct pending_workers *pending)
{
    for (int i = 0; i < pending->count; i++)
        free(pending->workers[i].host);
    free(pending->workers);
    free(pending->by_rank);
    *pending = (struct pending_workers){ .state = PENDING_WORKERS_BROKEN,
                                         .deadline_ms = PENDING_WORKERS_NEVER };
}

/* ---- who asked for which rank ---- */

/* The place in the table of the worker that asked for `rank`, or the free place for it. */
static int *slot_of(const struct pending_workers *pending, int rank)
{
    unsigned mask = (unsigned)pending->by_rank_size - 1;
    unsigned at = (unsigned)rank * 2654435761u >> 8 & mask;
    while (pending->by_rank[at] >= 0 && pending->workers[pending->by_rank[at]].wanted != rank)
        at = (at + 1) & mask;
    return &pending->by_rank[at];
}

int pending_workers_find(const struct pending_workers *pending, int rank)
{
    return pending->by_rank_size > 0 ? *slot_of(pending, rank) : -1;
}

static void note_wanted(struct pending_workers *pending, int worker)
{
    if (pending->workers[worker].wanted >= 0)
        *slot_of(pending, pending->workers[worker].wanted) = worker;
}

/* Twice as large as the workers' array, which is a power of two. */
static bool grow_by_rank(struct pending_workers *pending, int capacity)
{
    size_t size = 2 * (size_t)capacity;
    int *larger = malloc(size * sizeof *larger);
    if (!larger)
        return false;
    memset(larger, 0xff, size * sizeof *larger);
    free(pending->by_rank);
    pending->by_rank = larger;
    pending->by_rank_size = (int)size;
    for (int i = 0; i < pending->count; i++)
        note_wanted(pending, i);
    return true;
}

static bool pending_workers_make_room(struct pending_workers *pending)
{
    if (pending->count < pending->capacity)
        return true;
    int capacity = pending->capacity > 0 ? 2 * pending->capacity : CAPACITY_FIRST;
    if (!grow_by_rank(pending, capacity))
        return false;
    void *larger = reallocarray(pending->workers, (size_t)capacity, sizeof *pending->workers);
    if (!larger)
        return false;
    pending->workers = larger;
    pending->capacity = capacity;
    return true;
}

/* ---- coming ---- */

static int refuse_rank(const struct pending_workers *pending, int rank, struct err *err)
{
    if (rank < 0)
        return HVD_OK;
    if (rank >= pending->size)
        return fail(err, HVD_ERR_ENVIRONMENT, "there is no rank %d in job %s, which has %d", rank,
                    pending->job, pending->size);
    int worker = pending_workers_find(pending, rank);
    if (worker < 0)
        return HVD_OK;
    return fail(err, HVD_ERR_ENVIRONMENT,
                "rank %d of job %s has been taken by a worker on %.*s (pid %d)", rank, pending->job,
                HOST_SHOWN_MAX, pending->workers[worker].host, pending->workers[worker].pid);
}

/* Refuses a worker: first because the start has failed or is over, then because of what the
 * worker says. */
static int pending_workers_refuse(const struct pending_workers *pending,
                                  const struct join_hello *hello, struct err *err)
{
    if (pending->state == PENDING_WORKERS_BROKEN)
        return fail(err, pending->cause.code, "%s", pending->cause.text);
    if (pending->state == PENDING_WORKERS_FULL)
        return fail(err, HVD_ERR_ENVIRONMENT, "job %s has %d of %d workers already", pending->job,
                    pending->count, pending->size);
    if (pending->size > 0 && hello->size != pending->size)
        return fail(err, HVD_ERR_ENVIRONMENT, "this worker says a size of %d, but job %s has %d",
                    hello->size, pending->job, pending->size);
    return pending->size > 0 ? refuse_rank(pending, hello->rank, err) : HVD_OK;
}

/* Counts a worker. The first one starts the timeout, and the last one makes the state FULL. */
static void count_in(struct pending_workers *pending, int size, uint64_t now_ms)
{
    pending->size = size;
    if (pending->count++ == 0)
        pending->deadline_ms = deadline_after(now_ms, pending->start_timeout_ms);
    if (pending->count < pending->size)
        return;
    pending->state = PENDING_WORKERS_FULL;
    pending->deadline_ms = PENDING_WORKERS_NEVER;
}

int pending_workers_join(struct pending_workers *pending, const struct join_hello *hello,
                         void *owner, uint64_t now_ms, int *worker, struct err *err)
{
    int rc = pending_workers_refuse(pending, hello, err);
    if (rc < 0)
        return rc;
    char *host = pending_workers_make_room(pending) ? strdup(hello->host) : NULL;
    if (!host)
        return fail(err, HVD_ERR_NOMEM, "out of memory for a worker of job %s", pending->job);
    text_make_ascii(host);
    *worker = pending->count;
    pending->workers[*worker] = (struct pending_worker){
        .wanted = hello->rank,
        .rank = -1,
        .pid = hello->pid,
        .came_ms = now_ms,
        .host = host,
        .processors = hello->processors,
        .addresses = hello->addresses,
        .owner = owner,
    };
    memcpy(pending->workers[*worker].key, hello->key, sizeof hello->key);
    note_wanted(pending, *worker);
    count_in(pending, hello->size, now_ms);
    return HVD_OK;
}

/* ---- breaking ---- */

static void break_it(struct pending_workers *pending, int status)
{
    pending->state = PENDING_WORKERS_BROKEN;
    pending->deadline_ms = PENDING_WORKERS_NEVER;
    pending->cause = (struct err){ .code = status };
}

void pending_workers_leave(struct pending_workers *pending, int worker, bool said_goodbye)
{
    assert(worker >= 0 && worker < pending->count);
    if (pending->state != PENDING_WORKERS_OPEN)
        return;
    break_it(pending, said_goodbye ? HVD_ERR_PEER_LEFT : HVD_ERR_PEER_LOST);
    pending_workers_text_left(pending->cause.text, pending, worker, said_goodbye);
}

void pending_workers_end(struct pending_workers *pending, const char *why)
{
    if (pending->state == PENDING_WORKERS_BROKEN)
        return;
    break_it(pending, HVD_ERR_PEER_LOST);
    pending_workers_text_ended(pending->cause.text, why);
}

void pending_workers_tick(struct pending_workers *pending, uint64_t now_ms)
{
    if (pending->state != PENDING_WORKERS_OPEN || now_ms < pending->deadline_ms)
        return;
    break_it(pending, HVD_ERR_TIMEOUT);
    pending_workers_text_timeout(pending->cause.text, pending);
}
