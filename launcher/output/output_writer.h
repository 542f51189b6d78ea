/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to descriptors that may block, on a thread of its own: a terminal that was stopped, a pipe
 * whose reader is slow, a file on a dead server. The blocking mode of a descriptor belongs to all
 * processes that share it, so the writer leaves the mode as it is.
 *
 * All calls and callbacks are made on the loop's thread. */
#ifndef LAUNCHER_OUTPUT_OUTPUT_WRITER_H
#define LAUNCHER_OUTPUT_OUTPUT_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct output_writer;
struct output_sink;

struct output_writer_events {
    /* Bytes were written: output_writer_pending() has become smaller. */
    void (*on_progress)(void *context);

    /* A sink cannot be written any more, because of `errnum`. Its queued bytes count as pending
     * until this returns; these and all later bytes of the sink are dropped. Called once per
     * sink. */
    void (*on_broken)(void *context, struct output_sink *sink, int errnum);
};

struct output_writer *
output_writer_create(uv_loop_t *loop, const struct output_writer_events *events, void *context);

/* Starts the thread, unless it runs or has ended. The first output_sink_write() does so too.
 * Whoever cannot do without output later calls this while a thread can still be had: it ends the
 * process if there is none. */
void output_writer_start(struct output_writer *writer);

/* Adds a destination. `fd` stays open until output_writer_destroy(), which closes it if `owned`. */
struct output_sink *output_sink_add(struct output_writer *writer, int fd, const char *name,
                                    bool owned);

/* Queues a copy. Never blocks. */
void output_sink_write(struct output_sink *sink, const void *data, size_t length);

/* The name given to output_sink_add(). */
const char *output_sink_name(const struct output_sink *sink);

/* Bytes of all sinks that are queued and not written. */
size_t output_writer_pending(struct output_writer *writer);

/* Are bytes still pending that were pending at the last call? Bytes queued since are not late. */
bool output_writer_is_late(struct output_writer *writer);

/* Makes on_progress() be called soon, even without progress. */
void output_writer_poke(struct output_writer *writer);

/* Ends the thread, also in the middle of a write that blocks. Nothing is pending then, nor ever
 * again. */
void output_writer_drop(struct output_writer *writer);

/* Ends the thread, also in the middle of a write that blocks, and drops pending bytes. The writer
 * is freed when the loop has run once more. */
void output_writer_destroy(struct output_writer *writer);

#endif
