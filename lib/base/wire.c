/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded reading and growing writing of little-endian fields; see wire.h. */
#include "lib/base/wire.h"

#include <stdlib.h>
#include <string.h>

struct wire_text wire_get_text(struct wire_reader *reader)
{
    size_t length = wire_get_u32(reader);
    const char *data = wire_get_bytes(reader, length);
    return data ? (struct wire_text){ data, length } : (struct wire_text){ "", 0 };
}

void wire_get_string(struct wire_reader *reader, char *out, size_t size)
{
    struct wire_text text = wire_get_text(reader);
    if (text.length >= size || memchr(text.data, 0, text.length)) {
        reader->failed = true;
        text.length = 0;
    }
    memcpy(out, text.data, text.length);
    out[text.length] = '\0';
}

bool wire_reader_finished(const struct wire_reader *reader)
{
    return !reader->failed && reader->left == 0;
}

static unsigned char *enlarge(struct wire_writer *writer, size_t capacity)
{
    if (!writer->secret)
        return realloc(writer->data, capacity);
    unsigned char *data = malloc(capacity);
    if (data && writer->length > 0) {
        memcpy(data, writer->data, writer->length);
        explicit_bzero(writer->data, writer->length);
    }
    if (data)
        free(writer->data);
    return data;
}

bool wire_grow(struct wire_writer *writer, size_t more)
{
    if (writer->failed)
        return false;
    if (more <= writer->capacity - writer->length)
        return true;
    size_t capacity = writer->capacity ? writer->capacity : 128;
    while (capacity - writer->length < more && capacity < SIZE_MAX / 2)
        capacity *= 2;
    unsigned char *data = capacity - writer->length < more ? NULL : enlarge(writer, capacity);
    if (!data) {
        writer->failed = true;
        return false;
    }
    writer->data = data;
    writer->capacity = capacity;
    return true;
}

void wire_put_text(struct wire_writer *writer, const char *text, size_t length)
{
    if (length > UINT32_MAX) {
        writer->failed = true;
        return;
    }
    wire_put_u32(writer, (uint32_t)length);
    wire_put_bytes(writer, text, length);
}

void wire_put_string(struct wire_writer *writer, const char *text)
{
    wire_put_text(writer, text, strlen(text));
}

void wire_writer_fini(struct wire_writer *writer)
{
    if (writer->secret && writer->length > 0)
        explicit_bzero(writer->data, writer->length);
    free(writer->data);
    *writer = (struct wire_writer){ 0 };
}
