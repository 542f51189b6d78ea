/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes are read by a bounded reader that remembers its first failure; ask it once, after
 * the last field. The writer grows and remembers likewise. Integers are little-endian; a string is
 * a u32 length and its bytes. */
#ifndef LIB_BASE_WIRE_H
#define LIB_BASE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

void wire_reader_init(struct wire_reader *reader, const void *data, size_t length);

/* A field, or 0 / NULL / empty when too few bytes are left (and from then on). */
uint8_t wire_get_u8(struct wire_reader *reader);
uint16_t wire_get_u16(struct wire_reader *reader);
uint32_t wire_get_u32(struct wire_reader *reader);
uint64_t wire_get_u64(struct wire_reader *reader);
int32_t wire_get_i32(struct wire_reader *reader);
const void *wire_get_bytes(struct wire_reader *reader, size_t length);
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
    bool secret; /* what it outgrows or frees is wiped */
};

void wire_put_u8(struct wire_writer *writer, uint8_t value);
void wire_put_u16(struct wire_writer *writer, uint16_t value);
void wire_put_u32(struct wire_writer *writer, uint32_t value);
void wire_put_u64(struct wire_writer *writer, uint64_t value);
void wire_put_i32(struct wire_writer *writer, int32_t value);
void wire_put_bytes(struct wire_writer *writer, const void *data, size_t length);
void wire_put_text(struct wire_writer *writer, const char *text, size_t length);
void wire_put_string(struct wire_writer *writer, const char *text);

/* Frees the bytes and makes the writer empty and usable again, and no longer secret. */
void wire_writer_fini(struct wire_writer *writer);

#endif
