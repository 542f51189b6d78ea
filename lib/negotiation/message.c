/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that both kinds of messages have; see message.h. */
#include "lib/negotiation/message.h"

#include <string.h>

void message_put_name(struct wire_writer *writer, const char *name, size_t length)
{
    wire_put_u8(writer, (uint8_t)length);
    wire_put_bytes(writer, name, length);
    wire_put_u8(writer, 0);
}

struct wire_text message_get_name(struct wire_reader *reader)
{
    struct wire_text name = { .length = wire_get_u8(reader) };
    name.data = wire_get_bytes(reader, name.length + 1);
    if (name.length == 0 || !name.data ||
        memchr(name.data, 0, name.length + 1) != name.data + name.length) {
        reader->failed = true;
        name = (struct wire_text){ .data = "" };
    }
    return name;
}
