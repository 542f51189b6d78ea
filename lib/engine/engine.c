/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning and the end of an engine, and what is asked of a handle; see engine.h. */
#include "lib/engine/engine.h"

#include "lib/engine/engine_impl.h"
#include "lib/engine/trace.h"
#include "lib/join/quiet_thread.h"
#include "lib/link/descriptor.h"
#include "lib/link/socket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { SPIN_NS = 50000, RANKS_PER_PROCESSOR_MAX = 4, FAREWELL_MS = 1000 };

/* Who spins yields, so it costs little as long as there are few others; with many, the one that is
 * waited for comes late. How many processors this process may use does not tell: ranks that are
 * bound to one each have one to themselves. */
static uint64_t choose_spin(int local_size)
{
    return local_size > RANKS_PER_PROCESSOR_MAX * sysconf(_SC_NPROCESSORS_ONLN) ? 0 : SPIN_NS;
}

static void init_locks(struct engine *engine)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&engine->lock, NULL);
    pthread_mutex_init(&engine->adding, NULL);
    pthread_cond_init(&engine->changed, &attributes);
    pthread_cond_init(&engine->rest, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void name_peers(struct engine *engine, const struct engine_options *options)
{
    const struct join_welcome *welcome = options->welcome;
    engine->self.rank = engine->rank;
    snprintf(engine->self.host, sizeof engine->self.host, "%s", options->host);
    engine->self.addresses = *options->addresses;
    engine->nneighbours = welcome->nneighbours;
    memcpy(engine->neighbours, welcome->neighbours, sizeof engine->neighbours);
}

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
    return set_want_links(world, engine->neighbours, engine->nneighbours, err);
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
    init_locks(engine);
    engine->settings = options->settings;
    engine->rank = options->welcome->place.rank;
    engine->size = options->welcome->place.size;
    engine->failure = options->failure;
    engine->linker = options->linker;
    engine->spin_ns = choose_spin(options->welcome->place.local_size);
    engine->wake_fd = descriptor_event();
    name_peers(engine, options);
    int rc = engine->wake_fd < 0 ? fail_errno(err, HVD_ERR_SYSTEM, errno, "eventfd")
                                 : open_timeline(engine, err);
    if (rc == HVD_OK)
        rc = make_world(engine, err);
    if (rc == HVD_OK)
        return engine;
    engine_destroy(engine);
    return NULL;
}

int engine_wake_fd(const struct engine *engine)
{
    return engine->wake_fd;
}

static bool is_linked(const void *arg)
{
    const struct engine *engine = arg;
    return engine->broken || engine->sets[0]->state == SET_READY;
}

int engine_start(struct engine *engine, struct err *err)
{
    pthread_mutex_lock(&engine->lock);
    drive_until(engine, is_linked, engine, UINT64_MAX);
    int rc = failure_check(engine->failure, err);
    pthread_mutex_unlock(&engine->lock);
    if (rc < 0)
        return rc;
    int error = quiet_thread_start(&engine->thread, "hvd-engine", drive_thread, engine);
    if (error)
        return fail_errno(err, HVD_ERR_SYSTEM, error, "start the engine's thread");
    engine->has_thread = true;
    return HVD_OK;
}

void engine_stop(struct engine *engine)
{
    struct err reason;
    fail(&reason, HVD_ERR_SHUT_DOWN, "hvd_shutdown has been called");
    pthread_mutex_lock(&engine->lock);
    engine->stopping = true;
    for (int id = 0; id < engine->sets_count; id++)
        if (engine->sets[id] && engine->sets[id]->rank >= 0)
            set_fail_all(engine->sets[id], &reason);
    pthread_cond_broadcast(&engine->changed);
    pthread_cond_signal(&engine->rest);
    eventfd_write(engine->wake_fd, 1);
    pthread_mutex_unlock(&engine->lock);
}

/* What was put on devices' queues still has to pass; it is given up after a while. */
static void drain(struct engine *engine)
{
    while (engine_is_draining(engine))
        if (!engine_drain(engine))
            poll(NULL, 0, 1);
}

/* What was said last still has to reach the kernel. */
static void flush(struct engine *engine)
{
    uint64_t until_ms = monotonic_ms() + FAREWELL_MS;
    while (engine_send_rest(engine) && monotonic_ms() < until_ms)
        poll(NULL, 0, 1);
}

static void say_farewell(struct engine *engine)
{
    struct err reason;
    enum tree_frame farewell = TREE_BROKEN;
    if (failure_check(engine->failure, &reason) == HVD_OK) {
        farewell = TREE_LEFT;
        fail(&reason, HVD_ERR_PEER_LEFT, "rank %d on %s left (hvd_shutdown)", engine->rank,
             engine->self.host);
    }
    for (int id = 0; id < engine->sets_count; id++)
        if (engine->sets[id] && engine->sets[id]->rank >= 0)
            set_tell(engine->sets[id], farewell, &reason);
    flush(engine);
}

void engine_destroy(struct engine *engine)
{
    if (!engine)
        return;
    if (engine->has_thread)
        pthread_join(engine->thread, NULL);
    if (engine->has_thread && !engine->broken)
        say_farewell(engine);
    drain(engine);
    for (int id = 0; id < engine->sets_count; id++)
        set_destroy(engine->sets[id]);
    linker_destroy(engine->linker);
    timeline_close(engine->timeline);
    flight_fini(&engine->flight);
    descriptor_close(engine->wake_fd);
    free(engine->sets);
    free(engine->free_ids);
    free(engine->peers);
    free(engine->fds[0]);
    free(engine->fds[1]);
    pthread_cond_destroy(&engine->changed);
    pthread_cond_destroy(&engine->rest);
    pthread_mutex_destroy(&engine->adding);
    pthread_mutex_destroy(&engine->lock);
    free(engine);
}

/* ---- handles ---- */

static bool is_done(const void *arg)
{
    const struct ticket *ticket = arg;
    return ticket->missing == 0;
}

static struct ticket *find_ticket(struct engine *engine, int64_t handle, struct err *err)
{
    struct ticket *ticket = flight_find(&engine->flight, handle);
    if (!ticket)
        fail(err, HVD_ERR_INVALID, "there is no handle %lld, or it was waited for already",
             (long long)handle);
    return ticket;
}

int engine_poll(struct engine *engine, int64_t handle, struct err *err)
{
    pthread_mutex_lock(&engine->lock);
    const struct ticket *ticket = find_ticket(engine, handle, err);
    if (ticket && ticket->missing > 0 && engine->driver != A_CALLER)
        engine_move(engine);
    int done = ticket ? is_done(ticket) : err->code;
    drive_wake(engine);
    pthread_mutex_unlock(&engine->lock);
    return done;
}

/* Hands the results to the caller, or frees what nobody asks for. */
static int collect(struct engine *engine, struct ticket *ticket, struct hvd_result *results,
                   struct err *err)
{
    bool failed = ticket->err.code != HVD_OK;
    if (failed)
        *err = ticket->err;
    for (int i = 0; i < ticket->count; i++) {
        if (!results || failed)
            hvd_result_free(&ticket->results[i]);
        if (results)
            results[i] = ticket->results[i];
    }
    int rc = ticket->err.code;
    flight_release(&engine->flight, ticket);
    return rc;
}

static int wait(struct engine *engine, struct ticket *ticket, int timeout_ms,
                struct hvd_result *results, struct err *err)
{
    uint64_t deadline =
        timeout_ms < 0 ? UINT64_MAX : monotonic_ns() + (uint64_t)timeout_ms * 1000000;
    if (ticket->awaited)
        return fail(err, HVD_ERR_INVALID, "another thread waits for this handle");
    if (timeout_ms == 0 && engine->driver != A_CALLER)
        engine_move(engine);
    ticket->awaited = true;
    bool done = drive_until(engine, is_done, ticket, deadline);
    ticket->awaited = false;
    if (!done)
        return fail(err, HVD_ERR_TIMEOUT, "not done within %d ms", timeout_ms);
    return collect(engine, ticket, results, err);
}

int engine_wait(struct engine *engine, int64_t handle, int timeout_ms, struct hvd_result *results,
                struct err *err)
{
    pthread_mutex_lock(&engine->lock);
    struct ticket *ticket = find_ticket(engine, handle, err);
    int rc = ticket ? wait(engine, ticket, timeout_ms, results, err) : err->code;
    drive_wake(engine);
    pthread_mutex_unlock(&engine->lock);
    return rc;
}

int64_t engine_bytes_sent(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    int64_t nbytes = (int64_t)engine->bytes_sent;
    pthread_mutex_unlock(&engine->lock);
    return nbytes;
}

/* ---- the timeline ---- */

static void observe_all(struct engine *engine)
{
    for (int id = 0; id < engine->sets_count; id++)
        if (engine->sets[id] && engine->sets[id]->rank >= 0)
            trace_observe(engine->sets[id]);
}

/* What the one before has kept is written first: it may be the same file. */
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
    pthread_mutex_lock(&engine->lock);
    int rc = replace_timeline(engine, file, mark_cycles, err);
    pthread_mutex_unlock(&engine->lock);
    return rc;
}

int engine_stop_timeline(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    int rc = replace_timeline(engine, NULL, false, NULL);
    pthread_mutex_unlock(&engine->lock);
    return rc;
}

int engine_context(const struct engine *engine, enum collective_kind kind, const char *name,
                   struct err *err)
{
    char label[REQUEST_LABEL];
    return fail_context(err, "rank %d on %s: %s", engine->rank, engine->self.host,
                        request_label(label, kind, name));
}

void engine_note_done(struct engine *engine, const struct tensor *tensor)
{
    engine->last_done_kind = tensor->description.kind;
    memcpy(engine->last_done, tensor->name, strlen(tensor->name) + 1);
    engine->last_done_ns = monotonic_ns();
}
