/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of the library: Chrome trace events in a file that is valid JSON at any time: an
 * array whose closing bracket is overwritten by the next event.
 *
 * Each tensor is a "process" with the tensor's name and has nested spans (begin, end) and instants,
 * in microseconds since the start. Events are kept in memory and written together, when there are
 * many or timeline_flush() is called; there is no thread. When a write fails, the timeline ends
 * with one warning (lib/base/log.h); collectives go on.
 *
 * Fails with HVD_ERR_SYSTEM, naming the file, when the file cannot be opened, and with
 * HVD_ERR_NOMEM. */
#ifndef LIB_TIMELINE_TIMELINE_H
#define LIB_TIMELINE_TIMELINE_H

#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timeline;

/* Every function below accepts NULL for the timeline and then does nothing; this check is the only
 * cost without a timeline. Only writing may block. No function is thread-safe. */
struct timeline *timeline_open(const char *file, bool mark_cycles, struct err *err);
void timeline_close(struct timeline *timeline);
const char *timeline_file(const struct timeline *timeline);

/* A span on `tensor` (any bytes; escaped) begins; the last span that began there ends. Names such
 * as "NEGOTIATE_ALLREDUCE" are literals. An end without a beginning is left out. */
void timeline_begin(struct timeline *timeline, const char *tensor, const char *span);
void timeline_end(struct timeline *timeline, const char *tensor);

/* True if there is a span on `tensor` that has not ended. */
bool timeline_is_open(struct timeline *timeline, const char *tensor);

/* Ends a span with args: "dtype", "shape", "bytes", "algorithm"; NULL and 0 leave one out. */
struct timeline_args {
    const char *dtype, *shape, *algorithm;
    uint64_t nbytes;
};
void timeline_end_with(struct timeline *timeline, const char *tensor,
                       const struct timeline_args *args);

/* Rank `rank` is ready for `tensor`: an event of no duration, named by the rank. */
void timeline_ready(struct timeline *timeline, const char *tensor, int rank);

/* "CYCLE_START", if asked for. */
void timeline_mark_cycle(struct timeline *timeline);

/* Writes the kept events; to be called when there is nothing else to do. */
void timeline_flush(struct timeline *timeline);

#endif
