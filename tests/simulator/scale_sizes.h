/* SPDX-License-Identifier: Apache-2.0 */
/* How long the frames of a job are, from the encoders of the protocols themselves. */
#ifndef TESTS_SIMULATOR_SCALE_SIZES_H
#define TESTS_SIMULATOR_SCALE_SIZES_H

#include "lib/base/join_protocol.h"
#include "lib/base/rank_end.h"
#include "rendezvous/world/membership.h"

#include <stddef.h>

/* Bytes of frames: with headers, and seals where they have one. */
struct scale_sizes {
    size_t script;       /* what starts hvdagent */
    size_t open_tunnel;  /* what an agent gets to start another one */
    size_t answer;       /* of the script */
    size_t ask_describe; /* what an agent gets to pass `common` on */
    size_t common;       /* JOB, ARGUMENTS and ENVIRONMENT */
    size_t host;         /* HOST and PREPARE */
    size_t rank;         /* RANK */
    size_t ready, start, started, exited, stop, done;
    size_t open, challenge, hello, waiting, goodbye; /* of the join protocol */
    size_t relay;                                    /* what the agent adds to a frame of a rank */
};

/* The HELLO of a rank; hosts have `local_size` ranks each. */
void scale_hello(struct join_hello *hello, int rank, int local_size, int size);

/* For a job whose last rank is `size` - 1; `environment` bytes of variables that all ranks get. */
void scale_sizes_measure(struct scale_sizes *sizes, int size, size_t environment);

/* What the rendezvous tells a rank, with its seal. */
size_t scale_welcome_size(const struct membership *membership, int rank);
size_t scale_news_size(const struct rank_end *news);

#endif
