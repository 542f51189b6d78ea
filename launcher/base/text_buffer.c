/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that grow at the end; see text_buffer.h. The capacity doubles, so that appending costs the
 * same per byte at any size. */
#include "launcher/base/text_buffer.h"

#include "launcher/base/xalloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_buffer_init(struct text_buffer *buffer)
{
    *buffer = (struct text_buffer){ 0 };
}

void text_buffer_fini(struct text_buffer *buffer)
{
    free(buffer->data);
    text_buffer_init(buffer);
}

static void text_buffer_grow(struct text_buffer *buffer, size_t nbytes)
{
    size_t wanted = buffer->length + nbytes;
    size_t doubled = buffer->capacity * 2;
    buffer->capacity = wanted > doubled ? wanted : doubled;
    if (buffer->capacity < 64)
        buffer->capacity = 64;
    buffer->data = xrealloc(buffer->data, buffer->capacity);
}

char *text_buffer_reserve(struct text_buffer *buffer, size_t nbytes)
{
    if (!buffer->data || nbytes > buffer->capacity - buffer->length)
        text_buffer_grow(buffer, nbytes);
    return buffer->data + buffer->length;
}

void text_buffer_put(struct text_buffer *buffer, const void *data, size_t nbytes)
{
    if (nbytes == 0)
        return;
    memcpy(text_buffer_reserve(buffer, nbytes), data, nbytes);
    buffer->length += nbytes;
}

void text_buffer_put_string(struct text_buffer *buffer, const char *text)
{
    text_buffer_put(buffer, text, strlen(text));
}

void text_buffer_printf(struct text_buffer *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = NULL;
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        xalloc_failed();
    text_buffer_put(buffer, text, (size_t)length);
    free(text);
}

void text_buffer_consume(struct text_buffer *buffer, size_t nbytes)
{
    if (nbytes == 0)
        return;
    buffer->length -= nbytes;
    memmove(buffer->data, buffer->data + nbytes, buffer->length);
}

char *text_buffer_take(struct text_buffer *buffer)
{
    text_buffer_put(buffer, "", 1);
    char *text = buffer->data;
    text_buffer_init(buffer);
    return text;
}
