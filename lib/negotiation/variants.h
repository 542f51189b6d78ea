/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks have submitted what under one name: usually one description and one range of ranks.
 * Pure values: they are merged up the tree, and turned into the text of a mismatch on top. */
#ifndef LIB_NEGOTIATION_VARIANTS_H
#define LIB_NEGOTIATION_VARIANTS_H

#include "lib/negotiation/description.h"

enum { VARIANTS_MAX = 4, VARIANT_RANGES_MAX = 8 };

/* Ranks first, first + 1, ..., end - 1 of the set. */
struct rank_range {
    int first, end;
};

/* Ascending; when there are more ranges than fit, the gap between the last two is closed. */
struct rank_ranges {
    int count;
    struct rank_range range[VARIANT_RANGES_MAX];
};

struct variant {
    struct description description;
    struct rank_ranges ranks;
};

/* No allocation. Descriptions beyond VARIANTS_MAX are forgotten, their ranks counted. */
struct variants {
    int count; /* at least 1 */
    struct variant variant[VARIANTS_MAX];
    int ranks; /* that have submitted, in all variants */
};

void rank_ranges_add(struct rank_ranges *ranges, int first, int end);

void variants_init(struct variants *variants, const struct description *description, int first,
                   int end);
void variants_merge(struct variants *variants, const struct variants *other);

void variants_encode(struct wire_writer *writer, const struct variants *variants);
int variants_decode(struct variants *variants, int size, struct wire_reader *reader,
                    struct err *err);

/* HVD_OK if all agree, or HVD_ERR_MISMATCH and a text such as
 *   allreduce 'grad': shapes differ: [17, 17] on ranks 0-2, [17, 18] on rank 3
 * Looked at in this order, the first difference is told: element types, collectives, shapes (exact,
 * or number and later dimensions of allgather and alltoall), factors, operations, groups, roots,
 * tags. `world_ranks` (borrowed; NULL: the same) turns ranks of the set into ranks of the world,
 * which is how the text names them. */
int variants_check(const struct variants *variants, const char *name, const int *world_ranks,
                   struct err *err);

#endif
