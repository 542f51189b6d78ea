/* SPDX-License-Identifier: Apache-2.0 */
/* Links in memory; see link_memory.h. */
#include "tests/support/link_memory.h"

#include <stdlib.h>
#include <string.h>

struct queue {
    unsigned char *data; /* a ring of `capacity` bytes */
    size_t start, length;
    bool ended; /* nobody will write any more */
};

struct wire {
    size_t step, capacity;
    int ends;
    bool cut, shaken;
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

static size_t least(size_t a, size_t b)
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

static size_t put(const struct wire *wire, struct queue *queue, const unsigned char *data,
                  size_t size)
{
    size_t count = least(size, wire->capacity - queue->length);
    size_t end = (queue->start + queue->length) % wire->capacity;
    size_t before_wrap = least(count, wire->capacity - end);
    memcpy(queue->data + end, data, before_wrap);
    memcpy(queue->data, data + before_wrap, count - before_wrap);
    queue->length += count;
    return count;
}

static size_t take(const struct wire *wire, struct queue *queue, unsigned char *data, size_t size)
{
    size_t count = least(size, queue->length);
    size_t before_wrap = least(count, wire->capacity - queue->start);
    memcpy(data, queue->data + queue->start, before_wrap);
    memcpy(data + before_wrap, queue->data, count - before_wrap);
    queue->start = (queue->start + count) % wire->capacity;
    queue->length -= count;
    return count;
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
        size_t size = least(parts[i].iov_len, most - sent);
        size_t taken = put(wire, &wire->queues[!memory->end], parts[i].iov_base, size);
        sent += taken;
        if (taken < parts[i].iov_len)
            break;
    }
    return (ssize_t)sent;
}

static ssize_t memory_try_receive(struct link *link, const struct iovec *parts, int count,
                                  struct err *err)
{
    struct link_memory *memory = memory_of(link);
    struct wire *wire = memory->wire;
    struct queue *queue = &wire->queues[memory->end];
    if (wire->cut || (queue->ended && queue->length == 0))
        return fail(err, HVD_ERR_PEER_LOST, "cut");
    size_t received = 0, most = budget(wire);
    for (int i = 0; i < count && received < most; i++)
        received += take(wire, queue, parts[i].iov_base, least(parts[i].iov_len, most - received));
    return (ssize_t)received;
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
    memory_try_send, memory_try_receive, memory_pollable, memory_check, memory_close,
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

void link_memory_cut(struct link *end)
{
    memory_of(end)->wire->cut = true;
}
