/* SPDX-License-Identifier: Apache-2.0 */
/* Running a host check to its end; see check_hosts.h. A signal stops the check: the table then has
 * the hosts that were ready, and the step of each of the others. The agents end when their links
 * end. */
#include "src/hvdrun/check_hosts.h"

#include "launcher/base/uv_must.h"
#include "launcher/job/host_check.h"
#include "src/hvdrun/loop_leave.h"
#include "src/hvdrun/setup_signals.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const int check_ending_signals[] = { SIGINT, SIGTERM, SIGHUP };

enum { CHECK_ENDING_SIGNALS = sizeof check_ending_signals / sizeof *check_ending_signals };

struct outcome {
    struct host_check *check;
    uv_loop_t *loop;
    uv_signal_t signals[CHECK_ENDING_SIGNALS];
    char *table;
    int exit_status;
};

static void on_check_hosts_note(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "hvdrun: %s\n", line);
}

/* Closing a handler restores the default, so that a second signal ends hvdrun at once. */
static void check_hosts_close_signals(struct outcome *outcome)
{
    for (int i = 0; i < CHECK_ENDING_SIGNALS; i++)
        if (!uv_is_closing((uv_handle_t *)&outcome->signals[i]))
            uv_close((uv_handle_t *)&outcome->signals[i], NULL);
}

static void on_finished(void *context, char *table, int exit_status)
{
    struct outcome *outcome = context;
    outcome->table = table;
    outcome->exit_status = exit_status;
    check_hosts_close_signals(outcome);
    host_check_destroy(outcome->check);
    loop_leave(outcome->loop);
}

static void on_check_hosts_signal(uv_signal_t *handle, int signum)
{
    struct outcome *outcome = handle->data;
    if (uv_is_closing((uv_handle_t *)handle))
        return;
    fprintf(stderr, "hvdrun: stopped by signal %d (SIG%s) while hosts were checked\n", signum,
            sigabbrev_np(signum));
    check_hosts_close_signals(outcome);
    host_check_stop(outcome->check, signum);
}

/* SIGHUP stays ignored if it was, as nohup requires. */
static void check_hosts_watch_signals(struct outcome *outcome)
{
    struct sigaction hup;
    sigaction(SIGHUP, NULL, &hup);
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < CHECK_ENDING_SIGNALS; i++) {
        uv_signal_t *handle = &outcome->signals[i];
        int signum = check_ending_signals[i];
        uv_must(uv_signal_init(outcome->loop, handle), "signals");
        handle->data = outcome;
        if (signum != SIGHUP || hup.sa_handler != SIG_IGN)
            uv_must(uv_signal_start(handle, on_check_hosts_signal, signum), "signals");
    }
    setup_signals_release();
}

char *check_hosts(const struct job_options *options, int *exit_status)
{
    static const struct host_check_callbacks callbacks = { on_check_hosts_note, on_finished };
    static uv_loop_t loop; /* see loop_leave() */
    static struct outcome outcome;
    outcome.loop = &loop;
    uv_must(uv_loop_init(&loop), "event loop");
    check_hosts_watch_signals(&outcome);
    outcome.check = host_check_start(&loop, options, &callbacks, &outcome);
    uv_run(&loop, UV_RUN_DEFAULT);
    loop_close(&loop);
    *exit_status = outcome.exit_status;
    return outcome.table;
}
