/* SPDX-License-Identifier: Apache-2.0 */
/* See accelerator_fixture.h. A call that does not succeed fails the test. */
#include "tests/support/accelerator_fixture.h"

#include <check.h>
#include <sched.h>
#include <semaphore.h>

struct accelerator *npu;
const struct hvd_device *table;

void npu_create(const struct accelerator_options *options)
{
    struct problem problem = { 0 };
    ck_assert_int_eq(accelerator_create(&npu, options, &problem), 0);
    ck_assert_int_eq(problem.exit_status, 0);
    table = accelerator_table(npu);
}

void npu_setup(void)
{
    npu_create(&(struct accelerator_options){ .memory = MEMORY });
}

void npu_teardown(void)
{
    accelerator_destroy(npu);
}

void *device_memory(size_t nbytes)
{
    void *memory = accelerator_alloc(npu, nbytes);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

void *pinned_memory(size_t nbytes)
{
    void *memory = table->alloc_pinned(npu, nbytes);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

void *new_event(void)
{
    void *event = table->create_event(npu);
    ck_assert_ptr_nonnull(event);
    return event;
}

int query(void *event)
{
    return table->query_event(npu, event);
}

int outcome(void *event)
{
    int passed;
    while ((passed = query(event)) == 0)
        sched_yield();
    return passed;
}

void record(void *event, int queue)
{
    int rc = queue == ACCELERATOR_COMPUTE
                 ? accelerator_record(npu, event)
                 : table->record_event(npu, event, (enum hvd_device_queue)queue);
    ck_assert_int_eq(rc, 0);
}

int finish(int queue)
{
    void *event = new_event();
    record(event, queue);
    int passed = outcome(event);
    table->destroy_event(npu, event);
    return passed;
}

void wait_at(struct accelerator *accelerator, void *gate)
{
    (void)accelerator;
    while (sem_wait(gate) < 0)
        ;
}

void count_up(struct accelerator *accelerator, void *arg)
{
    (void)accelerator;
    ++*(int *)arg;
}
