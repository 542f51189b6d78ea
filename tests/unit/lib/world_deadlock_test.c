/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that wait for each other for ever are told so within seconds, where that can be known:
 * every thread of every program waits. Who computes, polls, or has another thread that does not
 * wait, may still submit what the others wait for, and is waited for. So is what rank 0 holds back
 * itself. */
#include "lib/hvd.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LONG_S = 3 }; /* longer than it takes to tell */
enum { LARGE = 1 << 16 };

static int reduce(const char *name)
{
    int32_t sum;
    return sum_of_ranks(name, &sum);
}

static int wait_for_each_other(int rank)
{
    init_world();
    REQUIRE_STATUS(reduce("before"), HVD_OK);
    REQUIRE_STATUS(reduce(rank == 0 ? "a" : "b"), HVD_ERR_TIMEOUT);
    require_text("deadlock: every rank waits: ");
    require_text("allreduce 'a' for rank");
    require_text("allreduce 'b' for rank 0");
    return leave_world();
}

static int wait_in_another_order(int rank)
{
    int32_t one = 1, two = 1;
    int64_t first, second;
    struct hvd_tensor tensor = { .input = &one, .output = &one, .dtype = HVD_INT32 };
    init_world();
    tensor.name = rank == 0 ? "x" : "y";
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &first), HVD_OK);
    tensor.input = tensor.output = &two;
    tensor.name = rank == 0 ? "z" : "x";
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &second), HVD_OK);
    int rc = hvd_wait(rank == 0 ? second : first); /* "x" is done, "y" and "z" never are */
    REQUIRE_STATUS(rc, HVD_ERR_TIMEOUT);
    require_text("deadlock: every rank waits");
    return leave_world();
}

/* Another thread of a rank, on a handle of its main thread. */
struct second {
    int64_t handle;
    int rc;           /* of its wait */
    const char *then; /* what it reduces after that, LONG_S later; NULL: it ends */
};

static void *wait_too(void *arg)
{
    struct second *second = arg;
    while (second->then && hvd_wait_timeout(second->handle, 0, NULL) == HVD_ERR_TIMEOUT)
        sched_yield(); /* until the main thread waits */
    second->rc = hvd_wait(second->handle);
    if (second->then) {
        sleep(LONG_S);
        REQUIRE_STATUS(reduce(second->then), HVD_OK);
    }
    return NULL;
}

static int64_t submit_one(const char *name, int32_t *data)
{
    int64_t handle, count = 1;
    const struct hvd_tensor tensor = {
        .name = name, .input = data, .output = data, .dtype = HVD_INT32, .ndims = 1, .dims = &count
    };
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
    return handle;
}

static void *wait_for_own(void *name)
{
    REQUIRE_STATUS(reduce(name), HVD_ERR_TIMEOUT);
    return NULL;
}

/* Two threads of rank 0 wait for different names. */
static int wait_in_two_threads(int rank)
{
    static char c[] = "c";
    pthread_t thread;
    init_world();
    if (rank == 0)
        REQUIRE(pthread_create(&thread, NULL, wait_for_own, c) == 0);
    REQUIRE_STATUS(reduce(rank == 0 ? "a" : "b"), HVD_ERR_TIMEOUT);
    require_text("deadlock: every rank waits: ");
    if (rank == 0)
        REQUIRE(pthread_join(thread, NULL) == 0);
    return leave_world();
}

/* Rank 0's other thread was refused and has ended. */
static int wait_after_a_mistake(int rank)
{
    int32_t one = 1;
    pthread_t thread;
    init_world();
    if (rank == 0) {
        struct second second = { .handle = 12345 };
        REQUIRE(pthread_create(&thread, NULL, wait_too, &second) == 0);
        REQUIRE(pthread_join(thread, NULL) == 0);
        REQUIRE(second.rc == HVD_ERR_INVALID);
    }
    REQUIRE_STATUS(hvd_wait(submit_one(rank == 0 ? "a" : "b", &one)), HVD_ERR_TIMEOUT);
    require_text("deadlock: every rank waits: ");
    return leave_world();
}

static int never(void *arg)
{
    (void)arg;
    return 0;
}

static int wait_interruptibly(int rank)
{
    int32_t one = 1;
    const int64_t count = 1;
    struct hvd_interrupt interrupt = { never, NULL, 0 };
    const struct hvd_options options = { .interrupt = &interrupt };
    const struct hvd_tensor tensor = {
        .name = "a", .input = &one, .output = &one, .dtype = HVD_INT32, .ndims = 1, .dims = &count
    };
    init_world();
    REQUIRE_STATUS(rank == 0 ? hvd_allreduce_tensor(&tensor, HVD_SUM, &options)
                             : hvd_wait_interruptible(submit_one("b", &one), &interrupt, NULL),
                   HVD_ERR_TIMEOUT);
    require_text("deadlock: every rank waits: ");
    return leave_world();
}

static rank_fn *const hopeless[] = { wait_for_each_other, wait_in_another_order,
                                     wait_in_two_threads, wait_after_a_mistake };

/* F92; ThreadSanitizer has a thread of its own in each process. */
START_TEST(ranks_that_wait_for_each_other_are_told)
{
    ranks_run(&(struct mini_options){ .size = 2 + 3 * _i }, hopeless[_i]);
}
END_TEST

/* Nobody interrupts the waits, so they are waits without a deadline. */
START_TEST(so_are_ranks_whose_waits_can_be_interrupted)
{
    ranks_run(&(struct mini_options){ .size = 2 }, wait_interruptibly);
}
END_TEST

static int be_late(int rank)
{
    init_world();
    if (rank == 1)
        sleep(LONG_S); /* computes */
    REQUIRE_STATUS(reduce("a"), HVD_OK);
    return leave_world();
}

static void *submit_later(void *name)
{
    sleep(LONG_S);
    REQUIRE_STATUS(reduce(name), HVD_OK);
    return NULL;
}

static int have_another_thread(int rank)
{
    static char b[] = "b";
    pthread_t thread;
    init_world();
    if (rank == 0)
        REQUIRE(pthread_create(&thread, NULL, submit_later, b) == 0);
    if (rank != 0)
        REQUIRE_STATUS(reduce("b"), HVD_OK);
    REQUIRE_STATUS(reduce("a"), HVD_OK);
    if (rank == 0)
        REQUIRE(pthread_join(thread, NULL) == 0);
    return leave_world();
}

/* What the other ranks do when rank 0 submits "a" at once and "b" late. */
static void reduce_b_then_a(void)
{
    REQUIRE_STATUS(reduce("b"), HVD_OK);
    REQUIRE_STATUS(reduce("a"), HVD_OK);
}

static int wait_with_a_deadline(int rank)
{
    int32_t one = 1;
    init_world();
    if (rank == 0) {
        int64_t handle = submit_one("a", &one);
        REQUIRE_STATUS(hvd_wait_timeout(handle, LONG_S * 1000, NULL), HVD_ERR_TIMEOUT);
        REQUIRE_STATUS(reduce("b"), HVD_OK);
        REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    } else {
        reduce_b_then_a();
    }
    return leave_world();
}

/* Rank 0's other thread is refused the handle for which the main thread waits, computes, and
 * submits what all others wait for. */
static int go_on_after_a_mistake(int rank)
{
    int32_t one = 1;
    pthread_t thread;
    init_world();
    if (rank == 0) {
        struct second second = { .handle = submit_one("a", &one), .then = "b" };
        REQUIRE(pthread_create(&thread, NULL, wait_too, &second) == 0);
        REQUIRE_STATUS(hvd_wait(second.handle), HVD_OK);
        REQUIRE(pthread_join(thread, NULL) == 0);
        REQUIRE(second.rc == HVD_ERR_INVALID);
    } else {
        reduce_b_then_a();
    }
    return leave_world();
}

static int poll_in_a_loop(int rank)
{
    int32_t one = 1;
    init_world();
    if (rank == 0) {
        int64_t handle = submit_one("a", &one);
        for (time_t until = time(NULL) + LONG_S; time(NULL) < until;)
            REQUIRE(hvd_poll(handle) == 0);
        REQUIRE_STATUS(reduce("b"), HVD_OK);
        REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    } else {
        reduce_b_then_a();
    }
    return leave_world();
}

/* Nobody waits for "later" before all have submitted it. */
static int leave_a_handle_alone(int rank)
{
    int32_t one = 1;
    init_world();
    int64_t handle = rank == 0 ? submit_one("later", &one) : 0;
    if (rank == 1)
        sleep(LONG_S);
    REQUIRE_STATUS(reduce("a"), HVD_OK);
    if (rank != 0)
        handle = submit_one("later", &one);
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    return leave_world();
}

/* All ranks wait, but for rank 0 itself, which waits for more tensors to be fused. */
static int wait_for_the_cycle(int rank)
{
    static int32_t data[LARGE];
    setenv("HOROVOD_CYCLE_TIME", "3000", 1);
    init_world();
    REQUIRE_STATUS(hvd_allreduce("a", data, data, LARGE, HVD_INT32, HVD_SUM), HVD_OK);
    REQUIRE(data[0] == 0 && rank >= 0);
    return leave_world();
}

static rank_fn *const patient[] = {
    be_late,        have_another_thread,  wait_with_a_deadline, go_on_after_a_mistake,
    poll_in_a_loop, leave_a_handle_alone, wait_for_the_cycle
};

START_TEST(who_may_still_come_is_waited_for)
{
    ranks_run(&(struct mini_options){ .size = 3 }, patient[_i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world_deadlock");
    TCase *tcase = tcase_create("world_deadlock");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    setenv("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "0", 1);
#if !defined __SANITIZE_THREAD__
    tcase_add_loop_test(tcase, ranks_that_wait_for_each_other_are_told, 0,
                        sizeof hopeless / sizeof *hopeless);
    tcase_add_test(tcase, so_are_ranks_whose_waits_can_be_interrupted);
#else
    (void)ranks_that_wait_for_each_other_are_told;
    (void)so_are_ranks_whose_waits_can_be_interrupted;
#endif
    tcase_add_loop_test(tcase, who_may_still_come_is_waited_for, 0,
                        sizeof patient / sizeof *patient);
    return unit_run(suite);
}
