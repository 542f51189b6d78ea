/* SPDX-License-Identifier: Apache-2.0 */
/* What one trial does, drawn from its seed: the same seed and the same choices give the same plan,
 * whatever ran before. */
#ifndef TESTS_CHAOS_PLAN_H
#define TESTS_CHAOS_PLAN_H

#include "tests/chaos/faults.h"

#include <stdint.h>

/* What may be drawn. */
struct plan_choices {
    int fault, kind, phase; /* -1: any */
    bool hosts;             /* there are some */
    bool slow;              /* faults that take long, too */
    bool elastic;           /* elastic jobs, and nothing else */
};

struct plan {
    uint64_t seed;
    const struct fault *fault;
    const struct worker_kind *kind;
    enum phase phase;
    bool remote_shell;
    int delay_us;  /* from the beginning of the phase */
    uint32_t pick; /* among those who could be the victim */
    int again_us;  /* from the fault to that of the second victim */
};

/* Also the delay from an END plan's "up" to the end of its workers. Those of an elastic job that is
 * to end well have a longer one in the other phases: for the fault, and for what comes after it. */
enum { PLAN_LIFE_MS = 150, PLAN_ELASTIC_LIFE_MS = 400, PLAN_COME_BACK_LIFE_MS = 2000 };

/* -1: they stay for ever. */
int plan_life_ms(const struct plan *plan);

struct plan plan_draw(uint64_t seed, const struct plan_choices *choices);

/* One line; the buffer is the caller's. */
void plan_text(const struct plan *plan, char *text, size_t size);

#endif
