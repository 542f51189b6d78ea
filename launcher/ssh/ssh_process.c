/* SPDX-License-Identifier: Apache-2.0 */
/* Orders, reports and the end of a process; see ssh_process.h.
 *
 *   running -> its socket has ended -> hvdssh has told how it ended, or is late -> dead
 *   any     -> closing -> its socket has ended, or it is late -> killed, if it lives -> freed */
#include "launcher/ssh/ssh_helper_impl.h"

#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Reports of one process before others have their turn. */
enum { REPORTS_IN_TURN = 16 };

static void close_descriptor(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- the end ---- */

static void on_ssh_process_closed(uv_handle_t *handle)
{
    struct ssh_process *process = handle->data;
    struct ssh_helper *helper = process->helper;
    if (--process->open_handles > 0)
        return;
    for (struct ssh_process **at = &helper->first; *at; at = &(*at)->next) {
        if (*at != process)
            continue;
        *at = process->next;
        break;
    }
    free(process);
    ssh_helper_on_freed(helper);
}

static void ssh_process_free(struct ssh_process *process)
{
    if (uv_is_closing((uv_handle_t *)&process->poll))
        return;
    ssh_helper_kill(process->helper, process->number);
    uv_close((uv_handle_t *)&process->poll, on_ssh_process_closed);
    uv_close((uv_handle_t *)&process->timer, on_ssh_process_closed);
    close_descriptor(&process->control);
}

/* Tells the end when all reports have been read and the cause is known. The host hears it too,
 * since our copy of its socket is still open. */
static void tell_dead(struct ssh_process *process)
{
    if (!process->control_ended || !*process->end_text || process->dead_told || process->closing)
        return;
    process->dead_told = true;
    uv_timer_stop(&process->timer);
    shutdown(process->socket, SHUT_RDWR);
    process->events.on_dead(process->context, process->no_resource, process->end_text);
}

void ssh_process_on_end(struct ssh_process *process, bool no_resource, const char *text)
{
    if (!*process->end_text) {
        snprintf(process->end_text, sizeof process->end_text, "%s", text);
        process->no_resource = no_resource;
    }
    tell_dead(process);
}

static void on_ssh_process_late(uv_timer_t *timer)
{
    struct ssh_process *process = timer->data;
    if (process->closing)
        ssh_process_free(process);
    else
        ssh_process_on_end(process, false, "hvdssh has ended");
}

/* Its socket has ended, or it is not heard any more. */
static void on_control_ended(struct ssh_process *process)
{
    uv_poll_stop(&process->poll);
    process->control_ended = true;
    if (process->closing) {
        ssh_process_free(process);
        return;
    }
    uv_timer_start(&process->timer, on_ssh_process_late, SSH_NEWS_MS, 0);
    tell_dead(process);
}

void ssh_process_close(struct ssh_process *process)
{
    if (!process || process->closing)
        return;
    process->closing = true;
    close_descriptor(&process->stream);
    close_descriptor(&process->stream_end);
    close_descriptor(&process->socket);
    if (process->control_ended) {
        ssh_process_free(process);
        return;
    }
    shutdown(process->control, SHUT_WR);
    uv_timer_start(&process->timer, on_ssh_process_late, SSH_END_MS, 0);
}

/* ---- reports and orders ---- */

/* False if nothing more can be read now. */
static bool read_report(struct ssh_process *process)
{
    static unsigned char message[SSH_MESSAGE_BYTES];
    struct ssh_report report;
    ssize_t n = recv(process->control, message, sizeof message, MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        on_control_ended(process);
        return false;
    }
    if (process->closing)
        return true;
    if (n <= (ssize_t)sizeof message &&
        ssh_report_decode(&report, (struct ssh_bytes){ message, (size_t)n })) {
        process->events.on_report(process->context, &report);
        return true;
    }
    snprintf(process->end_text, sizeof process->end_text, "hvdssh sends what is no report");
    on_control_ended(process);
    return false;
}

static void on_ssh_process_poll(uv_poll_t *poll, int status, int events)
{
    struct ssh_process *process = poll->data;
    (void)events;
    for (int i = 0; i < REPORTS_IN_TURN; i++)
        if (!read_report(process) || process->control_ended)
            return;
    if (status < 0) /* libuv has stopped the poll */
        uv_must(uv_poll_start(poll, UV_READABLE, on_ssh_process_poll), "socket");
}

void ssh_process_order(struct ssh_process *process, enum ssh_order_type type,
                       struct ssh_bytes first, struct ssh_bytes second)
{
    const struct ssh_order order = { type, first, second };
    struct text_buffer message = { 0 };
    if (process->control_ended || process->closing)
        return;
    ssh_order_encode(&message, &order);
    ssize_t n = send(process->control, message.data, message.length, MSG_NOSIGNAL | MSG_DONTWAIT);
    sodium_memzero(message.data, message.length);
    text_buffer_fini(&message);
    if (n < 0 && errno != EPIPE &&
        errno != ECONNRESET) { /* otherwise its end is about to be read */
        snprintf(process->end_text, sizeof process->end_text, "hvdssh takes no order: %s",
                 strerror(errno));
        uv_poll_stop(&process->poll);
        process->control_ended = true;
        uv_timer_start(&process->timer, on_ssh_process_late, 0, 0);
    }
}

void ssh_process_listen(struct ssh_process *process, const struct ssh_process_events *events,
                        void *context)
{
    process->events = *events;
    process->context = context;
}

int ssh_process_take_stream(struct ssh_process *process)
{
    int fd = process->stream;
    process->stream = -1;
    return fd;
}

void ssh_process_end_stream(struct ssh_process *process)
{
    close_descriptor(&process->stream_end);
}

int ssh_process_socket(const struct ssh_process *process)
{
    return process->socket;
}

/* ---- the start ---- */

static int make_pair(int type, int pair[2], struct err *err)
{
    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) == 0)
        return HVD_OK;
    return fail_errno(err, HVD_ERR_SYSTEM, errno, "socketpair");
}

/* Fills in the descriptors, and asks for the process. */
static int start_with_descriptors(struct ssh_process *process, struct err *err)
{
    int control[2], stream[2];
    if (make_pair(SOCK_SEQPACKET, control, err) < 0)
        return err->code;
    process->control = control[0];
    int rc = make_pair(SOCK_STREAM | SOCK_NONBLOCK, stream, err);
    if (rc == HVD_OK) {
        process->stream = stream[0];
        process->stream_end = stream[1];
        rc = ssh_helper_start(process->helper, process->number,
                              (const int[]){ process->socket, control[1], stream[1] }, err);
    }
    close(control[1]);
    return rc;
}

struct ssh_process *ssh_process_start(struct ssh_helper *helper, int socket,
                                      const struct ssh_process_events *events, void *context,
                                      struct err *err)
{
    struct ssh_process *process = xcalloc(1, sizeof *process);
    process->helper = helper;
    process->number = ++helper->last_number;
    process->socket = socket;
    process->control = process->stream = process->stream_end = -1;
    ssh_process_listen(process, events, context);
    if (start_with_descriptors(process, err) < 0) {
        close_descriptor(&process->socket);
        close_descriptor(&process->control);
        close_descriptor(&process->stream);
        close_descriptor(&process->stream_end);
        free(process);
        return NULL;
    }
    uv_must(uv_timer_init(helper->loop, &process->timer), "timers");
    uv_must(uv_poll_init(helper->loop, &process->poll, process->control), "socket");
    process->timer.data = process->poll.data = process;
    process->open_handles = 2;
    process->next = helper->first;
    helper->first = process;
    uv_must(uv_poll_start(&process->poll, UV_READABLE, on_ssh_process_poll), "socket");
    return process;
}
