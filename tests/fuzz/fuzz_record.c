/* SPDX-License-Identifier: Apache-2.0 */
/* An encrypted link (lib/link/link_encrypted.c, record.c) whose records somebody else holds.
 *
 *   u8: bit 0 ChaCha20-Poly1305, else AES-256-GCM where there is one; bit 1 the key changes after
 *   every second record; then steps, each u8 what:
 *     0 the sender has more: u16 how many bytes             1 so many bytes go on: u16
 *     2 the receiver asks for so many: u16                  3 a byte on the wire is changed: u16 where, u8
 *     4 a byte there is dropped: u16                        5 bytes are made up: u8 how many, they
 *     6 the wire takes at most so many bytes more: u16      7 the sender's connection ends
 *
 * Whatever comes: what is received is what was sent, from its beginning and in its order; who has
 * been told something else never gets a byte of a record that was touched, and fails for good with
 * HVD_ERR_PROTOCOL, or, at the end, HVD_ERR_PEER_LOST; what the sender reports as taken is on the
 * wire, once all is. */
#include "lib/base/auth.h"
#include "lib/link/link_encrypted.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { WIRE_MAX = 1 << 20, SENT_MAX = 1 << 18 };

static struct wire {
    unsigned char bytes[WIRE_MAX];
    size_t start, passed, end; /* [start, passed) may be received */
    size_t room;
    bool ended, over; /* by the sender; and the receiver knows, which nothing takes back */
    unsigned char genuine[WIRE_MAX]; /* what the sender has put there */
    size_t genuine_end;
} wire;

static size_t sent, received; /* of the stream */
static int failed;

static ssize_t wire_try_send(struct link *link, const struct iovec *parts, int count,
                             struct err *err)
{
    (void)link;
    (void)count;
    if (wire.ended)
        return fail(err, HVD_ERR_PEER_LOST, "cut");
    size_t nbytes = parts->iov_len < wire.room ? parts->iov_len : wire.room;
    if (nbytes > WIRE_MAX - wire.end)
        nbytes = WIRE_MAX - wire.end;
    if (nbytes > WIRE_MAX - wire.genuine_end)
        nbytes = WIRE_MAX - wire.genuine_end;
    memcpy(wire.bytes + wire.end, parts->iov_base, nbytes);
    wire.end += nbytes;
    wire.room -= nbytes;
    memcpy(wire.genuine + wire.genuine_end, parts->iov_base, nbytes);
    wire.genuine_end += nbytes;
    return (ssize_t)nbytes;
}

static ssize_t wire_try_receive(struct link *link, const struct iovec *parts, int count,
                                struct err *err)
{
    (void)link;
    (void)count;
    size_t nbytes = wire.passed - wire.start;
    nbytes = nbytes < parts->iov_len ? nbytes : parts->iov_len;
    wire.over |= nbytes == 0 && wire.ended && wire.passed == wire.end;
    if (wire.over)
        return fail(err, HVD_ERR_PEER_LOST, "closed by the other side");
    memcpy(parts->iov_base, wire.bytes + wire.start, nbytes);
    wire.start += nbytes;
    return (ssize_t)nbytes;
}

static int wire_pollable(const struct link *link)
{
    (void)link;
    return -1;
}

static void wire_close(struct link *link)
{
    free(link);
}

static const struct link_type wire_type = {
    .transport = TRANSPORT_TCP,
    .try_send = wire_try_send,
    .try_receive = wire_try_receive,
    .pollable = wire_pollable,
    .close = wire_close,
};

static struct link *open_end(const struct link_keys *keys, bool changes)
{
    struct link *inner = calloc(1, sizeof *inner);
    inner->type = &wire_type;
    struct link *link = link_encrypted_create(inner, keys);
    if (changes)
        link_encrypted_use_keys(link, 2);
    return link;
}

static unsigned char byte_at(size_t index)
{
    return (unsigned char)(index * 7 + (index >> 8));
}

static void send_more(struct link *sender, size_t nbytes)
{
    struct err err;
    nbytes = nbytes < SENT_MAX - sent ? nbytes : SENT_MAX - sent;
    unsigned char *data = malloc(nbytes + 1);
    for (size_t i = 0; i < nbytes; i++)
        data[i] = byte_at(sent + i);
    struct iovec part = { data, nbytes };
    ssize_t taken = link_try_send(sender, &part, 1, &err);
    PROMISE(taken >= 0 || (taken == HVD_ERR_PEER_LOST && wire.ended));
    PROMISE(taken <= (ssize_t)nbytes);
    sent += taken > 0 ? (size_t)taken : 0;
    free(data);
}

/* How many bytes from the beginning of what was received are as they were sent. */
static size_t genuine_received(void)
{
    size_t at = 0;
    while (at < wire.start && at < wire.genuine_end && wire.bytes[at] == wire.genuine[at])
        at++;
    return at;
}

static void receive_more(struct link *receiver, size_t room)
{
    struct err err;
    unsigned char *data = malloc(room + 1);
    ssize_t nbytes = room > 0 ? link_try_receive(receiver, data, room, &err) : 0;
    if (nbytes < 0) {
        PROMISE(nbytes == HVD_ERR_PROTOCOL || nbytes == HVD_ERR_PEER_LOST);
        PROMISE(nbytes != HVD_ERR_PROTOCOL || genuine_received() < wire.start);
        PROMISE(nbytes != HVD_ERR_PEER_LOST || wire.ended);
        failed = (int)nbytes;
    }
    PROMISE(!failed || nbytes == failed || room == 0);
    for (ssize_t i = 0; i < nbytes; i++)
        PROMISE(data[i] == byte_at(received + (size_t)i));
    received += nbytes > 0 ? (size_t)nbytes : 0;
    PROMISE(received <= sent + 1); /* the last byte of records in part is not taken yet */
    PROMISE(received <= genuine_received());
    free(data);
}

/* Where something is touched; false if nothing lies there. */
static bool touch(size_t *at, uint16_t where)
{
    if (wire.start == wire.end)
        return false;
    *at = wire.start + where % (wire.end - wire.start);
    return true;
}

static void step(struct link *sender, struct link *receiver, struct fuzz_input *input)
{
    size_t at, length;
    uint8_t what = fuzz_u8(input) % 8, *bytes;
    uint16_t value = what < 5 || what == 6 ? fuzz_u16(input) : 0;
    switch (what) {
    case 0:
        send_more(sender, value);
        break;
    case 1:
        wire.passed += value < wire.end - wire.passed ? value : wire.end - wire.passed;
        break;
    case 2:
        receive_more(receiver, value);
        break;
    case 3: {
        uint8_t mask = fuzz_u8(input);
        if (mask != 0 && touch(&at, value))
            wire.bytes[at] ^= mask;
        break;
    }
    case 4:
        if (touch(&at, value)) {
            memmove(wire.bytes + at, wire.bytes + at + 1, wire.end - at - 1);
            wire.end--;
            wire.passed -= at < wire.passed;
        }
        break;
    case 5:
        bytes = fuzz_bytes(input, &length);
        if (length > 0 && length <= WIRE_MAX - wire.end) {
            memcpy(wire.bytes + wire.end, bytes, length);
            wire.end += length;
        }
        free(bytes);
        break;
    case 6:
        wire.room = value;
        break;
    default:
        wire.ended = true;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    uint8_t how = fuzz_u8(&input);
    bool has_aes = auth_init(NULL) == HVD_OK && cipher_supported() & 1u << CIPHER_AES256GCM;
    struct link_keys keys = { .cipher = how & 1 || !has_aes ? CIPHER_CHACHA20POLY1305
                                                            : CIPHER_AES256GCM };
    struct link *sender = open_end(&keys, how & 2), *receiver = open_end(&keys, how & 2);
    wire.start = wire.passed = wire.end = sent = received = 0;
    wire.room = WIRE_MAX;
    wire.ended = wire.over = false;
    wire.genuine_end = 0;
    failed = 0;
    while (input.left > 0)
        step(sender, receiver, &input);
    link_close(sender);
    link_close(receiver);
    return 0;
}
