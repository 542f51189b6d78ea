/* SPDX-License-Identifier: Apache-2.0 */
/* A host list made from entries that may repeat: a scheduler writes a host once per slot, or once
 * per queue. The slots of one name add up; the first entry gives the position in the list. */
#ifndef LAUNCHER_HOSTS_HOST_TALLY_H
#define LAUNCHER_HOSTS_HOST_TALLY_H

#include "launcher/hosts/host_list_build.h"

struct host_tally {
    struct host_list *list; /* borrowed */
    void *names;            /* a tree of tsearch(3) */
};

void host_tally_init(struct host_tally *tally, struct host_list *list);

/* Adds slots to the host of that name. Returns HVD_OK, or HVD_ERR_INVALID and one line: `name` is
 * no host name, the host would have more than HOST_SLOTS_MAX slots, there are too many hosts. */
int host_tally_add(struct host_tally *tally, struct slice name, int slots,
                   const struct host_source *source, struct err *err);

/* The list stays. */
void host_tally_fini(struct host_tally *tally);

#endif
