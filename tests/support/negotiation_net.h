/* SPDX-License-Identifier: Apache-2.0 */
/* A set of ranks that negotiate within a test: messages are queued in memory and delivered in an
 * order that a seed chooses, each link in its own order. Failures end the test. */
#ifndef TESTS_SUPPORT_NEGOTIATION_NET_H
#define TESTS_SUPPORT_NEGOTIATION_NET_H

#include "lib/negotiation/negotiation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NET_RANKS_MAX = 64, NET_QUEUE = 64, NET_DATA_MAX = 4096 };

/* First in, first out; the writers' memory is used again. */
struct net_queue {
    struct wire_writer messages[NET_QUEUE];
    unsigned first, end;
};

struct net_rank {
    struct negotiation *negotiation;
    struct tree_position tree;
    int index;               /* among the parent's children */
    struct net_queue up;     /* to the parent */
    struct net_queue down;   /* from the parent */
    struct wire_writer made; /* by the root */
    struct wire_writer log;  /* lines of text: what was decided, the same on all ranks */
};

/* The last decision of a rank. */
struct net_seen {
    int decisions; /* since the last net_check_one() */
    int count, status, last_rank;
    enum decision_kind kind;
    struct algorithm_choice choice;
    void *owner;
    char name[HVD_NAME_MAX + 1], text[500];
    unsigned char data[NET_DATA_MAX]; /* what there is more of is left out */
    size_t nbytes, offsets[NET_RANKS_MAX + 1];
    bool has_list;
    int schedules; /* steady states that have begun, ever */
    struct schedule schedule;
};

struct net {
    int size;
    uint64_t state; /* of the random numbers */
    bool quiet;     /* no log, and nothing seen */
    struct net_rank ranks[NET_RANKS_MAX];
    struct net_seen seen[NET_RANKS_MAX];
    void (*on_decision)(struct net *net, int rank, const struct decision *decision);
    void (*on_message)(struct net *net, struct wire_writer *message); /* before it is delivered */
    bool tolerant; /* a failure is remembered in `broken`, and nothing happens any more */
    int broken;
    size_t messages_up, bytes_up, bytes_down;
};

void net_init(struct net *net, int size, const struct negotiation_settings *settings,
              uint64_t seed);
void net_fini(struct net *net);

/* Below `bound`. */
uint32_t net_random(struct net *net, uint32_t bound);

/* Submits; it must succeed. */
void net_submit(struct net *net, int rank, const struct offer *offer);

/* One thing happens somewhere; false when nothing can. */
bool net_step(struct net *net);

/* Until nothing can happen any more. */
void net_complete(struct net *net);

/* All logs are equal; then they are emptied. */
void net_check_logs(struct net *net);

/* All ranks saw one decision, the same, since the last time. */
void net_check_one(struct net *net, enum decision_kind kind, const char *name);

/* The usual settings: 64 MiB, 4 KiB inline, 1024 slots, group fusion. */
extern const struct negotiation_settings net_defaults;

/* An allreduce of `count` float32, given inline if that is how it goes. */
struct offer net_allreduce(const struct net *net, const char *name, int64_t count,
                           const float *data);
struct offer net_barrier(const char *name);
struct offer net_join(const char *name);
struct description net_description(enum collective_kind kind, int64_t count);

#endif
