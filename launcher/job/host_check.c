/* SPDX-License-Identifier: Apache-2.0 */
/* Checking the hosts; see host_check.h.
 *   each host: reached -> described -> ready -> asked for a heartbeat -> told to stop -> done
 * A host fails when its agent or the connection to it reports a failure, when it is lost, and when
 * it is not ready within --start-timeout or before a signal. The other hosts are checked all the
 * same. */
#include "launcher/job/host_check.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"
#include "launcher/job/host_check_table.h"
#include "launcher/job/job_host.h"
#include "launcher/process/children.h"
#include "launcher/process/process_tree.h"
#include "launcher/tree/host_tree.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

/* How long an agent may take to end. */
enum { AGENT_END_MS = 1000 };

struct checked_host {
    struct job_host host;
    struct host_check_row row;
    char text[600];
    int exit_status;
    bool judged, over;
};

struct host_check {
    uv_loop_t *loop;
    struct job_options options;
    struct host_check_callbacks callbacks;
    void *context;
    struct children *children;
    struct connect_queue *pool;
    struct checked_host *hosts;
    int nhosts, nover, open_parts;
    int stopped_by; /* a signal, or 0 */
    uv_timer_t deadline, late;
};

static void host_check_finish(uv_timer_t *timer)
{
    struct host_check *check = timer->data;
    int exit_status = check->stopped_by ? STATUS_SIGNAL + check->stopped_by : 0;
    struct host_check_row *rows = xcalloc((size_t)check->nhosts, sizeof *rows);
    for (int i = 0; i < check->nhosts; i++) {
        rows[i] = check->hosts[i].row;
        if (exit_status == 0)
            exit_status = check->hosts[i].exit_status;
    }
    char *table = host_check_table(rows, check->nhosts, check->options.command[0] != NULL);
    free(rows);
    check->callbacks.on_finished(check->context, table, exit_status);
}

/* Marks a host as finished. The caller may be inside a callback of the host. */
static void host_over(struct host_check *check, int index)
{
    struct checked_host *checked = &check->hosts[index];
    if (checked->over)
        return;
    checked->over = true;
    if (++check->nover == check->nhosts)
        uv_timer_start(&check->late, host_check_finish, 0, 0);
}

/* Only the first result of a host counts. */
static void host_check_judge(struct host_check *check, int index, enum host_step step,
                             int exit_status, const char *text)
{
    struct checked_host *checked = &check->hosts[index];
    if (checked->judged)
        return;
    checked->judged = true;
    checked->exit_status = exit_status;
    snprintf(checked->text, sizeof checked->text, "%s", text);
    checked->row.ok = exit_status == 0;
    checked->row.step = step;
    checked->row.local = checked->host.local;
    checked->row.text = checked->text;
}

static void on_host_check_step(void *context, int host, enum host_step step)
{
    (void)context, (void)host, (void)step;
}

static void on_host_check_note(void *context, int host, bool important, const char *text)
{
    struct host_check *check = context;
    if (!important && !check->options.verbose)
        return;
    char *line = xasprintf("%s: %s", check->hosts[host].row.name, text);
    check->callbacks.on_note(check->context, line);
    free(line);
}

static void on_connect_failed(void *context, int host, int exit_status, const char *text)
{
    struct host_check *check = context;
    host_check_judge(check, host, check->hosts[host].host.step, exit_status, text);
    host_over(check, host);
}

static void on_host_check_failed(void *context, int host, const struct agent_failed *failed)
{
    struct host_check *check = context;
    host_check_judge(check, host, (enum host_step)failed->step, failed->exit_status, failed->text);
    job_host_stop(&check->hosts[host].host, SIGKILL, 0, CAST_TO_HOST);
}

static int64_t clock_now_ms(void)
{
    struct timeval now;
    gettimeofday(&now, NULL);
    return (int64_t)now.tv_sec * 1000 + now.tv_usec / 1000;
}

static void on_host_check_ready(void *context, int index)
{
    struct host_check *check = context;
    struct checked_host *checked = &check->hosts[index];
    checked->row.facts = checked->host.facts;
    checked->row.clock_ms = (int64_t)checked->host.facts.clock_ms - clock_now_ms();
    job_host_send_heartbeat(&checked->host);
}

static void on_alive(void *context, int index)
{
    struct host_check *check = context;
    struct checked_host *checked = &check->hosts[index];
    if (checked->host.phase < HOST_READY) /* one that was sent with the description */
        return;
    checked->row.round_trip_us = checked->host.round_trip_us;
    checked->row.clock_ms += (int64_t)checked->host.round_trip_us / 2000;
    host_check_judge(check, index, STEP_READY, 0, "");
    job_host_stop(&checked->host, SIGKILL, 0, CAST_TO_HOST);
}

static void on_lost(void *context, int index)
{
    struct host_check *check = context;
    struct job_host *host = &check->hosts[index].host;
    const char *end_text = host_connect_end_text(host->connect);
    char text[600];
    snprintf(text, sizeof text, "host lost: %s%s%s", host->lost_reason,
             *host->lost_reason && *end_text ? "; " : "", end_text);
    host_check_judge(check, index, host->step, host->lost_status, text);
    host_over(check, index);
}

static void on_late(uv_timer_t *timer)
{
    struct host_check *check = timer->data;
    for (int i = 0; i < check->nhosts; i++)
        if (check->hosts[i].host.phase == HOST_DONE)
            job_host_end_agent(&check->hosts[i].host);
}

static void on_host_check_done(void *context, int index, int left)
{
    struct host_check *check = context;
    (void)left;
    if (check->hosts[index].host.agent_ended)
        host_over(check, index);
    else if (check->nover < check->nhosts)
        uv_timer_start(&check->late, on_late, AGENT_END_MS, 0);
}

static void on_agent_end(void *context, int index)
{
    struct host_check *check = context;
    if (check->hosts[index].host.phase >= HOST_DONE)
        host_over(check, index);
    else if (check->hosts[index].host.agent > 0 && job_host_cut(&check->hosts[index].host))
        on_lost(check, index);
}

/* The hosts that are not ready fail with this status and text. */
static void host_check_give_up(struct host_check *check, int exit_status, const char *text)
{
    for (int i = check->nhosts - 1; i >= 0; i--) { /* hosts that wait for their turn get none */
        struct checked_host *checked = &check->hosts[i];
        host_check_judge(check, i, checked->host.step, exit_status, text);
        if (!checked->over && checked->host.phase == HOST_CONNECTING)
            job_host_stop(&checked->host, SIGKILL, 0, CAST_TO_HOST);
        else
            host_over(check, i);
    }
}

static void on_host_check_deadline(uv_timer_t *timer)
{
    host_check_give_up(timer->data, STATUS_TIMEOUT, "not ready in time (--start-timeout)");
}

void host_check_stop(struct host_check *check, int signum)
{
    char text[64];
    snprintf(text, sizeof text, "not ready before signal %d (SIG%s)", signum, sigabbrev_np(signum));
    check->stopped_by = signum;
    host_check_give_up(check, STATUS_SIGNAL + signum, text);
}

static void open_host(struct host_check *check, int index)
{
    static const struct rendezvous_server no_server = { 0 };
    static const struct job_host_events events = {
        .on_step = on_host_check_step,
        .on_note = on_host_check_note,
        .on_connect_failed = on_connect_failed,
        .on_ready = on_host_check_ready,
        .on_failed = on_host_check_failed,
        .on_alive = on_alive,
        .on_done = on_host_check_done,
        .on_lost = on_lost,
        .on_agent_end = on_agent_end,
    };
    struct checked_host *checked = &check->hosts[index];
    checked->host.index = index;
    checked->host.plan = check->options.plan;
    checked->host.where = check->options.plan->hosts[index];
    checked->host.interfaces = check->options.interfaces[index];
    checked->row.name = checked->host.where.host->name;
    checked->host.parent = HOST_TREE_ROOT;
    job_host_open(&checked->host, check->pool, check->loop, &check->options, &no_server, &events,
                  check);
}

struct host_check *host_check_start(uv_loop_t *loop, const struct job_options *options,
                                    const struct host_check_callbacks *callbacks, void *context)
{
    struct host_check *check = xcalloc(1, sizeof *check);
    *check = (struct host_check){ .loop = loop,
                                  .options = *options,
                                  .callbacks = *callbacks,
                                  .context = context,
                                  .nhosts = options->plan->host_count };
    check->options.check_cuda = true;
    check->options.check_libraries = options->command[0] != NULL;
    uv_timer_init(loop, &check->deadline);
    uv_timer_init(loop, &check->late);
    check->deadline.data = check->late.data = check;
    process_tree_adopt();
    check->children = children_create(loop);
    check->pool = connect_queue_create(loop, options->connect, check->children);
    check->hosts = xcalloc((size_t)check->nhosts, sizeof *check->hosts);
    for (int i = 0; i < check->nhosts; i++)
        open_host(check, i);
    uv_timer_start(&check->deadline, on_host_check_deadline, options->start_timeout_ms, 0);
    return check;
}

static void on_part_closed(void *context)
{
    struct host_check *check = context;
    if (--check->open_parts > 0)
        return;
    connect_queue_destroy(check->pool);
    children_destroy(check->children);
    free(check->hosts);
    free(check);
}

static void on_host_check_timer_closed(uv_handle_t *handle)
{
    on_part_closed(handle->data);
}

void host_check_destroy(struct host_check *check)
{
    if (!check)
        return;
    check->open_parts = 2 + check->nhosts;
    uv_close((uv_handle_t *)&check->deadline, on_host_check_timer_closed);
    uv_close((uv_handle_t *)&check->late, on_host_check_timer_closed);
    for (int i = 0; i < check->nhosts; i++)
        job_host_close(&check->hosts[i].host, on_part_closed, check);
}
