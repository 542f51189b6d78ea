/* SPDX-License-Identifier: Apache-2.0 */
/* Reads hvdrun's stdin, of any kind, on a thread of its own, and only as much as was requested:
 * other bytes stay for the next process that reads the same descriptor. In the background of a
 * terminal the reader waits for the foreground instead of being stopped. All calls and callbacks
 * are made on the loop's thread. */
#ifndef LAUNCHER_OUTPUT_STDIN_READER_H
#define LAUNCHER_OUTPUT_STDIN_READER_H

#include "lib/base/status.h"

#include <stddef.h>
#include <uv.h>

struct stdin_reader;

/* Bytes that were read, borrowed for the call; `length` 0 is the end, once: the end of the file or
 * a read error. */
typedef void (*stdin_read_fn)(void *context, const char *data, size_t length);

/* NULL and `err`: no thread can be created. */
struct stdin_reader *stdin_reader_create(uv_loop_t *loop, int fd, stdin_read_fn on_read,
                                         void *context, struct err *err);

/* Behind the end: the errno of the read error that was taken for it, or 0. Also 0 where that error
 * is usual: a terminal that is gone, and a descriptor that is not for reading, such as nohup(1)
 * makes. */
int stdin_reader_errnum(const struct stdin_reader *reader);

/* Allows `nbytes` more to be read. */
void stdin_reader_want(struct stdin_reader *reader, size_t nbytes);

/* The process has been continued: checks again whether it is in the foreground. */
void stdin_reader_wake(struct stdin_reader *reader);

/* Ends the thread, also inside a read. Freed when the loop has run once more. NULL is fine. */
void stdin_reader_destroy(struct stdin_reader *reader);

#endif
