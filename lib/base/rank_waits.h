/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a rank that are submitted and not finished. REPORT carries them to the rendezvous
 * (join_protocol.h), which compares the tensors of all ranks. When a rank of the same process set
 * has not submitted a tensor, the other ranks wait for this rank (rendezvous/world/stalls.h).
 *
 * A tensor has a key of 64 bits, made of its process set and its name, the same on every rank. A
 * join has the key of its set: a rank that has joined submits nothing, and no rank waits for it.
 *
 * On the wire:
 *
 *   u8 what it waits for   u8 count   u8 more   count times u64 key
 *   unless count is 0:  u64 key of the set   u32 milliseconds   u8 moves   string name
 *                       u8 count   count times: u32 first rank   u32 end
 *
 * The first key is that of the tensor that has waited longest. The fields after the keys describe
 * this tensor. */
#ifndef LIB_BASE_RANK_WAITS_H
#define LIB_BASE_RANK_WAITS_H

#include "lib/base/wire.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    WAITS_MAX = 64,
    WAITS_NAME_SIZE = 256,
    WAITS_RANGES_MAX = 16,
    WAITS_ENCODED_MAX =
        1 + 1 + 1 + WAITS_MAX * 8 + 8 + 4 + 1 + 4 + WAITS_NAME_SIZE + 1 + WAITS_RANGES_MAX * 8
};

/* The meaning of the first line of a rank's status text, for programs. Part of the wire format. */
enum rank_waits_for {
    WAITS_FOR_NOTHING, /* as far as is known */
    WAITS_FOR_RANKS,   /* to submit a tensor that this rank has submitted */
    WAITS_FOR_ITSELF,  /* to submit a tensor that other ranks have submitted */
    WAITS_FOR_DEVICE,  /* to make the input of a tensor, or to finish with its data */
    WAITS_FOR_KINDS
};

struct rank_waits {
    enum rank_waits_for for_whom;
    int count; /* tensors in flight whose keys are here: those that have waited longest */
    bool more; /* there are others */
    uint64_t keys[WAITS_MAX];

    /* The fields from here on describe the first tensor, unless there is none. */
    uint64_t set_key;
    uint32_t age_ms;
    bool moves; /* all ranks have submitted the tensor, its data is on the way */
    char name[WAITS_NAME_SIZE];
    int nmembers; /* ranges of ranks of the world, ascending: its process set, or the first of it */
    struct {
        uint32_t first, end;
    } members[WAITS_RANGES_MAX];
};

/* True if the rank has submitted the tensor, or has joined the set. */
bool rank_waits_has(const struct rank_waits *waits, uint64_t key, uint64_t set_key);

/* The reader fails on an unknown enum rank_waits_for and on a range that is empty, out of order or
 * beyond WORLD_SIZE_MAX; it makes the name one printable line. */
void rank_waits_encode(struct wire_writer *writer, const struct rank_waits *waits);
void rank_waits_decode(struct rank_waits *waits, struct wire_reader *reader);

#endif
