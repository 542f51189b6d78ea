/* SPDX-License-Identifier: Apache-2.0 */
/* The end that has broken the world; see failure.h. */
#include "lib/join/failure.h"

#include "lib/base/rank_end_text.h"

void failure_init(struct failure *failure)
{
    *failure = (struct failure){ .end = rank_end_none(),
                                 .departure = rank_end_none(),
                                 .stranded = rank_end_none() };
    pthread_mutex_init(&failure->recording, NULL);
    pthread_mutex_init(&failure->lock, NULL);
}

void failure_fini(struct failure *failure)
{
    pthread_mutex_destroy(&failure->recording);
    pthread_mutex_destroy(&failure->lock);
}

void failure_listen(struct failure *failure, failure_told_fn *told, void *arg)
{
    pthread_mutex_lock(&failure->recording);
    failure->told = told;
    failure->told_arg = arg;
    pthread_mutex_unlock(&failure->recording);
}

/* False if an end was recorded before. */
static bool failure_set(struct failure *failure, struct rank_end *to, const struct rank_end *end)
{
    pthread_mutex_lock(&failure->lock);
    bool first = to->status == HVD_OK;
    if (first)
        *to = *end;
    pthread_mutex_unlock(&failure->lock);
    return first;
}

/* A recorded end does not change any more: the listener may read it without the lock. */
void failure_record(struct failure *failure, const struct rank_end *end)
{
    bool departure = end->status == HVD_ERR_PEER_LEFT;
    pthread_mutex_lock(&failure->recording);
    if (failure_set(failure, departure ? &failure->departure : &failure->end, end) && !departure) {
        if (failure->told)
            failure->told(failure->told_arg, &failure->end);
        atomic_store(&failure->broken, true);
    }
    pthread_mutex_unlock(&failure->recording);
}

static int failure_copy(struct failure *failure, const struct rank_end *from, struct rank_end *end)
{
    pthread_mutex_lock(&failure->lock);
    int status = from->status;
    if (end)
        *end = *from;
    pthread_mutex_unlock(&failure->lock);
    return status;
}

int failure_reason(struct failure *failure, struct rank_end *end)
{
    return failure_copy(failure, &failure->end, end);
}

int failure_say(struct failure *failure, struct err *err)
{
    struct rank_end end;
    int status = failure_reason(failure, &end);
    return status < 0 ? rank_end_fail(err, &end) : HVD_OK;
}

int failure_departure(struct failure *failure, struct rank_end *end)
{
    return failure_copy(failure, &failure->departure, end);
}

void failure_strand(struct failure *failure, const struct rank_end *end)
{
    struct rank_end stranded = *end;
    stranded.because_of = RANK_NONE;
    failure_set(failure, &failure->stranded, &stranded);
}

int failure_parting(struct failure *failure, struct rank_end *end)
{
    int status = failure_reason(failure, end);
    return status < 0 ? status : failure_copy(failure, &failure->stranded, end);
}
