/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time: what happens when, and to whom. An event belongs to a process, or to nobody (the
 * kernel, the network). Those of a process that is stopped wait until it goes on, timers first, as
 * libuv does; those of a process that has died never happen. Nothing else decides an order: equal
 * times go by order of making. */
#ifndef TESTS_SIMULATOR_CLOCK_H
#define TESTS_SIMULATOR_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct sim_process;

typedef void sim_event_fn(void *context);

struct sim_event {
    uint64_t at_us, number;
    struct sim_process *process; /* NULL: nobody's */
    bool timer, cancelled;
    sim_event_fn *fn;
    void *context;
    struct sim_event *next_held;
};

#define SIM_NEVER UINT64_MAX
#define SIM_MS(ms) ((uint64_t)(ms)*1000)

/* Time begins at some hours, as a machine's does that has been up for a while. */
void sim_clock_reset(void);
uint64_t sim_now_us(void);
uint64_t sim_now_ms(void);

struct sim_event *sim_after(struct sim_process *process, uint64_t delay_us, sim_event_fn *fn,
                            void *context);
struct sim_event *sim_timer(struct sim_process *process, uint64_t delay_us, sim_event_fn *fn,
                            void *context);

/* NULL is fine, as is one that has happened. */
void sim_cancel(struct sim_event *event);

/* Makes the next event happen; false if there is none before `until_us`. */
bool sim_step(uint64_t until_us);

/* A process goes on: what it has missed happens now. */
void sim_release_held(struct sim_process *process);

#endif
