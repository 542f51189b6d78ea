/* SPDX-License-Identifier: Apache-2.0 */
/* The destinations of the ranks' output: prefixed lines on hvdrun's stdout and stderr, and files if
 * requested.
 *
 * In an elastic job `rank` is the number of a worker in all functions but job_output_set_rank(),
 * and workers are added and forgotten. Prefix and file are those of the rank that the worker has at
 * the time. All workers that have one rank, one after the other, write to the same file.
 *
 * A rank may have STREAM_WINDOW bytes of each stream under way. They are given back as credit when
 * the lines made of them have been written, so that a slow reader slows the ranks down and memory
 * stays bounded.
 *
 * Output that cannot be written is reported once per destination and sets the job's status: 141 for
 * a reader of stdout that went away, 74 for any other lost output. */
#ifndef LAUNCHER_OUTPUT_JOB_OUTPUT_H
#define LAUNCHER_OUTPUT_JOB_OUTPUT_H

#include "launcher/protocol/agent_protocol.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct job_output;

struct job_output_options {
    int nranks;            /* in an elastic job: ranks whose files are created at once */
    bool elastic;          /* it has no rank until job_output_add() */
    int size_max;          /* of an elastic job: its ranks have the digits of a job of this size */
    const char *directory; /* of the files, or NULL */
    bool timestamps;
    bool keep_lines;                   /* keep all lines that job_output_last_lines() may return */
    bool stdout_closed, stderr_closed; /* hvdrun was started without them */
};

struct job_output_events {
    /* `nbytes` of a stream have been written or dropped. */
    void (*on_credit)(void *context, int rank, enum output_stream stream, uint32_t nbytes);

    /* The reader of hvdrun's stdout has closed it. */
    void (*on_reader_gone)(void *context);

    /* Everything has been written, after job_output_finish(). */
    void (*on_finished)(void *context);
};

/* Creates the files. NULL and `err` naming the file when one cannot be created. */
struct job_output *job_output_create(uv_loop_t *loop, const struct job_output_options *options,
                                     const struct job_output_events *events, void *context,
                                     struct err *err);

/* Takes what output needs, so that nothing is lacking from now on. Called before a rank starts:
 * ranks may use up all threads that a user may have (ulimit -u), and what they say then must come
 * out. */
void job_output_prepare(struct job_output *output);

/* Elastic jobs: adds a worker, with the next number. */
void job_output_add(struct job_output *output, int worker, int rank);

/* Elastic jobs: the worker has another rank from now on. Its file is created if no other worker has
 * had that rank; if it cannot be created, a line says so, and its output is lost. */
void job_output_set_rank(struct job_output *output, int worker, int rank);

/* Elastic jobs: nothing comes from the worker any more. The last lines of the workers that were
 * forgotten last are kept, up to this number. */
enum { JOB_OUTPUT_FORGOTTEN = 32 };
void job_output_forget(struct job_output *output, int worker);

/* Adds bytes of a stream; ends a stream. */
void job_output_take(struct job_output *output, int rank, enum output_stream stream,
                     const char *data, size_t length);
void job_output_end(struct job_output *output, int rank, enum output_stream stream);

/* Prints a line of hvdrun's own on stderr, with "hvdrun: " before it; never in the middle of a
 * rank's line. */
void job_output_say(struct job_output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Shows a line without an end on hvdrun's stderr, a terminal, until other output or another line
 * replaces it; "" for none. */
void job_output_status(struct job_output *output, const char *line);

/* For another writer to hvdrun's stdout or stderr: has the last line there no end yet? The call
 * assumes that the writer ends the line. */
bool job_output_is_amid_line(const struct job_output *output, enum output_stream stream);
void job_output_line_ended(struct job_output *output, enum output_stream stream);

/* The last line that a rank wrote to stderr; see last_line_text(). */
const char *job_output_last_line(struct job_output *output, int rank);

/* Does that line stand right above the next message? */
bool job_output_shows_last_line(const struct job_output *output, int rank);

/* The last lines of a rank in the form of last_lines_text(), which the caller frees: those on
 * stderr, or, if there are none, those on stdout. */
char *job_output_last_lines(const struct job_output *output, int rank, bool *on_stdout);

/* The last lines of one stream of a rank in the form of last_lines_tail(), which the caller frees.
 * Without `keep_lines` all streams together keep at most JOB_OUTPUT_KEPT bytes, which is 8 KiB of
 * each with 1 000 ranks. */
enum { JOB_OUTPUT_KEPT = 64 << 20, JOB_OUTPUT_TAIL_LINES = 20 };
char *job_output_tail(const struct job_output *output, int rank, enum output_stream stream,
                      size_t nbytes);

/* Calls on_finished() once everything is written. */
void job_output_finish(struct job_output *output);

/* Nobody waits for the output much longer: output that was queued at the last call and is not
 * written yet is dropped, and so is all later output. */
void job_output_discard(struct job_output *output);

/* True if some output was lost. */
bool job_output_lost(const struct job_output *output);

/* Drops what is not written. Freed when the loop has run once more. NULL is fine. */
void job_output_destroy(struct job_output *output);

#endif
