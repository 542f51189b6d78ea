/* SPDX-License-Identifier: Apache-2.0 */
/* Notices between neighbours; see notice.h. */
#include "lib/notice.h"

#include "lib/base/wire.h"

#include <string.h>

void notice_send(struct link *link, uint64_t from, const struct err *reason)
{
    unsigned char bytes[NOTICE_SIZE] = { 0 };
    struct wire_writer writer = { .data = bytes, .capacity = sizeof bytes };
    wire_put_bytes(&writer, "HVDX", 4);
    wire_put_i32(&writer, reason->code);
    wire_put_u64(&writer, from);
    wire_put_bytes(&writer, reason->text, strnlen(reason->text, NOTICE_TEXT - 1));
    struct iovec all = { bytes, sizeof bytes };
    (void)link_try_send(link, &all, 1, NULL);
}

static void read_text(char text[NOTICE_TEXT], const char *bytes)
{
    memcpy(text, bytes, NOTICE_TEXT - 1);
    text[NOTICE_TEXT - 1] = '\0';
    for (char *at = text; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
}

static void record(const struct notice_reader *reader, struct failure *failure)
{
    char text[NOTICE_TEXT];
    struct wire_reader wire;
    wire_reader_init(&wire, reader->bytes, NOTICE_SIZE);
    bool is_notice = memcmp(wire_get_bytes(&wire, 4), "HVDX", 4) == 0;
    int code = wire_get_i32(&wire);
    uint64_t from = wire_get_u64(&wire);
    read_text(text, wire_get_bytes(&wire, NOTICE_TEXT));
    if (is_notice && code <= HVD_ERR_INVALID && code >= HVD_ERR_FORKED)
        failure_record(failure, from, code, text);
    else
        failure_record(failure, 0, HVD_ERR_PROTOCOL, "the right neighbour sent what is no notice");
}

int notice_receive(struct notice_reader *reader, struct link *link, struct failure *failure)
{
    while (reader->received < NOTICE_SIZE) {
        ssize_t nbytes = link_try_receive(link, reader->bytes + reader->received,
                                          NOTICE_SIZE - reader->received, NULL);
        if (nbytes <= 0)
            return nbytes < 0 ? -1 : 0;
        reader->received += (size_t)nbytes;
    }
    record(reader, failure);
    return -1;
}
