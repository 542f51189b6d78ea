/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that negotiate in memory; see negotiation_net.h. */
#include "tests/support/negotiation_net.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ck_assert() costs a system call even when all is well. */
#define REQUIRE(condition, ...)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg(__VA_ARGS__);                                                             \
    } while (0)

const struct negotiation_settings net_defaults = { .fusion = { 64 << 20, 64 << 10 },
                                                   .inline_max = 4096,
                                                   .cache_capacity = 1024,
                                                   .group_fusion = true };

uint32_t net_random(struct net *net, uint32_t bound)
{
    net->state = net->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((net->state >> 33) % bound);
}

static int index_of(const struct tree_position *parent, int rank)
{
    int index = 0;
    while (parent->children[index] != rank)
        index++;
    return index;
}

void net_init(struct net *net, int size, const struct negotiation_settings *settings, uint64_t seed)
{
    int world_ranks[NET_RANKS_MAX];
    struct err err = { 0 };
    memset(net, 0, sizeof *net);
    net->size = size;
    net->state = seed * 2654435761u + 12345;
    for (int i = 0; i < size; i++)
        world_ranks[i] = i;
    for (int i = 0; i < size; i++) {
        struct net_rank *rank = &net->ranks[i];
        tree_position(&rank->tree, i, size, settings->star);
        if (i > 0)
            rank->index = index_of(&net->ranks[rank->tree.parent].tree, i);
        rank->negotiation = negotiation_create(i, size, world_ranks, settings, &err);
        ck_assert_msg(rank->negotiation, "%s", err.text);
    }
}

void net_fini(struct net *net)
{
    for (int i = 0; i < net->size; i++) {
        struct net_rank *rank = &net->ranks[i];
        negotiation_destroy(rank->negotiation);
        for (int j = 0; j < NET_QUEUE; j++) {
            wire_writer_fini(&rank->up.messages[j]);
            wire_writer_fini(&rank->down.messages[j]);
        }
        wire_writer_fini(&rank->made);
        wire_writer_fini(&rank->log);
    }
}

/* A failure ends the test, or is remembered and stops the net. */
static void check(struct net *net, int rank, int rc, const struct err *err)
{
    REQUIRE(rc >= 0 || net->tolerant, "rank %d: %s", rank, err->text);
    if (rc < 0)
        net->broken = rc;
}

/* A copy as long as the message, so that a sanitizer sees a read beyond it. */
static void *exact(struct net *net, struct wire_writer *message)
{
    if (net->on_message)
        net->on_message(net, message);
    unsigned char *copy = malloc(message->length > 0 ? message->length : 1);
    if (copy && message->length > 0)
        memcpy(copy, message->data, message->length);
    return copy;
}

void net_submit(struct net *net, int rank, const struct offer *offer)
{
    struct err err = { 0 };
    int rc = negotiation_submit(net->ranks[rank].negotiation, offer, 0, &err);
    REQUIRE(rc == HVD_OK, "rank %d: %s", rank, err.text);
}

static struct wire_writer *push(struct net_queue *queue)
{
    REQUIRE(queue->end - queue->first < NET_QUEUE, "a link is full");
    struct wire_writer *message = &queue->messages[queue->end++ % NET_QUEUE];
    message->length = 0;
    return message;
}

static bool is_full(const struct net_queue *queue)
{
    return queue->end - queue->first == NET_QUEUE;
}

static uint64_t digest(const void *data, size_t nbytes)
{
    uint64_t hash = nbytes;
    for (size_t i = 0; i < nbytes; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211u;
    return hash;
}

static void log_decision(struct net_rank *rank, const struct decision *decision)
{
    static const char *const kinds[] = { "run", "done", "failed" };
    char line[800];
    for (int i = 0; i < decision->count; i++) {
        const struct agreed *agreed = &decision->tensors[i];
        snprintf(
            line, sizeof line, "%s %d/%d by %d in %zu %s '%s' last %d data %016" PRIx64 " %s\n",
            kinds[decision->kind], i, decision->count, (int)decision->choice.algorithm,
            decision->choice.piece, decision->text ? "" : collective_name(agreed->description.kind),
            agreed->name, agreed->last_rank, digest(agreed->data, agreed->nbytes),
            decision->text ? decision->text : "");
        wire_put_bytes(&rank->log, line, strlen(line));
    }
}

static void record(struct net *net, int rank, const struct decision *decision)
{
    struct net_seen *seen = &net->seen[rank];
    const struct agreed *agreed = decision->tensors;
    if (decision->kind == DECISION_STEADY) {
        seen->schedules++;
        seen->schedule = *decision->schedule;
        return;
    }
    seen->decisions++;
    seen->count = decision->count;
    seen->status = decision->status;
    seen->kind = decision->kind;
    seen->choice = decision->choice;
    seen->owner = agreed->owner;
    seen->last_rank = agreed->last_rank;
    snprintf(seen->name, sizeof seen->name, "%s", agreed->name);
    snprintf(seen->text, sizeof seen->text, "%s", decision->text ? decision->text : "");
    seen->nbytes = agreed->nbytes;
    if (agreed->nbytes > 0)
        memcpy(seen->data, agreed->data,
               agreed->nbytes < sizeof seen->data ? agreed->nbytes : sizeof seen->data);
    seen->has_list = agreed->offsets;
    if (agreed->offsets)
        memcpy(seen->offsets, agreed->offsets, ((size_t)net->size + 1) * sizeof *seen->offsets);
}

void net_check_one(struct net *net, enum decision_kind kind, const char *name)
{
    for (int i = 0; i < net->size; i++) {
        struct net_seen *seen = &net->seen[i];
        REQUIRE(seen->decisions == 1, "rank %d saw %d", i, seen->decisions);
        REQUIRE(seen->kind == kind, "rank %d saw %d: %s", i, (int)seen->kind, seen->text);
        ck_assert_str_eq(seen->name, name);
        seen->decisions = 0;
    }
    net_check_logs(net);
}

static int forward(struct net *net, const struct net_rank *rank, const struct wire_writer *message)
{
    for (int i = 0; i < rank->tree.nchildren; i++) {
        struct wire_writer *copy = push(&net->ranks[rank->tree.children[i]].down);
        wire_put_bytes(copy, message->data, message->length);
        net->bytes_down += message->length;
        if (copy->failed)
            return HVD_ERR_NOMEM;
    }
    return HVD_OK;
}

static int take_decisions(struct net *net, int at, struct err *err)
{
    struct net_rank *rank = &net->ranks[at];
    struct decision decision;
    int rc;
    while ((rc = negotiation_next(rank->negotiation, &decision, err)) > 0) {
        if (!net->quiet) {
            log_decision(rank, &decision);
            record(net, at, &decision);
        }
        if (net->on_decision)
            net->on_decision(net, at, &decision);
    }
    return rc;
}

static void apply(struct net *net, int at, struct wire_writer *message)
{
    struct net_rank *rank = &net->ranks[at];
    struct err err = { 0 };
    void *copy = net->tolerant ? exact(net, message) : NULL;
    int rc =
        negotiation_apply(rank->negotiation, copy ? copy : message->data, message->length, &err);
    if (rc == HVD_OK)
        rc = forward(net, rank, message);
    if (rc == HVD_OK)
        rc = take_decisions(net, at, &err);
    check(net, at, rc, &err);
    free(copy);
}

static bool report(struct net *net, int at)
{
    struct net_rank *rank = &net->ranks[at];
    if (at == 0 || is_full(&rank->up))
        return false;
    struct wire_writer *message = push(&rank->up);
    if (!negotiation_report(rank->negotiation, message)) {
        rank->up.end--;
        return false;
    }
    REQUIRE(message->length < 4 << 20, "a report of %zu bytes", message->length);
    check(net, at, message->failed ? HVD_ERR_NOMEM : HVD_OK, &(struct err){ 0 });
    net->messages_up++;
    net->bytes_up += message->length;
    return true;
}

static bool deliver_up(struct net *net, int at)
{
    struct net_rank *rank = &net->ranks[at];
    struct err err = { 0 };
    if (rank->up.first == rank->up.end)
        return false;
    struct wire_writer *message = &rank->up.messages[rank->up.first++ % NET_QUEUE];
    void *copy = net->tolerant ? exact(net, message) : NULL;
    int rc = negotiation_receive(net->ranks[rank->tree.parent].negotiation, rank->index,
                                 copy ? copy : message->data, message->length, 0, &err);
    check(net, rank->tree.parent, rc, &err);
    free(copy);
    return true;
}

static bool children_have_room(const struct net *net, const struct net_rank *rank)
{
    for (int i = 0; i < rank->tree.nchildren; i++)
        if (is_full(&net->ranks[rank->tree.children[i]].down))
            return false;
    return true;
}

static bool deliver_down(struct net *net, int at)
{
    struct net_rank *rank = &net->ranks[at];
    if (rank->down.first == rank->down.end || !children_have_room(net, rank))
        return false;
    apply(net, at, &rank->down.messages[rank->down.first++ % NET_QUEUE]);
    return true;
}

static bool decide(struct net *net, bool data)
{
    struct net_rank *root = &net->ranks[0];
    root->made.length = 0;
    if (!children_have_room(net, root) || !negotiation_decide(root->negotiation, data, &root->made))
        return false;
    check(net, 0, root->made.failed ? HVD_ERR_NOMEM : HVD_OK, &(struct err){ 0 });
    if (net->broken == HVD_OK)
        apply(net, 0, &root->made);
    return true;
}

static bool try(struct net *net, int at, int what)
{
    if (what == 0)
        return report(net, at);
    if (what == 1)
        return deliver_up(net, at);
    if (what == 2)
        return deliver_down(net, at);
    return at == 0 && decide(net, what == 4);
}

bool net_step(struct net *net)
{
    int start = (int)net_random(net, (uint32_t)net->size * 5), all = net->size * 5;
    if (net->broken != HVD_OK)
        return false;
    for (int i = 0; i < all; i++) {
        int which = (start + i * 7) % all;
        if (all % 7 == 0)
            which = (start + i) % all;
        if (try(net, which / 5, which % 5))
            return true;
    }
    return false;
}

void net_complete(struct net *net)
{
    while (net_step(net))
        ;
}

void net_check_logs(struct net *net)
{
    const struct wire_writer *first = &net->ranks[0].log;
    for (int i = 1; i < net->size; i++) {
        const struct wire_writer *log = &net->ranks[i].log;
        bool same = log->length == first->length &&
                    (log->length == 0 || memcmp(log->data, first->data, log->length) == 0);
        REQUIRE(same, "rank %d:\n%.*srank 0:\n%.*s", i, (int)log->length, (char *)log->data,
                (int)first->length, (char *)first->data);
    }
    for (int i = 0; i < net->size; i++)
        net->ranks[i].log.length = 0;
}

struct description net_description(enum collective_kind kind, int64_t count)
{
    return (struct description){ .kind = kind,
                                 .dtype = HVD_FLOAT32,
                                 .op = kind == COLLECTIVE_ALLREDUCE ? HVD_SUM : HVD_AVERAGE,
                                 .prescale = 1,
                                 .postscale = 1,
                                 .shape = { .ndims = 1, .dims = { count } } };
}

struct offer net_allreduce(const struct net *net, const char *name, int64_t count,
                           const float *data)
{
    struct offer offer = { .name = name,
                           .description = net_description(COLLECTIVE_ALLREDUCE, count),
                           .data = data,
                           .nbytes = (size_t)count * sizeof *data };
    offer.complete = negotiation_is_inline(net->ranks[0].negotiation, &offer.description);
    return offer;
}

struct offer net_barrier(const char *name)
{
    return (struct offer){ .name = name,
                           .description = { .kind = COLLECTIVE_BARRIER,
                                            .prescale = 1,
                                            .postscale = 1,
                                            .nameless = true },
                           .complete = true };
}

struct offer net_join(const char *name)
{
    struct offer offer = net_barrier(name);
    offer.description.kind = COLLECTIVE_JOIN;
    return offer;
}
