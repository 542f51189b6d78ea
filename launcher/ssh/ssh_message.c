/* SPDX-License-Identifier: Apache-2.0 */
/* Orders and reports; see ssh_message.h. */
#include "launcher/ssh/ssh_message.h"

#include <string.h>

enum ssh_flag {
    FLAG_BANNER = 1,
    FLAG_LOST = 2,
    FLAG_DISMISSED = 4,
    FLAG_SHA2 = 8,
    FLAG_CONFINED = 16,
    ALL_FLAGS = 31
};

static void put_message_text(struct text_buffer *message, const char *text)
{
    ssh_put_string(message, text, strlen(text));
}

/* A text as it came, cut where it does not fit or has a zero. */
static void get_raw(struct ssh_reader *reader, char *text, size_t size)
{
    struct ssh_bytes bytes = ssh_get_string(reader);
    size_t length = bytes.length < size ? bytes.length : size - 1;
    if (length > 0)
        memcpy(text, bytes.data, length);
    text[length] = '\0';
}

const char *ssh_message_text(char *text, size_t size, struct ssh_bytes bytes)
{
    size_t length = bytes.length < size ? bytes.length : size - 1;
    for (size_t i = 0; i < length; i++)
        text[i] = bytes.data[i] >= ' ' && bytes.data[i] <= '~' ? (char)bytes.data[i] : '?';
    text[length] = '\0';
    return text;
}

void ssh_order_encode(struct text_buffer *message, const struct ssh_order *order)
{
    ssh_put_u8(message, (uint8_t)order->type);
    ssh_put_string(message, order->first.data, order->first.length);
    ssh_put_string(message, order->second.data, order->second.length);
}

bool ssh_order_decode(struct ssh_order *order, struct ssh_bytes message)
{
    struct ssh_reader reader = { message.data, message.length, false };
    uint8_t type = ssh_get_u8(&reader);
    order->type = (enum ssh_order_type)type;
    order->first = ssh_get_string(&reader);
    order->second = ssh_get_string(&reader);
    return !reader.failed && reader.left == 0 && type < SSH_ORDERS;
}

void ssh_report_encode(struct text_buffer *message, const struct ssh_report *report)
{
    int flags = (report->has_banner ? FLAG_BANNER : 0) | (report->is_lost ? FLAG_LOST : 0) |
                (report->is_dismissed ? FLAG_DISMISSED : 0) | (report->signs_sha2 ? FLAG_SHA2 : 0) |
                (report->is_confined ? FLAG_CONFINED : 0);
    ssh_put_u8(message, (uint8_t)report->type);
    ssh_put_u8(message, (uint8_t)report->result);
    ssh_put_u32(message, (uint32_t)report->code);
    ssh_put_u8(message, (uint8_t)flags);
    put_message_text(message, report->version);
    put_message_text(message, report->noise);
    put_message_text(message, report->lost);
    put_message_text(message, report->problem);
    ssh_put_string(message, report->bytes.data, report->bytes.length);
}

bool ssh_report_decode(struct ssh_report *report, struct ssh_bytes message)
{
    struct ssh_reader reader = { message.data, message.length, false };
    uint8_t type = ssh_get_u8(&reader), result = ssh_get_u8(&reader);
    report->type = (enum ssh_report_type)type;
    report->result = (enum ssh_result)result;
    report->code = (int)ssh_get_u32(&reader);
    uint8_t flags = ssh_get_u8(&reader);
    report->has_banner = flags & FLAG_BANNER;
    report->is_lost = flags & FLAG_LOST;
    report->is_dismissed = flags & FLAG_DISMISSED;
    report->signs_sha2 = flags & FLAG_SHA2;
    report->is_confined = flags & FLAG_CONFINED;
    ssh_message_text(report->version, sizeof report->version, ssh_get_string(&reader));
    get_raw(&reader, report->noise, sizeof report->noise);
    ssh_message_text(report->lost, sizeof report->lost, ssh_get_string(&reader));
    ssh_message_text(report->problem, sizeof report->problem, ssh_get_string(&reader));
    report->bytes = ssh_get_string(&reader);
    return !reader.failed && reader.left == 0 && type < SSH_REPORTS && result < SSH_RESULTS &&
           flags <= ALL_FLAGS;
}
