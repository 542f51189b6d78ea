/* SPDX-License-Identifier: Apache-2.0 */
/* Where a process stands in its world: what the launcher plans, the rendezvous hands out and
 * hvd_rank() & co. return.
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

enum { WORLD_SIZE_MAX = 65536 };

#endif
