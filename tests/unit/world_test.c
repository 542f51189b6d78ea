/* SPDX-License-Identifier: Apache-2.0 */
/* Whole worlds of several processes through the public calls: what works, and each way in which a
 * world ends. */
#include "lib/hvd.h"
#include "lib/join/bootstrap.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FD_PROBES = 64 };

static void init(void)
{
    REQUIRE_STATUS(hvd_init(), HVD_OK);
}

static const char *get_variable(const char *name)
{
    return getenv(name);
}

static int sum_of_ranks(const char *name, int32_t *sum)
{
    *sum = hvd_rank();
    return hvd_allreduce(name, sum, sum, 1, HVD_INT32, HVD_SUM);
}

static int finish(void)
{
    REQUIRE_STATUS(hvd_shutdown(), HVD_OK);
    return 0;
}

/* --- what works --- */

static void check_place(int rank)
{
    REQUIRE(hvd_rank() == rank);
    REQUIRE(hvd_local_rank() == rank);
    REQUIRE(hvd_local_size() == hvd_size());
    REQUIRE(hvd_cross_rank() == 0 && hvd_cross_size() == 1);
    REQUIRE(hvd_is_homogeneous() == 1);
    REQUIRE(hvd_is_initialized() == 1);
}

static void check_collectives(size_t count)
{
    int size = hvd_size(), rank = hvd_rank(), right = 1;
    double *data = calloc(count + 1, sizeof *data);
    double *all = calloc(count * (size_t)size + 1, sizeof *all);
    for (size_t i = 0; i < count; i++)
        data[i] = (double)i + rank;
    REQUIRE_STATUS(hvd_allgather("g", data, all, count, HVD_FLOAT64), HVD_OK);
    for (size_t i = 0; i < count * (size_t)size; i++)
        right &= all[i] == (double)(i % count) + (double)(i / count);
    REQUIRE_STATUS(hvd_allreduce("r", data, data, count, HVD_FLOAT64, HVD_AVERAGE), HVD_OK);
    for (size_t i = 0; i < count; i++)
        right &= data[i] == (double)i + (double)(size - 1) / 2;
    data[0] = rank;
    REQUIRE_STATUS(hvd_broadcast("b", data, count, HVD_FLOAT64, size - 1), HVD_OK);
    REQUIRE(right && (count == 0 || data[0] == size - 1));
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    free(data);
    free(all);
}

static int use_everything(int rank)
{
    static const size_t counts[] = { 0, 1, 2, 5, 1000, 300007 };
    init();
    init();
    check_place(rank);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        check_collectives(counts[i]);
    return finish();
}

START_TEST(a_world_of_any_small_size_works)
{
    ranks_run(&(struct mini_options){ .size = _i }, use_everything);
}
END_TEST

static int many_small(int rank)
{
    (void)rank;
    init();
    int size = hvd_size();
    for (int i = 0; i < 2000; i++) {
        int32_t sum;
        REQUIRE_STATUS(sum_of_ranks("s", &sum), HVD_OK);
        REQUIRE(sum == size * (size - 1) / 2);
    }
    return 0; /* normal exit says goodbye */
}

START_TEST(many_small_collectives_follow_each_other)
{
    ranks_run(&(struct mini_options){ .size = 3 }, many_small);
}
END_TEST

static void *sum_often(void *failures)
{
    for (int i = 0; i < 200; i++) {
        int32_t sum;
        if (sum_of_ranks("t", &sum) != HVD_OK || sum != 1 || hvd_size() != 2)
            atomic_fetch_add((atomic_int *)failures, 1);
    }
    return NULL;
}

static int two_threads(int rank)
{
    (void)rank;
    atomic_int failures = 0;
    pthread_t thread;
    init();
    REQUIRE(pthread_create(&thread, NULL, sum_often, &failures) == 0);
    sum_often(&failures);
    pthread_join(thread, NULL);
    REQUIRE(failures == 0);
    return finish();
}

START_TEST(calls_of_several_threads_are_carried_out_one_after_the_other)
{
    ranks_run(&(struct mini_options){ .size = 2 }, two_threads);
}
END_TEST

START_TEST(strangers_at_the_data_port_do_no_harm)
{
    ranks_run(&(struct mini_options){ .size = 3, .strangers = _i }, use_everything);
}
END_TEST

START_TEST(who_is_turned_away_at_first_dials_again)
{
    ranks_run(&(struct mini_options){ .size = 3, .turns_away = 9, .drops = _i }, use_everything);
}
END_TEST

/* --- how a world ends --- */

static void require_text(const char *part)
{
    if (!strstr(hvd_last_error(), part))
        fprintf(stderr, "wanted '%s'\n", part);
    REQUIRE(strstr(hvd_last_error(), part) != NULL);
}

static void *die_in_the_middle(void *unused)
{
    (void)unused;
    wait_for(0, 20);
    raise(SIGKILL);
    return NULL;
}

/* Counter 0 is how many large allreduces have been finished. Rank 1 dies in one of them. */
static int until_somebody_dies(int rank)
{
    enum { COUNT = 1 << 18 };
    float *data = calloc(COUNT, sizeof *data);
    char first[512];
    pthread_t thread;
    int rc;
    init();
    if (rank == 1)
        REQUIRE(pthread_create(&thread, NULL, die_in_the_middle, NULL) == 0);
    while ((rc = hvd_allreduce("grad", data, data, COUNT, HVD_FLOAT32, HVD_SUM)) == HVD_OK)
        atomic_fetch_add(&shared->counters[0], 1);
    REQUIRE_STATUS(rc, HVD_ERR_PEER_LOST);
    require_text("rank 1 on testhost was lost");
    snprintf(first, sizeof first, "%s", hvd_last_error());
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_PEER_LOST);
    REQUIRE(strcmp(first, hvd_last_error()) == 0);
    REQUIRE(hvd_is_initialized() == 1 && hvd_rank() == rank);
    free(data);
    return finish();
}

START_TEST(a_rank_killed_in_the_middle_is_named_by_all_others)
{
    struct mini_rendezvous mini;
    struct ranks ranks;
    mini_rendezvous_start(&mini, &(struct mini_options){ .size = _i });
    ranks_start(&ranks, _i, &mini, until_somebody_dies);
    for (int rank = 0; rank < _i; rank++)
        ck_assert_int_eq(ranks_wait(&ranks, rank), rank == 1 ? 128 + SIGKILL : 0);
    mini_rendezvous_stop(&mini);
}
END_TEST

/* --- what the host program does meanwhile --- */

static void on_alarm(int number)
{
    (void)number;
}

static void ring_an_alarm_every_300_ms(void)
{
    struct sigaction action = { .sa_handler = on_alarm };
    struct itimerval often = { { 0, 300000 }, { 0, 300000 } };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

/* Waits until a thread sleeps in the kernel. */
static void wait_until_asleep(int thread)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", thread);
    while (state != 'S') {
        FILE *file = fopen(path, "re");
        REQUIRE(file != NULL && fscanf(file, "%*d %*[^)]) %c", &state) == 1);
        fclose(file);
        sched_yield();
    }
}

/* The first that has been opened is the one that wakes a collective. */
static void close_first_event(void)
{
    for (int fd = 3; fd < FD_PROBES; fd++) {
        char path[64], target[64] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, target, sizeof target - 1) > 0 && strstr(target, "[eventfd]")) {
            close(fd);
            return;
        }
    }
    REQUIRE(!"an eventfd");
}

static int without_the_event(int rank)
{
    init();
    if (rank == 0) {
        close_first_event();
        atomic_store(&shared->counters[0], getpid());
    } else {
        wait_for(0, 1);
        wait_until_asleep(atomic_load(&shared->counters[0]));
    }
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    return finish();
}

START_TEST(who_waits_sleeps_even_when_its_event_was_closed)
{
    ranks_run(&(struct mini_options){ .size = 2 }, without_the_event);
}
END_TEST

/* Without news, the neighbours name the connection and the others hear it from them. */
static int until_a_connection_breaks(int rank)
{
    int32_t sum;
    init();
    REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
    if (rank == 1)
        raise(SIGKILL);
    REQUIRE_STATUS(sum_of_ranks("b", &sum), HVD_ERR_PEER_LOST);
    require_text("connection to rank 1 on testhost broke: ");
    REQUIRE_STATUS(sum_of_ranks("c", &sum), HVD_ERR_PEER_LOST);
    return finish();
}

START_TEST(a_broken_connection_is_an_error_even_without_news)
{
    struct mini_rendezvous mini;
    struct ranks ranks;
    mini_rendezvous_start(&mini, &(struct mini_options){ .size = _i, .silent = true });
    ranks_start(&ranks, _i, &mini, until_a_connection_breaks);
    for (int rank = 0; rank < _i; rank++)
        ck_assert_int_eq(ranks_wait(&ranks, rank), rank == 1 ? 128 + SIGKILL : 0);
    mini_rendezvous_stop(&mini);
}
END_TEST

static int until_a_connection_breaks_with_alarms(int rank)
{
    init();
    ring_an_alarm_every_300_ms();
    return until_a_connection_breaks(rank);
}

START_TEST(signals_do_not_put_off_that_a_broken_connection_is_an_error)
{
    struct mini_rendezvous mini;
    struct ranks ranks;
    mini_rendezvous_start(&mini, &(struct mini_options){ .size = _i, .silent = true });
    ranks_start(&ranks, _i, &mini, until_a_connection_breaks_with_alarms);
    for (int rank = 0; rank < _i; rank++)
        ck_assert_int_eq(ranks_wait(&ranks, rank), rank == 1 ? 128 + SIGKILL : 0);
    mini_rendezvous_stop(&mini);
}
END_TEST

static int until_somebody_leaves(int rank)
{
    int32_t sum;
    init();
    for (int i = 0; i < 3; i++)
        REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
    if (rank == 2)
        return finish();
    REQUIRE_STATUS(sum_of_ranks("grad", &sum), HVD_ERR_PEER_LEFT);
    require_text("allreduce 'grad'");
    require_text("rank 2 on testhost has left");
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_PEER_LEFT);
    require_text("barrier");
    return finish();
}

START_TEST(a_rank_that_leaves_fails_those_who_go_on)
{
    ranks_run(&(struct mini_options){ .size = 4 }, until_somebody_leaves);
}
END_TEST

static int until_somebody_exits(int rank)
{
    int32_t sum;
    init();
    REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
    if (rank == 1)
        return 0;
    REQUIRE_STATUS(sum_of_ranks("grad", &sum), HVD_ERR_PEER_LEFT);
    require_text("rank 1 on testhost has left");
    return finish();
}

START_TEST(normal_exit_says_goodbye)
{
    ranks_run(&(struct mini_options){ .size = 3 }, until_somebody_exits);
}
END_TEST

static void *wait_in_a_barrier(void *unused)
{
    (void)unused;
    atomic_store(&shared->counters[0], gettid());
    hvd_barrier();
    return NULL;
}

/* Rank 1 stays away from the barrier until rank 0 has ended. */
static int exit_during_a_barrier(int rank)
{
    pthread_t thread;
    init();
    if (rank == 0) {
        REQUIRE(pthread_create(&thread, NULL, wait_in_a_barrier, NULL) == 0);
        wait_for(0, 1);
        wait_until_asleep(atomic_load(&shared->counters[0]));
        return 0;
    }
    wait_for(1, 1);
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_PEER_LOST);
    return finish();
}

START_TEST(exit_does_not_wait_for_a_thread_inside_a_collective)
{
    struct mini_rendezvous mini;
    struct ranks ranks;
    mini_rendezvous_start(&mini, &(struct mini_options){ .size = 2 });
    ranks_start(&ranks, 2, &mini, exit_during_a_barrier);
    ck_assert_int_eq(ranks_wait(&ranks, 0), 0);
    atomic_store(&shared->counters[1], 1);
    ck_assert_int_eq(ranks_wait(&ranks, 1), 0);
    mini_rendezvous_stop(&mini);
}
END_TEST

/* The last collective of a rank that leaves at once still reaches the others. */
static int leave_at_once(int rank)
{
    enum { COUNT = 1 << 20 };
    float *data = calloc(COUNT, sizeof *data);
    init();
    data[COUNT - 1] = rank == 0 ? 5.0f : 0.0f;
    REQUIRE_STATUS(hvd_broadcast("w", data, COUNT, HVD_FLOAT32, 0), HVD_OK);
    REQUIRE(data[COUNT - 1] == 5.0f);
    free(data);
    return finish();
}

START_TEST(what_was_sent_before_leaving_arrives)
{
    for (int i = 0; i < 5; i++)
        ranks_run(&(struct mini_options){ .size = 4 }, leave_at_once);
}
END_TEST

static int disagree(int rank)
{
    float data[12] = { 0 };
    size_t count = rank == 1 ? 10 : 12;
    init();
    REQUIRE_STATUS(hvd_allreduce("grad", data, data, count, HVD_FLOAT32, HVD_SUM),
                   HVD_ERR_MISMATCH);
    require_text("allreduce 'grad': rank ");
    require_text("rank 1 has 10 float32");
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_MISMATCH);
    require_text("allreduce 'grad': rank ");
    return finish();
}

START_TEST(a_mismatch_is_an_error_on_every_rank)
{
    ranks_run(&(struct mini_options){ .size = _i }, disagree);
}
END_TEST

/* The root may be through before the others disagree; whoever fails leaves at once. */
static int disagree_and_leave(int rank)
{
    enum { COUNT = 1 << 20 };
    float *data = calloc(COUNT, sizeof *data);
    init();
    bool is_other = rank == hvd_size() - 2;
    int rc = hvd_broadcast("w", data, is_other ? 500 : COUNT, HVD_FLOAT32, 0);
    free(data);
    if (rc == HVD_OK)
        return finish();
    REQUIRE_STATUS(rc, HVD_ERR_MISMATCH);
    require_text("broadcast 'w': rank ");
    require_text(" has 500 float32");
    return finish();
}

/* Rank 1, which should pass the reason on to rank 0, comes when all others have left. */
static int disagree_around_a_latecomer(int rank)
{
    if (rank == 1) {
        init();
        wait_for(0, hvd_size() - 1);
    }
    int rc = disagree_and_leave(rank);
    atomic_fetch_add(&shared->counters[0], 1);
    return rc;
}

START_TEST(a_mismatch_is_called_one_by_who_hears_of_it_from_the_rendezvous)
{
    ranks_run(&(struct mini_options){ .size = 4 }, disagree_around_a_latecomer);
}
END_TEST

START_TEST(a_mismatch_is_called_one_although_ranks_leave_because_of_it)
{
    for (int i = 0; i < 30; i++)
        ranks_run(&(struct mini_options){ .size = _i }, disagree_and_leave);
}
END_TEST

static int outlive_the_launcher(int rank)
{
    (void)rank;
    int32_t sum;
    init();
    REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
    atomic_fetch_add(&shared->counters[0], 1);
    wait_for(1, 1);
    int rc;
    while ((rc = hvd_barrier()) == HVD_OK)
        ;
    REQUIRE_STATUS(rc, HVD_ERR_PEER_LOST);
    require_text("the launcher is gone");
    return finish();
}

START_TEST(a_launcher_that_ends_is_noticed)
{
    struct mini_rendezvous mini;
    struct ranks ranks;
    mini_rendezvous_start(&mini, &(struct mini_options){ .size = _i });
    ranks_start(&ranks, _i, &mini, outlive_the_launcher);
    wait_for(0, _i);
    mini_rendezvous_stop(&mini);
    atomic_store(&shared->counters[1], 1);
    for (int rank = 0; rank < _i; rank++)
        ck_assert_int_eq(ranks_wait(&ranks, rank), 0);
}
END_TEST

/* --- joining that fails --- */

static int with_a_wrong_key(int rank)
{
    if (rank == 0)
        setenv("HVD_JOB_KEY", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
               1);
    REQUIRE(hvd_init() < 0);
    require_text(rank == 0 ? "HVD_JOB_KEY" : "join");
    REQUIRE(hvd_is_initialized() == 0);
    REQUIRE_STATUS(hvd_rank(), HVD_ERR_NOT_INITIALIZED);
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_NOT_INITIALIZED);
    return 0;
}

START_TEST(a_wrong_key_is_refused)
{
    struct mini_rendezvous mini;
    struct ranks ranks;
    mini_rendezvous_start(&mini, &(struct mini_options){ .size = 2 });
    ranks_start(&ranks, 2, &mini, with_a_wrong_key);
    ck_assert_int_eq(ranks_wait(&ranks, 0), 0);
    mini_rendezvous_stop(&mini);
    ck_assert_int_eq(ranks_wait(&ranks, 1), 0);
}
END_TEST

static int given_wrong_neighbours(int rank)
{
    (void)rank;
    REQUIRE_STATUS(hvd_init(), HVD_ERR_PROTOCOL);
    require_text("as neighbours");
    return 0;
}

START_TEST(a_place_between_the_wrong_neighbours_is_refused)
{
    ranks_run(&(struct mini_options){ .size = 3, .misplaces = true }, given_wrong_neighbours);
}
END_TEST

/* The forgery may come before the links do. */
static int told_a_forgery(int rank)
{
    (void)rank;
    int rc = hvd_init();
    while (rc == HVD_OK)
        rc = hvd_barrier();
    REQUIRE(rc == HVD_ERR_AUTH);
    require_text("wrong proof");
    return 0;
}

START_TEST(news_without_a_proof_of_the_key_are_not_believed)
{
    ranks_run(&(struct mini_options){ .size = _i, .forges = true }, told_a_forgery);
}
END_TEST

static int hung_up_on(int rank)
{
    (void)rank;
    REQUIRE_STATUS(hvd_init(), HVD_ERR_PEER_LOST);
    require_text("join 127.0.0.1:");
    return 0;
}

START_TEST(a_rendezvous_that_hangs_up_is_an_error)
{
    ranks_run(&(struct mini_options){ .size = 2, .withholds = true }, hung_up_on);
}
END_TEST

START_TEST(a_rendezvous_that_is_not_there_is_an_error)
{
    struct mini_rendezvous mini;
    struct ranks ranks;
    mini_rendezvous_start(&mini, &(struct mini_options){ .size = 2 });
    mini_rendezvous_stop(&mini);
    ranks_start(&ranks, 2, &mini, hung_up_on);
    for (int rank = 0; rank < 2; rank++)
        ck_assert_int_eq(ranks_wait(&ranks, rank), 0);
}
END_TEST

/* Rank 1 is welcomed, opens no link, and dies when the others are looking for it. Who is not its
 * neighbour may learn of it later. */
static int die_while_linking(int rank)
{
    if (rank != 1) {
        int rc = hvd_init();
        if (rank == 3 && rc == HVD_OK)
            rc = hvd_barrier();
        REQUIRE_STATUS(rc, HVD_ERR_PEER_LOST);
        require_text("rank 1 on testhost was lost");
        return 0;
    }
    struct seat seat;
    struct environment environment;
    struct err err;
    REQUIRE(environment_read(&environment, get_variable, &err) == HVD_OK);
    REQUIRE(bootstrap_join(&seat, &environment, &err) == HVD_OK);
    seat_fini(&seat);
    return 0;
}

START_TEST(a_rank_that_dies_before_it_has_linked_up_is_named)
{
    ranks_run(&(struct mini_options){ .size = _i }, die_while_linking);
}
END_TEST

/* --- being a guest --- */

START_TEST(without_a_launcher_a_process_is_a_world_of_one)
{
    float input[3] = { 1, 2, 3 }, output[3] = { 0 };
    ck_assert_int_eq(hvd_is_initialized(), 0);
    ck_assert_int_eq(hvd_rank(), HVD_ERR_NOT_INITIALIZED);
    ck_assert_int_eq(hvd_shutdown(), HVD_OK);
    ck_assert_int_eq(hvd_init(), HVD_OK);
    ck_assert(hvd_rank() == 0 && hvd_size() == 1 && hvd_local_size() == 1 && hvd_cross_size() == 1);
    ck_assert_int_eq(hvd_allreduce("a", input, output, 3, HVD_FLOAT32, HVD_AVERAGE), HVD_OK);
    ck_assert_mem_eq(input, output, sizeof input);
    ck_assert_int_eq(hvd_allgather("a", input, output, 3, HVD_FLOAT32), HVD_OK);
    ck_assert_int_eq(hvd_broadcast("a", input, 3, HVD_FLOAT32, 0), HVD_OK);
    ck_assert_int_eq(hvd_broadcast("a", input, 3, HVD_FLOAT32, 1), HVD_ERR_INVALID);
    ck_assert_int_eq(hvd_barrier(), HVD_OK);
    ck_assert_int_eq(hvd_shutdown(), HVD_OK);
    ck_assert_int_eq(hvd_init(), HVD_ERR_SHUT_DOWN);
    ck_assert_str_eq(hvd_strstatus(HVD_ERR_FORKED), "forked from a process that called hvd_init");
    ck_assert_str_eq(hvd_strstatus(HVD_ERR_FORKED - 1), "unknown status");
    ck_assert_str_eq(hvd_strstatus(1), "unknown status");
    ck_assert_str_eq(hvd_strstatus(INT_MIN), "unknown status");
    ck_assert_str_eq(hvd_version(), "0.1.0");
}
END_TEST

START_TEST(after_a_bad_environment_a_good_one_is_taken)
{
    setenv("HOROVOD_RANK", "x", 1);
    ck_assert_int_eq(hvd_init(), HVD_ERR_ENVIRONMENT);
    ck_assert_ptr_nonnull(strstr(hvd_last_error(), "HOROVOD_RANK: 'x'"));
    unsetenv("HOROVOD_RANK");
    ck_assert_int_eq(hvd_init(), HVD_OK);
    ck_assert_int_eq(hvd_size(), 1);
}
END_TEST

static int count_fds(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static int in_the_child(int fds_before)
{
    int32_t sum = 0;
    REQUIRE_STATUS(hvd_rank(), HVD_ERR_FORKED);
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_FORKED);
    REQUIRE_STATUS(hvd_allreduce("a", &sum, &sum, 1, HVD_INT32, HVD_SUM), HVD_ERR_FORKED);
    REQUIRE_STATUS(hvd_init(), HVD_ERR_FORKED);
    REQUIRE_STATUS(hvd_shutdown(), HVD_ERR_FORKED);
    REQUIRE(hvd_is_initialized() == 0);
    require_text("forked");
    REQUIRE(count_fds() == fds_before); /* none of the world's are left */
    return 0;
}

static int fork_in_the_middle(int rank)
{
    (void)rank;
    int fds = count_fds(), status;
    int32_t sum;
    init();
    REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
    pid_t pid = fork();
    if (pid == 0)
        exit(in_the_child(fds));
    REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
    REQUIRE_STATUS(sum_of_ranks("b", &sum), HVD_OK);
    finish();
    REQUIRE(count_fds() == fds);
    return 0;
}

/* The allocators of GCC's sanitizers do not guard their locks against fork(): a child whose parent
 * had another thread inside one hangs at its first malloc(). */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { FORK_WITH_THREADS = 0 };
#else
enum { FORK_WITH_THREADS = 1 };
#endif

START_TEST(a_forked_child_holds_no_world_and_does_no_harm)
{
    ranks_run(&(struct mini_options){ .size = 2 }, fork_in_the_middle);
}
END_TEST

static void *join_world(void *unused)
{
    (void)unused;
    init();
    return NULL;
}

/* Rank 0 forks while another thread of it waits in hvd_init() for rank 1. */
static int fork_while_joining(int rank)
{
    int fds = count_fds(), status;
    pthread_t thread;
    if (rank == 1) {
        wait_for(0, 1);
        init();
        REQUIRE_STATUS(hvd_barrier(), HVD_OK);
        return finish();
    }
    REQUIRE(pthread_create(&thread, NULL, join_world, NULL) == 0);
    while (count_fds() == fds)
        sched_yield();
    pid_t pid = fork();
    if (pid == 0)
        _exit(in_the_child(fds)); /* its copy of a half-joined world is nobody's */
    REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
    atomic_fetch_add(&shared->counters[0], 1);
    pthread_join(thread, NULL);
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    return finish();
}

START_TEST(a_child_forked_while_the_world_is_joined_holds_none_either)
{
    ranks_run(&(struct mini_options){ .size = 2 }, fork_while_joining);
}
END_TEST

static void *write_to_standard_streams(void *stop)
{
    while (!atomic_load((atomic_int *)stop))
        for (int fd = 0; fd < 3; fd++)
            (void)!write(fd, "a word that nobody reads", 24);
    return NULL;
}

static int without_standard_streams(int rank)
{
    (void)rank;
    atomic_int stop = 0;
    pthread_t thread;
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    init();
    for (int fd = 0; fd < 3; fd++)
        REQUIRE(fcntl(fd, F_GETFD) < 0);
    REQUIRE(pthread_create(&thread, NULL, write_to_standard_streams, &stop) == 0);
    for (int i = 0; i < 20; i++)
        check_collectives(1000);
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    return finish();
}

START_TEST(what_a_program_writes_to_closed_standard_streams_reaches_no_link)
{
    ranks_run(&(struct mini_options){ .size = _i }, without_standard_streams);
}
END_TEST

/* The signals, as a mask of 64 bits, that the thread listening for news blocks; 0 if not found. */
static unsigned long long blocked_by_news(void)
{
    char path[300], line[128];
    unsigned long long blocked = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *task; (task = readdir(tasks));) {
        bool is_news = false;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        FILE *file = fopen(path, "re");
        while (file && fgets(line, sizeof line, file)) {
            is_news |= strcmp(line, "Name:\thvd-news\n") == 0;
            if (is_news)
                sscanf(line, "SigBlk: %llx", &blocked);
        }
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return blocked;
}

static int with_signals(int rank)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD, SIGPROF };
    (void)rank;
    sigset_t mine;
    init();
    unsigned long long blocked = blocked_by_news();
    pthread_sigmask(SIG_SETMASK, NULL, &mine);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        REQUIRE(blocked >> (signals[i] - 1) & 1);
        REQUIRE(!sigismember(&mine, signals[i]));
    }
    return finish();
}

START_TEST(no_thread_of_ours_takes_the_signals_of_the_program)
{
    ranks_run(&(struct mini_options){ .size = 2 }, with_signals);
}
END_TEST

/* Whatever is open and was not before. */
static int look_at_what_is_opened(int rank)
{
    (void)rank;
    bool before[FD_PROBES];
    int found = 0;
    for (int fd = 0; fd < FD_PROBES; fd++)
        before[fd] = fcntl(fd, F_GETFD) >= 0;
    init();
    for (int fd = 0; fd < FD_PROBES; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (before[fd] || flags < 0)
            continue;
        REQUIRE(flags == FD_CLOEXEC);
        REQUIRE(fcntl(fd, F_GETFL) & O_NONBLOCK);
        found++;
    }
    REQUIRE(found >= 5);
    return finish();
}

START_TEST(an_exec_of_the_program_inherits_nothing_from_us)
{
    ranks_run(&(struct mini_options){ .size = 2 }, look_at_what_is_opened);
}
END_TEST

static int after_shutdown(int rank)
{
    (void)rank;
    int32_t sum = 0;
    init();
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    finish();
    finish();
    REQUIRE_STATUS(hvd_init(), HVD_ERR_SHUT_DOWN);
    REQUIRE_STATUS(hvd_size(), HVD_ERR_SHUT_DOWN);
    REQUIRE_STATUS(hvd_allreduce("a", &sum, &sum, 1, HVD_INT32, HVD_SUM), HVD_ERR_SHUT_DOWN);
    REQUIRE(hvd_is_initialized() == 0);
    return 0;
}

START_TEST(nothing_works_after_shutdown)
{
    ranks_run(&(struct mini_options){ .size = 2 }, after_shutdown);
}
END_TEST

static int bad_arguments(int rank)
{
    float data[8] = { 0 };
    char name[257];
    memset(name, 'n', 256);
    name[256] = '\0';
    init();
    REQUIRE_STATUS(hvd_allreduce(name, data, data, 1, HVD_FLOAT32, HVD_SUM), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_allreduce("a", NULL, data, 1, HVD_FLOAT32, HVD_SUM), HVD_ERR_INVALID);
    require_text("hvd_allreduce: input is NULL but count is 1");
    REQUIRE_STATUS(hvd_allreduce("a", data, NULL, 1, HVD_FLOAT32, HVD_SUM), HVD_ERR_INVALID);
    require_text("hvd_allreduce: output is NULL but count is 1");
    REQUIRE_STATUS(hvd_allreduce("a", data, data + 1, 4, HVD_FLOAT32, HVD_SUM), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_allreduce("a", data, data, 1, (enum hvd_dtype)11, HVD_SUM), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_allreduce("a", data, data, 1, HVD_BOOL, HVD_AVERAGE), HVD_ERR_INVALID);
    require_text("hvd_allreduce: there is no average of bool; sum is or, product is and");
    REQUIRE_STATUS(hvd_allreduce("a", data, data, 1, HVD_FLOAT32, (enum hvd_op)2), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_allreduce("a", data, data, SIZE_MAX / 2, HVD_FLOAT32, HVD_SUM),
                   HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_broadcast("a", data, 1, HVD_FLOAT32, 2), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_broadcast("a", data, 1, HVD_FLOAT32, -1), HVD_ERR_INVALID);
    require_text("hvd_broadcast: root -1 does not exist in a world of 2");
    REQUIRE_STATUS(hvd_allgather("a", data + 1, data, 3, HVD_FLOAT32), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_allgather("a", data + 3 * (1 - rank), data, 3, HVD_FLOAT32),
                   HVD_ERR_INVALID); /* the other's part */
    require_text("overlap");
    REQUIRE_STATUS(hvd_allgather("a", data, data, PTRDIFF_MAX / sizeof *data, HVD_FLOAT32),
                   HVD_ERR_INVALID);
    require_text("is more than memory can hold");
    REQUIRE_STATUS(hvd_allgather("a", data + 3 * rank, data, 3, HVD_FLOAT32), HVD_OK);
    REQUIRE_STATUS(hvd_broadcast("a", data, 1, HVD_BOOL, 0), HVD_OK);
    REQUIRE_STATUS(hvd_allreduce(NULL, NULL, NULL, 0, HVD_FLOAT32, HVD_SUM), HVD_OK);
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    return finish();
}

START_TEST(bad_arguments_are_refused_and_the_world_goes_on)
{
    ranks_run(&(struct mini_options){ .size = 2 }, bad_arguments);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world");
    TCase *tcase = tcase_create("world");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, a_world_of_any_small_size_works, 1, 6);
    tcase_add_test(tcase, many_small_collectives_follow_each_other);
    tcase_add_test(tcase, calls_of_several_threads_are_carried_out_one_after_the_other);
    tcase_add_loop_test(tcase, strangers_at_the_data_port_do_no_harm, 3, 6);
    tcase_add_loop_test(tcase, who_is_turned_away_at_first_dials_again, 0, 4);
    tcase_add_loop_test(tcase, a_rank_killed_in_the_middle_is_named_by_all_others, 2, 6);
    tcase_add_loop_test(tcase, a_broken_connection_is_an_error_even_without_news, 2, 6);
    tcase_add_test(tcase, who_waits_sleeps_even_when_its_event_was_closed);
    tcase_add_loop_test(tcase, signals_do_not_put_off_that_a_broken_connection_is_an_error, 2, 6);
    tcase_add_test(tcase, a_rank_that_leaves_fails_those_who_go_on);
    tcase_add_test(tcase, what_was_sent_before_leaving_arrives);
    tcase_add_loop_test(tcase, a_mismatch_is_an_error_on_every_rank, 2, 6);
    tcase_add_loop_test(tcase, a_mismatch_is_called_one_although_ranks_leave_because_of_it, 4, 5);
    tcase_add_test(tcase, a_mismatch_is_called_one_by_who_hears_of_it_from_the_rendezvous);
    tcase_add_loop_test(tcase, a_launcher_that_ends_is_noticed, 1, 4);
    tcase_add_test(tcase, a_wrong_key_is_refused);
    tcase_add_test(tcase, a_place_between_the_wrong_neighbours_is_refused);
    tcase_add_loop_test(tcase, news_without_a_proof_of_the_key_are_not_believed, 1, 4);
    tcase_add_test(tcase, a_rendezvous_that_hangs_up_is_an_error);
    tcase_add_test(tcase, a_rendezvous_that_is_not_there_is_an_error);
    tcase_add_loop_test(tcase, a_rank_that_dies_before_it_has_linked_up_is_named, 2, 5);
    tcase_add_test(tcase, without_a_launcher_a_process_is_a_world_of_one);
    tcase_add_test(tcase, after_a_bad_environment_a_good_one_is_taken);
    if (FORK_WITH_THREADS) {
        tcase_add_test(tcase, a_forked_child_holds_no_world_and_does_no_harm);
        tcase_add_test(tcase, a_child_forked_while_the_world_is_joined_holds_none_either);
    }
    tcase_add_loop_test(tcase, what_a_program_writes_to_closed_standard_streams_reaches_no_link, 2,
                        5);
    tcase_add_test(tcase, an_exec_of_the_program_inherits_nothing_from_us);
    tcase_add_test(tcase, normal_exit_says_goodbye);
    tcase_add_test(tcase, exit_does_not_wait_for_a_thread_inside_a_collective);
    tcase_add_test(tcase, no_thread_of_ours_takes_the_signals_of_the_program);
    tcase_add_test(tcase, nothing_works_after_shutdown);
    tcase_add_test(tcase, bad_arguments_are_refused_and_the_world_goes_on);
    return unit_run(suite);
}
