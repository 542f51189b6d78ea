/* SPDX-License-Identifier: Apache-2.0 */
/* The worlds of an elastic job: each is made of the workers that wait and are members (elastic.h),
 * and takes the place of the former. Without memory no world is made, and the caller refuses the
 * members. A job without a launcher decides itself who the members are (elastic_service.h), and is
 * over when nobody was connected for its start timeout. */
#include "rendezvous/world/rendezvous_job_impl.h"

#include "rendezvous/world/gloo_scopes.h"
#include "rendezvous/world/rank_places.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool rendezvous_slot_is(const struct rendezvous_slot *slot, const char *text, size_t length)
{
    size_t host = strlen(slot->host);
    char rest[16];
    int rest_length = snprintf(rest, sizeof rest, ":%d", slot->rank_info.local_rank);
    return length == host + (size_t)rest_length && memcmp(text, slot->host, host) == 0 &&
           memcmp(text + host, rest, (size_t)rest_length) == 0;
}

/* Slots and the names that they borrow. */
static struct rendezvous_slot *elastic_slots(const struct elastic *elastic, char **hosts)
{
    size_t length = 0;
    int size = elastic->nmembers;
    assert(size > 0);
    for (int i = 0; i < size; i++)
        length += strlen(elastic->members[i].host) + 1;
    struct rendezvous_slot *slots = calloc((size_t)size, sizeof *slots);
    char *at = *hosts = malloc(length);
    for (int i = 0; slots && at && i < size; i++) {
        slots[i].host = at;
        at = stpcpy(at, elastic->members[i].host) + 1;
    }
    if (slots && *hosts && rank_places_fill(slots, size) == HVD_OK)
        return slots;
    free(slots);
    free(*hosts);
    return NULL;
}

/* A new world refuses no member. */
static void join_member(struct rendezvous_job *job, int rank, uint64_t now_ms)
{
    int worker = job->elastic->members[rank].worker;
    const struct elastic_hello *told = elastic_hello_of(job->elastic, worker);
    struct join_hello hello = {
        .rank = rank, .size = job->size, .pid = told->pid, .processors = told->processors
    };
    hello.addresses = told->addresses;
    memcpy(hello.key, told->key, sizeof hello.key);
    job->ranks[rank] = (struct rendezvous_job_rank){ .worker = worker,
                                                     .connection = told->owner,
                                                     .pid = told->pid,
                                                     .joined = told->owner,
                                                     .joined_ms = told->came_ms,
                                                     .heard_ms = now_ms };
    if (told->owner) /* else one of Horovod's own: its address makes it a member */
        (void)membership_join(&job->membership, &hello, now_ms, NULL);
}

int rendezvous_job_make_world(struct rendezvous_job *job, uint64_t now_ms, struct err *err)
{
    char *hosts;
    int size = job->elastic->nmembers;
    struct membership membership;
    struct rendezvous_job_rank *ranks;
    struct rendezvous_slot *slots = elastic_slots(job->elastic, &hosts);
    if (!slots)
        return fail(err, HVD_ERR_NOMEM, "out of memory for a world of %d", size);
    int rc = rendezvous_job_membership(&membership, &ranks, slots, size, MEMBERSHIP_NEVER, err);
    if (rc < 0) {
        free(slots);
        free(hosts);
        return rc;
    }
    rendezvous_job_forget_world(job);
    free(job->slots);
    free(job->slot_hosts);
    membership.epoch = elastic_epoch(job->elastic);
    job->membership = membership;
    rank_certifier_wipe(&membership.certifier);
    job->ranks = ranks;
    job->slots = slots;
    job->slot_hosts = hosts;
    job->size = size;
    for (int rank = 0; rank < size; rank++)
        join_member(job, rank, now_ms);
    elastic_made(job->elastic, membership.epoch);
    key_value_unplan(job->store);
    (void)gloo_scopes_plan(job->store, slots, size); /* without memory: not planned */
    return HVD_OK;
}

int rendezvous_job_worker_at(const struct rendezvous_job *job, int first, int count,
                             const char *text, size_t length)
{
    for (int rank = 0; job->slots && rank < job->size; rank++) {
        int worker = job->ranks[rank].worker;
        bool in_range = count == 0 || (worker >= first && worker - first < count);
        if (in_range && rendezvous_slot_is(&job->slots[rank], text, length))
            return worker;
    }
    return -1;
}

int rendezvous_job_rank_of(const struct rendezvous_job *job, int worker)
{
    if (!job->elastic)
        return worker < job->size ? worker : -1;
    for (int rank = 0; job->ranks && rank < job->size; rank++)
        if (job->ranks[rank].worker == worker)
            return rank;
    return -1;
}

void rendezvous_job_left(struct rendezvous_job *job, int rank, const struct rank_end *goodbye,
                         uint64_t now_ms)
{
    if (job->elastic && !job->planned && (goodbye->status != HVD_OK || job->elastic->told))
        job->ranks[rank].back_by_ms = now_ms + job->elastic_service.start_timeout_ms;
}

/* Is the rank in the world, or between the world and its next HELLO? */
static bool is_present(const struct rendezvous_job *job, int rank, uint64_t now_ms)
{
    enum member_state state = job->membership.members[rank].state;
    bool in_world = state == MEMBER_JOINED || state == MEMBER_BROKEN || state == MEMBER_ENDED;
    return (in_world || now_ms < job->ranks[rank].back_by_ms) &&
           elastic_state_of(job->elastic, job->ranks[rank].worker) == ELASTIC_PRESENT;
}

static bool anybody_present(const struct rendezvous_job *job, uint64_t now_ms)
{
    for (int rank = 0; job->slots && rank < job->size; rank++)
        if (is_present(job, rank, now_ms))
            return true;
    return false;
}

/* When the next rank that has not come again is given up. */
static uint64_t next_back_ms(const struct rendezvous_job *job, uint64_t now_ms)
{
    uint64_t next_ms = MEMBERSHIP_NEVER;
    for (int rank = 0; job->slots && rank < job->size; rank++)
        if (now_ms < job->ranks[rank].back_by_ms && is_present(job, rank, now_ms))
            next_ms = deadline_earlier(next_ms, job->ranks[rank].back_by_ms);
    return next_ms;
}

static int rendezvous_job_decide_now(struct rendezvous_job *job, uint64_t now_ms, struct err *err)
{
    const char **hosts = calloc((size_t)job->elastic->numbered, sizeof *hosts);
    if (!hosts)
        return fail(err, HVD_ERR_NOMEM, "out of memory for %d workers", job->elastic->numbered);
    for (int rank = 0; job->slots && rank < job->size; rank++)
        if (is_present(job, rank, now_ms))
            hosts[job->ranks[rank].worker] = job->slots[rank].host;
    int rc = elastic_service_intend(&job->elastic_service, job->elastic, hosts, now_ms, err);
    free(hosts);
    return rc;
}

int rendezvous_job_decide(struct rendezvous_job *job, uint64_t now_ms, struct err *err)
{
    int rc = job->elastic->waiting > 0 ? rendezvous_job_decide_now(job, now_ms, err) : HVD_OK;
    job->decide_ms = elastic_service_deadline(&job->elastic_service, job->elastic,
                                              anybody_present(job, now_ms), now_ms);
    if (job->elastic->waiting > 0)
        job->decide_ms = deadline_earlier(job->decide_ms, next_back_ms(job, now_ms));
    if (job->connected > 0)
        job->away_ms = 0;
    else if (job->away_ms == 0 && job->first_ms > 0)
        job->away_ms = now_ms;
    if (job->away_ms > 0 && job->connected == 0)
        job->decide_ms = job->away_ms + job->elastic_service.start_timeout_ms;
    return rc;
}

bool rendezvous_job_timed_out(struct rendezvous_job *job, uint64_t now_ms, char text[JOIN_TEXT_MAX])
{
    if (job->away_ms > 0 && job->connected == 0 &&
        now_ms - job->away_ms >= job->elastic_service.start_timeout_ms)
        job->lapsed = true;
    return elastic_service_timed_out(&job->elastic_service, job->elastic,
                                     anybody_present(job, now_ms), now_ms, text);
}
