/* SPDX-License-Identifier: Apache-2.0 */
/* A world that this process belongs to: its place, its links, the thread that listens for news, and
 * the engine. The API shows one; nothing here is global.
 *
 *   join (environment, bootstrap), link up, listen for news; run collectives; leave. */
#ifndef LIB_WORLD_H
#define LIB_WORLD_H

#include "lib/base/place.h"
#include "lib/base/status.h"
#include "lib/join/environment.h"
#include "lib/request.h"

#include <stdbool.h>

struct world;

/* Blocks until all ranks have come. NULL and `err` on failure. */
struct world *world_join(environment_get_fn *get, struct err *err);

const struct place *world_place(const struct world *world);
bool world_is_homogeneous(const struct world *world);

/* Carries out a collective, in the calling thread; by one thread at a time. */
int world_run(struct world *world, const struct request *request, struct err *err);

/* Says goodbye and frees the world. NULL is fine. */
void world_leave(struct world *world);

#endif
