/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait and can be interrupted: by a signal and without one, while this thread or another
 * one moves the data, with and without a handle. The collective goes on, and so does the world. */
#include "lib/hvd.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static const int64_t two = 2, four = 4;

static struct hvd_tensor of(const char *name, const int32_t *input, int32_t *output,
                            const int64_t *rows)
{
    return (struct hvd_tensor){ .name = name,
                                .input = input,
                                .output = output,
                                .output_size = output ? 4 * sizeof *output : 0,
                                .dtype = HVD_INT32,
                                .ndims = 1,
                                .dims = rows };
}

static int64_t submit(const char *name, int32_t *data)
{
    int64_t handle;
    const struct hvd_tensor tensor = of(name, data, data, &two);
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
    return handle;
}

/* What both ranks do after the interrupt, before rank 1 submits what rank 0 has waited for. */
static void go_on(void)
{
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
}

static int reduce_late(const char *name)
{
    int32_t data[2] = { 1, 2 };
    go_on();
    REQUIRE_STATUS(hvd_wait(submit(name, data)), HVD_OK);
    REQUIRE(data[0] == 2 && data[1] == 4);
    return leave_world();
}

/* ---- signals ---- */

static atomic_bool signalled;

static void on_signal(int number)
{
    (void)number;
    atomic_store(&signalled, true);
}

static int was_signalled(void *arg)
{
    atomic_int *asked = arg;
    atomic_fetch_add(asked, 1);
    return atomic_load(&signalled);
}

/* Sends a signal to the main thread when it sleeps. */
static void *send_signal(void *arg)
{
    const pthread_t *thread = arg;
    wait_until_asleep(getpid());
    pthread_kill(*thread, SIGUSR1);
    return NULL;
}

/* The handler restarts system calls, as handlers of interpreters may. */
static int be_signalled(int rank)
{
    int32_t data[2] = { 1, 2 };
    atomic_int asked = 0;
    struct hvd_interrupt interrupt = { was_signalled, &asked, 0 };
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    pthread_t self = pthread_self(), sender;
    init_world();
    if (rank == 1)
        return reduce_late("late");
    REQUIRE(sigaction(SIGUSR1, &action, NULL) == 0);
    int64_t handle = submit("late", data);
    REQUIRE(pthread_create(&sender, NULL, send_signal, &self) == 0);
    REQUIRE_STATUS(hvd_wait_interruptible(handle, &interrupt, NULL), HVD_ERR_INTERRUPTED);
    require_text("the wait was interrupted");
    REQUIRE(interrupt.handle == handle && atomic_load(&asked) > 0);
    REQUIRE(pthread_join(sender, NULL) == 0);
    go_on();
    REQUIRE_STATUS(hvd_wait_interruptible(handle, &interrupt, NULL), HVD_OK);
    REQUIRE(data[0] == 2 && data[1] == 4);
    return leave_world();
}

START_TEST(a_signal_ends_a_wait_and_the_collective_goes_on)
{
    ranks_run(&(struct mini_options){ .size = 2 }, be_signalled);
}
END_TEST

/* ---- without a signal ---- */

static int at_the_third_time(void *arg)
{
    int *asked = arg;
    return ++*asked >= 3;
}

static int be_asked(int rank)
{
    int32_t data[2] = { 1, 2 };
    int asked = 0;
    struct hvd_interrupt interrupt = { at_the_third_time, &asked, 0 };
    const struct hvd_options options = { .interrupt = &interrupt };
    struct hvd_tensor tensor = of("late", data, data, &two);
    init_world();
    if (rank == 1)
        return reduce_late("late");
    REQUIRE_STATUS(hvd_allreduce_tensor(&tensor, HVD_SUM, &options), HVD_ERR_INTERRUPTED);
    REQUIRE(asked == 3 && interrupt.handle > 0);
    go_on();
    REQUIRE_STATUS(hvd_wait(interrupt.handle), HVD_OK);
    REQUIRE(data[0] == 2 && data[1] == 4);
    return leave_world();
}

START_TEST(a_call_without_a_handle_leaves_one_behind)
{
    ranks_run(&(struct mini_options){ .size = 2 }, be_asked);
}
END_TEST

static void *wait_for_handle(void *arg)
{
    REQUIRE_STATUS(hvd_wait(*(int64_t *)arg), HVD_OK);
    return NULL;
}

/* The other thread may move the data, while this one sleeps until it has. */
static int be_asked_beside_another_thread(int rank)
{
    int32_t data[2] = { 1, 2 }, others[2] = { 0 };
    int asked = 0;
    struct hvd_interrupt interrupt = { at_the_third_time, &asked, 0 };
    pthread_t other;
    init_world();
    if (rank == 1) {
        go_on();
        REQUIRE_STATUS(hvd_wait(submit("other", others)), HVD_OK);
        return reduce_late("late");
    }
    int64_t handle = submit("late", data), others_handle = submit("other", others);
    REQUIRE(pthread_create(&other, NULL, wait_for_handle, &others_handle) == 0);
    REQUIRE_STATUS(hvd_wait_interruptible(handle, &interrupt, NULL), HVD_ERR_INTERRUPTED);
    go_on();
    REQUIRE(pthread_join(other, NULL) == 0);
    go_on();
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    return leave_world();
}

START_TEST(a_thread_that_waits_beside_another_one_is_asked_too)
{
    ranks_run(&(struct mini_options){ .size = 2 }, be_asked_beside_another_thread);
}
END_TEST

/* ---- calls of the library while it asks ---- */

static int release_the_other_rank(void *arg)
{
    int *asked = arg;
    if (++*asked == 1)
        REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    return 0;
}

static int call_while_asked(int rank)
{
    int32_t data[2] = { 1, 2 };
    int asked = 0;
    struct hvd_interrupt interrupt = { release_the_other_rank, &asked, 0 };
    init_world();
    if (rank == 1)
        return reduce_late("late");
    REQUIRE_STATUS(hvd_wait_interruptible(submit("late", data), &interrupt, NULL), HVD_OK);
    REQUIRE(asked >= 1 && data[1] == 4);
    return leave_world();
}

START_TEST(the_function_may_call_the_library)
{
    ranks_run(&(struct mini_options){ .size = 2 }, call_while_asked);
}
END_TEST

static int shut_down(void *arg)
{
    (void)arg;
    REQUIRE_STATUS(hvd_shutdown(), HVD_OK);
    return 0;
}

static int shut_down_while_asked(int rank)
{
    int32_t data[2] = { 1, 2 };
    struct hvd_interrupt interrupt = { shut_down, NULL, 0 };
    init_world();
    if (rank == 0) {
        int rc = hvd_wait_interruptible(submit("never", data), &interrupt, NULL);
        REQUIRE_STATUS(rc, HVD_ERR_SHUT_DOWN);
        atomic_fetch_add(&shared->counters[0], 1);
    }
    wait_for(0, 1); /* a rank that leaves first would end the wait */
    return leave_world();
}

START_TEST(the_function_may_leave_the_world)
{
    ranks_run(&(struct mini_options){ .size = 2 }, shut_down_while_asked);
}
END_TEST

/* ---- values ---- */

static int never(void *arg)
{
    (void)arg;
    return 0;
}

/* Long enough for the ranks to stop asking each other (lib/engine/set_steady_run.c). Rank 1 makes
 * the same calls in their short forms. */
static int repeat(int rank)
{
    struct hvd_interrupt interrupt = { never, NULL, 0 };
    const struct hvd_options options = { .prescale = 1, .interrupt = &interrupt };
    init_world();
    for (int i = 0; i < 300; i++) {
        int32_t in[2] = { i, rank }, sum[2], all[4], root[2] = { rank == 0 ? i : -1, 7 };
        struct hvd_tensor reduced = of("sum", in, sum, &two), moved = of("root", NULL, root, &two);
        struct hvd_tensor gathered = of("all", in, all, &two);
        REQUIRE_STATUS(rank == 0 ? hvd_allreduce_tensor(&reduced, HVD_SUM, &options)
                                 : hvd_allreduce("sum", in, sum, 2, HVD_INT32, HVD_SUM),
                       HVD_OK);
        REQUIRE(sum[0] == 2 * i && sum[1] == 1);
        REQUIRE_STATUS(rank == 0 ? hvd_broadcast_tensor(&moved, 0, &options)
                                 : hvd_broadcast("root", root, 2, HVD_INT32, 0),
                       HVD_OK);
        REQUIRE(root[0] == i && root[1] == 7);
        REQUIRE_STATUS(rank == 0 ? hvd_allgather_tensor(&gathered, &options, NULL)
                                 : hvd_allgather("all", in, all, 2, HVD_INT32),
                       HVD_OK);
        REQUIRE(all[0] == i && all[1] == 0 && all[2] == i && all[3] == 1);
    }
    return leave_world();
}

START_TEST(the_long_forms_that_wait_meet_the_short_ones)
{
    ranks_run(&(struct mini_options){ .size = 2 }, repeat);
}
END_TEST

static int use_options(int rank)
{
    int32_t in[4] = { rank, 1, 2, 3 }, out[4], root[4] = { rank, rank, rank, rank };
    struct hvd_result result;
    init_world();
    int set = hvd_add_process_set((const int[]){ 1, 2 }, 2);
    REQUIRE(set > 0);
    if (rank > 0) {
        struct hvd_interrupt interrupt = { never, NULL, 0 };
        const struct hvd_options options = {
            .process_set = set, .prescale = 3, .postscale = 2, .interrupt = &interrupt
        };
        const struct hvd_options plain = { .process_set = set, .interrupt = &interrupt };
        struct hvd_tensor sum = of("sum", in, out, &four), moved = of("root", NULL, root, &four);
        struct hvd_tensor all = of("all", in, NULL, rank == 1 ? &two : &four);
        REQUIRE_STATUS(hvd_allreduce_tensor(&sum, HVD_SUM, &options), HVD_OK);
        REQUIRE(out[0] == 18 && out[3] == 36);
        REQUIRE_STATUS(hvd_broadcast_tensor(&moved, 2, &plain), HVD_OK);
        REQUIRE(root[0] == 2 && root[3] == 2);
        REQUIRE_STATUS(hvd_allgather_tensor(&all, &plain, &result), HVD_OK);
        REQUIRE(result.dim0 == 6 && result.nrows == 2 && result.rows[1] == 4);
        REQUIRE(((const int32_t *)result.data)[2] == 2);
        hvd_result_free(&result);
    }
    return leave_world();
}

START_TEST(the_long_forms_that_wait_have_sets_factors_and_results)
{
    ranks_run(&(struct mini_options){ .size = 3 }, use_options);
}
END_TEST

/* ---- mistakes ---- */

static int be_mistaken(int rank)
{
    int32_t data[2] = { rank, 1 };
    int64_t handle = 0;
    struct hvd_interrupt empty = { NULL, NULL, 0 }, good = { never, NULL, 0 };
    const struct hvd_options without_function = { .interrupt = &empty };
    const struct hvd_options options = { .interrupt = &good };
    struct hvd_tensor tensor = of("a", data, data, &two), placeless = of("a", data, NULL, &two);
    init_world();
    REQUIRE_STATUS(hvd_allreduce_tensor(&tensor, HVD_SUM, &without_function), HVD_ERR_INVALID);
    require_text("allreduce: the interrupt has no function");
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, &options, &handle), HVD_ERR_INVALID);
    require_text("allreduce: an interrupt, but the call does not wait");
    REQUIRE_STATUS(hvd_allgather_tensor(&placeless, &options, NULL), HVD_ERR_INVALID);
    require_text("allgather 'a': output is NULL");
    REQUIRE_STATUS(hvd_allreduce_tensor(NULL, HVD_SUM, &options), HVD_ERR_INVALID);
    handle = submit("b", data);
    REQUIRE_STATUS(hvd_wait_interruptible(handle, NULL, NULL), HVD_ERR_INVALID);
    require_text("wait: the interrupt has no function");
    REQUIRE_STATUS(hvd_wait_interruptible(handle, &empty, NULL), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_wait_interruptible(handle + 1000, &good, NULL), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_wait_interruptible(handle, &good, NULL), HVD_OK);
    REQUIRE(data[0] == 1);
    return leave_world();
}

START_TEST(mistakes_submit_nothing)
{
    ranks_run(&(struct mini_options){ .size = 2 }, be_mistaken);
}
END_TEST

static int lose_a_rank(int rank)
{
    int32_t data[2] = { 1, 2 }, here = 0;
    struct hvd_interrupt interrupt = { never, NULL, 0 };
    const struct hvd_options options = { .interrupt = &interrupt };
    struct hvd_tensor tensor = of("a", data, data, &two);
    init_world();
    (void)sum_of_ranks("here", &here); /* when it is done for rank 1, rank 0 has its world */
    if (rank == 1)
        kill(getpid(), SIGKILL);
    REQUIRE_STATUS(hvd_allreduce_tensor(&tensor, HVD_SUM, &options), HVD_ERR_PEER_LOST);
    require_text("rank 1");
    return leave_world();
}

START_TEST(a_lost_rank_ends_the_wait)
{
    ranks_run_but(&(struct mini_options){ .size = 2 }, lose_a_rank, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interrupt");
    TCase *tcase = tcase_create("interrupt");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_signal_ends_a_wait_and_the_collective_goes_on);
    tcase_add_test(tcase, a_call_without_a_handle_leaves_one_behind);
    tcase_add_test(tcase, a_thread_that_waits_beside_another_one_is_asked_too);
    tcase_add_test(tcase, the_function_may_call_the_library);
    tcase_add_test(tcase, the_function_may_leave_the_world);
    tcase_add_test(tcase, the_long_forms_that_wait_meet_the_short_ones);
    tcase_add_test(tcase, the_long_forms_that_wait_have_sets_factors_and_results);
    tcase_add_test(tcase, mistakes_submit_nothing);
    tcase_add_test(tcase, a_lost_rank_ends_the_wait);
    return unit_run(suite);
}
