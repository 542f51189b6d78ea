/* SPDX-License-Identifier: Apache-2.0 */
/* The loss of a rank or of the launcher ends a world: every rank is told the same cause, in
 * whatever it does, and from then on. */
#include "lib/hvd.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

enum { LARGE = 1 << 18 };

static void *die_in_the_middle(void *unused)
{
    (void)unused;
    wait_for(0, 20);
    raise(SIGKILL);
    return NULL;
}

static void require_same_end(const char *text)
{
    float data[4] = { 0 };
    int64_t handle;
    struct hvd_tensor tensor = { .name = "x",
                                 .input = data,
                                 .output = data,
                                 .output_size = sizeof data,
                                 .dtype = HVD_FLOAT32,
                                 .ndims = 1,
                                 .dims = &(int64_t){ 4 } };
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_PEER_LOST);
    REQUIRE(strcmp(text, hvd_last_error()) == 0);
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_ERR_PEER_LOST);
    REQUIRE(strcmp(text, hvd_last_error()) == 0);
    REQUIRE_STATUS(hvd_add_process_set(&(int){ 0 }, 1), HVD_ERR_PEER_LOST);
    REQUIRE(strcmp(text, hvd_last_error()) == 0);
}

/* Counter 0 is how many large allreduces have been finished. Rank 1 dies in one of them. */
static int until_somebody_dies(int rank)
{
    float *data = calloc(LARGE, sizeof *data);
    char first[512];
    pthread_t thread;
    int rc;
    init_world();
    if (rank == 1)
        REQUIRE(pthread_create(&thread, NULL, die_in_the_middle, NULL) == 0);
    while ((rc = hvd_allreduce("grad", data, data, LARGE, HVD_FLOAT32, HVD_SUM)) == HVD_OK)
        atomic_fetch_add(&shared->counters[0], 1);
    REQUIRE_STATUS(rc, HVD_ERR_PEER_LOST);
    require_text("the connection to rank 1 on testhost broke");
    snprintf(first, sizeof first, "%s", hvd_last_error());
    require_same_end(first);
    REQUIRE(hvd_is_initialized() == 1 && hvd_rank() == rank);
    free(data);
    return leave_world();
}

START_TEST(a_rank_killed_in_the_middle_is_named_by_all_others)
{
    ranks_run_but(&(struct mini_options){ .size = _i }, until_somebody_dies, 1);
}
END_TEST

/* Rank 1 never submits what the others wait for. */
static int with_much_in_flight(int rank)
{
    enum { HANDLES = 20 };
    float *data = calloc(HANDLES * LARGE, sizeof *data);
    int64_t handles[HANDLES];
    init_world();
    if (rank == 1) {
        wait_for(0, hvd_size() - 1);
        raise(SIGKILL);
    }
    for (int i = 0; i < HANDLES; i++) {
        float *input = data + i * LARGE;
        char name[16];
        snprintf(name, sizeof name, "grad.%d", i);
        struct hvd_tensor tensor = { .name = name,
                                     .input = input,
                                     .output = input,
                                     .dtype = HVD_FLOAT32,
                                     .ndims = 1,
                                     .dims = &(int64_t){ LARGE } };
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handles[i]), HVD_OK);
    }
    atomic_fetch_add(&shared->counters[0], 1);
    for (int i = 0; i < HANDLES; i++) {
        REQUIRE_STATUS(hvd_wait(handles[i]), HVD_ERR_PEER_LOST);
        require_text("the connection to rank 1 on testhost broke");
        REQUIRE_STATUS(hvd_wait(handles[i]), HVD_ERR_INVALID);
    }
    free(data);
    return leave_world();
}

START_TEST(everything_in_flight_fails_when_a_rank_is_lost)
{
    ranks_run_but(&(struct mini_options){ .size = _i }, with_much_in_flight, 1);
}
END_TEST

/* Without news, the neighbours name the connection and the others hear it from them. */
static int until_a_connection_breaks(int rank)
{
    int32_t sum;
    init_world();
    REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
    if (rank == 1)
        raise(SIGKILL);
    REQUIRE_STATUS(sum_of_ranks("b", &sum), HVD_ERR_PEER_LOST);
    require_text("connection to rank 1 on testhost broke: ");
    REQUIRE_STATUS(sum_of_ranks("c", &sum), HVD_ERR_PEER_LOST);
    return leave_world();
}

START_TEST(a_broken_connection_is_an_error_even_without_news)
{
    ranks_run_but(&(struct mini_options){ .size = _i, .silent = true }, until_a_connection_breaks,
                  1);
}
END_TEST

static void on_alarm(int number)
{
    (void)number;
}

static int until_a_connection_breaks_with_alarms(int rank)
{
    struct sigaction action = { .sa_handler = on_alarm };
    struct itimerval often = { { 0, 300000 }, { 0, 300000 } };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    return until_a_connection_breaks(rank);
}

START_TEST(signals_do_not_put_off_that_a_broken_connection_is_an_error)
{
    ranks_run_but(&(struct mini_options){ .size = _i, .silent = true },
                  until_a_connection_breaks_with_alarms, 1);
}
END_TEST

static int outlive_the_launcher(int rank)
{
    (void)rank;
    int32_t sum;
    init_world();
    REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
    atomic_fetch_add(&shared->counters[0], 1);
    wait_for(1, 1);
    int rc;
    while ((rc = hvd_barrier()) == HVD_OK)
        ;
    REQUIRE_STATUS(rc, HVD_ERR_PEER_LOST);
    require_text("the launcher is gone");
    return leave_world();
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
    ranks_wait_all(&ranks);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world_end");
    TCase *tcase = tcase_create("world_end");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    ranks_add_test(tcase, a_rank_killed_in_the_middle_is_named_by_all_others, 2, 7);
    ranks_add_test(tcase, everything_in_flight_fails_when_a_rank_is_lost, 2, 4);
    ranks_add_test(tcase, a_broken_connection_is_an_error_even_without_news, 2, 7);
    ranks_add_test(tcase, signals_do_not_put_off_that_a_broken_connection_is_an_error, 2, 3);
    ranks_add_test(tcase, a_launcher_that_ends_is_noticed, 1, 3);
    return unit_run(suite);
}
