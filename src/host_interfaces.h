/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of --network-interfaces concerns which host. Pure.
 *
 *   eth0,10.0.0.0/8,node7=ib0      node7 uses ib0, all others eth0 and 10.0.0.0/8 */
#ifndef SRC_HOST_INTERFACES_H
#define SRC_HOST_INTERFACES_H

#include "launcher/rank_plan.h"
#include "launcher/string_list.h"
#include "lib/base/status.h"

/* Adds, for each host of the plan, its choice as lib/base/interfaces.h takes it, "" for any.
 * HVD_ERR_INVALID when a host is named that the job does not have, or a choice is too long. */
int host_interfaces_make(struct string_list *choices, const struct string_list *items,
                         const struct rank_plan *plan, struct err *err);

#endif
