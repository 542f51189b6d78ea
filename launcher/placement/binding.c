/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of binding; see binding.h. Fails when a core, socket or node would get more ranks
 * than it has cores. */
#include "launcher/placement/binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The words on the command line and in messages. */
static const char *const words[BINDING_KINDS] = { "none", "core", "socket", "numa" };
static const char *const names[BINDING_KINDS] = { "nothing", "core", "socket", "NUMA node" };

struct binding binding_of(int bind_to)
{
    static const struct binding bindings[BIND_TO_COUNT] = {
        [BIND_TO_NONE] = { BIND_NONE, false },
        [BIND_TO_CORE] = { BIND_CORE, false },
        [BIND_TO_SOCKET] = { BIND_SOCKET, false },
        [BIND_TO_NUMA] = { BIND_NUMA, false },
        [BIND_TO_CORE_OVERLOAD] = { BIND_CORE, true },
        [BIND_TO_SOCKET_OVERLOAD] = { BIND_SOCKET, true },
        [BIND_TO_NUMA_OVERLOAD] = { BIND_NUMA, true },
    };
    return bindings[bind_to];
}

const struct binding_place *binding_place_for(const struct binding_places *places, int local_rank)
{
    return &places->at[local_rank % places->count];
}

static int binding_refuse(enum binding_kind kind, const char *where, int nranks, int ncores,
                          struct err *err)
{
    return fail(err, HVD_ERR_INVALID,
                "--bind-to %s: %d ranks%s, but %d core%s (%s:overload-allowed binds them even so)",
                words[kind], nranks, where, ncores, ncores == 1 ? "" : "s", words[kind]);
}

int binding_check(struct binding binding, const struct binding_places *places, int nranks,
                  struct err *err)
{
    char where[40];
    if (binding.overload || binding.kind == BIND_NONE)
        return HVD_OK;
    if (binding.kind == BIND_CORE)
        return nranks <= places->count ? HVD_OK
                                       : binding_refuse(BIND_CORE, "", nranks, places->count, err);
    for (int i = 0; i < places->count; i++) {
        const struct binding_place *place = &places->at[i];
        int here = nranks / places->count + (i < nranks % places->count);
        snprintf(where, sizeof where, " for %s %d", names[binding.kind], place->number);
        if (here > place->ncores)
            return binding_refuse(binding.kind, where, here, place->ncores, err);
    }
    return HVD_OK;
}

/* Appends as much as fits. */
static void binding_append(char *text, size_t size, const char *more)
{
    size_t length = strlen(text);
    snprintf(text + length, size - length, "%s", more);
}

void binding_text(char *text, size_t size, enum binding_kind kind,
                  const struct binding_place *place)
{
    char range[48];
    if (!place) {
        snprintf(text, size, "not bound");
        return;
    }
    snprintf(text, size, "bound to %s %d (cpu%s", names[kind], place->number,
             cpu_mask_count(&place->cpus) == 1 ? "" : "s");
    const char *before = " ";
    for (int cpu = 0, end; cpu_mask_next(&place->cpus, &cpu, &end); cpu = end, before = ",") {
        if (end - cpu == 1)
            snprintf(range, sizeof range, "%s%d", before, cpu);
        else
            snprintf(range, sizeof range, "%s%d-%d", before, cpu, end - 1);
        binding_append(text, size, range);
    }
    binding_append(text, size, ")");
}

void binding_places_fini(struct binding_places *places)
{
    for (int i = 0; i < places->count; i++)
        cpu_mask_fini(&places->at[i].cpus);
    free(places->at);
    *places = (struct binding_places){ 0 };
}
