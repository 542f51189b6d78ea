/* SPDX-License-Identifier: Apache-2.0 */
/* A world that this process belongs to: the rank info, the thread that reads news, and the engine.
 * The public API has one world; nothing in this file is global.
 *
 *   join (environment, bootstrap), listen for news, link up; collectives; stop; leave. */
#ifndef LIB_WORLD_H
#define LIB_WORLD_H

#include "lib/base/rank_info.h"
#include "lib/base/status.h"
#include "lib/engine/engine.h"
#include "lib/join/environment.h"

#include <stdbool.h>

struct world;

/* What a process keeps from one world to the next. */
struct world_past {
    uint32_t epoch;  /* the first that it may join */
    int worker;      /* its number, which the rendezvous has told; -1: none yet */
    int64_t handles; /* generation of the last handle (lib/engine/in_flight.h) */
};

/* Blocks until all ranks have come. Notes in `past` that the process has been in this epoch, also
 * when a later step fails. NULL and `err` on failure. */
struct world *world_join(environment_get_fn *get, struct world_past *past, struct err *err);

const struct rank_info *world_rank_info(const struct world *world);
bool world_is_homogeneous(const struct world *world);
int world_epoch(const struct world *world);
bool world_is_broken(const struct world *world);

/* As hvd_hosts_updated(). */
int world_hosts_updated(const struct world *world);
struct engine *world_engine(struct world *world);

/* world_stop() fails all collectives in flight. When no thread is inside any more, world_leave()
 * says goodbye, notes the last handle in `past` and frees the world. */
void world_stop(struct world *world);
void world_leave(struct world *world, struct world_past *past);

#endif
