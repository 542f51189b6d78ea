/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated accelerator: memory that only it can touch, and copies, which keep to what was
 * allocated and pinned and to the bandwidth. */
#include "examples/support/accelerator_memory.h"
#include "examples/support/accelerator_queue.h"
#include "tests/support/accelerator_fixture.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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
    npu_teardown();
    npu_create(&(struct accelerator_options){ .memory = MEMORY, .bytes_per_second = 1e5 });
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

#define ROWS(table) (int)(sizeof(table) / sizeof *(table))

static TCase *case_of(const char *name)
{
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, npu_setup, npu_teardown);
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

int main(void)
{
    Suite *suite = suite_create("accelerator");
    suite_add_tcase(suite, memory_case());
    suite_add_tcase(suite, copies_case());
    return unit_run(suite);
}
