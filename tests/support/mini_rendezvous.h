/* SPDX-License-Identifier: Apache-2.0 */
/* A minimal rendezvous for libhvd's own tests: a process that listens on loopback (or
 * everywhere), welcomes a world, and tells of ranks that are lost or leave. A worker that asks
 * for no rank gets a free one, in order of arrival. The process trusts its clients and may
 * block. */
#ifndef TESTS_SUPPORT_MINI_RENDEZVOUS_H
#define TESTS_SUPPORT_MINI_RENDEZVOUS_H

#include "lib/base/auth.h"

#include <stdbool.h>
#include <sys/types.h>

struct mini_rendezvous;

struct mini_options {
    int size;
    bool silent;         /* tells no news */
    bool anywhere;       /* each rank comes from another host, as far as this can tell */
    int unauthenticated; /* so many connect to each rank's data port, and its unix socket if it has
                            one, before WELCOME, and stay */
    int turns_away;      /* so many connections are closed as soon as they come */
    int drops;           /* so many are closed at their HELLO */
    int star;            /* of the tree that ranks are told; 0: 1 */
    bool misplaces;      /* tells each rank that it is its own neighbour */
    bool forges;         /* says WELCOME, then news without a proof of the key */
    bool withholds;      /* takes HELLOs and never says WELCOME: hangs up when all have come */
    int detour;          /* says that rank 1 listens at this port of 127.0.0.1; 0: where it does */
    bool asks;           /* says WELCOME, then ASK, and passes the answers on */
    const char *owner;   /* the only one whose key it knows, or NULL: whatever they say */
    const char *refuses; /* answers every HELLO with this text, HVD_ERR_ENVIRONMENT */
    const struct mini_rendezvous *again; /* where that one was, with its key; or NULL */
};

struct mini_rendezvous {
    pid_t pid;
    int port;
    char key[JOB_KEY_HEX_SIZE];
    int reports; /* the answers can be read here, one after the other; -1 unless it asks */
};

void mini_rendezvous_start(struct mini_rendezvous *mini, const struct mini_options *options);

/* Kills it; a second time is fine. */
void mini_rendezvous_stop(struct mini_rendezvous *mini);

#endif
