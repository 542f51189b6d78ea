/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting, and connecting again; see ssh_connect.h.
 *
 *   dialling -> shaking hands -> connected
 *     ^ \------------/ \-> pausing, when turned away -> dialling */
#include "launcher/ssh/ssh_connect.h"

#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "launcher/ssh/ssh_dial.h"
#include "launcher/ssh/ssh_host_key.h"
#include "launcher/ssh/ssh_unreachable_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct ssh_connect {
    uv_loop_t *loop;
    struct ssh_connect_request request;
    struct ssh_dial *dial;       /* while dialling */
    struct ssh_process *process; /* while shaking hands */
    uv_timer_t pause;
    int attempts;
    char peer[100];          /* "198.51.100.11 port 22" */
    char problem[300];       /* of the last attempt */
    struct ssh_report state; /* the last report of the process; its bytes are gone */
    ssh_connect_fn *on_end;
    void *context;
};

/* ---- the end ---- */

static void on_ssh_connect_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void ssh_connect_cancel(struct ssh_connect *connect)
{
    if (!connect)
        return;
    ssh_dial_cancel(connect->dial);
    ssh_process_close(connect->process);
    uv_close((uv_handle_t *)&connect->pause, on_ssh_connect_closed);
}

static void succeed(struct ssh_connect *connect, const struct ssh_report *report)
{
    const struct ssh_connected connected = { .process = connect->process,
                                             .report = report,
                                             .text = connect->peer };
    connect->process = NULL;
    ssh_connect_cancel(connect);
    connect->on_end(connect->context, &connected);
}

static void end_without(struct ssh_connect *connect, const char *problem, bool no_resource)
{
    char text[400];
    char times[32] = "";
    if (connect->attempts > 1)
        snprintf(times, sizeof times, " (%d times)", connect->attempts);
    snprintf(text, sizeof text, "%s%s", problem, times);
    const struct ssh_connected connected = {
        .text = text,
        .no_resource = no_resource,
        .no_common = connect->state.result == SSH_RESULT_NO_COMMON,
    };
    ssh_connect_cancel(connect);
    connect->on_end(connect->context, &connected);
}

static void ssh_connect_give_up(struct ssh_connect *connect, const char *problem)
{
    end_without(connect, problem, false);
}

void ssh_connect_describe(const struct ssh_connect *connect, char *text, size_t size)
{
    char tried[200];
    if (connect->dial) {
        ssh_dial_describe(connect->dial, tried, sizeof tried);
        snprintf(text, size, "%s: no answer", tried);
    } else if (connect->process) {
        ssh_say_no_handshake_yet(tried, sizeof tried, &connect->state);
        snprintf(text, size, "%s: %s", connect->peer, tried);
    } else {
        snprintf(text, size, "%s", connect->problem);
    }
}

/* ---- an attempt ---- */

static void ssh_connect_begin(struct ssh_connect *connect);

static void on_pause_over(uv_timer_t *timer)
{
    ssh_connect_begin(timer->data);
}

/* Turned away: try again later, or give up. */
static void try_again(struct ssh_connect *connect, enum ssh_turned_away how)
{
    uint32_t random = 0;
    if (getrandom(&random, sizeof random, 0) < 0)
        random = 0; /* the same pause as for others, which is no failure */
    int pause_ms = ssh_dial_again_ms(how, connect->attempts, random);
    ssh_process_close(connect->process);
    connect->process = NULL;
    if (pause_ms >= 0)
        uv_timer_start(&connect->pause, on_pause_over, (uint64_t)pause_ms, 0);
    else
        ssh_connect_give_up(connect, connect->problem);
}

static void on_shaken(struct ssh_connect *connect, const struct ssh_report *report)
{
    if (report->result == SSH_RESULT_OK) {
        succeed(connect, report);
        return;
    }
    ssh_say_no_handshake(connect->problem, sizeof connect->problem, report, connect->peer);
    if (report->is_lost && !report->has_banner)
        try_again(connect, SSH_CLOSED);
    else
        ssh_connect_give_up(connect, connect->problem);
}

static void on_ssh_connect_report(void *context, const struct ssh_report *report)
{
    struct ssh_connect *connect = context;
    connect->state = *report;
    connect->state.bytes = (struct ssh_bytes){ 0 };
    if (report->type == SSH_REPORT_SHAKEN)
        on_shaken(connect, report);
}

static void on_ssh_connect_dead(void *context, bool no_resource, const char *text)
{
    struct ssh_connect *connect = context;
    snprintf(connect->problem, sizeof connect->problem, "%s: exchange of keys: %s", connect->peer,
             text);
    end_without(connect, no_resource ? text : connect->problem, no_resource);
}

static void shake_hands(struct ssh_connect *connect, int fd)
{
    static const struct ssh_process_events events = { on_ssh_connect_report, on_ssh_connect_dead };
    struct err err = { 0 };
    connect->state = (struct ssh_report){ 0 };
    connect->process = ssh_process_start(connect->request.helper, fd, &events, connect, &err);
    if (!connect->process) {
        end_without(connect, err.text, true);
        return;
    }
    char *kinds = ssh_host_key_order(connect->request.known_types);
    const struct ssh_bytes bytes = { (unsigned char *)kinds, strlen(kinds) };
    ssh_process_order(connect->process, SSH_ORDER_SHAKE, bytes, (struct ssh_bytes){ 0 });
    free(kinds);
}

static void on_dialled(void *context, const struct ssh_dialled *dialled)
{
    struct ssh_connect *connect = context;
    connect->dial = NULL;
    if (dialled->fd < 0) {
        snprintf(connect->problem, sizeof connect->problem, "%s", dialled->text);
        if (dialled->refused)
            try_again(connect, SSH_REFUSED);
        else
            ssh_connect_give_up(connect, connect->problem);
        return;
    }
    snprintf(connect->peer, sizeof connect->peer, "%s", dialled->text);
    shake_hands(connect, dialled->fd);
}

static void ssh_connect_begin(struct ssh_connect *connect)
{
    connect->attempts++;
    connect->dial = ssh_dial_start(connect->loop, connect->request.addresses,
                                   connect->request.heartbeat_timeout_ms, on_dialled, connect);
}

struct ssh_connect *ssh_connect_start(uv_loop_t *loop, const struct ssh_connect_request *request,
                                      ssh_connect_fn *on_end, void *context)
{
    struct ssh_connect *connect = xcalloc(1, sizeof *connect);
    connect->loop = loop;
    connect->request = *request;
    connect->on_end = on_end;
    connect->context = context;
    uv_must(uv_timer_init(loop, &connect->pause), "timers");
    connect->pause.data = connect;
    ssh_connect_begin(connect);
    return connect;
}
