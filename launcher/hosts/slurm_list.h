/* SPDX-License-Identifier: Apache-2.0 */
/* The two short forms in which Slurm writes an allocation into the environment:
 *
 *   hosts   n[001-003,7],login,rack[1-2]node[0-1]     FIRST[-LAST] in brackets, padded as FIRST is
 *   counts  4(x2),3                                   COUNT[(xTIMES)], in the order of the hosts
 *
 * Both functions return HVD_OK, or HVD_ERR_INVALID and one line that begins with `source` and
 * quotes the bad entry. Pure. Hosts appended before a failure stay: the caller owns the list. */
#ifndef LAUNCHER_HOSTS_SLURM_LIST_H
#define LAUNCHER_HOSTS_SLURM_LIST_H

#include "launcher/hosts/host_list.h"

/* Appends each host with one slot. `source` is the name in messages, "$SLURM_JOB_NODELIST". */
int slurm_list_add_hosts(struct host_list *list, const char *text, const char *source,
                         struct err *err);

/* Sets the slots of all hosts of the list; the text must have a count for each host. */
int slurm_list_set_slots(struct host_list *list, const char *text, const char *source,
                         struct err *err);

#endif
