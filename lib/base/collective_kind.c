/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the collectives; see collective_kind.h. */
#include "lib/base/collective_kind.h"

#include <stdio.h>
#include <string.h>

static const char *const kinds[COLLECTIVE_KINDS] = {
    [COLLECTIVE_ALLREDUCE] = "allreduce",
    [COLLECTIVE_ALLGATHER] = "allgather",
    [COLLECTIVE_BROADCAST] = "broadcast",
    [COLLECTIVE_ALLTOALL] = "alltoall",
    [COLLECTIVE_REDUCESCATTER] = "reduce-scatter",
    [COLLECTIVE_BARRIER] = "barrier",
    [COLLECTIVE_JOIN] = "join",
    [COLLECTIVE_ADD_SET] = "add_process_set",
    [COLLECTIVE_REMOVE_SET] = "remove_process_set",
};

bool collective_is_known(int kind)
{
    return kind >= 0 && kind < COLLECTIVE_KINDS && kinds[kind];
}

const char *collective_name(enum collective_kind kind)
{
    return collective_is_known((int)kind) ? kinds[kind] : "?";
}

char *collective_label(char label[COLLECTIVE_LABEL], enum collective_kind kind, const char *tensor)
{
    char quoted[QUOTED_SIZE];
    if (!tensor || !collective_has_tensor(kind))
        snprintf(label, COLLECTIVE_LABEL, "%s", collective_name(kind));
    else
        snprintf(label, COLLECTIVE_LABEL, "%s '%s'", collective_name(kind),
                 quote_token(quoted, sizeof quoted, tensor, strnlen(tensor, HVD_NAME_MAX + 1)));
    return label;
}
