/* SPDX-License-Identifier: Apache-2.0 */
/* The set-up of tests of the simulated accelerator. */
#ifndef TESTS_SUPPORT_ACCELERATOR_FIXTURE_H
#define TESTS_SUPPORT_ACCELERATOR_FIXTURE_H

#include "examples/support/accelerator.h"

/* The accelerator of the test at hand, with 1 MiB, and its table. */
enum { MEMORY = 1 << 20 };
extern struct accelerator *npu;
extern const struct hvd_device *table;

/* For tcase_add_checked_fixture(). npu_create() makes another one, after npu_teardown(). */
void npu_setup(void);
void npu_teardown(void);
void npu_create(const struct accelerator_options *options);

/* Allocate memory, or make an event. A failure ends the test. */
void *device_memory(size_t nbytes);
void *pinned_memory(size_t nbytes);
void *new_event(void);

/* Records the event on one of the four queues. */
void record(void *event, int queue);

/* The state of the event now; and its state once it is no longer "not yet". */
int query(void *event);
int outcome(void *event);

/* Waits for the current work of a queue, and returns its status. */
int finish(int queue);

/* Kernels: holds the compute queue up until the test posts the semaphore; adds 1 to an int. */
void wait_at(struct accelerator *accelerator, void *gate);
void count_up(struct accelerator *accelerator, void *arg);

#endif
