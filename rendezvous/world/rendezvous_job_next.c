/* SPDX-License-Identifier: Apache-2.0 */
/* The next epoch of a job that is not elastic: the same ranks in the same places, once all have
 * left the world before and have come again.
 *
 * Fails, and then those that wait are refused, when the process of a rank that has not come again
 * ends, when the world before breaks, and when the start timeout has passed since the first of them
 * came. A worker is refused that asks for another epoch than the next. */
#include "rendezvous/world/rendezvous_job_impl.h"

#include "lib/base/rank_end_text.h"

#include <stdlib.h>

void rendezvous_next_destroy(struct rendezvous_next *next)
{
    if (!next)
        return;
    rendezvous_job_ranks_free(next->ranks, next->membership.size);
    membership_fini(&next->membership);
    free(next);
}

/* The rank that a worker asks for again. */
static int rank_again(const struct join_hello *hello)
{
    return hello->rank >= 0 ? hello->rank : hello->worker;
}

static int refuse_again(const struct rendezvous_job *job, const struct join_hello *hello,
                        struct err *err)
{
    const struct membership *membership = &job->membership;
    int rank = rank_again(hello);
    if (membership->world == WORLD_BROKEN)
        return rank_end_fail(err, &membership->cause);
    if (rank < 0 || rank >= job->size)
        return fail(err, HVD_ERR_ENVIRONMENT, "there is no rank %d in job %s, which has %d", rank,
                    job->id, job->size);
    if (hello->epoch != membership->epoch + 1 || membership->world != WORLD_COMPLETE)
        return fail(err, HVD_ERR_ENVIRONMENT,
                    "rank %d asks for epoch %u, but job %s is in epoch %u", rank, hello->epoch,
                    job->id, membership->epoch);
    return HVD_OK;
}

/* A process that has ended does not come again. */
static void find_ended(struct rendezvous_job *job, uint64_t now_ms)
{
    for (int rank = 0; rank < job->size; rank++) {
        const struct member *member = &job->membership.members[rank];
        if (member->how.kind != RANK_END_NONE)
            membership_ended(&job->next->membership, rank, &member->how, now_ms);
    }
}

static int begin_next(struct rendezvous_job *job, uint64_t now_ms, struct err *err)
{
    struct rendezvous_next *next = calloc(1, sizeof *next);
    if (!next)
        return fail(err, HVD_ERR_NOMEM, "out of memory for the next epoch of job %s", job->id);
    int rc = rendezvous_job_membership(&next->membership, &next->ranks, job->slots, job->size,
                                       job->membership.start_timeout_ms, err);
    if (rc < 0) {
        free(next);
        return rc;
    }
    next->membership.epoch = job->membership.epoch + 1;
    job->next = next;
    find_ended(job, now_ms);
    return HVD_OK;
}

int rendezvous_job_come_again(struct rendezvous_job *job, const struct join_hello *hello,
                              struct rendezvous_connection *connection, uint64_t now_ms, int *rank,
                              struct err *err)
{
    int rc = refuse_again(job, hello, err);
    if (rc == HVD_OK && !job->next)
        rc = begin_next(job, now_ms, err);
    if (rc < 0)
        return rc;
    struct join_hello known = *hello;
    known.rank = *rank = rank_again(hello);
    rc = membership_join(&job->next->membership, &known, now_ms, err);
    if (rc < 0)
        return rc;
    job->next->ranks[*rank] = (struct rendezvous_job_rank){ .worker = *rank,
                                                            .connection = connection,
                                                            .pid = hello->pid,
                                                            .joined = true,
                                                            .joined_ms = now_ms,
                                                            .heard_ms = now_ms };
    return HVD_OK;
}

void rendezvous_job_advance(struct rendezvous_job *job)
{
    struct rendezvous_next *next = job->next;
    rendezvous_job_forget_world(job);
    job->membership = next->membership;
    job->ranks = next->ranks;
    job->told_origin = next->told_origin;
    job->next = NULL;
    rank_certifier_wipe(&next->membership.certifier);
    free(next);
}
