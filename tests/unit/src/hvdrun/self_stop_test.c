/* SPDX-License-Identifier: Apache-2.0 */
/* A child that is sent SIGTSTP and SIGCONT in some order before it stops itself, in a process group
 * that is orphaned and in one that is not. The parent sees whether it stops, and by which
 * signal. */
#include "src/hvdrun/self_stop.h"

#include "tests/support/unit.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 2 };

/* What happens after on_asked() and before self_stop_now(): T and C are SIGTSTP and SIGCONT, L lets
 * the loop run, D is self_stop_drop(). */
static const struct {
    const char *meanwhile;
    bool stops;
} rows[] = {
    { "", true },    { "L", true },  { "C", false },  { "LC", false },
    { "CL", false }, { "CT", true }, { "CTL", true }, { "CTC", false },
    { "T", true },   { "D", false }, { "DT", true },  { "DTC", false },
};

enum { ROWS = sizeof rows / sizeof *rows };

struct child {
    uv_loop_t loop;
    struct self_stop stop;
    uv_signal_t cont;
    int asked, continued;
};

static void on_asked(void *context)
{
    ((struct child *)context)->asked++;
}

static void on_cont(uv_signal_t *handle, int signum)
{
    struct child *child = handle->data;
    (void)signum;
    child->continued++;
    self_stop_listen(&child->stop);
}

static void act(struct child *child, char what)
{
    if (what == 'T' || what == 'C')
        kill(getpid(), what == 'T' ? SIGTSTP : SIGCONT);
    else if (what == 'D')
        self_stop_drop(&child->stop);
    else
        uv_run(&child->loop, UV_RUN_NOWAIT);
}

/* Exits with the number of what was not as it should be. */
static void run_child(const char *meanwhile, bool orphaned)
{
    struct child child = { 0 };
    if (orphaned)
        setsid();
    else
        setpgid(0, 0);
    uv_loop_init(&child.loop);
    self_stop_open(&child.stop, &child.loop, on_asked, &child);
    uv_signal_init(&child.loop, &child.cont);
    child.cont.data = &child;
    uv_signal_start(&child.cont, on_cont, SIGCONT);
    for (int round = 0; round < ROUNDS; round++) {
        child.asked = child.continued = 0;
        kill(getpid(), SIGTSTP);
        while (child.asked == 0)
            uv_run(&child.loop, UV_RUN_ONCE);
        for (const char *at = meanwhile; *at; at++)
            act(&child, *at);
        self_stop_now(&child.stop);
        kill(getpid(), SIGCONT); /* it can be heard, whatever has happened */
        while (child.continued == 0)
            uv_run(&child.loop, UV_RUN_ONCE);
    }
    self_stop_close(&child.stop);
    uv_close((uv_handle_t *)&child.cont, NULL);
    uv_run(&child.loop, UV_RUN_DEFAULT);
    _exit(uv_loop_close(&child.loop) == 0 ? 0 : 1);
}

/* How often it has stopped by `signum` before it has ended well. */
static int count_stops(pid_t pid, int signum)
{
    int status, count = 0;
    while (waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status)) {
        ck_assert_int_eq(WSTOPSIG(status), signum);
        count++;
        kill(pid, SIGCONT);
    }
    ck_assert_int_eq(status, 0);
    return count;
}

static void check_row(int row, bool orphaned)
{
    pid_t pid = fork();
    if (pid == 0)
        run_child(rows[row].meanwhile, orphaned);
    ck_assert_msg(count_stops(pid, orphaned ? SIGSTOP : SIGTSTP) == (rows[row].stops ? ROUNDS : 0),
                  "after '%s'", rows[row].meanwhile);
}

START_TEST(the_process_stops_by_sigtstp_unless_a_younger_sigcont_has_come)
{
    check_row(_i, false);
}
END_TEST

START_TEST(in_an_orphaned_group_it_stops_by_sigstop)
{
    check_row(_i, true);
}
END_TEST

START_TEST(once_closed_sigtstp_stops_the_process_at_once)
{
    pid_t pid = fork();
    if (pid == 0) {
        uv_loop_t loop;
        struct self_stop stop;
        setpgid(0, 0);
        uv_loop_init(&loop);
        self_stop_open(&stop, &loop, on_asked, NULL);
        kill(getpid(), SIGTSTP); /* is forgotten */
        self_stop_close(&stop);
        kill(getpid(), SIGTSTP);
        _exit(0);
    }
    ck_assert_int_eq(count_stops(pid, SIGTSTP), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("self_stop");
    TCase *tcase = tcase_create("stop");
    tcase_add_loop_test(tcase, the_process_stops_by_sigtstp_unless_a_younger_sigcont_has_come, 0,
                        ROWS);
    tcase_add_loop_test(tcase, in_an_orphaned_group_it_stops_by_sigstop, 0, ROWS);
    tcase_add_test(tcase, once_closed_sigtstp_stops_the_process_at_once);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
