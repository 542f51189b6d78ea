/* SPDX-License-Identifier: Apache-2.0 */
/* Fields in the form of the ssh protocol, its agents and its key files: integers are big-endian, a
 * string is a u32 length and its bytes. The reader remembers its first failure; ask it once, after
 * the last field. */
#ifndef LAUNCHER_SSH_SSH_WIRE_H
#define LAUNCHER_SSH_SSH_WIRE_H

#include "launcher/base/text_buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ssh_reader {
    const unsigned char *at; /* borrowed */
    size_t left;
    bool failed;
};

/* Bytes inside a message, borrowed from it; not terminated. */
struct ssh_bytes {
    const unsigned char *data;
    size_t length;
};

/* The next field, or 0 or nothing when too few bytes are left (and from then on). */
uint8_t ssh_get_u8(struct ssh_reader *reader);
uint32_t ssh_get_u32(struct ssh_reader *reader);
struct ssh_bytes ssh_get_string(struct ssh_reader *reader);

void ssh_put_u8(struct text_buffer *buffer, uint8_t value);
void ssh_put_u32(struct text_buffer *buffer, uint32_t value);
void ssh_put_string(struct text_buffer *buffer, const void *data, size_t length);

bool ssh_bytes_are(struct ssh_bytes bytes, const char *text);
bool ssh_bytes_equal(struct ssh_bytes a, struct ssh_bytes b);

#endif
