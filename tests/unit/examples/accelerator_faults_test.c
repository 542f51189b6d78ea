/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated accelerator: the failures that tests of the library ask it for, and the allreduce
 * that they supply. */
#include "tests/support/accelerator_fixture.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <string.h>

/* --- faults --- */

/* A copy in the direction of the queue; what putting it there returned. */
static int copy(int queue, void *memory, void *host, size_t nbytes)
{
    return queue == HVD_DEVICE_TO_HOST ? table->copy_to_host(npu, host, memory, nbytes)
                                       : table->copy_from_host(npu, memory, host, nbytes);
}

START_TEST(the_nth_copy_is_refused)
{
    char *memory = device_memory(10), *host = pinned_memory(10);
    memset(host, 0, 10);
    accelerator_inject(npu,
                       &(struct accelerator_faults){
                           .refuse = { [HVD_DEVICE_TO_HOST] = 2, [HVD_DEVICE_FROM_HOST] = 2 } });
    static const int expected[] = { 0, ACCELERATOR_FAULT, 0, 0 };
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(copy(_i, memory, host, 10), expected[i]);
    ck_assert_int_eq(finish(_i), 1);
    table->free_pinned(npu, host, 10);
}
END_TEST

START_TEST(the_nth_copy_fails_and_the_next_event_says_so)
{
    char *memory = device_memory(10), *host = pinned_memory(10);
    memset(host, 'x', 10);
    accelerator_inject(npu, &(struct accelerator_faults){
                                .fail = { [HVD_DEVICE_TO_HOST] = 2, [HVD_DEVICE_FROM_HOST] = 2 } });
    void *events[3];
    static const int expected[] = { 1, ACCELERATOR_FAULT, 1 };
    for (int i = 0; i < 3; i++) {
        events[i] = new_event();
        ck_assert_int_eq(copy(_i, memory, host, 10), 0);
        record(events[i], _i);
    }
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(outcome(events[i]), expected[i]);
        ck_assert_int_eq(query(events[i]), expected[i]); /* it stays like that */
        table->destroy_event(npu, events[i]);
    }
    ck_assert_uint_eq(accelerator_bytes_copied(npu), 20);
    table->free_pinned(npu, host, 10);
}
END_TEST

START_TEST(a_failed_event_is_as_good_as_new_when_recorded_again)
{
    char *memory = device_memory(10), *host = pinned_memory(10);
    void *event = new_event();
    accelerator_inject(npu, &(struct accelerator_faults){ .fail = { [HVD_DEVICE_TO_HOST] = 1 } });
    ck_assert_int_eq(copy(HVD_DEVICE_TO_HOST, memory, host, 10), 0);
    record(event, HVD_DEVICE_TO_HOST);
    ck_assert_int_eq(outcome(event), ACCELERATOR_FAULT);
    record(event, HVD_DEVICE_TO_HOST);
    ck_assert_int_eq(outcome(event), 1);
    table->destroy_event(npu, event);
    table->free_pinned(npu, host, 10);
}
END_TEST

START_TEST(the_nth_kernel_is_refused_or_fails)
{
    int count = 0;
    accelerator_inject(npu, &(struct accelerator_faults){ .refuse = { [ACCELERATOR_COMPUTE] = 1 },
                                                          .fail = { [ACCELERATOR_COMPUTE] = 1 } });
    ck_assert_int_eq(accelerator_run(npu, count_up, &count), ACCELERATOR_FAULT);
    ck_assert_int_eq(accelerator_run(npu, count_up, &count), 0);
    ck_assert_int_eq(finish(ACCELERATOR_COMPUTE), ACCELERATOR_FAULT);
    ck_assert_int_eq(count, 0);
    ck_assert_int_eq(accelerator_run(npu, count_up, &count), 0);
    ck_assert_int_eq(finish(ACCELERATOR_COMPUTE), 1);
    ck_assert_int_eq(count, 1);
}
END_TEST

START_TEST(the_nth_pinned_memory_and_the_nth_event_are_not_to_be_had)
{
    accelerator_inject(npu, &(struct accelerator_faults){ .pinned = 2, .event = 1, .record = 1 });
    void *first = pinned_memory(10);
    ck_assert_ptr_null(table->alloc_pinned(npu, 10));
    void *third = pinned_memory(5);
    ck_assert_uint_eq(accelerator_holdings(npu).pinned, 15);
    table->free_pinned(npu, first, 10);
    table->free_pinned(npu, third, 5);
    ck_assert_uint_eq(accelerator_holdings(npu).pinned, 0);
    ck_assert_ptr_null(table->create_event(npu));
    void *event = new_event();
    ck_assert_int_eq(table->record_event(npu, event, HVD_DEVICE_TO_HOST), ACCELERATOR_FAULT);
    ck_assert_int_eq(query(event), 1);
    table->destroy_event(npu, event);
}
END_TEST

/* --- the vendor's own allreduce --- */

struct vendor {
    pthread_t caller;
    int calls, status;
};

/* As if another rank had held the same. */
static int double_it(void *arg, const struct hvd_device_allreduce *allreduce)
{
    struct vendor *vendor = arg;
    vendor->calls++;
    if (pthread_equal(vendor->caller, pthread_self()))
        return -100;
    const float *input = allreduce->input;
    float *output = allreduce->output;
    for (size_t i = 0; i < allreduce->count; i++)
        output[i] = 2 * input[i];
    return vendor->status;
}

static int only_sums(void *arg, enum hvd_dtype dtype, enum hvd_op op, int process_set)
{
    (void)arg;
    return dtype == HVD_FLOAT32 && op == HVD_SUM && process_set == 0;
}

START_TEST(without_a_callback_it_reduces_nothing)
{
    ck_assert(table->can_allreduce == NULL && table->allreduce == NULL);
}
END_TEST

START_TEST(the_callback_reduces_device_memory_on_a_thread_of_its_own)
{
    struct vendor vendor = { .caller = pthread_self(), .status = _i == 0 ? 0 : -77 };
    npu_teardown();
    npu_create(&(struct accelerator_options){
        .memory = MEMORY, .reduce = double_it, .can_reduce = only_sums, .reduce_arg = &vendor });
    ck_assert_int_eq(table->can_allreduce(npu, HVD_FLOAT32, HVD_SUM, 0), 1);
    ck_assert_int_eq(table->can_allreduce(npu, HVD_FLOAT32, HVD_MAX, 0), 0);
    float values[3] = { 1, 2, 3 }, *memory = device_memory(sizeof values);
    accelerator_write(npu, memory, values, sizeof values);
    struct hvd_device_allreduce wanted = {
        .input = memory, .output = memory, .count = 3, .dtype = HVD_FLOAT32, .op = HVD_SUM
    };
    ck_assert_int_eq(table->allreduce(npu, &wanted), 0);
    ck_assert_int_eq(finish(HVD_DEVICE_REDUCE), _i == 0 ? 1 : -77);
    accelerator_read(npu, values, memory, sizeof values);
    ck_assert(values[0] == 2 && values[1] == 4 && values[2] == 6);
    wanted.count = 4;
    ck_assert_int_eq(table->allreduce(npu, &wanted), ACCELERATOR_ADDRESS);
    ck_assert_int_eq(vendor.calls, 1);
}
END_TEST

START_TEST(the_nth_allreduce_is_refused_or_fails)
{
    struct vendor vendor = { .caller = pthread_self() };
    npu_teardown();
    npu_create(&(struct accelerator_options){
        .memory = MEMORY, .reduce = double_it, .reduce_arg = &vendor });
    ck_assert_int_eq(table->can_allreduce(npu, HVD_INT8, HVD_MAX, 5), 1);
    accelerator_inject(npu, &(struct accelerator_faults){ .refuse = { [HVD_DEVICE_REDUCE] = 1 },
                                                          .fail = { [HVD_DEVICE_REDUCE] = 1 } });
    float *memory = device_memory(sizeof *memory);
    struct hvd_device_allreduce wanted = {
        .input = memory, .output = memory, .count = 1, .dtype = HVD_FLOAT32
    };
    ck_assert_int_eq(table->allreduce(npu, &wanted), ACCELERATOR_FAULT);
    ck_assert_int_eq(table->allreduce(npu, &wanted), 0);
    ck_assert_int_eq(finish(HVD_DEVICE_REDUCE), ACCELERATOR_FAULT);
    ck_assert_int_eq(vendor.calls, 0);
}
END_TEST

/* --- the vendor's other collectives --- */

enum { SIZE = 2, ROWS = 3 };

static int only_exchanges(void *arg, const struct hvd_device_collective *question)
{
    return arg != NULL && question->kind == HVD_DEVICE_ALLTOALL;
}

/* As if the other rank had sent what this one sends to itself. */
static int exchange(void *arg, const struct hvd_device_collective *collective)
{
    struct vendor *vendor = arg;
    const float *input = collective->input;
    float *output = collective->output;
    vendor->calls++;
    if (pthread_equal(vendor->caller, pthread_self()) || collective->rows[0] != 1 ||
        collective->rows[1] != 1 || collective->splits[0] != 1 || collective->splits[1] != 2)
        return -100;
    output[0] = output[1] = input[0];
    return vendor->status;
}

/* The numbers of rows are gone when the collective is carried out. */
static int put_exchange(const struct hvd_device_extension *extension, const float *input,
                        float *output)
{
    int64_t rows[SIZE] = { 1, 1 }, splits[SIZE] = { 1, 2 };
    const struct hvd_device_collective wanted = { .kind = HVD_DEVICE_ALLTOALL,
                                                  .dtype = HVD_FLOAT32,
                                                  .input = input,
                                                  .output = output,
                                                  .count = ROWS,
                                                  .rows = rows,
                                                  .row_count = 1,
                                                  .output_size = SIZE * sizeof *output,
                                                  .splits = splits,
                                                  .size = SIZE };
    int rc = extension->collective(npu, &wanted);
    rows[0] = splits[0] = -1;
    return rc;
}

START_TEST(the_callback_exchanges_rows_on_a_thread_of_its_own)
{
    struct vendor vendor = { .caller = pthread_self(), .status = _i == 0 ? 0 : -77 };
    npu_teardown();
    npu_create(&(struct accelerator_options){ .memory = MEMORY,
                                              .collective = exchange,
                                              .can_collective = only_exchanges,
                                              .reduce_arg = &vendor });
    const struct hvd_device_extension *extension = accelerator_extension(npu);
    struct hvd_device_collective question = { .kind = HVD_DEVICE_ALLTOALL };
    ck_assert_int_eq(extension->can_collective(npu, &question), 1);
    question.kind = HVD_DEVICE_BROADCAST;
    ck_assert_int_eq(extension->can_collective(npu, &question), 0);
    float values[ROWS] = { 5, 2, 3 }, *input = device_memory(sizeof values);
    float *output = device_memory(SIZE * sizeof *output);
    accelerator_write(npu, input, values, sizeof values);
    ck_assert_int_eq(put_exchange(extension, input, output), 0);
    ck_assert_int_eq(finish(HVD_DEVICE_REDUCE), _i == 0 ? 1 : -77);
    accelerator_read(npu, values, output, SIZE * sizeof *output);
    ck_assert(values[0] == 5 && values[1] == 5);
    ck_assert_int_eq(put_exchange(extension, input, NULL), ACCELERATOR_ADDRESS);
    ck_assert_int_eq(vendor.calls, 1);
}
END_TEST

START_TEST(the_nth_collective_is_refused_or_fails)
{
    struct vendor vendor = { .caller = pthread_self() };
    npu_teardown();
    npu_create(&(struct accelerator_options){
        .memory = MEMORY, .collective = exchange, .reduce_arg = &vendor });
    accelerator_inject(npu, &(struct accelerator_faults){ .refuse = { [HVD_DEVICE_REDUCE] = 1 },
                                                          .fail = { [HVD_DEVICE_REDUCE] = 1 } });
    const struct hvd_device_extension *extension = accelerator_extension(npu);
    float *input = device_memory(ROWS * sizeof *input), *output = device_memory(16);
    ck_assert_int_eq(put_exchange(extension, input, output), ACCELERATOR_FAULT);
    ck_assert_int_eq(put_exchange(extension, input, output), 0);
    ck_assert_int_eq(finish(HVD_DEVICE_REDUCE), ACCELERATOR_FAULT);
    ck_assert_int_eq(vendor.calls, 0);
}
END_TEST

static TCase *case_of(const char *name)
{
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, npu_setup, npu_teardown);
    return tcase;
}

static TCase *faults_case(void)
{
    TCase *tcase = case_of("faults");
    tcase_add_loop_test(tcase, the_nth_copy_is_refused, 0, HVD_DEVICE_FROM_HOST + 1);
    tcase_add_loop_test(tcase, the_nth_copy_fails_and_the_next_event_says_so, 0,
                        HVD_DEVICE_FROM_HOST + 1);
    tcase_add_test(tcase, a_failed_event_is_as_good_as_new_when_recorded_again);
    tcase_add_test(tcase, the_nth_kernel_is_refused_or_fails);
    tcase_add_test(tcase, the_nth_pinned_memory_and_the_nth_event_are_not_to_be_had);
    tcase_add_test(tcase, without_a_callback_it_reduces_nothing);
    tcase_add_loop_test(tcase, the_callback_reduces_device_memory_on_a_thread_of_its_own, 0, 2);
    tcase_add_test(tcase, the_nth_allreduce_is_refused_or_fails);
    tcase_add_loop_test(tcase, the_callback_exchanges_rows_on_a_thread_of_its_own, 0, 2);
    tcase_add_test(tcase, the_nth_collective_is_refused_or_fails);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("accelerator_faults");
    suite_add_tcase(suite, faults_case());
    return unit_run(suite);
}
