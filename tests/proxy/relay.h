/* SPDX-License-Identifier: Apache-2.0 */
/* Carries bytes between two ends, each way, with the faults that are asked for: between two pairs
 * of descriptors, or for whoever connects to a listener. One thread, nothing blocks but
 * relay_step(). */
#ifndef TESTS_PROXY_RELAY_H
#define TESTS_PROXY_RELAY_H

#include "tests/proxy/wire_fault.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* There is from who connects, or from the relay's own stdin, to the other end. */
enum { RELAY_THERE, RELAY_BACK, RELAY_WAYS };

enum { RELAY_FAULTS_MAX = 16 };

/* What is done to every connection. */
struct relay_rules {
    struct relay_fault {
        struct wire_fault fault;
        int way;
        unsigned connection;    /* 1 for the first that comes; 0 for each */
        int when_at;            /* only if the first bytes that come there have, at this offset, */
        int when_byte;          /* this byte; -1: whatever they are */
        bool once;              /* not again once any fault has happened */
    } faults[RELAY_FAULTS_MAX]; /* one a way and connection: the first that fits */
    int count;
    bool single;                  /* one byte at a time */
    unsigned delay_ms, jitter_ms; /* whatever comes is this much later, plus less than jitter_ms */
};

struct relay_pair;

struct relay {
    struct relay_rules rules;
    int listener;          /* -1: none */
    struct sockaddr_in to; /* where who comes in is led */
    struct relay_pair *pairs;
    unsigned came;   /* connections so far */
    unsigned struck; /* faults that have happened */
    uint64_t moved
        [RELAY_WAYS]; /* bytes that came in, of connections that a rule is for, if there is any */
    uint32_t random;
};

/* From now on leads whoever comes to `listener`, which it owns, to `to`. */
void relay_init(struct relay *relay, const struct relay_rules *rules, int listener,
                const struct sockaddr_in *to);
void relay_fini(struct relay *relay);

/* Joins two ends, of which each may be one descriptor twice; they belong to the relay. */
void relay_join(struct relay *relay, int near_in, int near_out, int far_in, int far_out);

/* Waits for at most `wait_ms` (-1: for as long as it takes) and moves what there is. */
void relay_step(struct relay *relay, int wait_ms);

/* Are there ends that have not been closed? */
bool relay_is_busy(const struct relay *relay);

/* Lets go of everything that stalls. */
void relay_release(struct relay *relay);

/* A listener on `host`, any port if that is 0; -1 and errno. `at` is where it listens. */
int relay_listen(uint32_t host, uint16_t port, struct sockaddr_in *at);

#endif
