/* SPDX-License-Identifier: Apache-2.0 */
/* Links in memory; see link_memory.h. */
#include "tests/support/link_memory.h"

#include <stdlib.h>
#include <string.h>

enum { SPANS = 64 };

/* Bytes that follow each other in the ring, or that were offered (`data`). */
struct span {
    const unsigned char *data;
    size_t nbytes;
};

struct queue {
    unsigned char *data; /* a ring of `capacity` bytes */
    size_t start, length;
    struct span spans[SPANS];
    unsigned first, count;
    uint64_t taken; /* of what was offered */
    bool ended;     /* nobody will write any more */
};

struct wire {
    size_t step, capacity;
    int ends;
    bool cut, shaken, shares, revoked;
    bool leaving[2]; /* an end takes what it was offered, and is gone, when the other receives */
    uint32_t random;
    struct queue queues[2]; /* queue i holds what end i will receive */
};

struct link_memory {
    struct link link;
    struct wire *wire;
    int end;
};

static struct link_memory *memory_of(const struct link *link)
{
    return (struct link_memory *)(void *)link;
}

static size_t size_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many bytes this call may move. */
static size_t budget(struct wire *wire)
{
    if (!wire->shaken)
        return wire->step;
    wire->random = wire->random * 1664525 + 1013904223;
    return (wire->random >> 8) % (wire->step + 1);
}

static struct span *span_at(struct queue *queue, unsigned index)
{
    return &queue->spans[(queue->first + index) % SPANS];
}

/* 0 if there is no room for another span. */
static size_t add_span(struct queue *queue, const unsigned char *data, size_t nbytes)
{
    struct span *last = queue->count > 0 ? span_at(queue, queue->count - 1) : NULL;
    if (last && !last->data && !data) {
        last->nbytes += nbytes;
        return nbytes;
    }
    if (queue->count == SPANS || nbytes == 0)
        return 0;
    *span_at(queue, queue->count++) = (struct span){ data, nbytes };
    return nbytes;
}

static size_t put(const struct wire *wire, struct queue *queue, const unsigned char *data,
                  size_t size)
{
    size_t count = add_span(queue, NULL, size_min(size, wire->capacity - queue->length));
    size_t end = (queue->start + queue->length) % wire->capacity;
    size_t before_wrap = size_min(count, wire->capacity - end);
    memcpy(queue->data + end, data, before_wrap);
    memcpy(queue->data, data + before_wrap, count - before_wrap);
    queue->length += count;
    return count;
}

static const unsigned char *look(const struct wire *wire, struct queue *queue, size_t *nbytes)
{
    struct span *span = span_at(queue, 0);
    *nbytes = queue->count > 0 ? span->nbytes : 0;
    if (*nbytes > 0 && span->data)
        return span->data;
    *nbytes = size_min(*nbytes, wire->capacity - queue->start);
    return queue->data + queue->start;
}

static void drop(const struct wire *wire, struct queue *queue, size_t nbytes)
{
    struct span *span = span_at(queue, 0);
    if (span->data) {
        span->data += nbytes;
        queue->taken += nbytes;
    } else {
        queue->start = (queue->start + nbytes) % wire->capacity;
        queue->length -= nbytes;
    }
    span->nbytes -= nbytes;
    if (span->nbytes > 0)
        return;
    queue->first = (queue->first + 1) % SPANS;
    queue->count--;
}

static size_t take(const struct wire *wire, struct queue *queue, unsigned char *data, size_t size)
{
    size_t done = 0, nbytes;
    while (done < size) {
        const unsigned char *from = look(wire, queue, &nbytes);
        nbytes = size_min(nbytes, size - done);
        if (nbytes == 0)
            break;
        memcpy(data + done, from, nbytes);
        drop(wire, queue, nbytes);
        done += nbytes;
    }
    return done;
}

static ssize_t memory_try_send(struct link *link, const struct iovec *parts, int count,
                               struct err *err)
{
    struct link_memory *memory = memory_of(link);
    struct wire *wire = memory->wire;
    if (wire->cut || wire->ends < 2)
        return fail(err, HVD_ERR_PEER_LOST, "cut");
    size_t sent = 0, most = budget(wire);
    for (int i = 0; i < count && sent < most; i++) {
        size_t size = size_min(parts[i].iov_len, most - sent);
        size_t taken = put(wire, &wire->queues[!memory->end], parts[i].iov_base, size);
        sent += taken;
        if (taken < parts[i].iov_len)
            break;
    }
    return (ssize_t)sent;
}

static void leave(struct wire *wire, int end)
{
    for (size_t nbytes; wire->leaving[end] && wire->queues[end].count > 0;) {
        look(wire, &wire->queues[end], &nbytes);
        drop(wire, &wire->queues[end], nbytes);
    }
    wire->cut |= wire->leaving[end];
}

static ssize_t memory_try_receive(struct link *link, const struct iovec *parts, int count,
                                  struct err *err)
{
    struct link_memory *memory = memory_of(link);
    struct wire *wire = memory->wire;
    struct queue *queue = &wire->queues[memory->end];
    leave(wire, !memory->end);
    if (wire->cut || (queue->ended && queue->count == 0))
        return fail(err, HVD_ERR_PEER_LOST, "cut");
    size_t received = 0, most = budget(wire);
    for (int i = 0; i < count && received < most; i++)
        received +=
            take(wire, queue, parts[i].iov_base, size_min(parts[i].iov_len, most - received));
    return (ssize_t)received;
}

static ssize_t memory_offer(struct link *link, const void *data, size_t nbytes, struct err *err)
{
    struct link_memory *memory = memory_of(link);
    struct wire *wire = memory->wire;
    if (wire->cut || wire->ends < 2)
        return fail(err, HVD_ERR_PEER_LOST, "cut");
    nbytes = wire->shares ? size_min(nbytes, budget(wire)) : 0;
    return (ssize_t)add_span(&wire->queues[!memory->end], data, nbytes);
}

static uint64_t memory_taken(struct link *link)
{
    struct link_memory *memory = memory_of(link);
    return memory->wire->queues[!memory->end].taken;
}

static const void *memory_peek(struct link *link, size_t *nbytes)
{
    struct link_memory *memory = memory_of(link);
    struct wire *wire = memory->wire;
    const void *data = look(wire, &wire->queues[memory->end], nbytes);
    if (!wire->shares || wire->cut)
        *nbytes = 0;
    *nbytes = *nbytes > 0 ? size_min(*nbytes, budget(wire)) : 0;
    return *nbytes > 0 ? data : NULL;
}

static int memory_consume(struct link *link, size_t nbytes, struct err *err)
{
    struct link_memory *memory = memory_of(link);
    if (memory->wire->revoked)
        return fail(err, HVD_ERR_PEER_LOST, "revoked");
    drop(memory->wire, &memory->wire->queues[memory->end], nbytes);
    return HVD_OK;
}

static int memory_pollable(const struct link *link)
{
    (void)link;
    return -1;
}

static int memory_check(struct link *link, struct err *err)
{
    (void)link;
    (void)err;
    return HVD_OK;
}

static void memory_close(struct link *link)
{
    struct link_memory *memory = memory_of(link);
    struct wire *wire = memory->wire;
    wire->queues[!memory->end].ended = true;
    free(memory);
    if (--wire->ends > 0)
        return;
    free(wire->queues[0].data);
    free(wire->queues[1].data);
    free(wire);
}

static const struct link_type link_memory_type = {
    .try_send = memory_try_send,
    .try_receive = memory_try_receive,
    .offer = memory_offer,
    .taken = memory_taken,
    .peek = memory_peek,
    .consume = memory_consume,
    .pollable = memory_pollable,
    .check = memory_check,
    .close = memory_close,
};

void link_memory_pair(struct link *ends[2], size_t step, size_t capacity)
{
    struct wire *wire = calloc(1, sizeof *wire);
    *wire = (struct wire){ .step = step, .capacity = capacity, .ends = 2 };
    for (int i = 0; i < 2; i++) {
        wire->queues[i].data = malloc(capacity);
        struct link_memory *memory = calloc(1, sizeof *memory);
        *memory = (struct link_memory){ { .type = &link_memory_type }, wire, i };
        ends[i] = &memory->link;
    }
}

void link_memory_shake(struct link *end, uint32_t seed)
{
    memory_of(end)->wire->shaken = true;
    memory_of(end)->wire->random = seed;
}

void link_memory_take_and_leave(struct link *end)
{
    memory_of(end)->wire->leaving[memory_of(end)->end] = true;
}

void link_memory_share(struct link *end)
{
    memory_of(end)->wire->shares = true;
}

void link_memory_revoke(struct link *end)
{
    memory_of(end)->wire->revoked = true;
}

void link_memory_cut(struct link *end)
{
    memory_of(end)->wire->cut = true;
}
