/* SPDX-License-Identifier: Apache-2.0 */
/* Elastic training at the real rendezvous: ranks are lost at any moment, come, and are removed. No
 * commit and no sample is lost, and the result is that of a training that nothing has disturbed.
 * The test is the launcher: it says who is to be there. */
#include "lib/hvd_elastic.h"

#include "tests/support/live_rendezvous.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the test tells the workers, and they it, in shared->counters. */
enum { STOP, ARRIVED, COMMITTED, RESETS };

static struct live_rendezvous live;
static pid_t pids[LIVE_WORKERS_MAX];

static void setup_job(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(shared != MAP_FAILED);
    live_rendezvous_start(&live, 0, 1);
}

static void teardown_job(void)
{
    live_rendezvous_stop(&live);
    munmap(shared, sizeof *shared);
}

static void start_workers(int first, int count, rank_fn *body)
{
    for (int worker = first; worker < first + count; worker++)
        pids[worker] = live_worker_start(&live, worker, body);
}

static void expect_end(int worker, int expected)
{
    int status = 0;
    ck_assert_int_eq(waitpid(pids[worker], &status, 0), pids[worker]);
    ck_assert_int_eq(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), expected);
}

static void kill_worker(int worker)
{
    ck_assert_int_eq(kill(pids[worker], SIGKILL), 0);
    expect_end(worker, 128 + SIGKILL);
    live_ended(&live, worker, true);
}

static void expect_world(int epoch, int size, const int *workers)
{
    struct live_world world = live_await_world(&live);
    ck_assert_int_eq(world.epoch, epoch);
    ck_assert_int_eq(world.size, size);
    ck_assert_mem_eq(world.workers, workers, (size_t)size * sizeof *workers);
}

static void intend(int count, const int *workers)
{
    live_intend(&live, workers, count);
}

#define WORKERS(...)                                                                               \
    (sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)), (int[])                                        \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* ---- a worker ----
 *
 * Trains whole epochs until the test wants it to stop. What it trains is how often each sample was
 * used, and how many steps there were, both as sums over the ranks. */

enum { SAMPLES = 301, BATCH = 5 };

/* Two pieces; or one, where each byte takes long: no other thread moves the second. */
#if defined __SANITIZE_THREAD__
enum { WEIGHTS = 15000 };
#else
enum { WEIGHTS = 600000 };
#endif

static struct training {
    double weights[WEIGHTS], gradients[WEIGHTS];
    uint8_t used[SAMPLES];
    int64_t step;
    double rate; /* follows the number of ranks */
    struct hvd_sampler *sampler;
    struct hvd_optimizer *optimizer;
    int steps_per_commit, resets, fails_at;
    const char *checkpoint;
} training;

static int make_step(void *arg)
{
    struct training *its = arg;
    for (int i = 0; i < WEIGHTS; i += 100)
        its->weights[i] += its->gradients[i];
    return 0;
}

static int train_step(struct training *its)
{
    uint64_t samples[BATCH];
    uint8_t used[SAMPLES] = { 0 };
    size_t count = hvd_sampler_next(its->sampler, samples, BATCH);
    for (size_t i = 0; i < count; i++)
        used[samples[i]]++;
    for (int i = 0; i < WEIGHTS; i += 100)
        its->gradients[i] = 1;
    int rc = hvd_allreduce("used", used, used, SAMPLES, HVD_UINT8, HVD_SUM);
    if (rc == HVD_OK)
        rc = hvd_optimizer_ready(its->optimizer, 0);
    if (rc == HVD_OK)
        rc = hvd_optimizer_step(its->optimizer);
    if (rc != HVD_OK)
        return rc;
    for (int i = 0; i < SAMPLES; i++)
        its->used[i] = (uint8_t)(its->used[i] + used[i]);
    its->step++;
    return HVD_OK;
}

/* A commit that succeeds on one rank is not lost. */
static int commit(struct hvd_elastic_state *state, const struct training *its)
{
    int rc = hvd_elastic_commit(state);
    int step = (int)its->step, known = atomic_load(&shared->counters[COMMITTED]);
    while ((rc == HVD_OK || rc == HVD_HOSTS_UPDATED) && known < step)
        if (atomic_compare_exchange_weak(&shared->counters[COMMITTED], &known, step))
            break;
    return rc;
}

static int end_epoch(struct training *its, int *over)
{
    uint64_t epoch = hvd_sampler_epoch(its->sampler);
    for (int i = 0; i < SAMPLES; i++)
        REQUIRE(its->used[i] == (uint8_t)(epoch + 1)); /* each once in each epoch */
    hvd_sampler_start_epoch(its->sampler, epoch + 1);
    int32_t stop = atomic_load(&shared->counters[STOP]);
    int rc = hvd_allreduce("stop", &stop, &stop, 1, HVD_INT32, HVD_MAX);
    *over = stop;
    return rc;
}

static void check_begin(const struct training *its)
{
    REQUIRE(its->step >= atomic_load(&shared->counters[COMMITTED]));
    REQUIRE(hvd_epoch() == 0 || its->step > 0 || atomic_load(&shared->counters[COMMITTED]) == 0);
    REQUIRE(its->weights[0] == (double)its->step && its->weights[WEIGHTS - 100] == its->weights[0]);
    REQUIRE(its->rate > 0.1 * hvd_size() - 1e-9 && its->rate < 0.1 * hvd_size() + 1e-9);
}

static int train(struct hvd_elastic_state *state, void *arg)
{
    struct training *its = arg;
    int over = 0, rc = HVD_OK, steps = 0;
    check_begin(its);
    while (!over && rc == HVD_OK) {
        while (rc == HVD_OK && hvd_sampler_left(its->sampler) > 0) {
            rc = train_step(its);
            if (rc == HVD_OK && steps == 0)
                atomic_fetch_add(&shared->counters[ARRIVED], 1);
            if (rc == HVD_OK && ++steps == its->fails_at)
                return 5;
            if (rc == HVD_OK && steps % its->steps_per_commit == 0)
                rc = commit(state, its);
            else if (rc == HVD_OK)
                rc = hvd_elastic_check_host_updates(state);
        }
        if (rc == HVD_OK)
            rc = end_epoch(its, &over);
    }
    return rc;
}

static int on_reset(const struct hvd_elastic_reset *reset, void *arg)
{
    struct training *its = arg;
    REQUIRE(reset->size == hvd_size() && reset->epoch == hvd_epoch() && reset->previous_size > 0);
    its->rate *= (double)reset->size / reset->previous_size;
    its->resets++;
    return HVD_OK;
}

static struct hvd_elastic_state *make_state(struct training *its, int reset_limit)
{
    static const int64_t dims[] = { WEIGHTS };
    struct hvd_elastic_state *state;
    const struct hvd_parameter weights = { .name = "weights",
                                           .data = its->weights,
                                           .gradient = its->gradients,
                                           .dtype = HVD_FLOAT64,
                                           .ndims = 1,
                                           .dims = dims };
    const struct hvd_scalar values[] = { { "step", &its->step, HVD_INT64 },
                                         { "rate", &its->rate, HVD_FLOAT64 } };
    const struct hvd_sampler_options samples = { .count = SAMPLES, .seed = 5, .distinct = 1 };
    const struct hvd_elastic_options options = { .checkpoint = its->checkpoint,
                                                 .reset_limit = reset_limit };
    REQUIRE_STATUS(hvd_sampler_create(&samples, &its->sampler), HVD_OK);
    REQUIRE_STATUS(hvd_elastic_create(&options, &state), HVD_OK);
    REQUIRE_STATUS(
        hvd_elastic_add_optimizer(state, &weights, 1, NULL, make_step, its, &its->optimizer),
        HVD_OK);
    REQUIRE_STATUS(hvd_elastic_add_memory(state, "used", its->used, SAMPLES), HVD_OK);
    REQUIRE_STATUS(hvd_elastic_add_values(state, values, 2), HVD_OK);
    REQUIRE_STATUS(hvd_elastic_add_sampler(state, "samples", its->sampler), HVD_OK);
    REQUIRE_STATUS(hvd_elastic_on_reset(state, on_reset, its), HVD_OK);
    return state;
}

/* Returns 7 when it was removed, else what has come out of run(). */
static int run_worker(int reset_limit, int expected)
{
    int rc = hvd_elastic_init();
    if (rc == HVD_ERR_REMOVED)
        return 7;
    REQUIRE_STATUS(rc, HVD_OK);
    training.rate = 0.1 * hvd_size();
    struct hvd_elastic_state *state = make_state(&training, reset_limit);
    rc = hvd_elastic_run(state, train, &training);
    if (rc != HVD_ERR_REMOVED)
        REQUIRE_STATUS(rc, expected);
    if (rc == HVD_OK)
        REQUIRE(training.weights[0] == (double)training.step);
    hvd_shutdown();
    hvd_elastic_destroy(state);
    hvd_sampler_destroy(training.sampler);
    return rc == HVD_ERR_REMOVED ? 7 : 0;
}

static int work(int worker)
{
    (void)worker;
    training.steps_per_commit = 1;
    return run_worker(0, HVD_OK);
}

static int work_with_few_commits(int worker)
{
    (void)worker;
    training.steps_per_commit = 4;
    return run_worker(0, HVD_OK);
}

static rank_fn *const bodies[] = { work, work_with_few_commits };
enum { BODIES = 2 };

static void stop_all(void)
{
    atomic_store(&shared->counters[STOP], 1);
}

/* ---- what happens to them ---- */

START_TEST(survivors_go_on_from_the_last_commit)
{
    start_workers(0, 4, bodies[_i]);
    intend(WORKERS(0, 1, 2, 3));
    expect_world(0, WORKERS(0, 1, 2, 3));
    wait_for(ARRIVED, 4);
    kill_worker(2);
    intend(WORKERS(0, 1, 3));
    expect_world(1, WORKERS(0, 1, 3));
    wait_for(ARRIVED, 7);
    stop_all();
    expect_end(0, 0);
    expect_end(1, 0);
    expect_end(3, 0);
}
END_TEST

START_TEST(rank_0_may_be_lost_again_and_again)
{
    start_workers(0, 3, bodies[_i]);
    intend(WORKERS(0, 1, 2));
    wait_for(ARRIVED, 3);
    kill_worker(0);
    intend(WORKERS(1, 2));
    wait_for(ARRIVED, 5);
    kill_worker(1);
    intend(WORKERS(2));
    wait_for(ARRIVED, 6);
    stop_all();
    expect_end(2, 0);
}
END_TEST

/* It is given the state: it could not begin otherwise. */
START_TEST(a_newcomer_gets_the_state_of_the_others)
{
    start_workers(0, 2, bodies[_i]);
    intend(WORKERS(0, 1));
    wait_for(ARRIVED, 2);
    wait_for(COMMITTED, 1);
    start_workers(2, 2, bodies[_i]);
    intend(WORKERS(0, 1, 2, 3));
    wait_for(ARRIVED, 6);
    stop_all();
    for (int worker = 0; worker < 4; worker++)
        expect_end(worker, 0);
}
END_TEST

/* The newcomers are the lower ranks, so that they do not send what they have. */
START_TEST(the_state_comes_from_the_lowest_rank_that_has_one)
{
    start_workers(0, 2, bodies[_i]);
    intend(WORKERS(0, 1));
    wait_for(COMMITTED, 1);
    start_workers(2, 2, bodies[_i]);
    intend(WORKERS(2, 3, 1, 0));
    wait_for(ARRIVED, 6);
    stop_all();
    for (int worker = 0; worker < 4; worker++)
        expect_end(worker, 0);
}
END_TEST

START_TEST(a_removed_worker_ends_and_the_others_go_on)
{
    start_workers(0, 3, bodies[_i]);
    intend(WORKERS(0, 1, 2));
    wait_for(ARRIVED, 3);
    live_remove(&live, 0);
    intend(WORKERS(1, 2));
    expect_end(0, 7);
    wait_for(ARRIVED, 5);
    stop_all();
    expect_end(1, 0);
    expect_end(2, 0);
}
END_TEST

/* Worker 1 is stopped, and misses a world; its commit is older than that of the others. */
START_TEST(a_stopped_worker_comes_back_and_takes_over_newer_commits)
{
    start_workers(0, 3, bodies[_i]);
    intend(WORKERS(0, 1, 2));
    wait_for(ARRIVED, 3);
    ck_assert_int_eq(kill(pids[1], SIGSTOP), 0);
    kill_worker(0);
    intend(WORKERS(2));
    wait_for(ARRIVED, 4);
    ck_assert_int_eq(kill(pids[1], SIGCONT), 0);
    intend(WORKERS(1, 2));
    wait_for(ARRIVED, 6);
    stop_all();
    expect_end(1, 0);
    expect_end(2, 0);
}
END_TEST

/* At any moment of a step, a commit, a reset and a synchronisation. */
START_TEST(workers_die_at_any_moment)
{
    enum { FIRST = 5, LAST = 11 };
    int members[LAST + 1], count = FIRST, oldest = 0;
    unsigned random = (unsigned)_i * 7919 + 1;
    for (int i = 0; i <= LAST; i++)
        members[i] = i;
    start_workers(0, FIRST, bodies[_i % BODIES]);
    intend(FIRST, members);
    for (int next = FIRST; next <= LAST; next++) { /* one goes, one comes */
        random = random * 1103515245 + 12345;
        usleep(random / 65536 % 40 * 1000); /* any moment will do */
        int gone = (int)(random / 65536 % (unsigned)count);
        kill_worker(members[oldest + gone]);
        memmove(&members[oldest + gone], &members[oldest + gone + 1],
                (size_t)(count - gone - 1) * sizeof *members);
        members[oldest + count - 1] = next;
        start_workers(next, 1, bodies[_i % BODIES]);
        intend(count, members + oldest);
    }
    wait_for(COMMITTED, 1);
    stop_all();
    for (int i = 0; i < count; i++)
        expect_end(members[oldest + i], 0);
}
END_TEST

/* ---- how it ends ---- */

static int work_and_fail(int worker)
{
    training.steps_per_commit = 1;
    training.fails_at = worker == 1 ? 3 : 0;
    return run_worker(0, worker == 1 ? 5 : HVD_OK);
}

START_TEST(a_worker_that_fails_leaves_the_others_alone)
{
    start_workers(0, 3, work_and_fail);
    intend(WORKERS(0, 1, 2));
    expect_end(1, 0);
    live_ended(&live, 1, false);
    intend(WORKERS(0, 2));
    wait_for(ARRIVED, 5);
    stop_all();
    expect_end(0, 0);
    expect_end(2, 0);
}
END_TEST

static int work_with_a_limit(int worker)
{
    (void)worker;
    training.steps_per_commit = 1;
    int rc = run_worker(1, HVD_ERR_PEER_LOST);
    REQUIRE(training.resets == 1);
    return rc;
}

START_TEST(the_limit_of_resets_ends_all_ranks)
{
    start_workers(0, 4, work_with_a_limit);
    intend(WORKERS(0, 1, 2, 3));
    wait_for(ARRIVED, 4);
    kill_worker(1);
    intend(WORKERS(0, 2, 3));
    wait_for(ARRIVED, 7);
    kill_worker(3);
    expect_end(0, 0);
    expect_end(2, 0);
}
END_TEST

static char directory[64], path[96];

static int work_with_a_file(int worker)
{
    (void)worker;
    training.steps_per_commit = 2;
    training.checkpoint = path;
    return run_worker(0, HVD_OK);
}

START_TEST(another_job_continues_when_all_ranks_have_died)
{
    snprintf(directory, sizeof directory, "/tmp/hvd-elastic-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/last", directory);
    start_workers(0, 2, work_with_a_file);
    intend(WORKERS(0, 1));
    wait_for(COMMITTED, 4);
    for (int worker = 0; worker < 2; worker++)
        ck_assert_int_eq(kill(pids[worker], SIGKILL), 0);
    for (int worker = 0; worker < 2; worker++)
        expect_end(worker, 128 + SIGKILL);
    live_rendezvous_stop(&live);
    live_rendezvous_start(&live, 0, 1);
    /* The last commit may be that of one rank, whose file was not written. */
    atomic_fetch_sub(&shared->counters[COMMITTED], 2);
    atomic_store(&shared->counters[ARRIVED], 0);
    start_workers(0, 3, work_with_a_file);
    intend(WORKERS(0, 1, 2));
    wait_for(ARRIVED, 3);
    stop_all();
    for (int worker = 0; worker < 3; worker++)
        expect_end(worker, 0);
    unlink(path);
    rmdir(directory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic run");
    TCase *tcase = tcase_create("elastic run");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, setup_job, teardown_job);
    tcase_add_loop_test(tcase, survivors_go_on_from_the_last_commit, 0, BODIES);
    tcase_add_loop_test(tcase, rank_0_may_be_lost_again_and_again, 0, BODIES);
    tcase_add_loop_test(tcase, a_newcomer_gets_the_state_of_the_others, 0, BODIES);
    tcase_add_loop_test(tcase, the_state_comes_from_the_lowest_rank_that_has_one, 0, BODIES);
    tcase_add_loop_test(tcase, a_removed_worker_ends_and_the_others_go_on, 0, BODIES);
    tcase_add_loop_test(tcase, a_stopped_worker_comes_back_and_takes_over_newer_commits, 0, BODIES);
    tcase_add_loop_test(tcase, workers_die_at_any_moment, 0, 6);
    tcase_add_test(tcase, a_worker_that_fails_leaves_the_others_alone);
    tcase_add_test(tcase, the_limit_of_resets_ends_all_ranks);
    tcase_add_test(tcase, another_job_continues_when_all_ranks_have_died);
    return unit_run(suite);
}
