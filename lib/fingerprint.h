/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank believes it is doing. It stands before the data of each collective on each link, so
 * that ranks which do different things notice before they mix their data.
 *
 *   0 magic "HVDC"   4 kind u8   5 dtype u8   6 op u8   7 name length u8   8 number u64
 *   16 count u64   24 root i32   28 sender's rank u32   32 hash of the name u64   40 name, 56 bytes
 *
 * Only the beginning of a long name travels, for messages; the hash tells it apart. What a kind has
 * no use for (the root of an allreduce) is 0. */
#ifndef LIB_FINGERPRINT_H
#define LIB_FINGERPRINT_H

#include "lib/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { FINGERPRINT_SIZE = 96, FINGERPRINT_NAME = 56, NAME_MAX_LENGTH = 255 };

enum collective_kind {
    COLLECTIVE_ALLREDUCE = 1,
    COLLECTIVE_BROADCAST,
    COLLECTIVE_ALLGATHER,
    COLLECTIVE_BARRIER
};

struct fingerprint {
    enum collective_kind kind;
    int dtype, op;
    int root, rank;
    uint64_t number; /* of the collective, from 0 */
    uint64_t count;
    uint64_t name_hash;
    size_t name_length;          /* of the whole name, at most NAME_MAX_LENGTH */
    char name[FINGERPRINT_NAME]; /* its beginning, not terminated */
};

void fingerprint_set_name(struct fingerprint *print, const char *name);

void fingerprint_encode(unsigned char bytes[FINGERPRINT_SIZE], const struct fingerprint *print);
int fingerprint_decode(struct fingerprint *print, const unsigned char bytes[FINGERPRINT_SIZE],
                       struct err *err);

/* HVD_OK if both mean the same; HVD_ERR_MISMATCH and a text that names both ranks and what each
 * believes, the same text on both sides; or HVD_ERR_PROTOCOL. */
int fingerprint_compare(const struct fingerprint *own, const struct fingerprint *other,
                        struct err *err);

enum { FINGERPRINT_LABEL = QUOTED_SIZE + 16 };

/* "allreduce 'grad'", for messages. Returns `label`. */
char *fingerprint_label(char label[FINGERPRINT_LABEL], const struct fingerprint *print);

#endif
