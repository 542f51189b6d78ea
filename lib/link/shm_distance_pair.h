/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the shared memory links between two processes: the distance of the processors, and
 * the bytes copied or offered since it was measured. Any of the links may measure it: while one
 * of them carries data, both sides of it are seldom idle at the same time, but those of the link
 * of the agreement are. */
#ifndef LIB_LINK_SHM_DISTANCE_PAIR_H
#define LIB_LINK_SHM_DISTANCE_PAIR_H

#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>

/* According to the last measurement. */
enum shm_place { SHM_PLACE_UNKNOWN, SHM_PLACE_NEAR, SHM_PLACE_FAR };

struct shm_distance_pair {
    atomic_int place;     /* enum shm_place of the other process */
    atomic_size_t since;  /* bytes since a measurement became due; 0: none yet */
    atomic_uint due;      /* how many measurements have become due */
    atomic_uint measured; /* the last one of them that was made */
    /* Of shm_distance_pair.c: */
    pid_t pid; /* 0: of one link only */
    int nlinks;
    struct shm_distance_pair *next;
};

/* The pair of this process and `pid`, which is 0 if the other process is not known. NULL when
 * out of memory. Any thread may call both functions. */
struct shm_distance_pair *shm_distance_pair_get(pid_t pid);

/* NULL is fine. The last link frees it. */
void shm_distance_pair_put(struct shm_distance_pair *pair);

#endif
