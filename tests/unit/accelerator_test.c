/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated accelerator: memory that only it can touch, queues that do one thing after the
 * other, events, bandwidth, and the failures that tests of the library ask it for. */
#include "examples/support/accelerator.h"
#include "examples/support/accelerator_memory.h"
#include "examples/support/accelerator_queue.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MEMORY = 1 << 20 };

static struct accelerator *npu;
static const struct hvd_device *table;

static void create(const struct accelerator_options *options)
{
    struct problem problem = { 0 };
    ck_assert_int_eq(accelerator_create(&npu, options, &problem), 0);
    ck_assert_int_eq(problem.exit_status, 0);
    table = accelerator_table(npu);
}

static void setup(void)
{
    create(&(struct accelerator_options){ .memory = MEMORY });
}

static void teardown(void)
{
    accelerator_destroy(npu);
}

static void *device_memory(size_t nbytes)
{
    void *memory = accelerator_alloc(npu, nbytes);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

static void *pinned_memory(size_t nbytes)
{
    void *memory = table->alloc_pinned(npu, nbytes);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

static void *new_event(void)
{
    void *event = table->create_event(npu);
    ck_assert_ptr_nonnull(event);
    return event;
}

static int query(void *event)
{
    return table->query_event(npu, event);
}

/* What the event says when it no longer says "not yet". */
static int outcome(void *event)
{
    int passed;
    while ((passed = query(event)) == 0)
        sched_yield();
    return passed;
}

/* Records the event on one of the four queues. */
static void record(void *event, int queue)
{
    int rc = queue == ACCELERATOR_COMPUTE
                 ? accelerator_record(npu, event)
                 : table->record_event(npu, event, (enum hvd_device_queue)queue);
    ck_assert_int_eq(rc, 0);
}

/* Waits for what is on a queue now, and returns how it went. */
static int finish(int queue)
{
    void *event = new_event();
    record(event, queue);
    int passed = outcome(event);
    table->destroy_event(npu, event);
    return passed;
}

/* --- memory --- */

static void read_it(volatile char *memory)
{
    (void)*memory;
}

static void write_it(volatile char *memory)
{
    *memory = 1;
}

static void (*const touches[])(volatile char *) = { read_it, write_it };

START_TEST(the_processor_dies_of_touching_device_memory)
{
    char *memory = device_memory(100);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* sanitizers have another idea */
        touches[_i](memory + 50);
        _exit(0);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    accelerator_free(npu, memory);
}
END_TEST

START_TEST(the_kernel_cannot_touch_it_either)
{
    char *memory = device_memory(100);
    int pipes[2];
    ck_assert_int_eq(pipe(pipes), 0);
    ck_assert_int_eq(write(pipes[1], memory, 100), -1);
    ck_assert_int_eq(errno, EFAULT);
    close(pipes[0]);
    close(pipes[1]);
    accelerator_free(npu, memory);
}
END_TEST

struct addition {
    const float *a, *b;
    float *sum;
    int count;
};

static void add(struct accelerator *accelerator, void *arg)
{
    struct addition *addition = arg;
    const float *a = accelerator_pointer(accelerator, addition->a);
    const float *b = accelerator_pointer(accelerator, addition->b);
    float *sum = accelerator_pointer(accelerator, addition->sum);
    for (int i = 0; i < addition->count; i++)
        sum[i] = a[i] + b[i];
}

START_TEST(kernels_compute_what_was_written)
{
    const float a[3] = { 1, 2, 3 }, b[3] = { 10, 20, 30 };
    float sum[3], *memory = device_memory(9 * sizeof *memory);
    accelerator_write(npu, memory, a, sizeof a);
    accelerator_write(npu, memory + 3, b, sizeof b);
    struct addition once = { memory, memory + 3, memory + 6, 3 };
    struct addition twice = { memory + 6, memory, memory + 6, 3 };
    ck_assert_int_eq(accelerator_run(npu, add, &once), 0);
    ck_assert_int_eq(accelerator_run(npu, add, &twice), 0);
    accelerator_read(npu, sum, memory + 6, sizeof sum);
    for (int i = 0; i < 3; i++)
        ck_assert_float_eq(sum[i], a[i] + b[i] + a[i]);
    ck_assert_uint_eq(accelerator_bytes_copied(npu), 0); /* through the table */
    accelerator_free(npu, memory);
}
END_TEST

START_TEST(freed_memory_is_given_out_again_and_grows_together)
{
    char *memory[16];
    for (int i = 0; i < 16; i++) {
        memory[i] = device_memory(MEMORY / 16);
        ck_assert_uint_eq((uintptr_t)memory[i] % ACCELERATOR_ALIGNMENT, 0);
    }
    ck_assert_ptr_null(accelerator_alloc(npu, 1));
    accelerator_free(npu, memory[3]);
    accelerator_free(npu, memory[8]);
    accelerator_free(npu, memory[10]);
    ck_assert_ptr_null(accelerator_alloc(npu, MEMORY / 16 + 1));
    accelerator_free(npu, memory[9]);
    ck_assert_ptr_eq(accelerator_alloc(npu, 3 * MEMORY / 16), memory[8]);
    ck_assert_ptr_eq(accelerator_alloc(npu, 0), memory[3]);
    ck_assert_ptr_eq(accelerator_alloc(npu, 100), memory[3] + 64);
    ck_assert_ptr_eq(accelerator_alloc(npu, 1), memory[3] + 192);
    ck_assert_uint_eq(accelerator_holdings(npu).memory, MEMORY - MEMORY / 16 + 101);
}
END_TEST

START_TEST(more_memory_than_it_has_is_not_to_be_had)
{
    static const size_t wishes[] = { MEMORY + 1, SIZE_MAX, SIZE_MAX - 62 };
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++)
        ck_assert_ptr_null(accelerator_alloc(npu, wishes[i]));
    accelerator_free(npu, NULL);
    accelerator_free(npu, device_memory(MEMORY));
    ck_assert_uint_eq(accelerator_holdings(npu).memory, 0);
}
END_TEST

START_TEST(an_accelerator_that_cannot_be_is_a_problem)
{
    static const size_t sizes[] = { 0, SIZE_MAX / 2 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct problem problem = { 0 };
        struct accelerator *none = npu;
        struct accelerator_options options = { .memory = sizes[i] };
        ck_assert_int_eq(accelerator_create(&none, &options, &problem), -1);
        ck_assert_ptr_null(none);
        ck_assert_int_eq(problem.exit_status, EXIT_STATUS_DATA);
    }
    accelerator_destroy(NULL);
}
END_TEST

/* --- copies --- */

START_TEST(copies_come_back_as_they_went)
{
    enum { COUNT = 1000, AT = 7 };
    unsigned char *out = pinned_memory(COUNT), *back = pinned_memory(COUNT);
    char *memory = device_memory(COUNT + AT);
    for (int i = 0; i < COUNT; i++)
        out[i] = (unsigned char)(i * 31);
    memset(back, 0, COUNT);
    ck_assert_int_eq(table->copy_from_host(npu, memory + AT, out, COUNT), 0);
    ck_assert_int_eq(finish(HVD_DEVICE_FROM_HOST), 1);
    ck_assert_int_eq(table->copy_to_host(npu, back + 1, memory + AT, COUNT - 1), 0);
    ck_assert_int_eq(finish(HVD_DEVICE_TO_HOST), 1);
    ck_assert_mem_eq(back + 1, out, COUNT - 1);
    ck_assert_int_eq(back[0], 0);
    ck_assert_uint_eq(accelerator_bytes_copied(npu), 2 * COUNT - 1);
    table->free_pinned(npu, out, COUNT);
    table->free_pinned(npu, back, COUNT);
    accelerator_free(npu, memory);
}
END_TEST

/* Copies between `device` bytes into a piece of 100 and `host` bytes into one of 100. */
static const struct {
    long device, host;
    size_t nbytes;
    int expected;
} pieces[] = {
    { 0, 0, 100, 0 },
    { 99, 99, 1, 0 },
    { 0, 0, 101, ACCELERATOR_ADDRESS },
    { 50, 0, 51, ACCELERATOR_ADDRESS },
    { 101, 0, 1, ACCELERATOR_ADDRESS },
    { -1, 0, 10, ACCELERATOR_ADDRESS },
    { MEMORY, 0, 1, ACCELERATOR_ADDRESS },
    { 1, 0, SIZE_MAX, ACCELERATOR_ADDRESS },
    { 0, 1, 100, ACCELERATOR_NOT_PINNED },
    { 0, -1, 10, ACCELERATOR_NOT_PINNED },
};

/* In the middle between freed neighbours; free pieces are nobody's. */
START_TEST(copies_keep_to_allocated_and_pinned_memory)
{
    char *before = device_memory(64), *memory = device_memory(100), *host = pinned_memory(100);
    memset(host, 0, 100);
    accelerator_free(npu, before);
    char *device = (char *)((uintptr_t)memory + (uintptr_t)pieces[_i].device);
    char *pinned = (char *)((uintptr_t)host + (uintptr_t)pieces[_i].host);
    ck_assert_int_eq(table->copy_from_host(npu, device, pinned, pieces[_i].nbytes),
                     pieces[_i].expected);
    ck_assert_int_eq(finish(HVD_DEVICE_FROM_HOST), 1);
    ck_assert_int_eq(table->copy_to_host(npu, pinned, device, pieces[_i].nbytes),
                     pieces[_i].expected);
    ck_assert_int_eq(finish(HVD_DEVICE_TO_HOST), 1);
    table->free_pinned(npu, host, 100);
}
END_TEST

START_TEST(ordinary_memory_is_not_pinned)
{
    char ordinary[10] = { 0 }, *memory = device_memory(10), *pinned = pinned_memory(10);
    ck_assert_int_eq(table->copy_from_host(npu, memory, ordinary, 10), ACCELERATOR_NOT_PINNED);
    ck_assert_int_eq(table->copy_to_host(npu, ordinary, memory, 10), ACCELERATOR_NOT_PINNED);
    ck_assert_int_eq(table->copy_from_host(npu, ordinary, pinned, 10), ACCELERATOR_ADDRESS);
    table->free_pinned(npu, pinned, 10);
}
END_TEST

static const struct {
    uint64_t put_ns, previous_ns;
    size_t nbytes;
    double bytes_per_second;
    uint64_t at_least, at_most;
} ends[] = {
    { 1000, 0, 1000, 1e9, 2000, 2001 },    /* the queue was empty */
    { 1000, 5000, 1000, 1e9, 6000, 6001 }, /* behind another copy */
    { 1000, 5000, 3, 2e9, 5002, 5003 },    /* never early */
    { 1000, 5000, 1000, 0, 5000, 5000 },   /* as fast as it goes */
    { 0, 0, 0, 1e9, 0, 0 },
};

START_TEST(a_copy_takes_as_long_as_its_bytes)
{
    uint64_t end = accelerator_copy_end(ends[_i].put_ns, ends[_i].previous_ns, ends[_i].nbytes,
                                        ends[_i].bytes_per_second);
    ck_assert_uint_ge(end, ends[_i].at_least);
    ck_assert_uint_le(end, ends[_i].at_most);
}
END_TEST

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* 3 x 1000 bytes at 100 000 bytes/s. */
START_TEST(copies_are_not_faster_than_the_bandwidth)
{
    teardown();
    create(&(struct accelerator_options){ .memory = MEMORY, .bytes_per_second = 1e5 });
    char *memory = device_memory(1000), *host = pinned_memory(1000);
    memset(host, 'a', 1000);
    double begin = seconds();
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(table->copy_from_host(npu, memory, host, 1000), 0);
    ck_assert_int_eq(finish(HVD_DEVICE_FROM_HOST), 1);
    ck_assert_double_ge(seconds() - begin, 0.03);
    ck_assert_int_eq(table->copy_to_host(npu, host, memory, 1000), 0);
    ck_assert_int_eq(finish(HVD_DEVICE_TO_HOST), 1);
    ck_assert_double_ge(seconds() - begin, 0.04);
    table->free_pinned(npu, host, 1000);
}
END_TEST

/* --- queues and events --- */

/* Holds the compute queue up until the test opens it. */
static void wait_at(struct accelerator *accelerator, void *gate)
{
    (void)accelerator;
    while (sem_wait(gate) < 0)
        ;
}

static void count_up(struct accelerator *accelerator, void *arg)
{
    (void)accelerator;
    ++*(int *)arg;
}

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
    teardown();
    create(&(struct accelerator_options){
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
    teardown();
    create(&(struct accelerator_options){
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

#define ROWS(table) (int)(sizeof(table) / sizeof *(table))

static TCase *case_of(const char *name)
{
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, setup, teardown);
    return tcase;
}

static TCase *memory_case(void)
{
    TCase *tcase = case_of("memory");
    tcase_add_loop_test(tcase, the_processor_dies_of_touching_device_memory, 0, ROWS(touches));
    tcase_add_test(tcase, the_kernel_cannot_touch_it_either);
    tcase_add_test(tcase, kernels_compute_what_was_written);
    tcase_add_test(tcase, freed_memory_is_given_out_again_and_grows_together);
    tcase_add_test(tcase, more_memory_than_it_has_is_not_to_be_had);
    tcase_add_test(tcase, an_accelerator_that_cannot_be_is_a_problem);
    return tcase;
}

static TCase *copies_case(void)
{
    TCase *tcase = case_of("copies");
    tcase_add_test(tcase, copies_come_back_as_they_went);
    tcase_add_loop_test(tcase, copies_keep_to_allocated_and_pinned_memory, 0, ROWS(pieces));
    tcase_add_test(tcase, ordinary_memory_is_not_pinned);
    tcase_add_loop_test(tcase, a_copy_takes_as_long_as_its_bytes, 0, ROWS(ends));
    tcase_add_test(tcase, copies_are_not_faster_than_the_bandwidth);
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
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("accelerator");
    suite_add_tcase(suite, memory_case());
    suite_add_tcase(suite, copies_case());
    suite_add_tcase(suite, queues_case());
    suite_add_tcase(suite, faults_case());
    return unit_run(suite);
}
