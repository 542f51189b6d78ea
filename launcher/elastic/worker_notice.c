/* SPDX-License-Identifier: Apache-2.0 */
/* Notifications of unmodified Horovod workers; see worker_notice.h. A pickle is a program for a
 * machine with a stack. The reader does not run it: it takes the strings, numbers and bytes in the
 * order in which they stand, and refuses instructions that these messages do not have. */
#include "launcher/elastic/worker_notice.h"

#include "lib/base/wire.h"

#include <arpa/inet.h>
#include <limits.h>
#include <sodium.h>
#include <string.h>

enum { PICKLE_PROTOCOL = 5, HOSTS_MIXED = 3, BASE64_MAX = 16384, MEMO_MAX = 256 };

/* The instructions of pickles that are used here, by their names in Python's pickletools. */
enum {
    PROTO = 0x80,
    FRAME = 0x95,
    SHORT_BINUNICODE = 0x8c,
    SHORT_BINBYTES = 'C',
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    MEMOIZE = 0x94,
    BINGET = 'h',
    STACK_GLOBAL = 0x93,
    EMPTY_TUPLE = ')',
    EMPTY_DICT = '}',
    EMPTY_LIST = ']',
    MARK = '(',
    TUPLE1 = 0x85,
    TUPLE2 = 0x86,
    APPEND = 'a',
    APPENDS = 'e',
    SETITEM = 's',
    SETITEMS = 'u',
    NEWOBJ = 0x81,
    REDUCE = 'R',
    BUILD = 'b',
    STOP = '.'
};

/* ---- reading ---- */

struct pickle_item {
    int opcode;
    const char *text; /* of strings and bytes; borrowed */
    size_t length;
    int64_t number;
};

/* The next instruction with its argument; false at STOP, or when the reader has failed. */
static bool pickle_next(struct wire_reader *reader, struct pickle_item *item)
{
    *item = (struct pickle_item){ .opcode = wire_get_u8(reader) };
    switch (item->opcode) {
    case PROTO:
        reader->failed |= wire_get_u8(reader) > PICKLE_PROTOCOL;
        break;
    case FRAME:
        wire_get_u64(reader);
        break;
    case SHORT_BINUNICODE:
    case SHORT_BINBYTES:
        item->length = wire_get_u8(reader);
        item->text = wire_get_bytes(reader, item->length);
        break;
    case BININT:
        item->number = wire_get_i32(reader);
        break;
    case BININT1:
    case BINGET:
        item->number = wire_get_u8(reader);
        break;
    case BININT2:
        item->number = wire_get_u16(reader);
        break;
    case MEMOIZE:
    case STACK_GLOBAL:
    case EMPTY_TUPLE:
    case EMPTY_DICT:
    case EMPTY_LIST:
    case MARK:
    case TUPLE1:
    case TUPLE2:
    case APPEND:
    case APPENDS:
    case SETITEM:
    case SETITEMS:
    case NEWOBJ:
    case REDUCE:
    case BUILD:
        break;
    default:
        reader->failed |= item->opcode != STOP;
    }
    return !reader->failed && item->opcode != STOP;
}

/* What was read last, and the strings that BINGET names again. */
struct address_reader {
    struct pickle_item text, number, memo[MEMO_MAX], last;
    int nmemo;
    bool has_key;
};

static void take_address(struct worker_address *address, const struct address_reader *at)
{
    char ip[INET_ADDRSTRLEN];
    struct in_addr parsed;
    if (!at->text.text || at->text.length >= sizeof ip || address->count == WORKER_ADDRESSES_MAX ||
        at->number.number < 1 || at->number.number > UINT16_MAX)
        return;
    memcpy(ip, at->text.text, at->text.length);
    ip[at->text.length] = '\0';
    if (inet_pton(AF_INET, ip, &parsed) != 1)
        return;
    address->at[address->count].ip = ntohl(parsed.s_addr);
    address->at[address->count++].port = (uint16_t)at->number.number;
}

static void take_item(struct worker_address *address, struct address_reader *at,
                      const struct pickle_item *item)
{
    switch (item->opcode) {
    case MEMOIZE:
        if (at->nmemo < MEMO_MAX)
            at->memo[at->nmemo++] = at->last;
        return;
    case BINGET:
        if (item->number < at->nmemo)
            at->text = at->memo[item->number];
        break;
    case SHORT_BINUNICODE:
        at->text = *item;
        break;
    case BININT1:
    case BININT2:
    case BININT:
        at->number = *item;
        break;
    case SHORT_BINBYTES:
        at->has_key = item->length == WORKER_NOTICE_KEY_SIZE;
        if (at->has_key)
            memcpy(address->key, item->text, WORKER_NOTICE_KEY_SIZE);
        break;
    case TUPLE2:
        if (!at->has_key) /* the last pair is addresses and key */
            take_address(address, at);
        break;
    }
    at->last = *item;
}

int worker_address_parse(struct worker_address *address, const char *base64, size_t length,
                         struct err *err)
{
    static const char wrong[] = "not the addresses of a notification service";
    unsigned char bytes[BASE64_MAX];
    struct wire_reader reader;
    struct pickle_item item;
    struct address_reader at = { .has_key = false };
    size_t nbytes;
    *address = (struct worker_address){ .count = 0 };
    if (sodium_base642bin(bytes, sizeof bytes, base64, length, "\r\n", &nbytes, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0)
        return fail(err, HVD_ERR_PROTOCOL, "%s", wrong);
    wire_reader_init(&reader, bytes, nbytes);
    while (pickle_next(&reader, &item))
        take_item(address, &at, &item);
    explicit_bzero(bytes, sizeof bytes);
    if (!wire_reader_finished(&reader) || !at.has_key || address->count == 0)
        return fail(err, HVD_ERR_PROTOCOL, "%s", wrong);
    return HVD_OK;
}

/* ---- messages ---- */

static const char network_module[] = "horovod.runner.common.util.network";
static const char worker_module[] = "horovod.runner.elastic.worker";

enum {
    DIGEST_AT = 0,
    LENGTH_AT = 32,
    BODY_AT = 36,
    FRAME_AT = BODY_AT + 2,
    INSIDE_AT = FRAME_AT + 9
};

/* A request that is being written; it always fits. */
struct pickle_writer {
    unsigned char *out;
    size_t length;
};

static void pickle_byte(struct pickle_writer *writer, int byte)
{
    writer->out[writer->length++] = (unsigned char)byte;
}

static void pickle_text(struct pickle_writer *writer, const char *text)
{
    size_t length = strlen(text);
    pickle_byte(writer, SHORT_BINUNICODE);
    pickle_byte(writer, (int)length);
    memcpy(writer->out + writer->length, text, length);
    writer->length += length;
    pickle_byte(writer, MEMOIZE);
}

static void pickle_class(struct pickle_writer *writer)
{
    pickle_byte(writer, STACK_GLOBAL);
    pickle_byte(writer, MEMOIZE);
}

static void pickle_object(struct pickle_writer *writer, const char *module, const char *class)
{
    pickle_text(writer, module);
    pickle_text(writer, class);
    pickle_class(writer);
    pickle_byte(writer, EMPTY_TUPLE);
    pickle_byte(writer, NEWOBJ);
    pickle_byte(writer, MEMOIZE);
}

static void pickle_update(struct pickle_writer *writer, int32_t seconds)
{
    pickle_byte(writer, EMPTY_DICT);
    pickle_byte(writer, MEMOIZE);
    pickle_byte(writer, MARK);
    pickle_text(writer, "timestamp");
    pickle_byte(writer, BININT);
    for (int shift = 0; shift < 32; shift += 8)
        pickle_byte(writer, ((uint32_t)seconds >> shift) & 255);
    pickle_text(writer, "res");
    pickle_byte(writer, BINGET);
    pickle_byte(writer, 0); /* the module */
    pickle_text(writer, "HostUpdateResult");
    pickle_class(writer);
    pickle_byte(writer, BININT1);
    pickle_byte(writer, HOSTS_MIXED);
    pickle_byte(writer, TUPLE1);
    pickle_byte(writer, MEMOIZE);
    pickle_byte(writer, REDUCE);
    pickle_byte(writer, MEMOIZE);
    pickle_byte(writer, SETITEMS);
    pickle_byte(writer, BUILD);
}

size_t worker_notice_put(unsigned char out[WORKER_NOTICE_MAX], enum worker_notice notice,
                         const unsigned char key[WORKER_NOTICE_KEY_SIZE], int32_t seconds)
{
    struct pickle_writer writer = { out, INSIDE_AT };
    memset(out, 0, INSIDE_AT);
    out[BODY_AT] = PROTO;
    out[BODY_AT + 1] = PICKLE_PROTOCOL;
    out[FRAME_AT] = FRAME;
    if (notice == WORKER_PING) {
        pickle_object(&writer, network_module, "PingRequest");
    } else {
        pickle_object(&writer, worker_module, "HostsUpdatedRequest");
        pickle_update(&writer, seconds);
    }
    pickle_byte(&writer, STOP);
    size_t inside = writer.length - INSIDE_AT, body = writer.length - BODY_AT;
    for (int i = 0; i < 2; i++) { /* both are shorter than 64 KiB */
        out[FRAME_AT + 1 + i] = (unsigned char)(inside >> (8 * i));
        out[LENGTH_AT + i] = (unsigned char)(body >> (8 * i));
    }
    crypto_auth_hmacsha256(out + DIGEST_AT, out + BODY_AT, body, key);
    return writer.length;
}

int worker_notice_check(enum worker_notice notice, const unsigned char key[WORKER_NOTICE_KEY_SIZE],
                        const void *answer, size_t length, struct err *err)
{
    const char *class = notice == WORKER_PING ? "PingResponse" : "AckResponse";
    const unsigned char *bytes = answer;
    struct wire_reader reader;
    struct pickle_item item;
    bool found = false;
    wire_reader_init(&reader, bytes, length);
    const unsigned char *digest = wire_get_bytes(&reader, crypto_auth_hmacsha256_BYTES);
    uint32_t body = wire_get_u32(&reader);
    if (reader.failed || body != reader.left)
        return fail(err, HVD_ERR_PROTOCOL, "its answer has %zu bytes, which is no message", length);
    if (crypto_auth_hmacsha256_verify(digest, bytes + BODY_AT, body, key) != 0)
        return fail(err, HVD_ERR_PROTOCOL, "its answer does not prove its key");
    while (pickle_next(&reader, &item))
        found |= item.opcode == SHORT_BINUNICODE && item.length == strlen(class) &&
                 memcmp(item.text, class, item.length) == 0;
    if (!wire_reader_finished(&reader) || !found)
        return fail(err, HVD_ERR_PROTOCOL, "its answer is no %s", class);
    return HVD_OK;
}
