/* SPDX-License-Identifier: Apache-2.0 */
/* What the ranks of a host wrote to stderr reaches hvdrun before the report of the first failure.
 * The ranks are this program again. Their stderr is a pipe in packet mode, of which libuv takes one
 * packet and then looks at other events. */
#include "launcher/protocol/agent_protocol.h"
#include "tests/support/agent_fixture.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 2, PACKETS = 12, FAILS = 3 };

static const char packet[] = "Traceback (most recent call last):\n";

static struct agent_fixture agent;

/* Writes its process id to stdout, and waits for SIGUSR1. Then the writer writes, and each exits
 * with the status that its rank has in `statuses`, "34" for instance. */
static int be_rank(const char *writer, const char *statuses)
{
    const char *rank = getenv("HOROVOD_RANK");
    sigset_t start;
    int signum;
    sigemptyset(&start);
    sigaddset(&start, SIGUSR1);
    sigprocmask(SIG_BLOCK, &start, NULL);
    fcntl(STDERR_FILENO, F_SETFL, O_WRONLY | O_DIRECT);
    printf("%d", (int)getpid());
    fflush(stdout);
    sigwait(&start, &signum);
    for (int i = 0; i < PACKETS && strcmp(rank, writer) == 0; i++)
        if (write(STDERR_FILENO, packet, sizeof packet - 1) < 0)
            return 99;
    return statuses[atoi(rank)] - '0';
}

static void begin_ranks(const char *writer, const char *statuses, pid_t pids[RANKS])
{
    char self[PATH_MAX] = "";
    ck_assert_int_gt(readlink("/proc/self/exe", self, sizeof self - 1), 0);
    const char *const arguments[] = { self, writer, statuses, NULL };
    agent_fixture_start(&agent, NULL);
    agent_fixture_run(&agent,
                      &(struct agent_fixture_job){ .arguments = arguments, .nranks = RANKS });
    for (int i = 0; i < RANKS; i++) {
        struct wire_reader body = agent_fixture_until(&agent, AGENT_OUTPUT);
        int rank = wire_get_i32(&body);
        char text[16] = "";
        ck_assert_int_lt(rank, RANKS);
        ck_assert_int_eq(wire_get_u8(&body), STREAM_STDOUT);
        wire_get_u64(&body);
        ck_assert_uint_lt(body.left, sizeof text);
        memcpy(text, body.at, body.left);
        pids[rank] = (pid_t)atoi(text);
    }
}

static void let_end(pid_t rank)
{
    kill(rank, SIGUSR1);
    agent_fixture_until_gone(rank);
}

/* How many bytes of stderr come before a rank is reported as failed. */
static size_t count_stderr_until_failure(int *failed_rank)
{
    struct agent_exited exited = { .end = rank_end_none() };
    size_t length = 0;
    do {
        struct frame frame;
        struct wire_reader body;
        ck_assert_int_eq(agent_fixture_next(&agent, &frame), 1);
        wire_reader_init(&body, frame.body, frame.length);
        if (frame.type == AGENT_EXITED)
            ck_assert_int_eq(agent_exited_decode(&exited, &body, NULL), HVD_OK);
        if (frame.type != AGENT_OUTPUT)
            continue;
        wire_get_i32(&body);
        ck_assert_int_eq(wire_get_u8(&body), STREAM_STDERR);
        ck_assert_uint_gt(wire_get_u64(&body), 0);
        length += body.left;
    } while (exited.end.how.kind != RANK_END_EXITED || exited.end.how.code != FAILS);
    *failed_rank = exited.end.rank;
    return length;
}

/* Rank 0 ends first, then rank 1; the agent hears of it when both have ended. */
static void check_order(const char *writer, const char *statuses, int failing)
{
    pid_t pids[RANKS];
    int status, failed;
    begin_ranks(writer, statuses, pids);
    kill(agent.pid, SIGSTOP);
    ck_assert_int_eq(waitpid(agent.pid, &status, WUNTRACED), agent.pid);
    ck_assert(WIFSTOPPED(status));
    let_end(pids[0]);
    let_end(pids[1]);
    kill(agent.pid, SIGCONT);
    ck_assert_uint_eq(count_stderr_until_failure(&failed), PACKETS * (sizeof packet - 1));
    ck_assert_int_eq(failed, failing);
    ck_assert_int_eq(agent_fixture_stop(&agent), 0);
}

START_TEST(all_stderr_of_a_rank_comes_before_its_failed_exit)
{
    check_order("0", "30", 0);
}
END_TEST

START_TEST(all_stderr_of_a_rank_comes_before_the_failed_exit_of_another)
{
    check_order("0", "03", 1);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc == 3)
        return be_rank(argv[1], argv[2]);
    Suite *suite = suite_create("agent_stderr");
    TCase *tcase = tcase_create("order");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, all_stderr_of_a_rank_comes_before_its_failed_exit);
    tcase_add_test(tcase, all_stderr_of_a_rank_comes_before_the_failed_exit_of_another);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
