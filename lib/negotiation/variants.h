/* SPDX-License-Identifier: Apache-2.0 */
/* The variants of one name: which ranks have submitted which description. Usually there is one
 * description and one range of ranks. Pure values: they are merged up the tree, and the root turns
 * them into the text of a mismatch. */
#ifndef LIB_NEGOTIATION_VARIANTS_H
#define LIB_NEGOTIATION_VARIANTS_H

#include "lib/negotiation/description.h"

enum { VARIANTS_MAX = 4, VARIANT_RANGES_MAX = 8 };

/* Ranks first, first + 1, ..., end - 1 of the set. */
struct rank_range {
    int first, end;
};

/* Ascending, with gaps between the ranges. When there are too many ranges, the gap between the last
 * two is closed: then some ranks in the last range may not belong to the set. */
struct rank_ranges {
    int count;
    bool closed;
    struct rank_range range[VARIANT_RANGES_MAX];
};

struct variant {
    struct description description;
    struct rank_ranges ranks;
};

/* No allocation. Descriptions beyond VARIANTS_MAX are dropped, but their ranks are counted. */
struct variants {
    int count; /* at least 1 */
    struct variant variant[VARIANTS_MAX];
    int ranks; /* that have submitted, in all variants */
};

/* {0} is empty. An empty range changes nothing. */
void rank_ranges_add(struct rank_ranges *ranges, int first, int end);
void rank_ranges_add_all(struct rank_ranges *ranges, const struct rank_ranges *other);
int rank_ranges_count(const struct rank_ranges *ranges);

/* "rank 3", "ranks 0-2, 5", "ranks 0, 2, some of 4-30"; a text that does not fit into `size` (40 is
 * plenty) is cut with "...". `world_ranks` as for variants_check(). Returns `text`. */
char *rank_ranges_text(char *text, size_t size, const struct rank_ranges *ranges,
                       const int *world_ranks);

void variants_init(struct variants *variants, const struct description *description, int first,
                   int end);
/* No rank may be in both. */
void variants_merge(struct variants *variants, const struct variants *other);

/* Decoding accepts only ranks and roots of a set of `size`. */
void variants_encode(struct wire_writer *writer, const struct variants *variants);
int variants_decode(struct variants *variants, int size, struct wire_reader *reader,
                    struct err *err);

/* HVD_OK if all agree, or HVD_ERR_MISMATCH and a text such as
 *   allreduce 'grad': shapes differ: [17, 17] on ranks 0-2, [17, 18] on rank 3
 * The text reports the first difference in this order: element types, collectives, process sets,
 * shapes (exact, or number and later dimensions of allgather and alltoall), factors, operations,
 * groups, roots, kinds of memory, tags. `world_ranks` (borrowed; NULL: the same) turns ranks of the
 * set into ranks of the world, which is how the text names them. */
int variants_check(const struct variants *variants, const char *name, const int *world_ranks,
                   struct err *err);

#endif
