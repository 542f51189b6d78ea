/* SPDX-License-Identifier: Apache-2.0 */
/* What nobody waits for is done all the same, by the library's own thread: whatever it did when the
 * last caller went away, and however many calls came before. The callers here look at the memory
 * that the results are written to and call nothing meanwhile. */
#include "lib/hvd.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <sched.h>
#include <time.h>

enum { PATIENCE_S = 60, ROUNDS = 6, TENSORS = 6, LARGE = 200000, LEFT = 5000, CALLS = 4 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Gives threads the opportunity to fall asleep where they like; no verdict depends on it. */
static void dawdle(int milliseconds)
{
    nanosleep(&(struct timespec){ .tv_nsec = milliseconds * 1000000l }, NULL);
}

/* The library's thread may be writing. */
__attribute__((no_sanitize("thread"))) static int has_come(const volatile int32_t *data,
                                                           size_t count, int32_t value)
{
    for (size_t i = 0; i < count; i++)
        if (data[i] != value)
            return 0;
    return 1;
}

static void watch(const int32_t *data, size_t count, int32_t value)
{
    double until = seconds() + PATIENCE_S;
    while (!has_come(data, count, value)) {
        REQUIRE(seconds() < until);
        sched_yield();
    }
}

static int64_t start_sum(const char *name, int32_t *output, size_t count, int32_t value)
{
    static int32_t input[TENSORS][LARGE];
    static int turn;
    int64_t handle;
    int32_t *data = input[turn++ % TENSORS];
    for (size_t i = 0; i < count; i++) {
        data[i] = value;
        output[i] = -1;
    }
    struct hvd_tensor tensor = { .name = name,
                                 .input = data,
                                 .output = output,
                                 .dtype = HVD_INT32,
                                 .ndims = 1,
                                 .dims = &(int64_t){ (int64_t)count } };
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
    return handle;
}

static void call(int count)
{
    int32_t sum;
    for (int i = 0; i < count; i++)
        REQUIRE_STATUS(i % 2 ? hvd_barrier() : sum_of_ranks("call", &sum), HVD_OK);
}

/* ---- while a caller sleeps, the thread goes to sleep, too ---- */

static void leave_one_behind(int round)
{
    static int32_t output[LEFT];
    int64_t handle = start_sum("left", output, LEFT, round);
    REQUIRE_STATUS(hvd_wait_timeout(handle, 30, NULL), HVD_ERR_TIMEOUT);
    atomic_fetch_add(&shared->counters[0], 1);
    watch(output, LEFT, 2 * round);
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
}

static void come_late(int round)
{
    static int32_t output[LEFT];
    wait_for(0, round);
    REQUIRE_STATUS(hvd_wait(start_sum("left", output, LEFT, round)), HVD_OK);
}

static int leaver;

static int leave_behind(int rank)
{
    init_world();
    for (int round = 1; round <= ROUNDS; round++) {
        call(2 * CALLS);
        if (rank == leaver)
            leave_one_behind(round);
        else
            come_late(round);
    }
    return leave_world();
}

START_TEST(what_was_waited_for_in_vain_is_done_later)
{
    leaver = _i;
    ranks_run(&(struct mini_options){ .size = 2 }, leave_behind);
}
END_TEST

/* ---- links that the sleeping thread has not seen ---- */

/* Only rank 0, at the root of the new set, can tell that rank 1 waits for it. */
static int stall_in_a_new_set(int rank)
{
    setenv("HOROVOD_STALL_CHECK_TIME_SECONDS", "1", 1);
    setenv("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "1", 1);
    setenv("HOROVOD_LOG_LEVEL", "fatal", 1);
    int64_t handle;
    init_world();
    dawdle(30);
    int set = hvd_add_process_set((int[]){ 0, 1 }, 2);
    REQUIRE(set == 1);
    if (rank == 1) {
        const struct hvd_options options = { .process_set = set };
        REQUIRE_STATUS(hvd_barrier_async(&options, &handle), HVD_OK);
        REQUIRE_STATUS(hvd_wait_timeout(handle, PATIENCE_S * 1000, NULL), HVD_ERR_TIMEOUT);
        require_text("for rank 0");
    }
    atomic_fetch_add(&shared->counters[1], rank == 1);
    wait_for(1, 1);
    return leave_world();
}

START_TEST(a_rank_that_calls_nothing_hears_what_comes_over_new_links)
{
    ranks_run(&(struct mini_options){ .size = 3 }, stall_in_a_new_set);
}
END_TEST

/* ---- anything before, nothing after ---- */

struct started {
    int32_t output[LARGE];
    size_t count;
    int64_t handle;
};
static struct started started[TENSORS];

/* The tensors of a round in an order of this rank's own. */
static void start_round(int round, unsigned *seed)
{
    static const size_t counts[TENSORS] = { 1, 5000, LARGE, 100, 50000, 3 };
    int order[TENSORS];
    for (int i = 0; i < TENSORS; i++) {
        int at = rand_r(seed) % (i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (int i = 0; i < TENSORS; i++) {
        char name[] = { (char)('a' + order[i]), 0 };
        struct started *tensor = &started[order[i]];
        tensor->count = counts[order[i]];
        tensor->handle = start_sum(name, tensor->output, tensor->count, round);
    }
}

/* Looks, some of which leave something half done. One that has waited just as its tensor was done
 * has ended the handle. */
static void look(unsigned *seed)
{
    for (int i = rand_r(seed) % CALLS; i > 0; i--) {
        int64_t handle = started[rand_r(seed) % TENSORS].handle;
        bool only_look = rand_r(seed) % 2;
        int done = hvd_poll(handle);
        REQUIRE(done >= 0 || done == HVD_ERR_INVALID);
        if (done == 0 && !only_look)
            hvd_wait_timeout(handle, 0, NULL);
    }
}

static int call_and_watch(int rank)
{
    unsigned seed = (unsigned)rank + 1, common = 1;
    init_world();
    for (int round = 1; round <= 5 * ROUNDS; round++) {
        call(rand_r(&common) % CALLS);
        if (rand_r(&seed) % 3 == 0)
            dawdle(rand_r(&seed) % 25);
        start_round(round, &seed);
        look(&seed);
        call(rand_r(&common) % CALLS);
        for (int i = 0; i < TENSORS; i++)
            watch(started[i].output, started[i].count, round * hvd_size());
        for (int i = 0; i < TENSORS; i++) {
            int rc = hvd_wait(started[i].handle);
            REQUIRE(rc == HVD_OK || rc == HVD_ERR_INVALID); /* waited for by look() */
        }
    }
    return leave_world();
}

START_TEST(whatever_was_called_before_the_thread_goes_on)
{
    ranks_run(&(struct mini_options){ .size = _i }, call_and_watch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine_progress");
    TCase *tcase = tcase_create("engine_progress");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, what_was_waited_for_in_vain_is_done_later, 0, 2);
    tcase_add_test(tcase, a_rank_that_calls_nothing_hears_what_comes_over_new_links);
    tcase_add_loop_test(tcase, whatever_was_called_before_the_thread_goes_on, 1, 5);
    return unit_run(suite);
}
