/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes are read by a bounded reader that remembers its first failure; ask it once, after
 * the last field. The writer grows its buffer and remembers its first failure likewise. Integers
 * are little-endian; a string is a u32 length and its bytes. */
#ifndef LIB_BASE_WIRE_H
#define LIB_BASE_WIRE_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct wire_reader {
    const unsigned char *at; /* borrowed from the caller of wire_reader_init() */
    size_t left;
    bool failed;
};

/* Text inside a message: borrowed from the reader's bytes, not terminated, any bytes. */
struct wire_text {
    const char *data;
    size_t length;
};

static inline void wire_reader_init(struct wire_reader *reader, const void *data, size_t length)
{
    *reader = (struct wire_reader){ .at = data, .left = length };
}

/* Reads a field, or returns 0 / NULL / empty when too few bytes are left (and from then on). */
static inline const void *wire_get_bytes(struct wire_reader *reader, size_t length)
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

static inline uint8_t wire_get_u8(struct wire_reader *reader)
{
    const uint8_t *at = wire_get_bytes(reader, 1);
    return at ? *at : 0;
}

static inline uint16_t wire_get_u16(struct wire_reader *reader)
{
    uint16_t value = 0;
    const void *at = wire_get_bytes(reader, sizeof value);
    if (at)
        memcpy(&value, at, sizeof value);
    return le16toh(value);
}

static inline uint32_t wire_get_u32(struct wire_reader *reader)
{
    uint32_t value = 0;
    const void *at = wire_get_bytes(reader, sizeof value);
    if (at)
        memcpy(&value, at, sizeof value);
    return le32toh(value);
}

static inline uint64_t wire_get_u64(struct wire_reader *reader)
{
    uint64_t value = 0;
    const void *at = wire_get_bytes(reader, sizeof value);
    if (at)
        memcpy(&value, at, sizeof value);
    return le64toh(value);
}

static inline int32_t wire_get_i32(struct wire_reader *reader)
{
    return (int32_t)wire_get_u32(reader);
}

struct wire_text wire_get_text(struct wire_reader *reader);

/* Copies a text field into `out`, terminated; fails if it does not fit or holds a NUL. */
void wire_get_string(struct wire_reader *reader, char *out, size_t size);

/* True if every field was there and nothing is left over. */
bool wire_reader_finished(const struct wire_reader *reader);

struct wire_writer {
    unsigned char *data; /* owned; NULL while empty */
    size_t length;
    size_t capacity;
    bool failed; /* out of memory, once and for all */
    bool secret; /* outgrown and freed bytes are wiped */
};

/* Makes room for `more` bytes behind the present ones; false when the writer has failed. */
bool wire_grow(struct wire_writer *writer, size_t more);

static inline bool wire_reserve(struct wire_writer *writer, size_t more)
{
    return (!writer->failed && more <= writer->capacity - writer->length) ||
           wire_grow(writer, more);
}

static inline void wire_put_bytes(struct wire_writer *writer, const void *data, size_t length)
{
    if (length == 0 || !wire_reserve(writer, length))
        return;
    memcpy(writer->data + writer->length, data, length);
    writer->length += length;
}

static inline void wire_put_u8(struct wire_writer *writer, uint8_t value)
{
    wire_put_bytes(writer, &value, sizeof value);
}

static inline void wire_put_u16(struct wire_writer *writer, uint16_t value)
{
    value = htole16(value);
    wire_put_bytes(writer, &value, sizeof value);
}

static inline void wire_put_u32(struct wire_writer *writer, uint32_t value)
{
    value = htole32(value);
    wire_put_bytes(writer, &value, sizeof value);
}

static inline void wire_put_u64(struct wire_writer *writer, uint64_t value)
{
    value = htole64(value);
    wire_put_bytes(writer, &value, sizeof value);
}

static inline void wire_put_i32(struct wire_writer *writer, int32_t value)
{
    wire_put_u32(writer, (uint32_t)value);
}

void wire_put_text(struct wire_writer *writer, const char *text, size_t length);
void wire_put_string(struct wire_writer *writer, const char *text);

/* Frees the bytes and makes the writer empty and usable again, and no longer secret. */
void wire_writer_fini(struct wire_writer *writer);

#endif
