/* SPDX-License-Identifier: Apache-2.0 */
/* What has broken the world; see failure.h. */
#include "lib/join/failure.h"

void failure_init(struct failure *failure)
{
    *failure = (struct failure){ .err.code = HVD_OK };
    pthread_mutex_init(&failure->lock, NULL);
}

void failure_fini(struct failure *failure)
{
    pthread_mutex_destroy(&failure->lock);
}

void failure_record(struct failure *failure, int code, const char *text)
{
    pthread_mutex_lock(&failure->lock);
    struct err *err = code == HVD_ERR_PEER_LEFT ? &failure->departure : &failure->err;
    if (err->code == HVD_OK)
        fail(err, code, "%s", text);
    if (failure->err.code != HVD_OK)
        atomic_store(&failure->broken, true);
    pthread_mutex_unlock(&failure->lock);
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
