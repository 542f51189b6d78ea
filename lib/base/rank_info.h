/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks and sizes of a process in its world. The launcher plans them, the rendezvous hands them
 * out, and hvd_rank(), hvd_size() and the like return them.
 *
 *   rank, size               among all processes of the job, 0 <= rank < size
 *   local_rank, local_size   among the processes of the same host
 *   cross_rank, cross_size   among the processes with the same local_rank, in order of host */
#ifndef LIB_BASE_RANK_INFO_H
#define LIB_BASE_RANK_INFO_H

struct rank_info {
    int rank, size;
    int local_rank, local_size;
    int cross_rank, cross_size;
};

enum { WORLD_SIZE_MAX = 131072 };

#endif
