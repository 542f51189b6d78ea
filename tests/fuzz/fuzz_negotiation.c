/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that negotiate (lib/negotiation), over links on which messages may be changed.
 *
 *   u8: bits 0 and 1 how many ranks besides 2, bit 2 no cache, bit 3 a cache of two, bit 4 no fusion
 *   then steps, u8 what, u8 which rank, and
 *     0 to 2 it submits: u8 name, u8 what, u8 how many elements, u8 root, type and operation
 *     3 it reports      4 its report arrives      5 a decision arrives      6 the root decides: u8 data too
 *     7 everything that can happen happens
 *     8 its oldest report is changed: u8 where, u8 mask   9 the same of the decision that is on its way to it
 *     10 its report is replaced: u8 how many bytes, they   11 the decision on its way to it
 *     12 its report is cut: u8 where                       13 the decision is cut
 *
 * Whatever is submitted: as long as nobody changes a message, nothing fails, and all ranks see the
 * same decisions, with the same data. When one has, each rank takes it or says that the protocol is
 * broken, and no more happens there. At any time a decision is about tensors that have names, and
 * owners that the rank has given, each once; and messages stay small. */
#include "lib/negotiation/negotiation.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 5, NAMES = 6, QUEUE = 16, ELEMENTS = 64, MESSAGE_MAX = 1 << 20 };

struct queue {
    struct wire_writer messages[QUEUE];
    unsigned first, end;
};

static struct rank {
    struct negotiation *negotiation;
    struct tree_position tree;
    int index; /* among its parent's children */
    struct queue up, down;
    bool in_flight[NAMES]; /* given, and not come back */
    bool joined, broken;
    uint64_t log, decisions;
} ranks[RANKS];

static int size;
static bool changed; /* somebody has changed a message */
static bool joins;   /* who has joined need not see what the others do */

static const char *const names[NAMES] = { "a", "b", "c", "group.1", "group.2", "join" };

/* ---- messages ---- */

static bool is_full(const struct queue *queue)
{
    return queue->end - queue->first == QUEUE;
}

static struct wire_writer *push(struct queue *queue)
{
    struct wire_writer *message = &queue->messages[queue->end++ % QUEUE];
    message->length = 0;
    return message;
}

static struct wire_writer *oldest(struct queue *queue)
{
    return queue->first == queue->end ? NULL : &queue->messages[queue->first % QUEUE];
}

/* Of just that size, so that a read beyond it is seen. */
static void *copy_of(const struct wire_writer *message)
{
    void *copy = malloc(message->length > 0 ? message->length : 1);
    PROMISE(copy && message->length <= MESSAGE_MAX);
    if (message->length > 0)
        memcpy(copy, message->data, message->length);
    return copy;
}

static void check(struct rank *rank, int rc, const struct err *err)
{
    PROMISE(rc >= 0 || (changed && rc == HVD_ERR_PROTOCOL));
    if (rc < 0)
        PROMISE(*err->text);
    rank->broken |= rc < 0;
}

/* ---- decisions ---- */

static void mix(uint64_t *digest, const void *data, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        *digest = (*digest ^ ((const uint8_t *)data)[i]) * 1099511628211U;
}

static void take_owner(struct rank *rank, const struct agreed *agreed)
{
    bool *given = agreed->owner;
    if (!given) {
        PROMISE(rank->joined);
        return;
    }
    PROMISE(given >= rank->in_flight && given < rank->in_flight + NAMES && *given);
    PROMISE(strcmp(agreed->name, names[given - rank->in_flight]) == 0);
    *given = false;
}

static void take_decision(struct rank *rank, const struct decision *decision)
{
    PROMISE(decision->count >= 1);
    PROMISE(decision->count == 1 || decision->kind == DECISION_BATCH);
    for (int i = 0; i < decision->count; i++) {
        const struct agreed *agreed = &decision->tensors[i];
        PROMISE(*agreed->name && strlen(agreed->name) <= HVD_NAME_MAX);
        take_owner(rank, agreed);
        mix(&rank->log, agreed->name, strlen(agreed->name));
        if (decision->kind == DECISION_DONE && agreed->nbytes > 0)
            mix(&rank->log, agreed->data, agreed->nbytes);
        for (int r = 0; agreed->offsets && r < size; r++)
            PROMISE(agreed->offsets[r] <= agreed->offsets[r + 1]);
        PROMISE(!agreed->offsets || agreed->offsets[size] <= agreed->nbytes);
        if (decision->kind == DECISION_DONE && strcmp(agreed->name, "join") == 0)
            rank->joined = false;
    }
    mix(&rank->log, &decision->kind, sizeof decision->kind);
    mix(&rank->log, &decision->count, sizeof decision->count);
    if (decision->kind == DECISION_FAILED)
        mix(&rank->log, decision->text, strlen(decision->text));
    if (decision->kind == DECISION_BATCH)
        mix(&rank->log, &decision->choice.algorithm, sizeof decision->choice.algorithm);
    mix(&rank->log, &decision->choice.piece, sizeof decision->choice.piece);
    rank->decisions++;
}

static void apply(struct rank *rank, const struct wire_writer *message)
{
    struct err err = { .code = HVD_OK };
    struct decision decision;
    void *copy = copy_of(message);
    int rc = negotiation_apply(rank->negotiation, copy, message->length, &err);
    for (int i = 0; rc == HVD_OK && i < rank->tree.nchildren; i++)
        wire_put_bytes(push(&ranks[rank->tree.children[i]].down), message->data, message->length);
    while (rc >= 0 && (rc = negotiation_next(rank->negotiation, &decision, &err)) > 0)
        take_decision(rank, &decision);
    check(rank, rc, &err);
    free(copy);
}

/* ---- steps that are as they should be; each says whether something happened ---- */

static bool children_have_room(const struct rank *rank)
{
    for (int i = 0; i < rank->tree.nchildren; i++)
        if (is_full(&ranks[rank->tree.children[i]].down))
            return false;
    return true;
}

static bool report(struct rank *rank)
{
    if (rank == ranks || rank->broken || is_full(&rank->up))
        return false;
    bool reported = negotiation_report(rank->negotiation, push(&rank->up));
    rank->up.end -= !reported;
    return reported;
}

static bool arrive_up(struct rank *rank)
{
    struct rank *parent = rank == ranks ? rank : &ranks[rank->tree.parent];
    struct wire_writer *message = oldest(&rank->up);
    struct err err = { .code = HVD_OK };
    if (rank == parent || !message || parent->broken)
        return false;
    void *copy = copy_of(message);
    rank->up.first++;
    check(parent,
          negotiation_receive(parent->negotiation, rank->index, copy, message->length, 0, &err),
          &err);
    free(copy);
    return true;
}

static bool arrive_down(struct rank *rank)
{
    struct wire_writer *message = oldest(&rank->down);
    if (!message || rank->broken || !children_have_room(rank))
        return false;
    rank->down.first++;
    apply(rank, message);
    return true;
}

static bool decide(bool data)
{
    struct wire_writer made = { 0 };
    struct rank *root = &ranks[0];
    bool decided = !root->broken && children_have_room(root) &&
                   negotiation_decide(root->negotiation, data, &made);
    if (decided)
        apply(root, &made);
    wire_writer_fini(&made);
    return decided;
}

static void finish_rounds(void)
{
    bool happened = true;
    for (int turns = 0; happened; turns++) {
        PROMISE(turns < 10000);
        happened = false;
        for (int i = size - 1; i >= 0; i--)
            happened |= report(&ranks[i]) | arrive_up(&ranks[i]) | arrive_down(&ranks[i]);
        happened |= decide(true);
    }
}

static void check_logs(void)
{
    finish_rounds();
    for (int i = 1; i < size && !changed && !joins; i++) {
        PROMISE(ranks[i].decisions == ranks[0].decisions);
        PROMISE(ranks[i].log == ranks[0].log);
    }
}

/* ---- offers ---- */

static struct description describe(struct fuzz_input *input, int name)
{
    static const enum collective_kind kinds[] = {
        COLLECTIVE_ALLREDUCE,     COLLECTIVE_ALLREDUCE, COLLECTIVE_ALLGATHER, COLLECTIVE_BROADCAST,
        COLLECTIVE_REDUCESCATTER, COLLECTIVE_ALLTOALL,  COLLECTIVE_BARRIER,
    };
    uint8_t what = fuzz_u8(input);
    int64_t count = fuzz_u8(input) % ELEMENTS;
    uint8_t how = fuzz_u8(input);
    struct description description = { .kind = kinds[what % 7], .prescale = 1, .postscale = 1 };
    if (strcmp(names[name], "join") == 0)
        description.kind = COLLECTIVE_JOIN;
    description.nameless = !collective_has_tensor(description.kind);
    if (description.nameless)
        return description;
    description.dtype = how & 1 ? HVD_INT32 : HVD_FLOAT32;
    description.op = description.kind == COLLECTIVE_ALLREDUCE && how & 2 ? HVD_SUM : HVD_AVERAGE;
    if (description.kind == COLLECTIVE_BROADCAST)
        description.root = (how >> 2) % size;
    if (strncmp(names[name], "group", 5) == 0) {
        description.group = 77;
        description.group_size = 2;
    }
    description.shape = (struct shape){ .ndims = 1, .dims = { count } };
    return description;
}

/* What goes with it (negotiation.h). */
static void fill(struct rank *rank, struct offer *offer, unsigned char *data)
{
    const struct description *description = &offer->description;
    size_t nbytes = description_bytes(description);
    int number = (int)(rank - ranks);
    bool is_inline = negotiation_is_inline(rank->negotiation, description);
    bool lists_rows = collective_has_own_rows(description->kind);
    size_t numbers = description->kind == COLLECTIVE_ALLTOALL ? 8 * (size_t)size : 8;
    memset(data, number + 1, numbers + nbytes);
    offer->data = data;
    offer->complete = description->nameless || is_inline;
    if (lists_rows) {
        uint64_t rows = (uint64_t)description->shape.dims[0];
        for (int i = 0; i < 8; i++)
            data[i] = (unsigned char)(rows >> 8 * i);
        offer->complete = nbytes <= 64;
        offer->nbytes = offer->complete ? numbers + nbytes : numbers;
        return;
    }
    bool gives =
        is_inline && (description->kind != COLLECTIVE_BROADCAST || description->root == number);
    offer->nbytes = gives ? nbytes : 0;
}

static void submit(struct rank *rank, struct fuzz_input *input)
{
    unsigned char data[8 * RANKS + ELEMENTS * 4];
    struct err err = { .code = HVD_OK };
    int name = fuzz_u8(input) % NAMES;
    struct offer offer = { .name = names[name], .description = describe(input, name) };
    fill(rank, &offer, data);
    offer.owner = &rank->in_flight[name];
    if (rank->joined || rank->broken)
        return;
    bool twice = negotiation_in_flight(rank->negotiation, offer.name);
    PROMISE(twice == rank->in_flight[name] || changed);
    int rc = negotiation_submit(rank->negotiation, &offer, 0, &err);
    PROMISE(rc == (twice ? HVD_ERR_INVALID : HVD_OK));
    if (rc < 0) {
        PROMISE(*err.text);
        return;
    }
    rank->in_flight[name] = true;
    rank->joined = offer.description.kind == COLLECTIVE_JOIN;
    joins |= rank->joined;
}

/* ---- steps that are not ---- */

static void change(struct wire_writer *message, struct fuzz_input *input)
{
    uint8_t where = fuzz_u8(input), mask = fuzz_u8(input);
    if (!message || message->length == 0 || mask == 0)
        return;
    message->data[where % message->length] ^= mask;
    changed = true;
}

static void replace(struct wire_writer *message, struct fuzz_input *input)
{
    size_t length;
    uint8_t *bytes = fuzz_bytes(input, &length);
    if (message) {
        message->length = 0;
        wire_put_bytes(message, bytes, length);
        changed = true;
    }
    free(bytes);
}

static void cut(struct wire_writer *message, struct fuzz_input *input)
{
    uint8_t where = fuzz_u8(input);
    if (!message || message->length == 0)
        return;
    message->length = where % message->length;
    changed = true;
}

static void step(struct fuzz_input *input)
{
    uint8_t what = fuzz_u8(input) % 14;
    struct rank *rank = &ranks[fuzz_u8(input) % size];
    struct wire_writer *message = oldest(what & 1 ? &rank->down : &rank->up);
    if (what < 3)
        submit(rank, input);
    else if (what == 3)
        report(rank);
    else if (what == 4)
        arrive_up(rank);
    else if (what == 5)
        arrive_down(rank);
    else if (what == 6)
        decide(fuzz_u8(input) & 1);
    else if (what == 7)
        check_logs();
    else if (what < 10)
        change(message, input);
    else if (what < 12)
        replace(message, input);
    else
        cut(message, input);
}

/* ---- all ---- */

static void begin(uint8_t how)
{
    static const int world_ranks[RANKS] = { 0, 1, 2, 3, 4 };
    struct negotiation_settings settings = { .fusion = { how & 16 ? 0 : 256, how & 16 ? 0 : 64 },
                                             .inline_max = 64,
                                             .cache_capacity = how & 4   ? 0
                                                               : how & 8 ? 2
                                                                         : 64,
                                             .group_fusion = true };
    size = 2 + (how & 3);
    changed = joins = false;
    memset(ranks, 0, sizeof ranks);
    for (int i = 0; i < size; i++) {
        struct rank *rank = &ranks[i];
        tree_position(&rank->tree, i, size, 1);
        rank->negotiation = negotiation_create(i, size, world_ranks, &settings, NULL);
        PROMISE(rank->negotiation);
        while (i > 0 && ranks[rank->tree.parent].tree.children[rank->index] != i)
            rank->index++;
    }
}

static void end(void)
{
    for (int i = 0; i < size; i++) {
        negotiation_destroy(ranks[i].negotiation);
        for (int at = 0; at < QUEUE; at++) {
            wire_writer_fini(&ranks[i].up.messages[at]);
            wire_writer_fini(&ranks[i].down.messages[at]);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_of_input)
{
    struct fuzz_input input = fuzz_begin(data, size_of_input);
    begin(fuzz_u8(&input));
    while (input.left > 0)
        step(&input);
    check_logs();
    end();
    return 0;
}
