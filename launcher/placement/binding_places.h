/* SPDX-License-Identifier: Apache-2.0 */
/* The cores, sockets and NUMA nodes of this machine, by hwloc. */
#ifndef LAUNCHER_PLACEMENT_BINDING_PLACES_H
#define LAUNCHER_PLACEMENT_BINDING_PLACES_H

#include "launcher/placement/binding.h"

#include <hwloc.h>

/* The places of this kind, not BIND_NONE, that contain processors of `own`; numbered as hwloc does.
 * A machine that does not describe its cores has one for each processor, a machine that does not
 * describe its sockets has one socket. HVD_ERR_SYSTEM when no place is left. */
int binding_places_find(struct binding_places *places, enum binding_kind kind,
                        hwloc_topology_t topology, const struct cpu_mask *own, struct err *err);

/* As above for this machine and this process. Takes some milliseconds. */
binding_places_fn binding_places_read;

#endif
