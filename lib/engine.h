/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out one collective after the other; the calling thread drives: it moves what can be
 * moved, spins for about as long as a wake-up takes, then sleeps in poll().
 *
 * A collective fails when ranks disagree, a rank is lost or has left before it, or a link breaks.
 * Whatever the reason, every later collective fails likewise. A link that breaks is a symptom: for
 * a second the engine waits for the rendezvous or the right neighbour to name the cause. */
#ifndef LIB_ENGINE_H
#define LIB_ENGINE_H

#include "lib/collective.h"
#include "lib/join/failure.h"
#include "lib/notice.h"
#include "lib/ring.h"

#include <stdint.h>

/* Used by one thread at a time. */
struct engine {
    struct ring ring;        /* owned */
    struct failure *failure; /* borrowed */
    int wake_fd;             /* borrowed; readable when `failure` may have changed; -1 for none */
    uint64_t number;         /* of the next collective = how many this rank has completed */
    uint64_t spin_ns;
    uint64_t quiet_since; /* in ns: when something moved last, or the neighbours were looked at */
    struct notice_reader notice;
    bool right_ended; /* nothing more will come from the right */
    bool told;        /* the left neighbour knows why we gave up */
};

/* Takes the ring over. `local_size` ranks share the processors of this process. */
void engine_init(struct engine *engine, const struct ring *ring, int local_size,
                 struct failure *failure, int wake_fd);
void engine_fini(struct engine *engine);

int engine_run(struct engine *engine, const struct request *request, struct err *err);

#endif
