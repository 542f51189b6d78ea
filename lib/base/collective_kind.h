/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of collectives, with the names that ranks, the rendezvous and the launcher use. */
#ifndef LIB_BASE_COLLECTIVE_KIND_H
#define LIB_BASE_COLLECTIVE_KIND_H

#include "lib/base/status.h"

#include <stdbool.h>

/* Part of the wire format; 0 means none. The kinds with a tensor come first. */
enum collective_kind {
    COLLECTIVE_ALLREDUCE = 1,
    COLLECTIVE_ALLGATHER,
    COLLECTIVE_BROADCAST,
    COLLECTIVE_ALLTOALL,
    COLLECTIVE_REDUCESCATTER,
    COLLECTIVE_BARRIER,
    COLLECTIVE_JOIN,
    COLLECTIVE_ADD_SET,   /* shape: [number of ranks, the first of them ...]; tag: of all of them */
    COLLECTIVE_REMOVE_SET /* tag: the set's number */
};
enum { COLLECTIVE_KINDS = COLLECTIVE_REMOVE_SET + 1 };

bool collective_is_known(int kind);

/* "allreduce", "reduce-scatter"; "?" if unknown. */
const char *collective_name(enum collective_kind kind);

/* True if the kind has a tensor; barrier, join and process sets have none. */
static inline bool collective_has_tensor(enum collective_kind kind)
{
    return kind >= COLLECTIVE_ALLREDUCE && kind <= COLLECTIVE_REDUCESCATTER;
}

/* "allreduce 'grad'" for messages; returns `label`. `tensor`: its name, or NULL for none. */
enum { COLLECTIVE_LABEL = QUOTED_SIZE + 32 };
char *collective_label(char label[COLLECTIVE_LABEL], enum collective_kind kind, const char *tensor);

#endif
