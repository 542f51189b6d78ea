/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated accelerator: queues that do one thing after the other, and events. */
#include "tests/support/accelerator_fixture.h"
#include "tests/support/unit.h"

#include <semaphore.h>
#include <string.h>

struct entry {
    int *log;
    int *length;
    int value;
};

static void log_entry(struct accelerator *accelerator, void *arg)
{
    (void)accelerator;
    struct entry *entry = arg;
    entry->log[(*entry->length)++] = entry->value;
}

START_TEST(kernels_run_in_the_order_in_which_they_came)
{
    enum { COUNT = 100 };
    int log[COUNT], length = 0;
    struct entry entries[COUNT];
    for (int i = 0; i < COUNT; i++) {
        entries[i] = (struct entry){ log, &length, i };
        ck_assert_int_eq(accelerator_run(npu, log_entry, &entries[i]), 0);
    }
    accelerator_synchronize(npu);
    ck_assert_int_eq(length, COUNT);
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(log[i], i);
}
END_TEST

START_TEST(an_event_passes_after_what_came_before_it)
{
    sem_t gate;
    sem_init(&gate, 0, 0);
    int count = 0;
    void *event = new_event();
    ck_assert_int_eq(accelerator_run(npu, wait_at, &gate), 0);
    ck_assert_int_eq(accelerator_run(npu, count_up, &count), 0);
    record(event, ACCELERATOR_COMPUTE);
    ck_assert_int_eq(query(event), 0);
    sem_post(&gate);
    ck_assert_int_eq(outcome(event), 1);
    ck_assert_int_eq(count, 1);
    table->destroy_event(npu, event);
}
END_TEST

START_TEST(queues_do_not_wait_for_each_other)
{
    sem_t gate;
    sem_init(&gate, 0, 0);
    char *memory = device_memory(10), *host = pinned_memory(10);
    memset(host, 0, 10);
    ck_assert_int_eq(accelerator_run(npu, wait_at, &gate), 0);
    ck_assert_int_eq(table->copy_from_host(npu, memory, host, 10), 0);
    ck_assert_int_eq(finish(HVD_DEVICE_FROM_HOST), 1);
    ck_assert_int_eq(table->copy_to_host(npu, host, memory, 10), 0);
    ck_assert_int_eq(finish(HVD_DEVICE_TO_HOST), 1);
    sem_post(&gate);
    accelerator_synchronize(npu); /* the gate is about to go */
    table->free_pinned(npu, host, 10);
}
END_TEST

START_TEST(an_event_that_was_never_recorded_has_passed)
{
    void *event = new_event();
    ck_assert_int_eq(query(event), 1);
    ck_assert_int_eq(accelerator_holdings(npu).events, 1);
    table->destroy_event(npu, event);
    table->destroy_event(npu, NULL);
    ck_assert_int_eq(accelerator_holdings(npu).events, 0);
}
END_TEST

START_TEST(recorded_again_an_event_has_not_passed)
{
    sem_t gate;
    sem_init(&gate, 0, 0);
    void *event = new_event();
    for (int i = 0; i < 3; i++) {
        record(event, HVD_DEVICE_TO_HOST);
        ck_assert_int_eq(outcome(event), 1);
        ck_assert_int_eq(accelerator_run(npu, wait_at, &gate), 0);
        record(event, ACCELERATOR_COMPUTE);
        ck_assert_int_eq(query(event), 0);
        sem_post(&gate);
        ck_assert_int_eq(outcome(event), 1);
    }
    table->destroy_event(npu, event);
}
END_TEST

/* Passing on the queue where it was before is no news of the queue where it is now. */
START_TEST(an_event_stands_for_where_it_was_recorded_last)
{
    sem_t first, second;
    sem_init(&first, 0, 0);
    sem_init(&second, 0, 0);
    void *event = new_event();
    ck_assert_int_eq(accelerator_run(npu, wait_at, &first), 0);
    record(event, ACCELERATOR_COMPUTE);
    ck_assert_int_eq(accelerator_run(npu, wait_at, &second), 0);
    record(event, ACCELERATOR_COMPUTE);
    void *between = new_event();
    record(between, HVD_DEVICE_FROM_HOST);
    sem_post(&first);
    ck_assert_int_eq(outcome(between), 1);
    ck_assert_int_eq(query(event), 0);
    record(event, HVD_DEVICE_FROM_HOST);
    ck_assert_int_eq(outcome(event), 1); /* the compute queue is still held up */
    sem_post(&second);
    accelerator_synchronize(npu);
    ck_assert_int_eq(query(event), 1);
    table->destroy_event(npu, event);
    table->destroy_event(npu, between);
}
END_TEST

START_TEST(an_event_can_be_destroyed_before_it_has_passed)
{
    sem_t gate;
    sem_init(&gate, 0, 0);
    void *event = new_event();
    ck_assert_int_eq(accelerator_run(npu, wait_at, &gate), 0);
    record(event, ACCELERATOR_COMPUTE);
    table->destroy_event(npu, event);
    sem_post(&gate);
    accelerator_synchronize(npu);
}
END_TEST

START_TEST(there_are_no_other_queues_in_the_table)
{
    void *event = new_event();
    ck_assert_int_eq(table->record_event(npu, event, (enum hvd_device_queue)ACCELERATOR_COMPUTE),
                     ACCELERATOR_QUEUE);
    table->destroy_event(npu, event);
}
END_TEST

START_TEST(destroying_it_waits_for_its_queues)
{
    struct problem problem = { 0 };
    struct accelerator *other = NULL;
    int count = 0;
    ck_assert_int_eq(
        accelerator_create(&other, &(struct accelerator_options){ .memory = 4096 }, &problem), 0);
    for (int i = 0; i < 50; i++)
        ck_assert_int_eq(accelerator_run(other, count_up, &count), 0);
    accelerator_destroy(other);
    ck_assert_int_eq(count, 50);
}
END_TEST

static TCase *case_of(const char *name)
{
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, npu_setup, npu_teardown);
    return tcase;
}

static TCase *queues_case(void)
{
    TCase *tcase = case_of("queues");
    tcase_add_test(tcase, kernels_run_in_the_order_in_which_they_came);
    tcase_add_test(tcase, an_event_passes_after_what_came_before_it);
    tcase_add_test(tcase, queues_do_not_wait_for_each_other);
    tcase_add_test(tcase, an_event_that_was_never_recorded_has_passed);
    tcase_add_test(tcase, recorded_again_an_event_has_not_passed);
    tcase_add_test(tcase, an_event_stands_for_where_it_was_recorded_last);
    tcase_add_test(tcase, an_event_can_be_destroyed_before_it_has_passed);
    tcase_add_test(tcase, there_are_no_other_queues_in_the_table);
    tcase_add_test(tcase, destroying_it_waits_for_its_queues);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("accelerator_queues");
    suite_add_tcase(suite, queues_case());
    return unit_run(suite);
}
