/* SPDX-License-Identifier: Apache-2.0 */
/* The run loop; see elastic_loop.h. */
#include "lib/training/elastic_loop.h"

#include <stdbool.h>

/* A rank that has met the loss may have left before this one does. */
static bool is_lost_peer(int rc)
{
    return rc == HVD_ERR_PEER_LOST || rc == HVD_ERR_PEER_LEFT;
}

int elastic_join(const struct elastic_steps *steps, struct err *err)
{
    int rc = steps->join(steps->arg, err);
    for (int attempts = 1; is_lost_peer(rc) && attempts < ELASTIC_JOINS_MAX; attempts++) {
        struct err why = *err;
        if (steps->may_reset(steps->arg, &why, err) < 0)
            return err->code;
        steps->leave(steps->arg);
        rc = steps->join(steps->arg, err);
    }
    return rc;
}

/* Prepares for the next world after `why` has ended this one. */
static int loop_reset(const struct elastic_steps *steps, const struct err *why, struct err *err)
{
    int rc = steps->may_reset(steps->arg, why, err);
    if (rc < 0)
        return rc;
    rc = is_lost_peer(why->code) ? steps->restore(steps->arg, err) : steps->keep(steps->arg, err);
    if (rc == HVD_OK)
        steps->leave(steps->arg);
    return rc;
}

int elastic_loop(const struct elastic_steps *steps, struct err *err)
{
    for (;;) {
        int rc = elastic_join(steps, err);
        if (rc < 0)
            return rc;
        rc = steps->begin(steps->arg, err);
        bool began = rc == HVD_OK;
        if (began)
            rc = steps->train(steps->arg, err);
        if (!is_lost_peer(rc) && !(began && rc == HVD_HOSTS_UPDATED))
            return rc;
        struct err why = *err;
        if ((rc = loop_reset(steps, &why, err)) < 0)
            return rc;
    }
}
