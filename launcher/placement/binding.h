/* SPDX-License-Identifier: Apache-2.0 */
/* The processors to which the ranks of a host are bound: the words on a command line, and the
 * arithmetic, which is mpirun's. Pure.
 *
 * A host has places (cores, sockets or NUMA nodes) of the requested kind, in the machine's order,
 * as far as its agent may use them. Local rank 0 gets the first place, rank 1 the second, and after
 * the last place the first comes again. No place may get more ranks than it has cores, unless that
 * is allowed. */
#ifndef LAUNCHER_PLACEMENT_BINDING_H
#define LAUNCHER_PLACEMENT_BINDING_H

#include "launcher/base/cpu_mask.h"
#include "launcher/base/rank_attributes.h"
#include "lib/base/status.h"

#include <stdbool.h>

enum binding_kind { BIND_NONE, BIND_CORE, BIND_SOCKET, BIND_NUMA, BINDING_KINDS };

struct binding {
    enum binding_kind kind;
    bool overload; /* a place may get more ranks than it has cores */
};

/* `bind_to` is an enum bind_to. */
struct binding binding_of(int bind_to);

/* A core, a socket, or a NUMA node, or the part of it that may be used. */
struct binding_place {
    int number; /* on the machine, also where only a part may be used */
    int ncores;
    struct cpu_mask cpus; /* owned */
};

struct binding_places {
    struct binding_place *at; /* owned */
    int count;
};

/* Finds the places of this kind, not BIND_NONE, of this machine that this process may use. */
typedef int binding_places_fn(struct binding_places *places, enum binding_kind kind,
                              struct err *err);

/* The place where a rank runs. There must be a place. */
const struct binding_place *binding_place_for(const struct binding_places *places, int local_rank);

/* HVD_OK if `nranks` ranks have room; else HVD_ERR_INVALID, "--bind-to core: 3 ranks, but 2 cores"
 * or "--bind-to socket: 5 ranks for socket 0, but 4 cores", and a remedy. */
int binding_check(struct binding binding, const struct binding_places *places, int nranks,
                  struct err *err);

/* "bound to core 1 (cpu 1)", "bound to socket 0 (cpus 0-3,8-11)"; cut off where it does not fit.
 * Without a place "not bound". */
void binding_text(char *text, size_t size, enum binding_kind kind,
                  const struct binding_place *place);

void binding_places_fini(struct binding_places *places);

#endif
