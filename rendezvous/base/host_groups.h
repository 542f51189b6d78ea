/* SPDX-License-Identifier: Apache-2.0 */
/* Groups ranks, or workers without a rank, by host. Pure. */
#ifndef RENDEZVOUS_BASE_HOST_GROUPS_H
#define RENDEZVOUS_BASE_HOST_GROUPS_H

struct host_groups {
    int count; /* of hosts */

    /* All indexes, host by host in order of each host's first, ascending in a host: host h has
     * order[starts[h]] to order[starts[h + 1] - 1]. Owned. */
    int *order, *starts;
};

/* Worker i is on the host named names[i], not NULL; equal names are one host. O(N log N).
 * HVD_ERR_NOMEM, and nothing to free. */
int host_groups_init(struct host_groups *groups, const char *const *names, int size);
void host_groups_fini(struct host_groups *groups);

#endif
