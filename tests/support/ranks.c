/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as child processes; see ranks.h. */
#include "tests/support/ranks.h"

#include "lib/base/env_names.h"
#include "lib/hvd.h"
#include "tests/support/unit.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared *shared;

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

static void set_environment(const struct mini_rendezvous *mini, int rank, int size)
{
    set_number(ENV_RANK, rank);
    set_number(ENV_SIZE, size);
    setenv(ENV_HOSTNAME, "testhost", 1);
    setenv(ENV_RENDEZVOUS_ADDR, "127.0.0.1", 1);
    set_number(ENV_RENDEZVOUS_PORT, mini->port);
    setenv(ENV_JOB_KEY, mini->key, 1);
}

void ranks_start(struct ranks *ranks, int size, const struct mini_rendezvous *mini, rank_fn *body)
{
    int protection = PROT_READ | PROT_WRITE;
    shared = mmap(NULL, sizeof *shared, protection, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(shared != MAP_FAILED);
    ranks->size = size;
    fflush(NULL);
    for (int rank = 0; rank < size; rank++) {
        ranks->pids[rank] = fork();
        ck_assert_int_ge(ranks->pids[rank], 0);
        if (ranks->pids[rank] > 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        set_environment(mini, rank, size);
        exit(body(rank));
    }
}

int ranks_wait(struct ranks *ranks, int rank)
{
    int status = 0;
    ck_assert_int_eq(waitpid(ranks->pids[rank], &status, 0), ranks->pids[rank]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* A rank may fail because another one did. The end of the test kills every rank that is still
 * there, so all of them end, and say why, before any is judged. */
void ranks_wait_all_but(struct ranks *ranks, int odd, int status)
{
    char wrong[RANKS_MAX * 32] = "";
    size_t length = 0;
    for (int rank = 0; rank < ranks->size; rank++) {
        int ended = ranks_wait(ranks, rank);
        if (ended != (rank == odd ? status : 0))
            length += (size_t)snprintf(wrong + length, sizeof wrong - length,
                                       "%srank %d ended with %d", length ? ", " : "", rank, ended);
    }
    ck_assert_msg(length == 0, "%s", wrong);
}

void ranks_wait_all(struct ranks *ranks)
{
    ranks_wait_all_but(ranks, -1, 0);
}

void ranks_run_but(const struct mini_options *options, rank_fn *body, int killed)
{
    struct mini_rendezvous mini;
    struct ranks ranks;
    mini_rendezvous_start(&mini, options);
    ranks_start(&ranks, options->size, &mini, body);
    ranks_wait_all_but(&ranks, killed, 128 + SIGKILL);
    mini_rendezvous_stop(&mini);
}

void ranks_run(const struct mini_options *options, rank_fn *body)
{
    ranks_run_but(options, body, -1);
}

void ranks_add_test(TCase *tcase, const TTest *test, int smallest, int largest)
{
#if defined __SANITIZE_THREAD__
    tcase_add_loop_test(tcase, test, smallest, smallest + 1);
    tcase_add_loop_test(tcase, test, largest, largest + 1);
#else
    tcase_add_loop_test(tcase, test, smallest, largest + 1);
#endif
}

void rank_refuse(const char *text, const char *file, int line)
{
    fprintf(stderr, "%s:%d: rank %s: not %s (%s)\n", file, line, getenv(ENV_RANK), text,
            hvd_last_error());
    _exit(1);
}

void rank_require_status(int rc, int expected, const char *text, const char *file, int line)
{
    if (rc == expected)
        return;
    fprintf(stderr, "%s:%d: rank %s: %s gave %d, not %d (%s)\n", file, line, getenv(ENV_RANK), text,
            rc, expected, hvd_last_error());
    _exit(1);
}

void wait_for(int counter, int value)
{
    while (atomic_load(&shared->counters[counter]) < value)
        sched_yield();
}

void require_text(const char *part)
{
    if (!strstr(hvd_last_error(), part))
        fprintf(stderr, "wanted '%s'\n", part);
    REQUIRE(strstr(hvd_last_error(), part) != NULL);
}

void init_world(void)
{
    REQUIRE_STATUS(hvd_init(), HVD_OK);
}

int leave_world(void)
{
    REQUIRE_STATUS(hvd_shutdown(), HVD_OK);
    return 0;
}

int sum_of_ranks(const char *name, int32_t *sum)
{
    *sum = hvd_rank();
    return hvd_allreduce(name, sum, sum, 1, HVD_INT32, HVD_SUM);
}

int sum_of_numbers(void)
{
    return hvd_size() * (hvd_size() - 1) / 2;
}

void sum_rounds(const char *name, int rounds)
{
    int32_t sum;
    for (int i = 0; i < rounds; i++) {
        REQUIRE_STATUS(sum_of_ranks(name, &sum), HVD_OK);
        REQUIRE(sum == sum_of_numbers());
    }
}

int sum_floats(const char *name, float *data, size_t count, enum hvd_op op)
{
    return hvd_allreduce(name, data, data, count, HVD_FLOAT32, op);
}

static void check_allgather(const double *data, size_t count)
{
    size_t total = count * (size_t)hvd_size(), right = 0;
    double *all = calloc(total + 1, sizeof *all);
    REQUIRE_STATUS(hvd_allgather("g", data, all, count, HVD_FLOAT64), HVD_OK);
    for (size_t i = 0; i < total; i++)
        right += all[i] == (double)(i % count) + (double)(i / count);
    REQUIRE(right == total);
    free(all);
}

static void check_allreduce(double *data, size_t count)
{
    size_t right = 0;
    REQUIRE_STATUS(hvd_allreduce("r", data, data, count, HVD_FLOAT64, HVD_AVERAGE), HVD_OK);
    for (size_t i = 0; i < count; i++)
        right += data[i] == (double)i + (double)(hvd_size() - 1) / 2;
    REQUIRE(right == count);
}

void check_collectives(size_t count)
{
    double *data = calloc(count + 1, sizeof *data);
    for (size_t i = 0; i < count; i++)
        data[i] = (double)i + hvd_rank();
    check_allgather(data, count);
    check_allreduce(data, count);
    data[0] = hvd_rank();
    REQUIRE_STATUS(hvd_broadcast("b", data, count, HVD_FLOAT64, hvd_size() - 1), HVD_OK);
    REQUIRE(count == 0 || data[0] == hvd_size() - 1);
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    free(data);
}

void wait_until_asleep(int thread)
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
