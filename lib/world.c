/* SPDX-License-Identifier: Apache-2.0 */
/* A world; see world.h. */
#include "lib/world.h"

#include "lib/engine.h"
#include "lib/join/bootstrap.h"
#include "lib/join/news.h"
#include "lib/ring_connect.h"

#include <stdlib.h>

struct world {
    struct seat seat;
    struct failure failure; /* written by the news thread and the engine */
    struct news news;       /* runs unless the world has no rendezvous */
    struct engine engine;
};

static bool has_rendezvous(const struct world *world)
{
    return world->seat.connection.fd >= 0;
}

static int start(struct world *world, struct err *err)
{
    struct ring ring;
    struct seat *seat = &world->seat;
    int rc = ring_connect(&ring, seat, &world->failure, err);
    job_key_wipe(&seat->key); /* has done its work */
    if (rc < 0)
        return rc;
    if (has_rendezvous(world))
        rc = news_start(&world->news, &seat->connection, &world->failure, err);
    if (rc < 0) {
        ring_fini(&ring);
        return rc;
    }
    engine_init(&world->engine, &ring, seat->welcome.place.local_size, &world->failure,
                has_rendezvous(world) ? world->news.wake_fd : -1);
    return HVD_OK;
}

static int join(struct world *world, environment_get_fn *get, struct err *err)
{
    struct environment environment;
    int rc = auth_init(err);
    if (rc == HVD_OK)
        rc = environment_read(&environment, get, err);
    if (rc == HVD_OK)
        rc = bootstrap_join(&world->seat, &environment, err);
    if (rc == HVD_OK)
        rc = start(world, err);
    job_key_wipe(&environment.key);
    return rc;
}

struct world *world_join(environment_get_fn *get, struct err *err)
{
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        fail(err, HVD_ERR_NOMEM, "out of memory");
        return NULL;
    }
    world->seat.connection.fd = world->seat.listener = -1;
    failure_init(&world->failure);
    if (join(world, get, err) == HVD_OK)
        return world;
    seat_fini(&world->seat);
    failure_fini(&world->failure);
    free(world);
    return NULL;
}

const struct place *world_place(const struct world *world)
{
    return &world->seat.welcome.place;
}

bool world_is_homogeneous(const struct world *world)
{
    return world->seat.welcome.homogeneous;
}

int world_run(struct world *world, const struct request *request, struct err *err)
{
    return engine_run(&world->engine, request, err);
}

static void say_goodbye(struct world *world)
{
    struct err reason;
    failure_returned(&world->failure, &reason);
    join_goodbye(&world->seat.connection, world->engine.number, &reason);
}

void world_leave(struct world *world)
{
    if (!world)
        return;
    if (has_rendezvous(world))
        say_goodbye(world);
    engine_fini(&world->engine);
    news_stop(&world->news);
    seat_fini(&world->seat);
    failure_fini(&world->failure);
    free(world);
}
