/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the collective algorithms, as HVD_ALGORITHM uses them. lib/collective/algorithm.h
 * says what each algorithm can do and when it is used. Pure. */
#ifndef LIB_BASE_ALGORITHM_NAMES_H
#define LIB_BASE_ALGORITHM_NAMES_H

/* The numbers are part of the wire format. */
enum algorithm {
    ALGORITHM_RING,               /* neighbours only: any operation but alltoall and Adasum */
    ALGORITHM_DIRECT,             /* each rank reduces its share, and sends it to all */
    ALGORITHM_RECURSIVE_DOUBLING, /* whole vectors, log2 steps */
    ALGORITHM_HALVING_DOUBLING,   /* reduce-scatter by halving, allgather by doubling */
    ALGORITHM_TREE,               /* broadcast or allreduce along a binomial tree */
    ALGORITHM_TWO_LEVEL,          /* inside hosts, between them, inside again */
    ALGORITHM_PAIRWISE,           /* alltoall */
    ALGORITHM_ADASUM,
    ALGORITHM_LINEAR, /* broadcast: the root sends to each other rank */
    ALGORITHMS
};

/* "ring", ...; NULL if there is no such algorithm. The reverse function returns -1 for an unknown
 * name. */
const char *algorithm_name(enum algorithm algorithm);
int algorithm_parse(const char *name);

/* All names, for people. */
#define ALGORITHM_NAMES                                                                            \
    "ring, direct, recursive-doubling, halving-doubling, tree, two-level, linear, pairwise or "    \
    "adasum"

#endif
