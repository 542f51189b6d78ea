/* SPDX-License-Identifier: Apache-2.0 */
/* Linkers of several ranks in one process, over loopback; time is what the test says. */
#ifndef TESTS_SUPPORT_LINKERS_H
#define TESTS_SUPPORT_LINKERS_H

#include "lib/link/linker.h"
#include "lib/link/network.h"

enum {
    LINKERS_MAX = 60,
    LINKERS_EPOCH = 3,
    MANY = 100000 /* moves until something has happened */
};

extern struct rank_certifier linkers_certifier;
extern enum encryption linkers_encryption; /* HVD_ENCRYPT of ranks that are opened now */
extern bool linkers_are_impostors; /* so are these: they have the certificate of another rank */
extern struct err err;
extern struct linker *linkers[LINKERS_MAX];
extern struct join_peer peers[LINKERS_MAX]; /* where each rank listens: rank 1 on node1 */
extern int listeners[LINKERS_MAX];          /* the linkers' own */
extern int unix_listeners[LINKERS_MAX];
extern int nlinkers;

/* As many descriptors as may be had; a certifier; no ranks yet. */
void linkers_setup(void);
void linkers_teardown(void);

/* The next rank, with the test's certifier and epoch or others; ranks 0 to count - 1. */
void open_linker(const struct rank_certifier *certifier, uint32_t epoch);
void open_linkers(int count);

/* The next rank, on that host and with that HVD_TRANSPORT: it announces a unix socket, too, and
 * keeps to the order of addresses that belongs to its place. */
void open_linker_at(const char *host, enum transport transport);

/* At time 0. */
void want(int rank, int peer, uint32_t channel);
void want_both_ways(int rank, int peer, uint32_t channel);

/* One move each; moves until nobody misses a link, while time goes on. Neither may fail. */
void move_all(uint64_t now_ms);
bool anybody_is_busy(void);
void link_up(void);

/* Rank `target` is dialled by `source`, which has no linker for that. */
struct link *linkers_dial(uint32_t source, int target, uint32_t channel);

void say(struct link *link, uint32_t word);
uint32_t hear(struct link *link);
bool is_closed(struct link *link);

/* Both sides take the link and hear each other on it. */
void check_link(int rank, int peer, uint32_t channel);

#endif
