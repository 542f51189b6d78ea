/* SPDX-License-Identifier: Apache-2.0 */
/* Asking hwloc for the places of a machine; see binding_places.h:
 *   load what is needed of the topology, then keep of each place what may be used.
 * Fails when the topology cannot be loaded, or contains no processor that may be used. */
#include "launcher/placement/binding_places.h"

#include "launcher/base/xalloc.h"

#include <errno.h>
#include <stdlib.h>

static const hwloc_obj_type_t types[BINDING_KINDS] = {
    [BIND_CORE] = HWLOC_OBJ_CORE,
    [BIND_SOCKET] = HWLOC_OBJ_PACKAGE,
    [BIND_NUMA] = HWLOC_OBJ_NUMANODE,
};

/* The replacement for a type that the machine does not describe. */
static hwloc_obj_type_t type_of(enum binding_kind kind, hwloc_topology_t topology)
{
    if (hwloc_get_nbobjs_by_type(topology, types[kind]) > 0)
        return types[kind];
    return kind == BIND_CORE ? HWLOC_OBJ_PU : HWLOC_OBJ_MACHINE;
}

static hwloc_bitmap_t to_bitmap(const struct cpu_mask *mask)
{
    hwloc_bitmap_t bitmap = hwloc_bitmap_alloc();
    if (!bitmap || hwloc_bitmap_from_ulongs(bitmap, (unsigned)mask->nwords, mask->words) < 0)
        xalloc_failed();
    return bitmap;
}

static struct cpu_mask to_mask(hwloc_const_bitmap_t bitmap)
{
    size_t nwords = (size_t)hwloc_bitmap_nr_ulongs(bitmap);
    struct cpu_mask mask = { xcalloc(nwords, sizeof *mask.words), nwords };
    hwloc_bitmap_to_ulongs(bitmap, (unsigned)nwords, mask.words);
    return mask;
}

/* The number of cores that have a processor in the set. */
static int count_cores(hwloc_topology_t topology, hwloc_const_bitmap_t cpus)
{
    hwloc_obj_type_t type = type_of(BIND_CORE, topology);
    int count = 0;
    for (hwloc_obj_t core = NULL; (core = hwloc_get_next_obj_by_type(topology, type, core));)
        count += hwloc_bitmap_intersects(core->cpuset, cpus);
    return count;
}

/* `left`: allowed processors that no place has yet. A NUMA node of another kind of memory may have
 * the same cores. */
static void add_place(struct binding_places *places, hwloc_topology_t topology, hwloc_obj_t object,
                      hwloc_bitmap_t left)
{
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    if (!cpus || hwloc_bitmap_and(cpus, object->cpuset, left) < 0 ||
        hwloc_bitmap_andnot(left, left, cpus) < 0)
        xalloc_failed();
    if (!hwloc_bitmap_iszero(cpus))
        places->at[places->count++] = (struct binding_place){
            .number = (int)object->logical_index,
            .ncores = count_cores(topology, cpus),
            .cpus = to_mask(cpus),
        };
    hwloc_bitmap_free(cpus);
}

int binding_places_find(struct binding_places *places, enum binding_kind kind,
                        hwloc_topology_t topology, const struct cpu_mask *own, struct err *err)
{
    hwloc_obj_type_t type = type_of(kind, topology);
    int nobjects = hwloc_get_nbobjs_by_type(topology, type);
    hwloc_bitmap_t left = to_bitmap(own);
    *places = (struct binding_places){ xcalloc((size_t)nobjects + 1, sizeof *places->at), 0 };
    for (hwloc_obj_t object = NULL; (object = hwloc_get_next_obj_by_type(topology, type, object));)
        add_place(places, topology, object, left);
    hwloc_bitmap_free(left);
    if (places->count > 0)
        return HVD_OK;
    binding_places_fini(places);
    return fail(err, HVD_ERR_SYSTEM, "hwloc finds no processor that may be used");
}

/* Includes processors that this process may not use, so that numbers are the machine's. */
static int load(hwloc_topology_t topology)
{
    if (hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) < 0 ||
        hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL) <
            0 ||
        hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
        hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED |
                                               HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING) < 0)
        return -1;
    return hwloc_topology_load(topology);
}

static int read_places(struct binding_places *places, enum binding_kind kind, struct err *err)
{
    hwloc_topology_t topology;
    struct cpu_mask own;
    if (hwloc_topology_init(&topology) < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "hwloc");
    int rc = load(topology);
    if (rc < 0)
        rc = fail_errno(err, HVD_ERR_SYSTEM, errno, "the machine's processors, by hwloc");
    else {
        cpu_mask_own(&own);
        rc = binding_places_find(places, kind, topology, &own, err);
        cpu_mask_fini(&own);
    }
    hwloc_topology_destroy(topology);
    return rc;
}

/* hwloc reports missing files, such as /sys, on stderr, unless this variable forbids it; ranks that
 * use hwloc may want these reports. hvdagent calls this before it has started anything and has one
 * thread then, so nobody reads the environment meanwhile. */
int binding_places_read(struct binding_places *places, enum binding_kind kind, struct err *err)
{
    static const char hide[] = "HWLOC_HIDE_ERRORS";
    bool hidden = !getenv(hide) && setenv(hide, "2", 1) == 0;
    int rc = read_places(places, kind, err);
    if (hidden)
        unsetenv(hide);
    return rc;
}
