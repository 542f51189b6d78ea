/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts of an elastic job: which are found, with how many slots, and which of these cannot be
 * used because of a failure. Hosts that are not found any more are remembered, so that a failed
 * host does not become a good one by leaving and coming back. Pure: the time is an argument. */
#ifndef LAUNCHER_ELASTIC_ELASTIC_HOSTS_H
#define LAUNCHER_ELASTIC_ELASTIC_HOSTS_H

#include "launcher/hosts/host_list.h"

#include <stdbool.h>
#include <stdint.h>

struct elastic_host {
    struct host_slots found; /* name and user owned; slots: 0 if it is not found any more */
    int failures;            /* so far; failures while it cools down count once */
    uint64_t avoided_until;  /* 0: not avoided; UINT64_MAX: for ever */
    uint64_t *given_up;      /* when each slot that was given up comes back */
    int given_up_count;
    int index;
};

struct elastic_hosts {
    struct elastic_host **hosts; /* owned; in order of their first discovery; none moves */
    int count, capacity;
    void *names; /* a tree of tsearch(3) */
    uint64_t cooldown_low_ms, cooldown_high_ms;
};

/* The hosts that are found now replace those that were found before. */
void elastic_hosts_update(struct elastic_hosts *hosts, const struct host_list *found);

/* The slots of a host that can be used; the sum over all hosts. */
int elastic_host_capacity(const struct elastic_host *host);
int elastic_hosts_capacity(const struct elastic_hosts *hosts);

/* A worker has failed there: nothing is to be started on the host, or in one of its slots, until
 * the cool-down has passed. */
void elastic_host_avoid(struct elastic_hosts *hosts, int host, uint64_t now_ms);
void elastic_host_give_up_slot(struct elastic_hosts *hosts, int host, uint64_t now_ms);

/* Brings back what has cooled down, and returns when the next host or slot comes back; UINT64_MAX:
 * never. */
uint64_t elastic_hosts_cool(struct elastic_hosts *hosts, uint64_t now_ms);

void elastic_hosts_fini(struct elastic_hosts *hosts);

#endif
