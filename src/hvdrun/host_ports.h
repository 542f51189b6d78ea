/* SPDX-License-Identifier: Apache-2.0 */
/* Has --port-range a port for each rank of a host? Pure. */
#ifndef SRC_HVDRUN_HOST_PORTS_H
#define SRC_HVDRUN_HOST_PORTS_H

#include "launcher/placement/rank_plan.h"
#include "lib/base/status.h"

/* Each rank listens on one port, the same one on all its networks, and ranks of a host do not
 * share it. HVD_ERR_INVALID when `range`, "A-B", which has been checked and comes from `source`,
 * has fewer ports than the plan has ranks on some host. Whether the ports are free, whether two
 * names mean one machine, and whether the range is enough for a host that an elastic job finds
 * later, only the ranks find out. */
int host_ports_check(const char *range, const char *source, const struct rank_plan *plan,
                     struct err *err);

#endif
