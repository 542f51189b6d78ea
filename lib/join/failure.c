/* SPDX-License-Identifier: Apache-2.0 */
/* What has broken the world; see failure.h. */
#include "lib/join/failure.h"

void failure_init(struct failure *failure)
{
    *failure = (struct failure){ .from = UINT64_MAX };
    pthread_mutex_init(&failure->lock, NULL);
}

void failure_fini(struct failure *failure)
{
    pthread_mutex_destroy(&failure->lock);
}

/* Under the lock. */
static bool strikes_first(const struct failure *failure, uint64_t from, int code)
{
    uint64_t known = atomic_load(&failure->from);
    bool better = failure->err.code == HVD_ERR_PEER_LEFT && code != HVD_ERR_PEER_LEFT;
    return from < known || (from == known && better);
}

void failure_record(struct failure *failure, uint64_t from, int code, const char *text)
{
    pthread_mutex_lock(&failure->lock);
    if (!failure->final && strikes_first(failure, from, code)) {
        fail(&failure->err, code, "%s", text);
        atomic_store(&failure->from, from);
    }
    pthread_mutex_unlock(&failure->lock);
}

int failure_returned(struct failure *failure, struct err *err)
{
    pthread_mutex_lock(&failure->lock);
    *err = failure->final ? failure->err : (struct err){ .code = HVD_OK };
    pthread_mutex_unlock(&failure->lock);
    return err->code;
}

int failure_check(struct failure *failure, uint64_t number, struct err *err)
{
    if (number < atomic_load_explicit(&failure->from, memory_order_acquire))
        return HVD_OK;
    pthread_mutex_lock(&failure->lock);
    failure->final = true;
    *err = failure->err;
    pthread_mutex_unlock(&failure->lock);
    return err->code;
}
