/* SPDX-License-Identifier: Apache-2.0 */
/* What has broken the world; see failure.h. */
#include "lib/join/failure.h"

#include "lib/base/join_protocol.h"

void failure_init(struct failure *failure)
{
    *failure = (struct failure){ .origin = ORIGIN_UNKNOWN };
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

/* False if it is not the first. */
static bool set(struct failure *failure, struct err *err, int origin, int code, const char *text)
{
    pthread_mutex_lock(&failure->lock);
    bool first = err->code == HVD_OK;
    if (first)
        fail(err, code, "%s", text);
    if (first && err == &failure->err)
        failure->origin = origin;
    pthread_mutex_unlock(&failure->lock);
    return first;
}

/* What is recorded is not written any more: the listener may read it without the lock. */
void failure_record(struct failure *failure, int origin, int code, const char *text)
{
    bool departure = code == HVD_ERR_PEER_LEFT;
    struct err *err = departure ? &failure->departure : &failure->err;
    pthread_mutex_lock(&failure->recording);
    if (set(failure, err, origin, code, text) && !departure) {
        if (failure->told)
            failure->told(failure->told_arg, &failure->err, origin);
        atomic_store(&failure->broken, true);
    }
    pthread_mutex_unlock(&failure->recording);
}

static int copy(struct failure *failure, const struct err *from, struct err *err)
{
    pthread_mutex_lock(&failure->lock);
    int code = from->code;
    if (err)
        *err = *from;
    pthread_mutex_unlock(&failure->lock);
    return code;
}

int failure_reason(struct failure *failure, struct err *err)
{
    return copy(failure, &failure->err, err);
}

int failure_origin(struct failure *failure)
{
    pthread_mutex_lock(&failure->lock);
    int origin = failure->origin;
    pthread_mutex_unlock(&failure->lock);
    return origin;
}

int failure_departure(struct failure *failure, struct err *err)
{
    return copy(failure, &failure->departure, err);
}

void failure_strand(struct failure *failure, const struct err *err)
{
    pthread_mutex_lock(&failure->lock);
    if (failure->stranded.code == HVD_OK)
        failure->stranded = *err;
    pthread_mutex_unlock(&failure->lock);
}

int failure_parting(struct failure *failure, struct err *err)
{
    return failure_reason(failure, err) < 0 ? err->code : copy(failure, &failure->stranded, err);
}
