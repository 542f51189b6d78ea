/* SPDX-License-Identifier: Apache-2.0 */
/* The next world of an elastic job; see elastic.h. */
#include "rendezvous/world/elastic.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void elastic_init(struct elastic *elastic)
{
    *elastic = (struct elastic){ .workers = NULL };
}

static void hello_free(struct elastic_hello *hello)
{
    if (hello)
        free(hello->host);
    free(hello);
}

static void members_free(struct rendezvous_member *members, int count)
{
    for (int i = 0; i < count; i++)
        free((char *)members[i].host);
    free(members);
}

void elastic_fini(struct elastic *elastic)
{
    for (int worker = 0; worker < elastic->nworkers; worker++)
        hello_free(elastic->workers[worker].hello);
    free(elastic->workers);
    members_free(elastic->members, elastic->nmembers);
    *elastic = (struct elastic){ .workers = NULL };
}

/* Makes room for the number `worker`, which is in range. */
static bool elastic_know(struct elastic *elastic, int worker)
{
    assert(worker >= 0 && worker <= WORKER_NUMBER_MAX);
    if (worker < elastic->nworkers)
        return true;
    size_t count = (size_t)elastic->nworkers * 2;
    if (count <= (size_t)worker)
        count = (size_t)worker + 1;
    struct elastic_worker *larger = reallocarray(elastic->workers, count, sizeof *larger);
    if (!larger)
        return false;
    memset(larger + elastic->nworkers, 0, (count - (size_t)elastic->nworkers) * sizeof *larger);
    elastic->workers = larger;
    elastic->nworkers = (int)count;
    return true;
}

enum elastic_state elastic_state_of(const struct elastic *elastic, int worker)
{
    return worker >= 0 && worker < elastic->nworkers ? elastic->workers[worker].state
                                                     : ELASTIC_ABSENT;
}

/* ---- coming and going ---- */

static bool same_process(const struct elastic_hello *hello, const struct join_hello *other)
{
    return hello->pid == other->pid && strcmp(hello->host, other->host) == 0;
}

static int elastic_refusal(const struct elastic *elastic, const struct join_hello *hello,
                           struct err *err)
{
    if (hello->worker < 0)
        return fail(err, HVD_ERR_ENVIRONMENT,
                    "HVD_WORKER is not set, but the workers of this job have numbers");
    if (hello->worker >= elastic->nworkers)
        return HVD_OK;
    const struct elastic_worker *worker = &elastic->workers[hello->worker];
    if (worker->removed)
        return fail(err, HVD_ERR_REMOVED, "worker %d was removed from this job", hello->worker);
    if (worker->state == ELASTIC_ABSENT || same_process(worker->hello, hello))
        return HVD_OK;
    return fail(err, HVD_ERR_ENVIRONMENT,
                "HVD_WORKER is %d, but worker %d is another process (pid %d)", hello->worker,
                hello->worker, worker->hello->pid);
}

static struct elastic_hello *hello_create(const struct join_hello *hello, void *owner,
                                          uint64_t now_ms)
{
    struct elastic_hello *own = calloc(1, sizeof *own);
    if (!own)
        return NULL;
    *own = (struct elastic_hello){ .host = strdup(hello->host),
                                   .pid = hello->pid,
                                   .processors = hello->processors,
                                   .epoch = hello->epoch,
                                   .came_ms = now_ms,
                                   .addresses = hello->addresses,
                                   .owner = owner };
    memcpy(own->key, hello->key, sizeof own->key);
    if (own->host)
        return own;
    free(own);
    return NULL;
}

int elastic_come(struct elastic *elastic, const struct join_hello *hello, void *owner,
                 uint64_t now_ms, void **replaced, struct err *err)
{
    int rc = elastic_refusal(elastic, hello, err);
    if (rc < 0)
        return rc;
    struct elastic_hello *own =
        elastic_know(elastic, hello->worker) ? hello_create(hello, owner, now_ms) : NULL;
    if (!own)
        return fail(err, HVD_ERR_NOMEM, "out of memory for worker %d", hello->worker);
    struct elastic_worker *worker = &elastic->workers[hello->worker];
    bool waited = worker->state == ELASTIC_WAITING;
    *replaced = waited ? worker->hello->owner : NULL;
    hello_free(worker->hello);
    worker->hello = own;
    worker->state = ELASTIC_WAITING;
    elastic->waiting += !waited;
    if (elastic->numbered <= hello->worker)
        elastic->numbered = hello->worker + 1;
    return HVD_OK;
}

int elastic_place(struct elastic *elastic, int worker, const struct rank_info *place,
                  struct err *err)
{
    if (worker < 0 || worker > WORKER_NUMBER_MAX)
        return fail(err, HVD_ERR_INVALID, "there can be no worker %d", worker);
    if (!elastic_know(elastic, worker))
        return fail(err, HVD_ERR_NOMEM, "out of memory for worker %d", worker);
    elastic->workers[worker].placed = true;
    elastic->workers[worker].place = *place;
    return HVD_OK;
}

int elastic_find_placed(const struct elastic *elastic, int first, int count, int rank)
{
    for (int i = 0; i < elastic->nworkers; i++) {
        const struct elastic_worker *worker = &elastic->workers[i];
        bool in_range = count == 0 || (i >= first && i - first < count);
        if (in_range && worker->placed && worker->place.rank == rank)
            return i;
    }
    return -1;
}

int elastic_come_gloo(struct elastic *elastic, int worker, uint64_t now_ms, struct err *err)
{
    void *replaced;
    const struct join_hello hello = { .rank = -1, .worker = worker };
    int rc = elastic_come(elastic, &hello, NULL, now_ms, &replaced, err);
    if (rc == HVD_OK)
        elastic->workers[worker].gloo = true;
    return rc;
}

bool elastic_is_gloo(const struct elastic *elastic, int worker)
{
    return worker >= 0 && worker < elastic->nworkers && elastic->workers[worker].gloo;
}

bool elastic_has_gloo(const struct elastic *elastic)
{
    for (int i = 0; i < elastic->nmembers; i++)
        if (elastic_is_gloo(elastic, elastic->members[i].worker))
            return true;
    return false;
}

static void make_absent(struct elastic_worker *worker)
{
    hello_free(worker->hello);
    worker->hello = NULL;
    worker->state = ELASTIC_ABSENT;
}

void elastic_gone(struct elastic *elastic, int worker)
{
    if (elastic_state_of(elastic, worker) != ELASTIC_WAITING)
        return;
    make_absent(&elastic->workers[worker]);
    elastic->waiting--;
}

/* ---- who is to come ---- */

static int check_members(struct elastic *elastic, const struct rendezvous_member *members,
                         int count, struct err *err)
{
    if (count > WORLD_SIZE_MAX)
        return fail(err, HVD_ERR_INVALID, "there can be no world of %d", count);
    for (int i = 0; i < count; i++) {
        int worker = members[i].worker;
        if (worker < 0 || worker > WORKER_NUMBER_MAX)
            return fail(err, HVD_ERR_INVALID, "there can be no worker %d", worker);
        if (!elastic_know(elastic, worker))
            return fail(err, HVD_ERR_NOMEM, "out of memory for worker %d", worker);
        if (elastic->workers[worker].removed)
            return fail(err, HVD_ERR_INVALID, "worker %d was removed", worker);
    }
    return HVD_OK;
}

static void mark_members(struct elastic *elastic, const struct rendezvous_member *members,
                         int count, bool intended)
{
    for (int i = 0; i < count; i++)
        elastic->workers[members[i].worker].intended = intended;
}

static struct rendezvous_member *members_copy(const struct rendezvous_member *members, int count)
{
    struct rendezvous_member *copy = calloc((size_t)count + 1, sizeof *copy);
    for (int i = 0; copy && i < count; i++) {
        copy[i] = (struct rendezvous_member){ members[i].worker, strdup(members[i].host) };
        if (copy[i].host)
            continue;
        members_free(copy, i);
        return NULL;
    }
    return copy;
}

/* How the members differ from the workers that are, or were, in the world and wait for the next. */
static int elastic_difference(const struct elastic *elastic)
{
    int hosts = 0;
    for (int i = 0; i < elastic->nworkers; i++) {
        const struct elastic_worker *worker = &elastic->workers[i];
        if (worker->of_world && !worker->intended)
            hosts |= JOIN_HOSTS_REMOVED;
        if (!worker->of_world && worker->intended)
            hosts |= JOIN_HOSTS_ADDED;
    }
    return hosts;
}

int elastic_intend(struct elastic *elastic, const struct rendezvous_member *members, int count,
                   struct err *err)
{
    int rc = check_members(elastic, members, count, err);
    if (rc < 0)
        return rc;
    mark_members(elastic, elastic->members, elastic->nmembers, false);
    mark_members(elastic, members, count, true);
    int different = 0;
    for (int i = 0; i < elastic->nworkers; i++)
        different += elastic->workers[i].intended;
    struct rendezvous_member *copy = different == count ? members_copy(members, count) : NULL;
    if (!copy) {
        mark_members(elastic, members, count, false);
        mark_members(elastic, elastic->members, elastic->nmembers, true);
        return different == count
                   ? fail(err, HVD_ERR_NOMEM, "out of memory for a world of %d", count)
                   : fail(err, HVD_ERR_INVALID, "a worker is there twice in a world of %d", count);
    }
    members_free(elastic->members, elastic->nmembers);
    elastic->members = copy;
    elastic->nmembers = count;
    int hosts = elastic_difference(elastic);
    elastic->has_update = elastic->running && hosts != 0;
    if (elastic->has_update)
        elastic->update = (struct join_update){ elastic->update.serial + 1, hosts };
    return HVD_OK;
}

int elastic_remove(struct elastic *elastic, int worker, struct err *err)
{
    if (worker < 0 || worker > WORKER_NUMBER_MAX)
        return fail(err, HVD_ERR_INVALID, "there can be no worker %d", worker);
    if (!elastic_know(elastic, worker))
        return fail(err, HVD_ERR_NOMEM, "out of memory for worker %d", worker);
    elastic->workers[worker].removed = true;
    return HVD_OK;
}

void elastic_broke(struct elastic *elastic)
{
    elastic->running = false;
    elastic->has_update = false;
}

/* ---- what to do ---- */

static int find_removed(const struct elastic *elastic)
{
    for (int i = 0; elastic->waiting > 0 && i < elastic->nworkers; i++)
        if (elastic->workers[i].removed && elastic->workers[i].state == ELASTIC_WAITING)
            return i;
    return -1;
}

static bool all_members_wait(const struct elastic *elastic)
{
    for (int i = 0; i < elastic->nmembers; i++)
        if (elastic->workers[elastic->members[i].worker].state != ELASTIC_WAITING)
            return false;
    return elastic->nmembers > 0;
}

bool elastic_next(struct elastic *elastic, struct elastic_action *action)
{
    int removed = find_removed(elastic);
    *action = (struct elastic_action){ .act = ELASTIC_REFUSE, .worker = removed };
    if (removed >= 0)
        return true;
    action->act = ELASTIC_WORLD;
    if (elastic->waiting >= elastic->nmembers && all_members_wait(elastic))
        return true;
    action->act = ELASTIC_UPDATE;
    action->update = elastic->update;
    bool update = elastic->has_update;
    elastic->has_update = false;
    elastic->told |= update;
    return update;
}

uint32_t elastic_epoch(const struct elastic *elastic)
{
    uint32_t epoch = elastic->next_epoch;
    for (int i = 0; i < elastic->nmembers; i++) {
        const struct elastic_hello *hello = elastic_hello_of(elastic, elastic->members[i].worker);
        if (hello && hello->epoch > epoch)
            epoch = hello->epoch;
    }
    return epoch;
}

const struct elastic_hello *elastic_hello_of(const struct elastic *elastic, int worker)
{
    return elastic_state_of(elastic, worker) == ELASTIC_ABSENT ? NULL
                                                               : elastic->workers[worker].hello;
}

void elastic_made(struct elastic *elastic, uint32_t epoch)
{
    elastic->next_epoch = epoch + 1;
    elastic->running = true;
    elastic->has_update = elastic->told = false;
    elastic->waiting -= elastic->nmembers;
    for (int i = 0; i < elastic->nworkers; i++) {
        struct elastic_worker *worker = &elastic->workers[i];
        worker->of_world = worker->intended;
        if (worker->intended)
            worker->state = ELASTIC_PRESENT, worker->placed = false;
        else if (worker->state == ELASTIC_PRESENT)
            make_absent(worker);
    }
}
