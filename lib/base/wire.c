/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded reading and growing writing of little-endian fields; see wire.h. */
#include "lib/base/wire.h"

#include <stdlib.h>
#include <string.h>

void wire_reader_init(struct wire_reader *reader, const void *data, size_t length)
{
    *reader = (struct wire_reader){ .at = data, .left = length };
}

const void *wire_get_bytes(struct wire_reader *reader, size_t length)
{
    if (reader->failed || length > reader->left) {
        reader->failed = true;
        return NULL;
    }
    const unsigned char *at = reader->at;
    if (length > 0)
        reader->at += length;
    reader->left -= length;
    return at;
}

static uint64_t get_integer(struct wire_reader *reader, unsigned nbytes)
{
    const unsigned char *at = wire_get_bytes(reader, nbytes);
    uint64_t value = 0;
    for (unsigned i = 0; at && i < nbytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

uint8_t wire_get_u8(struct wire_reader *reader)
{
    return (uint8_t)get_integer(reader, 1);
}
uint16_t wire_get_u16(struct wire_reader *reader)
{
    return (uint16_t)get_integer(reader, 2);
}
uint32_t wire_get_u32(struct wire_reader *reader)
{
    return (uint32_t)get_integer(reader, 4);
}
uint64_t wire_get_u64(struct wire_reader *reader)
{
    return get_integer(reader, 8);
}
int32_t wire_get_i32(struct wire_reader *reader)
{
    return (int32_t)wire_get_u32(reader);
}

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

static bool reserve(struct wire_writer *writer, size_t more)
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

void wire_put_bytes(struct wire_writer *writer, const void *data, size_t length)
{
    if (length == 0 || !reserve(writer, length))
        return;
    memcpy(writer->data + writer->length, data, length);
    writer->length += length;
}

static void put_integer(struct wire_writer *writer, uint64_t value, unsigned nbytes)
{
    unsigned char bytes[8];
    for (unsigned i = 0; i < nbytes; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    wire_put_bytes(writer, bytes, nbytes);
}

void wire_put_u8(struct wire_writer *writer, uint8_t value)
{
    put_integer(writer, value, 1);
}
void wire_put_u16(struct wire_writer *writer, uint16_t value)
{
    put_integer(writer, value, 2);
}
void wire_put_u32(struct wire_writer *writer, uint32_t value)
{
    put_integer(writer, value, 4);
}
void wire_put_u64(struct wire_writer *writer, uint64_t value)
{
    put_integer(writer, value, 8);
}
void wire_put_i32(struct wire_writer *writer, int32_t value)
{
    put_integer(writer, (uint32_t)value, 4);
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
