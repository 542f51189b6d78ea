/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that wait for each other for ever are told so within seconds, where that can be known:
 * every thread of every program waits. Who computes, or has another thread, may still submit what
 * the others wait for, and is waited for. */
#include "lib/hvd.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { LONG_S = 3 }; /* longer than it takes to tell */

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

static rank_fn *const hopeless[] = { wait_for_each_other, wait_in_another_order };

/* F92; ThreadSanitizer has a thread of its own in each process. */
START_TEST(ranks_that_wait_for_each_other_are_told)
{
    ranks_run(&(struct mini_options){ .size = 2 + 3 * _i }, hopeless[_i]);
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

static int wait_with_a_deadline(int rank)
{
    int32_t one = 1;
    int64_t handle;
    int64_t count = 1;
    const struct hvd_tensor tensor = {
        .name = "a", .input = &one, .output = &one, .dtype = HVD_INT32, .ndims = 1, .dims = &count
    };
    init_world();
    if (rank == 0) {
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
        REQUIRE_STATUS(hvd_wait_timeout(handle, LONG_S * 1000, NULL), HVD_ERR_TIMEOUT);
        REQUIRE_STATUS(reduce("b"), HVD_OK);
        REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    } else {
        REQUIRE_STATUS(reduce("b"), HVD_OK);
        REQUIRE_STATUS(reduce("a"), HVD_OK);
    }
    return leave_world();
}

static rank_fn *const patient[] = { be_late, have_another_thread, wait_with_a_deadline };

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
    tcase_add_loop_test(tcase, ranks_that_wait_for_each_other_are_told, 0, 2);
#else
    (void)ranks_that_wait_for_each_other_are_told;
#endif
    tcase_add_loop_test(tcase, who_may_still_come_is_waited_for, 0, 3);
    return unit_run(suite);
}
