/* SPDX-License-Identifier: Apache-2.0 */
/* Big-endian fields; see ssh_wire.h. */
#include "launcher/ssh/ssh_wire.h"

#include <string.h>

static const unsigned char *ssh_wire_take(struct ssh_reader *reader, size_t length)
{
    if (reader->failed || length > reader->left) {
        reader->failed = true;
        return NULL;
    }
    const unsigned char *at = reader->at;
    reader->at += length;
    reader->left -= length;
    return at;
}

uint8_t ssh_get_u8(struct ssh_reader *reader)
{
    const unsigned char *at = ssh_wire_take(reader, 1);
    return at ? *at : 0;
}

uint32_t ssh_get_u32(struct ssh_reader *reader)
{
    const unsigned char *at = ssh_wire_take(reader, 4);
    if (!at)
        return 0;
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

struct ssh_bytes ssh_get_string(struct ssh_reader *reader)
{
    size_t length = ssh_get_u32(reader);
    const unsigned char *at = ssh_wire_take(reader, length);
    return (struct ssh_bytes){ at, at ? length : 0 };
}

void ssh_put_u8(struct text_buffer *buffer, uint8_t value)
{
    text_buffer_put(buffer, &value, 1);
}

void ssh_put_u32(struct text_buffer *buffer, uint32_t value)
{
    unsigned char bytes[] = { (unsigned char)(value >> 24), (unsigned char)(value >> 16),
                              (unsigned char)(value >> 8), (unsigned char)value };
    text_buffer_put(buffer, bytes, sizeof bytes);
}

void ssh_put_string(struct text_buffer *buffer, const void *data, size_t length)
{
    ssh_put_u32(buffer, (uint32_t)length);
    text_buffer_put(buffer, data, length);
}

bool ssh_bytes_are(struct ssh_bytes bytes, const char *text)
{
    return bytes.length == strlen(text) && memcmp(bytes.data, text, bytes.length) == 0;
}

bool ssh_bytes_equal(struct ssh_bytes a, struct ssh_bytes b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}
