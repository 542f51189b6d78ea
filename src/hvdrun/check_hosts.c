/* SPDX-License-Identifier: Apache-2.0 */
/* Running a host check to its end; see check_hosts.h. Signals end hvdrun, and the agents end when
 * their links end. */
#include "src/hvdrun/check_hosts.h"

#include "launcher/base/uv_must.h"
#include "launcher/job/host_check.h"
#include "src/hvdrun/loop_leave.h"

#include <signal.h>
#include <stdio.h>

struct outcome {
    struct host_check *check;
    uv_loop_t *loop;
    char *table;
    int exit_status;
};

static void on_check_hosts_note(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "hvdrun: %s\n", line);
}

static void on_finished(void *context, char *table, int exit_status)
{
    struct outcome *outcome = context;
    outcome->table = table;
    outcome->exit_status = exit_status;
    host_check_destroy(outcome->check);
    loop_leave(outcome->loop);
}

char *check_hosts(const struct job_options *options, int *exit_status)
{
    static const struct host_check_callbacks callbacks = { on_check_hosts_note, on_finished };
    static uv_loop_t loop; /* see loop_leave() */
    struct outcome outcome = { .loop = &loop };
    signal(SIGPIPE, SIG_IGN);
    uv_must(uv_loop_init(&loop), "event loop");
    outcome.check = host_check_start(&loop, options, &callbacks, &outcome);
    uv_run(&loop, UV_RUN_DEFAULT);
    loop_close(&loop);
    *exit_status = outcome.exit_status;
    return outcome.table;
}
