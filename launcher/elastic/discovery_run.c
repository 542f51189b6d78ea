/* SPDX-License-Identifier: Apache-2.0 */
/* Running a discovery script:
 *   /bin/sh -c COMMAND as a process group of its own; read stdout and stderr as they come; after
 *   its exit kill what is left of its process group, and parse what it has printed. A process that
 *   has left the group, and may hold the script's stdout open, is neither killed nor waited for.
 * Fails when no process can be made, when the script exits with another status than 0 or is killed,
 * when it prints no list of hosts or too much, and when it takes too long: then it is killed with
 * its process group. A failure quotes the last line that the script has written to stderr.
 * A script that waits in the kernel, for example for a file server that does not answer, may not
 * end when it is killed. This is reported once; the run goes on until the script has ended.
 * The run by itself also ends, and kills the script likewise, when this process gets a signal that
 * ends a job. When this process is killed, the kernel kills the shell, and a command_guard what the
 * shell has started. */
#include "launcher/elastic/discovery_run.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/slice.h"
#include "launcher/base/text_buffer.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/wait_status.h"
#include "launcher/base/xalloc.h"
#include "launcher/hosts/host_lines.h"
#include "launcher/process/spawn.h"
#include "launcher/process/worker_environment.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { RUN_STDOUT, RUN_STDERR, RUN_STREAMS };

/* After the exit the pipes hold at most what their capacity is, 64 KiB unless somebody has changed
 * it. */
enum { KEPT_STDERR = 4096, READS_IN_TURN = 16, READS_AT_THE_END = 64 };

struct discovery_run {
    const struct discovery_settings *settings;
    struct children *children;
    discovery_run_fn *on_end;
    discovery_run_stuck_fn *on_stuck;
    void *context;
    pid_t pid; /* 0: it is not running */
    int wait_status;
    bool ended, timed_out, too_much;
    struct err err; /* of a start that has failed */
    int fds[RUN_STREAMS];
    uv_poll_t polls[RUN_STREAMS];
    struct text_buffer text[RUN_STREAMS];
    uv_timer_t timer;
    int open_handles;
};

/* ---- the end ---- */

static void on_discovery_run_closed(uv_handle_t *handle)
{
    struct discovery_run *run = handle->data;
    if (--run->open_handles > 0)
        return;
    for (int i = 0; i < RUN_STREAMS; i++) {
        if (run->fds[i] >= 0)
            close(run->fds[i]);
        text_buffer_fini(&run->text[i]);
    }
    free(run);
}

static void discovery_run_close(struct discovery_run *run)
{
    for (int i = 0; i < RUN_STREAMS; i++)
        if (run->fds[i] >= 0)
            uv_close((uv_handle_t *)&run->polls[i], on_discovery_run_closed);
    uv_close((uv_handle_t *)&run->timer, on_discovery_run_closed);
}

static void on_discovery_run_stuck(uv_timer_t *timer);

static void discovery_run_kill(struct discovery_run *run)
{
    if (run->pid <= 0 || run->ended)
        return;
    kill(-run->pid, SIGKILL);
    uv_timer_start(&run->timer, on_discovery_run_stuck, DISCOVERY_KILL_MS, 0);
}

void discovery_run_cancel(struct discovery_run *run)
{
    if (!run)
        return;
    discovery_run_kill(run);
    if (run->pid > 0 && !run->ended)
        children_forget(run->children, run->pid);
    discovery_run_close(run);
}

/* The last line that is not empty. */
static struct slice last_line_of(const struct text_buffer *text)
{
    struct slice rest = { text->data, text->length };
    while (rest.length > 0 && (is_blank(slice_end(rest)[-1]) || slice_end(rest)[-1] == '\n'))
        rest.length--;
    const char *newline = rest.length > 0 ? memrchr(rest.at, '\n', rest.length) : NULL;
    return newline ? slice_between(newline + 1, slice_end(rest)) : rest;
}

/* "SOURCE: 'COMMAND' PROBLEM: 'last line of stderr'" */
static int discovery_run_fail(const struct discovery_run *run, const char *problem, struct err *err)
{
    const struct discovery_settings *settings = run->settings;
    struct slice last = last_line_of(&run->text[RUN_STDERR]);
    struct shown command, shown;
    show_token(&command, settings->command, strlen(settings->command));
    if (last.length == 0)
        bad_input(err, settings->source, "'%s' %s", command.text, problem);
    else
        bad_input(err, settings->source, "'%s' %s: '%s'", command.text, problem,
                  show_token(&shown, last.at, last.length));
    return err->code = HVD_ERR_SYSTEM;
}

/* Why the run killed the script, for discovery_run_fail(). "" if it did not. */
static const char *discovery_run_killed(const struct discovery_run *run, char problem[80])
{
    *problem = '\0';
    if (run->timed_out)
        snprintf(problem, 80, "was killed, since it ran for more than %g s",
                 (run->settings->limit_ms ? run->settings->limit_ms : DISCOVERY_LIMIT_MS) / 1000.0);
    else if (run->too_much)
        snprintf(problem, 80, "was killed, since it printed more than %d MiB",
                 DISCOVERY_OUTPUT_MAX >> 20);
    return problem;
}

static int discovery_run_judge(struct discovery_run *run, struct host_list *hosts, struct err *err)
{
    char problem[80], how[64];
    const struct text_buffer *text = &run->text[RUN_STDOUT];
    const struct discovery_settings *settings = run->settings;
    if (run->err.code != HVD_OK)
        return discovery_run_fail(run, run->err.text, err);
    if (*discovery_run_killed(run, problem))
        return discovery_run_fail(run, problem, err);
    if (run->wait_status != 0) {
        wait_status_text(how, sizeof how, run->wait_status);
        snprintf(problem, sizeof problem, "%s%s", WIFSIGNALED(run->wait_status) ? "was " : "", how);
        return discovery_run_fail(run, problem, err);
    }
    return host_list_parse_lines(hosts, text->data ? text->data : "", text->length, settings->slots,
                                 settings->source, err);
}

static void discovery_run_report(struct discovery_run *run)
{
    struct host_list hosts = { 0 };
    struct err err = { 0 };
    int rc = discovery_run_judge(run, &hosts, &err);
    discovery_run_close(run);
    run->on_end(run->context, rc, &hosts, &err);
}

/* ---- while it runs ---- */

static void discovery_run_put(struct discovery_run *run, int stream, const char *data,
                              size_t nbytes)
{
    struct text_buffer *text = &run->text[stream];
    text_buffer_put(text, data, nbytes);
    if (stream == RUN_STDERR && text->length > KEPT_STDERR)
        text_buffer_consume(text, text->length - KEPT_STDERR);
    if (stream == RUN_STDOUT && text->length > DISCOVERY_OUTPUT_MAX) {
        run->too_much = true;
        discovery_run_kill(run);
    }
}

/* Reads what has come, but not for ever. */
static void discovery_run_read(struct discovery_run *run, int stream, int reads)
{
    char data[16384];
    ssize_t n = 1;
    for (int i = 0; i < reads && n > 0 && !run->too_much; i++) {
        n = read(run->fds[stream], data, sizeof data);
        if (n > 0)
            discovery_run_put(run, stream, data, (size_t)n);
    }
    if (run->too_much || n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        uv_poll_stop(&run->polls[stream]);
}

static void on_discovery_run_readable(uv_poll_t *poll, int status, int events)
{
    struct discovery_run *run = poll->data;
    (void)status, (void)events;
    discovery_run_read(run, poll == &run->polls[RUN_STDOUT] ? RUN_STDOUT : RUN_STDERR,
                       READS_IN_TURN);
}

/* All that the script has written before its exit is in the pipes. The number of its group belongs
 * to no other as long as a process is in the group, and is not given again in this moment. */
static void on_discovery_run_exit(void *context, pid_t pid, int wait_status)
{
    struct discovery_run *run = context;
    run->ended = true;
    run->wait_status = wait_status;
    kill(-pid, SIGKILL);
    for (int i = 0; i < RUN_STREAMS; i++)
        discovery_run_read(run, i, READS_AT_THE_END);
    discovery_run_report(run);
}

static void on_discovery_run_stuck(uv_timer_t *timer)
{
    struct discovery_run *run = timer->data;
    struct err err = { 0 };
    char killed[80], problem[128];
    snprintf(problem, sizeof problem, "%s, and has not ended", discovery_run_killed(run, killed));
    discovery_run_fail(run, problem, &err);
    run->on_stuck(run->context, &err); /* may cancel the run */
}

static void on_discovery_run_time(uv_timer_t *timer)
{
    struct discovery_run *run = timer->data;
    if (run->pid == 0) { /* it did not start */
        discovery_run_report(run);
        return;
    }
    run->timed_out = true;
    discovery_run_kill(run);
}

/* ---- the start ---- */

static void discovery_run_spawn(struct discovery_run *run, const int stdio[3])
{
    char *argv[] = { xstrdup("sh"), xstrdup("-c"), xstrdup(run->settings->command), NULL };
    struct string_list environment = { 0 };
    if (run->settings->job_id)
        worker_environment_command(&environment, environ, run->settings->job_id);
    struct spawn_request request = {
        .path = "/bin/sh",
        .argv = argv,
        .envp = run->settings->job_id ? environment.items : environ,
        .stdio = { stdio[0], stdio[1], stdio[2] },
        .death_signal = SIGKILL,
        .nofile = run->settings->nofile,
    };
    struct spawned spawned;
    if (spawn_start(&request, &spawned, &run->err) == HVD_OK) {
        spawn_abandon(&spawned);
        run->pid = spawned.pid;
        children_watch(run->children, run->pid, on_discovery_run_exit, run);
    }
    string_list_fini(&environment);
    for (int i = 0; i < 3; i++)
        free(argv[i]);
}

static void discovery_run_watch(struct discovery_run *run, uv_loop_t *loop)
{
    for (int i = 0; i < RUN_STREAMS; i++) {
        if (run->fds[i] < 0)
            continue;
        fcntl(run->fds[i], F_SETFL, O_RDONLY | O_NONBLOCK);
        uv_must(uv_poll_init(loop, &run->polls[i], run->fds[i]), "streams");
        uv_must(uv_poll_start(&run->polls[i], UV_READABLE, on_discovery_run_readable), "streams");
        run->polls[i].data = run;
        run->open_handles++;
    }
}

/* Without pipes or without a process `err` is set. */
static void discovery_run_begin(struct discovery_run *run, uv_loop_t *loop)
{
    int ends[RUN_STREAMS][2] = { { -1, -1 }, { -1, -1 } };
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < RUN_STREAMS; i++) {
        if (run->err.code == HVD_OK && (null < 0 || pipe2(ends[i], O_CLOEXEC) < 0))
            fail_errno(&run->err, HVD_ERR_SYSTEM, errno, "cannot be started");
        run->fds[i] = ends[i][0];
    }
    if (run->err.code == HVD_OK)
        discovery_run_spawn(run, (int[]){ null, ends[RUN_STDOUT][1], ends[RUN_STDERR][1] });
    discovery_run_watch(run, loop);
    for (int i = 0; i < RUN_STREAMS; i++)
        if (ends[i][1] >= 0)
            close(ends[i][1]);
    if (null >= 0)
        close(null);
}

struct discovery_run *discovery_run_start(uv_loop_t *loop, struct children *children,
                                          const struct discovery_settings *settings,
                                          discovery_run_fn *on_end,
                                          discovery_run_stuck_fn *on_stuck, void *context)
{
    struct discovery_run *run = xcalloc(1, sizeof *run);
    unsigned limit_ms = settings->limit_ms ? settings->limit_ms : DISCOVERY_LIMIT_MS;
    run->settings = settings;
    run->children = children;
    run->on_end = on_end;
    run->on_stuck = on_stuck;
    run->context = context;
    uv_must(uv_timer_init(loop, &run->timer), "timers");
    run->timer.data = run;
    run->open_handles = 1;
    discovery_run_begin(run, loop);
    uv_timer_start(&run->timer, on_discovery_run_time, run->pid > 0 ? limit_ms : 0, 0);
    return run;
}

/* ---- a run by itself ---- */

static const int ending_signals[] = { SIGINT, SIGTERM, SIGHUP };

enum { ENDING_SIGNALS = sizeof ending_signals / sizeof *ending_signals };

struct discovery_answer {
    const struct discovery_settings *settings;
    struct host_list *hosts;
    struct err *err;
    struct children *children;
    struct discovery_run *run;
    uv_signal_t signals[ENDING_SIGNALS];
    int stopped_by; /* a signal, or 0 */
    int rc;
};

static void discovery_answer_close(struct discovery_answer *answer)
{
    children_destroy(answer->children);
    for (int i = 0; i < ENDING_SIGNALS; i++)
        uv_close((uv_handle_t *)&answer->signals[i], NULL);
}

static void on_discovery_answer(void *context, int rc, struct host_list *hosts, struct err *err)
{
    struct discovery_answer *answer = context;
    answer->rc = rc;
    *answer->hosts = *hosts;
    *answer->err = *err;
    discovery_answer_close(answer);
}

static void on_discovery_answer_stuck(void *context, struct err *err)
{
    struct discovery_answer *answer = context;
    *answer->err = *err;
    answer->rc = err->code;
    discovery_run_cancel(answer->run);
    discovery_answer_close(answer);
}

static void on_discovery_signal(uv_signal_t *handle, int signum)
{
    struct discovery_answer *answer = handle->data;
    const struct discovery_settings *settings = answer->settings;
    struct shown command;
    if (uv_is_closing((uv_handle_t *)handle))
        return;
    answer->stopped_by = signum;
    answer->rc =
        fail(answer->err, HVD_ERR_INVALID, "stopped by signal %d (SIG%s) while %s ran: '%s'",
             signum, sigabbrev_np(signum), settings->source,
             show_token(&command, settings->command, strlen(settings->command)));
    discovery_run_cancel(answer->run);
    discovery_answer_close(answer);
}

/* SIGHUP stays ignored if it was, as nohup requires. */
static void discovery_answer_watch_signals(struct discovery_answer *answer, uv_loop_t *loop)
{
    struct sigaction hup;
    sigaction(SIGHUP, NULL, &hup);
    for (int i = 0; i < ENDING_SIGNALS; i++) {
        uv_signal_t *handle = &answer->signals[i];
        int signum = ending_signals[i];
        uv_must(uv_signal_init(loop, handle), "signals");
        handle->data = answer;
        if (signum != SIGHUP || hup.sa_handler != SIG_IGN)
            uv_must(uv_signal_start(handle, on_discovery_signal, signum), "signals");
    }
}

int discovery_run_now(const struct discovery_settings *settings, struct host_list *hosts,
                      int *stopped_by, struct err *err)
{
    uv_loop_t loop;
    struct sigaction before[ENDING_SIGNALS]; /* libuv leaves the default behind */
    for (int i = 0; i < ENDING_SIGNALS; i++)
        sigaction(ending_signals[i], NULL, &before[i]);
    uv_must(uv_loop_init(&loop), "event loop");
    struct discovery_answer answer = {
        .settings = settings, .hosts = hosts, .err = err, .children = children_create(&loop)
    };
    discovery_answer_watch_signals(&answer, &loop);
    answer.run = discovery_run_start(&loop, answer.children, settings, on_discovery_answer,
                                     on_discovery_answer_stuck, &answer);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_must(uv_loop_close(&loop), "event loop");
    for (int i = 0; i < ENDING_SIGNALS; i++)
        sigaction(ending_signals[i], &before[i], NULL);
    *stopped_by = answer.stopped_by;
    return answer.rc;
}
