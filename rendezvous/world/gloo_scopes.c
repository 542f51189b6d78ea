/* SPDX-License-Identifier: Apache-2.0 */
/* The scopes of Horovod's own workers; see gloo_scopes.h. */
#include "rendezvous/world/gloo_scopes.h"

#include <stdio.h>

static int plan_local(struct key_value *store, const struct rendezvous_slot *slot)
{
    char scope[KEY_VALUE_SCOPE_MAX + 2]; /* enough to be too long */
    snprintf(scope, sizeof scope, "local_%s", slot->host);
    int rc = key_value_plan(store, scope, slot->rank_info.local_size);
    return rc == 400 ? 0 : rc;
}

static int plan_cross(struct key_value *store, const struct rank_info *rank_info)
{
    char scope[32];
    snprintf(scope, sizeof scope, "cross_%d", rank_info->local_rank);
    return key_value_plan(store, scope, rank_info->cross_size);
}

int gloo_scopes_plan(struct key_value *store, const struct rendezvous_slot *slots, int size)
{
    int rc = key_value_plan(store, "global", size);
    for (int rank = 0; rc == 0 && rank < size; rank++) {
        if (slots[rank].rank_info.local_rank == 0)
            rc = plan_local(store, &slots[rank]);
        if (rc == 0 && slots[rank].rank_info.cross_rank == 0)
            rc = plan_cross(store, &slots[rank].rank_info);
    }
    return rc == 0 ? HVD_OK : HVD_ERR_NOMEM;
}
