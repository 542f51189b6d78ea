/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts of a set's ranks. Made once, then only read. */
#ifndef LIB_COLLECTIVE_PLACING_H
#define LIB_COLLECTIVE_PLACING_H

/* The hosts of ranks. Hosts count from 0, in the order of their first ranks; the ranks of a host
 * need not be consecutive. */
struct placing {
    int size, nhosts;
    int slots;          /* ranks on the host with the most ranks */
    const int *host;    /* of each rank */
    const int *index;   /* of each rank, among those of its host */
    const int *first;   /* of each host, and one more: where its ranks begin in `members` */
    const int *members; /* ranks, host by host, ascending */
};

/* `places` has a number for each rank's host, from 0 to below `limit`. NULL when out of memory. */
struct placing *placing_create(const int *places, int size, int limit);
void placing_destroy(struct placing *placing); /* NULL is fine */

/* How many ranks are on a host. */
int placing_count(const struct placing *placing, int host);

#endif
