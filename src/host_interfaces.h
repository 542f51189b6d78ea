/* SPDX-License-Identifier: Apache-2.0 */
/* --network-interfaces (interface_option.h) dealt out to the hosts of a plan. Pure. */
#ifndef SRC_HOST_INTERFACES_H
#define SRC_HOST_INTERFACES_H

#include "launcher/rank_plan.h"
#include "launcher/string_list.h"
#include "lib/base/status.h"

/* Adds, for each host of the plan, its choice as lib/base/interfaces.h takes it, "" for any.
 * HVD_ERR_INVALID when a host is named that the job does not have, or a choice is too long. */
int host_interfaces_make(struct string_list *choices, const struct string_list *values,
                         const struct rank_plan *plan, struct err *err);

#endif
