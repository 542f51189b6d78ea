/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of the frames that ranks of a set exchange about a stall (stall.h). Numbers are u32
 * unless noted; age: milliseconds, at most UINT32_MAX.
 *
 *   names   count u8, then kind u8, age, string
 *   ranges  count u8, closed u8, then first, end of each; ascending, with gaps between
 *
 *   ALERT   names
 *   PROBE   id, milliseconds to answer in, names
 *   PROBED  id, count of names u8, then of each: age, ranges of the ranks that miss it;
 *           ranges of the ranks that have not answered; idle ranks (late_ranks.h);
 *           count u8, then rank, names it misses u8 (a bit each), string: its status text
 *
 * Decoding fails with HVD_ERR_PROTOCOL on bodies that are cut short, have too many items, an
 * unknown kind, a wrong order, or ranks that the body may not be about. */
#ifndef LIB_STALL_STALL_MESSAGE_H
#define LIB_STALL_STALL_MESSAGE_H

#include "lib/base/late_ranks.h"
#include "lib/base/status.h"
#include "lib/base/wire.h"
#include "lib/hvd.h"
#include "lib/negotiation/variants.h"

#include <stdint.h>

enum {
    STALL_NAMES_MAX = 8,
    STALL_RANKS_MAX = 16,
    STALL_TEXT_MAX = 240 /* bytes of a status text, with the host */
};

struct stall_name {
    enum collective_kind kind;
    uint32_t age_ms;
    char text[HVD_NAME_MAX + 1];
};

struct stall_names {
    int count;
    struct stall_name at[STALL_NAMES_MAX];
};

struct stall_probe {
    uint32_t id;
    uint32_t budget_ms;
    struct stall_names names;
};

struct stall_rank {
    int rank;
    uint8_t missing; /* bit i: name i of the probe */
    char text[STALL_TEXT_MAX + 1];
};

/* The answer of one rank, or of a part of the tree. */
struct stall_answer {
    uint32_t id;
    int nnames;
    struct {
        uint32_t age_ms; /* the longest wait on any rank; 0: no rank waits */
        struct rank_ranges missing;
    } name[STALL_NAMES_MAX];
    struct rank_ranges silent;
    struct late_ranks idle; /* miss names, and wait for no rank themselves */
    int nranks;             /* some of the ranks that miss names, ascending */
    struct stall_rank ranks[STALL_RANKS_MAX];
};

/* Removes bytes that would begin a line or control a terminal. Decoded texts are clean, names are
 * not. */
void stall_clean(char *text);

void stall_names_encode(struct wire_writer *writer, const struct stall_names *names);
void stall_probe_encode(struct wire_writer *writer, const struct stall_probe *probe);
void stall_answer_encode(struct wire_writer *writer, const struct stall_answer *answer);

int stall_names_decode(struct stall_names *names, const void *body, size_t nbytes, struct err *err);
int stall_probe_decode(struct stall_probe *probe, const void *body, size_t nbytes, struct err *err);
/* Accepts only answers about ranks `first` to `end` - 1. */
int stall_answer_decode(struct stall_answer *answer, int first, int end, const void *body,
                        size_t nbytes, struct err *err);

/* Merges answers to the same probe. Of ranks with texts the lowest are kept. */
void stall_answer_merge(struct stall_answer *answer, const struct stall_answer *other);
void stall_answer_add_rank(struct stall_answer *answer, const struct stall_rank *rank);

#endif
