/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning and the end of an engine, and its timeline; see engine.h. */
#include "lib/engine/engine.h"

#include "lib/engine/engine_impl.h"
#include "lib/engine/trace.h"
#include "lib/link/shm_method.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAREWELL_MS = 1000 };

/* Set 0 is the world. */
static int make_world(struct engine *engine, struct err *err)
{
    int *ranks = calloc((size_t)engine->size, sizeof *ranks);
    if (!ranks)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    for (int rank = 0; rank < engine->size; rank++)
        ranks[rank] = rank;
    struct process_set *world = set_create(engine, 0, ranks, engine->size, err);
    free(ranks);
    if (!world)
        return err->code;
    if (!sets_put(engine, world)) {
        set_destroy(world);
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    }
    return set_want_links(world, err);
}

/* One thread needs no pool. */
static int make_thread_pool(struct engine *engine, int local_size, struct err *err)
{
    int threads = engine->settings.threads;
    if (threads == 0)
        threads = thread_pool_threads_for(local_size);
    if (threads == 1 || (engine->pool = thread_pool_create(threads)))
        return HVD_OK;
    return fail(err, HVD_ERR_NOMEM, "out of memory");
}

static int open_timeline(struct engine *engine, struct err *err)
{
    const struct settings *settings = &engine->settings;
    if (engine->rank != 0 || !settings->timeline[0])
        return HVD_OK;
    engine->timeline = timeline_open(settings->timeline, settings->timeline_mark_cycles, err);
    return engine->timeline ? HVD_OK : err->code;
}

struct engine *engine_create(const struct engine_options *options, struct err *err)
{
    struct engine *engine = calloc(1, sizeof *engine);
    if (!engine) {
        linker_destroy(options->linker);
        fail(err, HVD_ERR_NOMEM, "out of memory");
        return NULL;
    }
    engine->settings = options->settings;
    engine->rank = options->welcome->rank_info.rank;
    engine->size = options->welcome->rank_info.size;
    engine->local_size = options->welcome->rank_info.local_size;
    engine->own_cache = shm_method_own_cache();
    engine->star = options->welcome->star;
    engine->one_host = engine->local_size == engine->size;
    engine->elastic = options->elastic;
    engine->failure = options->failure;
    engine->linker = options->linker;
    in_flight_init(&engine->in_flight, options->handles);
    sets_init(engine);
    int rc = progress_init(engine, &options->welcome->rank_info, options->processors, err);
    if (rc == HVD_OK)
        rc = open_timeline(engine, err);
    if (rc == HVD_OK)
        rc = make_thread_pool(engine, options->welcome->rank_info.local_size, err);
    if (rc == HVD_OK)
        rc = address_exchange_init(engine, options, err);
    if (rc == HVD_OK)
        rc = make_world(engine, err);
    if (rc == HVD_OK)
        rc = tune_init(engine, options->welcome->rank_info.local_size == engine->size, err);
    if (rc == HVD_OK)
        return engine;
    engine_destroy(engine);
    return NULL;
}

int engine_wake_fd(const struct engine *engine)
{
    return engine->progress.sleep.wake_fd;
}

static bool is_linked(const void *arg)
{
    const struct engine *engine = arg;
    return engine->breakage.broken || engine->sets.at[0]->state == SET_READY;
}

int engine_start(struct engine *engine, struct err *err)
{
    engine_lock(engine);
    progress_until(engine, is_linked, engine, UINT64_MAX);
    counters_start(&engine->counters, monotonic_tick_ns());
    int rc = failure_check(engine->failure, err);
    if (rc == HVD_OK)
        rc = progress_start_thread(engine, err);
    engine_unlock(engine);
    return rc;
}

void engine_stop(struct engine *engine)
{
    struct err reason;
    fail(&reason, HVD_ERR_SHUT_DOWN, "hvd_shutdown has been called");
    engine_lock(engine);
    for (int id = 0; id < engine->sets.count; id++) {
        struct process_set *set = engine->sets.at[id];
        if (!set || set->rank < 0)
            continue;
        set_steady_decline(set);
        set_fail_all(set, &reason);
    }
    progress_stop(engine);
    engine_unlock(engine);
}

/* Work on the devices' queues must still pass; after a while the engine gives up waiting for it. */
static void drain(struct engine *engine)
{
    while (engine_is_draining(engine))
        if (!engine_drain(engine))
            poll(NULL, 0, 1);
}

/* Sends what the trees' links accept now; false when nothing is left. */
static bool send_rest(struct engine *engine)
{
    bool left = false;
    for (int id = 0; id < engine->sets.count; id++) {
        struct process_set *set = engine->sets.at[id];
        if (!set || set->rank < 0)
            continue;
        set_send_rest(set);
        left |= !set_is_flushed(set);
    }
    return left;
}

static void say_farewell(struct engine *engine)
{
    struct rank_end end;
    enum tree_frame farewell = TREE_BROKEN;
    if (failure_reason(engine->failure, &end) == HVD_OK) {
        farewell = TREE_LEFT;
        end = (struct rank_end){ .how.kind = RANK_END_LEFT, .status = HVD_ERR_PEER_LEFT };
        engine_own_end(engine, &end);
    }
    for (int id = 0; id < engine->sets.count; id++)
        if (engine->sets.at[id] && engine->sets.at[id]->rank >= 0)
            set_tell(engine->sets.at[id], farewell, &end);
    uint64_t until_ms = monotonic_ms() + FAREWELL_MS; /* for the kernel to accept the frames */
    while (send_rest(engine) && monotonic_ms() < until_ms)
        poll(NULL, 0, 1);
}

void engine_destroy(struct engine *engine)
{
    if (!engine)
        return;
    if (engine->progress.thread.exists)
        pthread_join(engine->progress.thread.id, NULL);
    if (engine->progress.thread.exists && !engine->breakage.broken)
        say_farewell(engine);
    drain(engine);
    for (int id = 0; id < engine->sets.count; id++)
        set_destroy(engine->sets.at[id]);
    linker_destroy(engine->linker);
    timeline_close(engine->timeline);
    thread_pool_destroy(engine->pool);
    tune_fini(engine);
    in_flight_fini(&engine->in_flight);
    free(engine->group.descriptions);
    sets_fini(engine);
    address_exchange_fini(engine);
    progress_fini(engine);
    free(engine);
}

void engine_abandon(struct engine *engine)
{
    if (engine->progress.thread.exists)
        pthread_detach(engine->progress.thread.id);
}

int64_t engine_handles(struct engine *engine)
{
    engine_lock(engine);
    int64_t generation = engine->in_flight.generation;
    engine_unlock(engine);
    return generation;
}

int64_t engine_bytes_sent(struct engine *engine)
{
    engine_lock(engine);
    int64_t nbytes = (int64_t)engine->bytes_sent;
    engine_unlock(engine);
    return nbytes;
}

/* ---- the timeline ---- */

static void observe_all(struct engine *engine)
{
    for (int id = 0; id < engine->sets.count; id++)
        if (engine->sets.at[id] && engine->sets.at[id]->rank >= 0)
            trace_observe(engine->sets.at[id]);
}

/* Writes the kept events of the previous timeline first: it may be the same file. */
static int replace_timeline(struct engine *engine, const char *file, bool mark_cycles,
                            struct err *err)
{
    timeline_flush(engine->timeline);
    struct timeline *timeline = file ? timeline_open(file, mark_cycles, err) : NULL;
    if (file && !timeline)
        return err->code;
    struct timeline *before = engine->timeline;
    engine->timeline = timeline;
    observe_all(engine);
    timeline_close(before);
    return HVD_OK;
}

int engine_start_timeline(struct engine *engine, const char *file, bool mark_cycles,
                          struct err *err)
{
    if (engine->rank != 0)
        return HVD_OK;
    engine_lock(engine);
    int rc = replace_timeline(engine, file, mark_cycles, err);
    engine_unlock(engine);
    return rc;
}

int engine_stop_timeline(struct engine *engine)
{
    engine_lock(engine);
    int rc = replace_timeline(engine, NULL, false, NULL);
    engine_unlock(engine);
    return rc;
}

int engine_context(enum collective_kind kind, const char *name, struct err *err)
{
    char label[REQUEST_LABEL];
    return fail_context(err, "%s", request_label(label, kind, name));
}
