/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of a collective's algorithm. One table chooses, by operation, bytes, ranks, hosts,
 * processors and transport.
 * Only the root of a set's tree asks the table; the answer travels with the decision, so that all
 * ranks use the same algorithm. HVD_ALGORITHM at the root forces one wherever this algorithm can be
 * used. */
#ifndef LIB_COLLECTIVE_ALGORITHM_H
#define LIB_COLLECTIVE_ALGORITHM_H

#include "lib/base/algorithm_names.h"
#include "lib/collective/operation.h"

#include <stdbool.h>
#include <stddef.h>

/* How an operation is carried out: what the root chooses, and all ranks do. */
struct algorithm_choice {
    enum algorithm algorithm;
    size_t piece; /* of piece.h */
};

/* The facts that the choice of the algorithm depends on.
 *
 * `shared`: a rank that reaches a neighbour in tree or ring over a socket tells the root before it
 * reports a tensor, so the first choice knows of it. Two other ranks without shared memory find out
 * when they link, for a collective that has been chosen: that one goes over their socket, where it
 * may be slower. */
struct algorithm_case {
    enum operation_kind kind;
    size_t nbytes;  /* of the whole input; allgather: of the whole output */
    int size;       /* ranks of the set */
    int hosts;      /* number of hosts; 0: not known to all ranks */
    int slots;      /* the most ranks of the set on one host; 0: not known */
    bool anywhere;  /* all ranks know the addresses of all ranks */
    int processors; /* that the ranks of the root's host share; 0: not known */
    bool tcp;       /* the root reaches some ranks over TCP */
    bool shared;    /* as far as is known, each two ranks of a host share memory */
};

/* The thresholds between algorithms; autotuning changes them. */
struct algorithm_thresholds {
    size_t small; /* bytes of an allreduce up to which steps count, not bytes: whole vectors */
    size_t large; /* bytes of an allreduce for each rank from which on the ring is best */
    size_t tree;  /* bytes of a broadcast for each rank up to which it uses a tree */
    int few;      /* ranks on one host up to which each exchanges with all others there */
};

extern const struct algorithm_thresholds algorithm_defaults;

/* The defaults for a world of so many ranks. */
struct algorithm_thresholds algorithm_defaults_for(int size);

/* True if the algorithm exists for the kind of operation. */
bool algorithm_can(int algorithm, enum operation_kind kind);

/* True if the algorithm needs no links other than to the ring's neighbours, whatever the size. */
bool algorithm_is_near(enum algorithm algorithm);

/* True if a rank's peers do not depend on the root of a broadcast. */
bool algorithm_has_fixed_peers(enum algorithm algorithm);

/* `forced` < 0: none. */
enum algorithm algorithm_choose(const struct algorithm_case *what,
                                const struct algorithm_thresholds *thresholds, int forced);

#endif
