/* SPDX-License-Identifier: Apache-2.0 */
/* The engine carries out the collectives of a world: its process sets, the tensors in flight, and
 * the progress engine that moves them.
 *
 * A waiting thread runs the progress engine: one such thread moves everything, spins for about as
 * long as a wake-up takes, then sleeps in poll(). The other waiting threads sleep until their
 * handle is done or the progress engine is free. The engine's own thread runs the progress engine
 * when no caller waits. This thread sleeps in poll() without a timeout while there is nothing to
 * do, and does not disturb callers that come back within milliseconds.
 *
 * A rank that has left ends the sets it belonged to. Any other failure breaks the world: every
 * tensor in flight and every later call fails with the same error. A link that breaks is a symptom:
 * for a second the engine waits for the rendezvous or a neighbour to name the cause. */
#ifndef LIB_ENGINE_ENGINE_H
#define LIB_ENGINE_ENGINE_H

#include "lib/base/join_protocol.h"
#include "lib/base/settings.h"
#include "lib/hvd.h"
#include "lib/join/failure.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;
struct linker;
struct submission;

struct engine_options {
    struct settings settings;
    const struct join_welcome *welcome;     /* read by engine_create() only */
    int processors;                         /* that the ranks of this host share */
    const char *host;                       /* of this process */
    const struct join_addresses *addresses; /* of `linker`'s listener; read by engine_create()
                                             * only */
    struct linker *linker;                  /* taken over, also on failure */
    struct failure *failure;                /* borrowed */
    bool elastic;                           /* a lost rank ends the world, not the job */
    int64_t handles; /* generation of the last handle of an earlier world; 0: there was none */
};

/* The engine of a world whose links are still to be made. NULL and `err` on failure. */
struct engine *engine_create(const struct engine_options *options, struct err *err);

/* Borrowed; the caller writes to it (eventfd) when `failure` has changed. */
int engine_wake_fd(const struct engine *engine);

/* Blocks until the links to the neighbours are there and starts the engine's thread. */
int engine_start(struct engine *engine, struct err *err);

/* Fails all tensors in flight with HVD_ERR_SHUT_DOWN, so that waiting threads return. */
void engine_stop(struct engine *engine);

/* To be called when no thread is inside any more: says goodbye to the neighbours, frees everything.
 * NULL is fine. */
void engine_destroy(struct engine *engine);

/* Instead of engine_destroy(): leaves the engine to its thread, which may use it until the process
 * ends. */
void engine_abandon(struct engine *engine);

/* Generation of the last handle that was given out. */
int64_t engine_handles(struct engine *engine);

/* HVD_OK and a handle, or a status: this rank's own mistake, or the failure of the world. */
int engine_submit(struct engine *engine, const struct submission *submission, int64_t *handle,
                  struct err *err);

/* Instead of a timeout in milliseconds. ENGINE_INTERRUPTIBLE is no deadline to the stall inspector,
 * but the wait pauses when a signal has interrupted the sleep of the thread, and after
 * ENGINE_SIGNALS_NS: the call returns ENGINE_PAUSED, and the caller decides whether to wait
 * again. */
enum { ENGINE_FOR_EVER = -1, ENGINE_INTERRUPTIBLE = -2 };
enum { ENGINE_PAUSED = 1 };
#define ENGINE_SIGNALS_NS 250000000ull

/* engine_submit() and engine_wait() in one call. `handle` NULL: waits for ever; else interruptibly,
 * and stores the handle when it returns ENGINE_PAUSED. */
int engine_run(struct engine *engine, const struct submission *submission,
               struct hvd_result *results, int64_t *handle, struct err *err);

/* Like hvd_poll() and hvd_wait_timeout(). `results` may be NULL, or have room for as many as there
 * are tensors. */
int engine_poll(struct engine *engine, int64_t handle, struct err *err);
int engine_wait(struct engine *engine, int64_t handle, int timeout_ms, struct hvd_result *results,
                struct err *err);

/* Like the calls of hvd.h. */
int engine_add_set(struct engine *engine, const int *ranks, int count, struct err *err);
int engine_remove_set(struct engine *engine, int id, struct err *err);
int engine_set_included(struct engine *engine, int id, struct err *err);
int engine_set_rank(struct engine *engine, int id, struct err *err);
int engine_set_size(struct engine *engine, int id, struct err *err);

/* The number among all sets that the world has had, the same on all ranks: an id is reused. */
int engine_set_serial(struct engine *engine, int id, struct err *err);

/* True if a rank of the set has left. Takes no lock until any set has ended. */
bool engine_set_has_ended(struct engine *engine, int id, int serial);

int engine_set_ids(struct engine *engine, int *ids, int capacity);
int engine_set_ranks(struct engine *engine, int id, int *ranks, int capacity, struct err *err);
int engine_start_timeline(struct engine *engine, const char *file, bool mark_cycles,
                          struct err *err);
int engine_stop_timeline(struct engine *engine);

/* Like hvd_bytes_sent(). */
int64_t engine_bytes_sent(struct engine *engine);

/* Reports the status text and the counts of this rank: see report_fn in lib/join/news.h. `arg` is
 * the engine. */
void engine_report(void *arg, struct join_report *report, size_t size);

#endif
