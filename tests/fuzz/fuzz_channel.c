/* SPDX-License-Identifier: Apache-2.0 */
/* The data link of two ranks (lib/engine/channel.c) whose other side sends what it likes.
 *
 *   u8 the number of the first operation, as an i8; u8: bit 0 the link shows what has come where it lies, bit 1 it takes
 *   offers; then steps, u8 what:
 *     0 a header is sent: u8 number beside the lowest that is under way, u8 length; 255: i32 length, 254: with
 *       another sum           1 bytes: u8 how many, all of that value     2 as many as the last header said
 *     3 bytes: u8, they       4 an operation is started: u8 how many bytes it takes, u8 how many times 64 it sends
 *     5 the channel moves: u8 at most so many bytes in a call, u8 the same times 64 of what is sent
 *     6 the other side fetches what was offered: u8 times 64 bytes      7 what lies there cannot be believed
 *
 * Whatever comes: the channel moves, waits, or ends with a protocol error or a lost peer, and then
 * for good; no operation gets more bytes than it has space for, nor any after it is done, and in
 * their order; nothing of a frame of an operation that has not begun is taken. What operations send
 * goes out whole, in frames that can be read, and is reported as sent once. */
#include "lib/engine/channel.h"
#include "tests/fuzz/fuzz.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* ---- a wire that the input fills ---- */

enum { WIRE_MAX = 1 << 16, UNIT = 64 };

static struct wire {
    struct link link; /* first */
    unsigned char bytes[WIRE_MAX];
    size_t start, end;
    size_t step, send_step; /* bytes of a call at most */
    bool revoked;
    uint64_t offered, taken;

    /* What has been sent: a frame after the other. */
    unsigned char header[CHANNEL_HEADER];
    size_t header_length, frame_left;
    uint64_t data_sent; /* of all operations */
} wire;

static void sent_header_byte(unsigned char byte)
{
    unsigned char again[CHANNEL_HEADER];
    struct wire_reader reader;
    wire.header[wire.header_length++] = byte;
    if (wire.header_length < CHANNEL_HEADER)
        return;
    wire_reader_init(&reader, wire.header, CHANNEL_HEADER);
    uint32_t number = wire_get_u32(&reader), word = wire_get_u32(&reader);
    uint32_t length = word & ((1U << CHANNEL_LENGTH_BITS) - 1);
    channel_header_encode(again, number, length);
    PROMISE(memcmp(again, wire.header, CHANNEL_HEADER) == 0);
    PROMISE(length > 0 && length <= CHANNEL_FRAME_MAX);
    wire.frame_left = length;
}

static void sent_bytes(const unsigned char *data, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (wire.header_length < CHANNEL_HEADER) {
            sent_header_byte(data[i]);
            continue;
        }
        PROMISE(data[i] == 's');
        wire.data_sent++;
        if (--wire.frame_left == 0)
            wire.header_length = 0;
    }
}

static ssize_t try_send(struct link *link, const struct iovec *parts, int count, struct err *err)
{
    size_t left = wire.send_step, nbytes = 0;
    (void)link, (void)err;
    for (int i = 0; i < count && left > 0; i++) {
        size_t n = parts[i].iov_len < left ? parts[i].iov_len : left;
        sent_bytes(parts[i].iov_base, n);
        nbytes += n;
        left -= n;
    }
    return (ssize_t)nbytes;
}

static ssize_t offer(struct link *link, const void *data, size_t nbytes, struct err *err)
{
    size_t n = nbytes < wire.send_step ? nbytes : wire.send_step;
    (void)link, (void)err;
    sent_bytes(data, n);
    wire.offered += n;
    return (ssize_t)n;
}

static uint64_t taken(struct link *link)
{
    (void)link;
    return wire.taken;
}

static size_t available(void)
{
    size_t left = wire.end - wire.start;
    return left < wire.step ? left : wire.step;
}

static ssize_t try_receive(struct link *link, const struct iovec *parts, int count, struct err *err)
{
    size_t left = available(), done = 0;
    (void)link, (void)err;
    for (int i = 0; i < count && left > 0; i++) {
        size_t n = parts[i].iov_len < left ? parts[i].iov_len : left;
        memcpy(parts[i].iov_base, wire.bytes + wire.start, n);
        wire.start += n;
        done += n;
        left -= n;
    }
    return (ssize_t)done;
}

static const void *peek(struct link *link, size_t *nbytes)
{
    (void)link;
    *nbytes = available();
    return *nbytes > 0 ? wire.bytes + wire.start : NULL;
}

static int consume(struct link *link, size_t nbytes, struct err *err)
{
    (void)link;
    PROMISE(nbytes > 0 && nbytes <= available());
    wire.start += nbytes;
    return wire.revoked ? fail(err, HVD_ERR_PEER_LOST, "revoked") : HVD_OK;
}

static int pollable(const struct link *link)
{
    (void)link;
    return -1;
}

static int check_link(struct link *link, struct err *err)
{
    (void)link, (void)err;
    return HVD_OK;
}

static void close_link(struct link *link)
{
    (void)link;
}

#define COPIES                                                                                     \
    .try_send = try_send, .try_receive = try_receive, .pollable = pollable, .check = check_link,   \
    .close = close_link

static const struct link_type types[] = {
    { COPIES },
    { COPIES, .taken = taken, .peek = peek, .consume = consume },
    { COPIES, .offer = offer, .taken = taken },
    { COPIES, .offer = offer, .taken = taken, .peek = peek, .consume = consume },
};

static void put(const void *bytes, size_t length)
{
    if (length > WIRE_MAX - wire.end)
        length = WIRE_MAX - wire.end;
    memcpy(wire.bytes + wire.end, bytes, length);
    wire.end += length;
}

/* ---- operations that take bytes ---- */

enum { SEND_MAX = 255 * UNIT };

struct taker {
    struct operation operation; /* first */
    size_t wanted, taken;
    size_t to_send, sent;
    unsigned char *space; /* owned, of `wanted` bytes */
};

static unsigned char outgoing[SEND_MAX]; /* all of them 's' */
static uint64_t reported;                /* of all operations, as sent */

static const void *output(struct operation *operation, int peer, size_t ahead, size_t *nbytes)
{
    struct taker *taker = (struct taker *)(void *)operation;
    PROMISE(peer == 1 && ahead <= taker->to_send - taker->sent);
    *nbytes = taker->to_send - taker->sent - ahead;
    return *nbytes > 0 ? outgoing : NULL;
}

static void sent(struct operation *operation, int peer, size_t nbytes)
{
    struct taker *taker = (struct taker *)(void *)operation;
    PROMISE(peer == 1 && nbytes > 0 && nbytes <= taker->to_send - taker->sent);
    taker->sent += nbytes;
    reported += nbytes;
}

static void *space(struct operation *operation, int peer, size_t *nbytes)
{
    struct taker *taker = (struct taker *)(void *)operation;
    PROMISE(peer == 1);
    *nbytes = taker->wanted - taker->taken;
    return taker->space + taker->taken;
}

static int received(struct operation *operation, int peer, size_t nbytes, struct err *err)
{
    struct taker *taker = (struct taker *)(void *)operation;
    (void)err;
    PROMISE(peer == 1 && nbytes > 0 && nbytes <= taker->wanted - taker->taken);
    taker->taken += nbytes;
    return HVD_OK;
}

static bool done(const struct operation *operation)
{
    const struct taker *taker = (const struct taker *)(const void *)operation;
    return taker->taken == taker->wanted && taker->sent == taker->to_send;
}

/* Where they lie: some of them now, the rest later. */
static ssize_t take(struct operation *operation, int peer, const void *data, size_t nbytes,
                    struct err *err)
{
    struct taker *taker = (struct taker *)(void *)operation;
    size_t n = nbytes < taker->wanted - taker->taken ? nbytes : taker->wanted - taker->taken;
    if (n > 16)
        n = 16;
    if (n > 0)
        memcpy(taker->space + taker->taken, data, n);
    return n > 0 ? received(operation, peer, n, err), (ssize_t)n : 0;
}

static const struct operation_type taker_type = { .algorithm = "taker",
                                                  .output = output,
                                                  .sent = sent,
                                                  .space = space,
                                                  .received = received,
                                                  .take = take,
                                                  .done = done };

static struct operation_window window;
static struct channel channel;
static uint32_t last_length;

static void drop(uint32_t number)
{
    struct taker *taker = (struct taker *)(void *)window.at[number % WINDOW_SIZE];
    if (taker)
        free(taker->space);
    free(taker);
    window.at[number % WINDOW_SIZE] = NULL;
}

/* As the engine does: what is done leaves the window. */
static void drop_completed(void)
{
    for (uint32_t number = window.first; number != window.end; number++) {
        struct operation *operation = window.at[number % WINDOW_SIZE];
        if (operation && operation->type->done(operation))
            drop(number);
    }
    while (window.first != window.end && !window.at[window.first % WINDOW_SIZE])
        window.first++;
}

static void start(struct fuzz_input *input)
{
    size_t wanted = fuzz_u8(input), to_send = fuzz_u8(input) * (size_t)UNIT;
    if (window.end - window.first == WINDOW_SIZE || wanted == 0)
        return;
    struct taker *taker = calloc(1, sizeof *taker);
    PROMISE(taker);
    *taker = (struct taker){ .operation = { .type = &taker_type },
                             .wanted = wanted,
                             .to_send = to_send,
                             .space = malloc(wanted) };
    PROMISE(taker->space);
    window.at[window.end++ % WINDOW_SIZE] = &taker->operation;
}

/* ---- steps ---- */

static void put_header(struct fuzz_input *input)
{
    unsigned char header[CHANNEL_HEADER];
    uint32_t number = (uint32_t)((int64_t)window.first + (int8_t)fuzz_u8(input));
    uint8_t length = fuzz_u8(input);
    last_length =
        length == 255 ? (uint32_t)fuzz_i32(input) & ((1U << CHANNEL_LENGTH_BITS) - 1) : length;
    channel_header_encode(header, number, last_length);
    header[7] ^= length == 254;
    put(header, sizeof header);
}

static void put_many(uint8_t byte, size_t length)
{
    unsigned char bytes[256];
    memset(bytes, byte, sizeof bytes);
    put(bytes, length < sizeof bytes ? length : sizeof bytes);
}

static void put_bytes(struct fuzz_input *input)
{
    size_t length;
    uint8_t *bytes = fuzz_bytes(input, &length);
    put(bytes, length);
    free(bytes);
}

/* A negative status ends it. */
static int move(struct fuzz_input *input)
{
    struct err err = { .code = HVD_OK };
    int rc = 1;
    wire.step = 1 + fuzz_u8(input);
    wire.send_step = fuzz_u8(input) * (size_t)UNIT;
    for (int turns = 0; rc > 0; turns++) {
        PROMISE(turns <= 4 * WIRE_MAX); /* nothing moves for ever */
        rc = channel_move(&channel, &window, &err);
        PROMISE(reported <= wire.data_sent);
        drop_completed();
    }
    PROMISE(rc == 0 || rc == HVD_ERR_PROTOCOL || (wire.revoked && rc == HVD_ERR_PEER_LOST));
    if (rc < 0)
        fuzz_check_line(err.text, "");
    short wanted = rc == 0 ? channel_events(&channel, &window) : 0;
    PROMISE((wanted & ~(POLLIN | POLLOUT)) == 0);
    PROMISE(rc < 0 || channel.in_left <= CHANNEL_FRAME_MAX);
    return rc;
}

static void fetch(struct fuzz_input *input)
{
    uint64_t nbytes = fuzz_u8(input) * (uint64_t)UNIT, left = wire.offered - wire.taken;
    wire.taken += nbytes < left ? nbytes : left;
}

static int step(struct fuzz_input *input)
{
    switch (fuzz_u8(input) % 8) {
    case 0:
        put_header(input);
        return 0;
    case 1:
        put_many('x', fuzz_u8(input));
        return 0;
    case 2:
        put_many('y', last_length);
        return 0;
    case 3:
        put_bytes(input);
        return 0;
    case 4:
        start(input);
        return 0;
    case 6:
        fetch(input);
        return 0;
    case 7:
        wire.revoked = true;
        return 0;
    default:
        return move(input);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    int8_t first = (int8_t)fuzz_u8(&input);
    memset(&wire, 0, sizeof wire);
    wire.link.type = &types[fuzz_u8(&input) & 3];
    window = (struct operation_window){ .first = (uint32_t)(int64_t)first };
    window.end = window.first;
    memset(outgoing, 's', sizeof outgoing);
    reported = 0;
    last_length = 0;
    channel_init(&channel, &wire.link, 1);
    while (input.left > 0 && step(&input) >= 0)
        ;
    for (uint32_t number = window.first; number != window.end; number++)
        drop(number);
    return 0;
}
