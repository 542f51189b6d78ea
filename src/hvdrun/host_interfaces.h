/* SPDX-License-Identifier: Apache-2.0 */
/* Distributes --network-interfaces (interface_option.h) to the hosts of a plan. Pure. */
#ifndef SRC_HVDRUN_HOST_INTERFACES_H
#define SRC_HVDRUN_HOST_INTERFACES_H

#include "launcher/base/string_list.h"
#include "launcher/placement/rank_plan.h"
#include "lib/base/status.h"

/* Adds, for each host of the plan, its choice in the form of lib/base/interfaces.h, "" for any.
 * HVD_ERR_INVALID when the value names a host that the job does not have, or a choice is too
 * long. */
int host_interfaces_make(struct string_list *choices, const struct string_list *values,
                         const struct rank_plan *plan, struct err *err);

/* The same, but a host that the job does not have may be named: the job may find it later. */
int host_interfaces_choose(struct string_list *choices, const struct string_list *values,
                           const struct rank_plan *plan, struct err *err);

/* Is a host this machine, judging by its name? */
enum host_place { HOST_HERE, HOST_ELSEWHERE, HOST_UNKNOWN };
typedef enum host_place host_place_fn(void *context, const char *host);

/* HVD_ERR_INVALID when ranks on one host could be reached by loopback alone, and another host with
 * ranks is certain to be another machine. If it only may be another, as two names may mean one
 * machine, `warnings` gets one line. `place` is called only if a host has loopback alone, once for
 * each host. */
int host_interfaces_check(const struct string_list *choices, const struct rank_plan *plan,
                          host_place_fn *place, void *context, struct string_list *warnings,
                          struct err *err);

#endif
