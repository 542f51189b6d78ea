/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that grow at the end: output on its way to a file, or a table or help text under
 * construction. Any bytes, not terminated. Never fails: see xalloc.h. */
#ifndef LAUNCHER_BASE_TEXT_BUFFER_H
#define LAUNCHER_BASE_TEXT_BUFFER_H

#include <stddef.h>

struct text_buffer {
    char *data; /* owned; NULL while nothing was put */
    size_t length;
    size_t capacity;
};

/* All zero is an empty buffer, too. */
void text_buffer_init(struct text_buffer *buffer);
void text_buffer_fini(struct text_buffer *buffer);

/* Makes room for `nbytes` more and returns their address; the caller adds to `length` what it
 * wrote. For loops that append often. */
char *text_buffer_reserve(struct text_buffer *buffer, size_t nbytes);

void text_buffer_put(struct text_buffer *buffer, const void *data, size_t nbytes);
void text_buffer_put_string(struct text_buffer *buffer, const char *text);
void text_buffer_printf(struct text_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Removes the first `nbytes` bytes, for instance after writing them; keeps the memory. */
void text_buffer_consume(struct text_buffer *buffer, size_t nbytes);

/* The bytes as a terminated string, owned by the caller (free()); empties the buffer. */
char *text_buffer_take(struct text_buffer *buffer);

#endif
