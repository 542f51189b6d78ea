/* SPDX-License-Identifier: Apache-2.0 */
/* Who comes into the lobby, who is refused, and how it breaks; see lobby.h. Who sits where is
 * lobby_seat.c's. */
#include "rendezvous/world/pending_workers.h"

#include "lib/base/text.h"
#include "rendezvous/world/pending_workers_text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_FIRST = 4 };

void lobby_init(struct lobby *lobby, const char *job, int size, uint64_t start_timeout_ms)
{
    *lobby = (struct lobby){
        .size = size,
        .start_timeout_ms = start_timeout_ms,
        .deadline_ms = LOBBY_NEVER,
        .job = job,
    };
}

void lobby_fini(struct lobby *lobby)
{
    for (int i = 0; i < lobby->count; i++)
        free(lobby->guests[i].host);
    free(lobby->guests);
    free(lobby->by_rank);
    *lobby = (struct lobby){ .state = LOBBY_BROKEN, .deadline_ms = LOBBY_NEVER };
}

/* ---- who asked for which rank ---- */

/* Where the guest that asked for `rank` is, or would be; the table has holes. */
static int *slot_of(const struct lobby *lobby, int rank)
{
    unsigned mask = (unsigned)lobby->by_rank_size - 1;
    unsigned at = (unsigned)rank * 2654435761u >> 8 & mask;
    while (lobby->by_rank[at] >= 0 && lobby->guests[lobby->by_rank[at]].wanted != rank)
        at = (at + 1) & mask;
    return &lobby->by_rank[at];
}

int lobby_find(const struct lobby *lobby, int rank)
{
    return lobby->by_rank_size > 0 ? *slot_of(lobby, rank) : -1;
}

static void note_wanted(struct lobby *lobby, int guest)
{
    if (lobby->guests[guest].wanted >= 0)
        *slot_of(lobby, lobby->guests[guest].wanted) = guest;
}

/* Twice as large as the guests' array, which is a power of two. */
static bool grow_by_rank(struct lobby *lobby, int capacity)
{
    size_t size = 2 * (size_t)capacity;
    int *larger = malloc(size * sizeof *larger);
    if (!larger)
        return false;
    memset(larger, 0xff, size * sizeof *larger);
    free(lobby->by_rank);
    lobby->by_rank = larger;
    lobby->by_rank_size = (int)size;
    for (int i = 0; i < lobby->count; i++)
        note_wanted(lobby, i);
    return true;
}

static bool make_room(struct lobby *lobby)
{
    if (lobby->count < lobby->capacity)
        return true;
    int capacity = lobby->capacity > 0 ? 2 * lobby->capacity : CAPACITY_FIRST;
    if (!grow_by_rank(lobby, capacity))
        return false;
    void *larger = reallocarray(lobby->guests, (size_t)capacity, sizeof *lobby->guests);
    if (!larger)
        return false;
    lobby->guests = larger;
    lobby->capacity = capacity;
    return true;
}

/* ---- coming ---- */

static int refuse_rank(const struct lobby *lobby, int rank, struct err *err)
{
    if (rank < 0)
        return HVD_OK;
    if (rank >= lobby->size)
        return fail(err, HVD_ERR_ENVIRONMENT, "there is no rank %d in job %s, which has %d", rank,
                    lobby->job, lobby->size);
    int guest = lobby_find(lobby, rank);
    if (guest < 0)
        return HVD_OK;
    return fail(err, HVD_ERR_ENVIRONMENT,
                "rank %d of job %s has been taken by a worker on %.*s (pid %d)", rank, lobby->job,
                HOST_SHOWN_MAX, lobby->guests[guest].host, lobby->guests[guest].pid);
}

/* That it is over comes first, what is wrong with the worker itself after that. */
static int refuse(const struct lobby *lobby, const struct join_hello *hello, struct err *err)
{
    if (lobby->state == LOBBY_BROKEN)
        return fail(err, lobby->cause.code, "%s", lobby->cause.text);
    if (lobby->state == LOBBY_FULL)
        return fail(err, HVD_ERR_ENVIRONMENT, "job %s has %d of %d workers already", lobby->job,
                    lobby->count, lobby->size);
    if (lobby->size > 0 && hello->size != lobby->size)
        return fail(err, HVD_ERR_ENVIRONMENT, "this worker says a size of %d, but job %s has %d",
                    hello->size, lobby->job, lobby->size);
    return lobby->size > 0 ? refuse_rank(lobby, hello->rank, err) : HVD_OK;
}

static uint64_t after(uint64_t now_ms, uint64_t delay_ms)
{
    return delay_ms < LOBBY_NEVER - now_ms ? now_ms + delay_ms : LOBBY_NEVER;
}

/* The first opens it; the last fills it. */
static void count_in(struct lobby *lobby, int size, uint64_t now_ms)
{
    lobby->size = size;
    if (lobby->count++ == 0)
        lobby->deadline_ms = after(now_ms, lobby->start_timeout_ms);
    if (lobby->count < lobby->size)
        return;
    lobby->state = LOBBY_FULL;
    lobby->deadline_ms = LOBBY_NEVER;
}

int lobby_join(struct lobby *lobby, const struct join_hello *hello, void *owner, uint64_t now_ms,
               int *guest, struct err *err)
{
    int rc = refuse(lobby, hello, err);
    if (rc < 0)
        return rc;
    char *host = make_room(lobby) ? strdup(hello->host) : NULL;
    if (!host)
        return fail(err, HVD_ERR_NOMEM, "out of memory for a worker of job %s", lobby->job);
    text_make_ascii(host);
    *guest = lobby->count;
    lobby->guests[*guest] = (struct lobby_guest){
        .wanted = hello->rank,
        .rank = -1,
        .pid = hello->pid,
        .came_ms = now_ms,
        .host = host,
        .addresses = hello->addresses,
        .owner = owner,
    };
    note_wanted(lobby, *guest);
    count_in(lobby, hello->size, now_ms);
    return HVD_OK;
}

/* ---- breaking ---- */

static void break_it(struct lobby *lobby, int status)
{
    lobby->state = LOBBY_BROKEN;
    lobby->deadline_ms = LOBBY_NEVER;
    lobby->cause = (struct err){ .code = status };
}

void lobby_leave(struct lobby *lobby, int guest, bool said_goodbye)
{
    assert(guest >= 0 && guest < lobby->count);
    if (lobby->state != LOBBY_OPEN)
        return;
    break_it(lobby, said_goodbye ? HVD_ERR_PEER_LEFT : HVD_ERR_PEER_LOST);
    lobby_text_left(lobby->cause.text, lobby, guest, said_goodbye);
}

void lobby_end(struct lobby *lobby, const char *why)
{
    if (lobby->state == LOBBY_BROKEN)
        return;
    break_it(lobby, HVD_ERR_PEER_LOST);
    lobby_text_ended(lobby->cause.text, why);
}

void lobby_tick(struct lobby *lobby, uint64_t now_ms)
{
    if (lobby->state != LOBBY_OPEN || now_ms < lobby->deadline_ms)
        return;
    break_it(lobby, HVD_ERR_TIMEOUT);
    lobby_text_timeout(lobby->cause.text, lobby);
}
