/* SPDX-License-Identifier: Apache-2.0 */
/* The commands by which this agent connects to hosts below it (launcher/tree/tunnel_end.h):
 *
 *   TUNNEL_OPEN   the command runs, in a session of its own; its stdin and stdout are the tunnel
 *   its end       of the stream and of the process; TUNNEL_END when both have come, or one of them
 *                 and TUNNEL_LAST_MS, which begins anew when hvdrun gives no credit or the link is
 *                 full: what the command has written is not lost because hvdrun is slow
 *   TUNNEL_CLOSE  its stdin ends; the command, if it does not end by itself, is killed
 *   orphaned      the stdin of all of them ends: so do the agents at the other ends
 *
 * The commands are no processes of the ranks: what ends or stops those leaves these out, with all
 * that they have started. The agent does not end, in order, before they have. A command that is not
 * found, or cannot be started, is a tunnel that ends at once. Behind DONE none is opened. */
#include "launcher/agent/agent_tunnel.h"

#include "launcher/base/uv_must.h"
#include "launcher/base/wait_status.h"
#include "launcher/base/xalloc.h"
#include "launcher/process/process_tree.h"
#include "launcher/process/program_find.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* How long after its stream, or its process, the other one may end; how long a command that was
 * given up has after SIGTERM; how long it has otherwise, once hvdrun has hung up. */
enum { TUNNEL_LAST_MS = 500, TUNNEL_GIVEN_UP_MS = 300, TUNNEL_HUNG_UP_MS = 750 };

/* Bytes of a command's stderr that are passed on, in all and at once. */
enum { TUNNEL_ERRORS_MAX = 256 * 1024, TUNNEL_ERRORS_CHUNK = 4096 };

static void on_tunnel_timer(uv_timer_t *timer);

/* ---- the end ---- */

static void agent_tunnel_part_closed(struct agent_tunnel *tunnel)
{
    if (--tunnel->open_handles > 0)
        return;
    tunnel_multicast_fini(&tunnel->multicast);
    free(tunnel);
}

static void on_agent_tunnel_handle_closed(uv_handle_t *handle)
{
    agent_tunnel_part_closed(handle->data);
}

static void on_agent_tunnel_end_closed(void *context)
{
    agent_tunnel_part_closed(context);
}

/* Closes everything, and frees the tunnel later. */
static void agent_tunnel_release(struct agent_tunnel *tunnel)
{
    struct agent_tunnel **at = &tunnel->agent->tunnels.first;
    while (*at != tunnel)
        at = &(*at)->next;
    *at = tunnel->next;
    tunnel->agent->tunnels.count--;
    uv_close((uv_handle_t *)&tunnel->timer, on_agent_tunnel_handle_closed);
    uv_close((uv_handle_t *)&tunnel->errors_poll, on_agent_tunnel_handle_closed);
    close(tunnel->errors);
    tunnel_end_close(&tunnel->end, on_agent_tunnel_end_closed);
}

static void send_tunnel_end(struct agent_tunnel *tunnel, const char *text)
{
    struct agent *agent = tunnel->agent;
    char cut[TUNNEL_TEXT_SIZE];
    snprintf(cut, sizeof cut, "%s", text);
    tunnel->told = true;
    struct wire_writer *body = frame_link_begin(&agent->link, AGENT_TUNNEL_END);
    wire_put_u32(body, tunnel->end.number);
    wire_put_string(body, cut);
    frame_link_send(&agent->link);
}

static void read_tunnel_errors(struct agent_tunnel *tunnel)
{
    char data[TUNNEL_ERRORS_CHUNK];
    ssize_t n = read(tunnel->errors, data, sizeof data);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        uv_poll_stop(&tunnel->errors_poll);
    if (n <= 0 || tunnel->told || tunnel->nerrors + (size_t)n > TUNNEL_ERRORS_MAX)
        return;
    tunnel->nerrors += (size_t)n;
    struct wire_writer *body = frame_link_begin(&tunnel->agent->link, AGENT_TUNNEL_ERRORS);
    wire_put_u32(body, tunnel->end.number);
    wire_put_bytes(body, data, (size_t)n);
    frame_link_send(&tunnel->agent->link);
}

static void on_tunnel_errors(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    read_tunnel_errors(poll->data);
}

/* Says how the command has ended, as far as that is known. */
static void tell_tunnel_end(struct agent_tunnel *tunnel)
{
    char how[96] = "", text[180] = "";
    if (tunnel->told)
        return;
    read_tunnel_errors(tunnel);
    if (tunnel->process_over && tunnel->wait_status != 0) {
        wait_status_text(how, sizeof how, tunnel->wait_status);
        snprintf(text, sizeof text, "'%s' %s", tunnel->name, how);
    }
    send_tunnel_end(tunnel, text);
}

static void kill_tunnel(const struct agent_tunnel *tunnel, int signum)
{
    if (!tunnel->process_over && kill(-tunnel->spawned.pid, signum) < 0)
        kill(tunnel->spawned.pid, signum);
}

/* Both ends of the command have come, or as much of them as is waited for. */
static void agent_tunnel_advance(struct agent_tunnel *tunnel)
{
    struct agent *agent = tunnel->agent;
    if (tunnel->stream_over && tunnel->process_over)
        tell_tunnel_end(tunnel);
    if (tunnel->told && tunnel->process_over) {
        agent_tunnel_release(tunnel);
        agent_tunnel_is_over(agent);
    } else if (!uv_is_active((uv_handle_t *)&tunnel->timer)) {
        uv_timer_start(&tunnel->timer, on_tunnel_timer, TUNNEL_LAST_MS, 0);
    }
}

/* The process has ended, and what it has written may not be read yet. */
static bool agent_tunnel_is_held_up(const struct agent_tunnel *tunnel)
{
    return tunnel->process_over && !tunnel->stream_over && !tunnel->end.reading;
}

/* The stream may be read again: the rest of it has TUNNEL_LAST_MS from now on. */
static void agent_tunnel_goes_on(struct agent_tunnel *tunnel, bool was_held_up)
{
    if (was_held_up && !agent_tunnel_is_held_up(tunnel))
        uv_timer_start(&tunnel->timer, on_tunnel_timer, TUNNEL_LAST_MS, 0);
}

int agent_tunnel_credit(struct agent_tunnel *tunnel, uint32_t nbytes, struct err *err)
{
    bool was_held_up = agent_tunnel_is_held_up(tunnel);
    int rc = tunnel_end_credit(&tunnel->end, nbytes, err);
    agent_tunnel_goes_on(tunnel, was_held_up);
    return rc;
}

static void on_tunnel_timer(uv_timer_t *timer)
{
    struct agent_tunnel *tunnel = timer->data;
    if (agent_tunnel_is_held_up(tunnel)) {
        uv_timer_start(timer, on_tunnel_timer, TUNNEL_LAST_MS, 0);
        return;
    }
    if (tunnel->hung_up || tunnel->told)
        kill_tunnel(tunnel, SIGKILL); /* agent_tunnel_reaped() follows */
    tell_tunnel_end(tunnel);
    agent_tunnel_advance(tunnel);
}

static void on_tunnel_input_end(void *context)
{
    struct agent_tunnel *tunnel = context;
    tunnel->stream_over = true;
    agent_tunnel_advance(tunnel);
}

bool agent_tunnel_reaped(struct agent *agent, pid_t pid, int wait_status)
{
    struct agent_tunnel *tunnel = agent->tunnels.first;
    while (tunnel && (tunnel->spawned.pid != pid || tunnel->process_over))
        tunnel = tunnel->next;
    if (!tunnel)
        return false;
    if (!WIFEXITED(wait_status) && !WIFSIGNALED(wait_status))
        return true;
    tunnel->process_over = true;
    tunnel->wait_status = wait_status;
    uv_timer_stop(&tunnel->timer);
    uv_timer_start(&tunnel->timer, on_tunnel_timer, tunnel->stream_over ? 0 : TUNNEL_LAST_MS, 0);
    return true;
}

void agent_tunnel_hang_up(struct agent_tunnel *tunnel, bool given_up)
{
    if (tunnel->hung_up)
        return;
    tunnel->hung_up = tunnel->stream_over = true;
    tunnel_end_finish(&tunnel->end, on_agent_tunnel_end_closed);
    if (given_up)
        kill_tunnel(tunnel, SIGTERM);
    if (!tunnel->process_over)
        uv_timer_start(&tunnel->timer, on_tunnel_timer,
                       given_up ? TUNNEL_GIVEN_UP_MS : TUNNEL_HUNG_UP_MS, 0);
}

void agent_tunnel_cut_off(struct agent_tunnel *tunnel, const char *why)
{
    send_tunnel_end(tunnel, why);
    agent_tunnel_hang_up(tunnel, true);
}

/* ---- the start ---- */

/* Starts the command with our socket as stdin and stdout. Returns our end; or -1. */
static int spawn_tunnel(struct agent_tunnel *tunnel, const char *path, char *const *argv,
                        struct err *err)
{
    int pair[2], errors[2] = { -1, -1 };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "socketpair");
    if (pipe2(errors, O_CLOEXEC) < 0) {
        fail_errno(err, HVD_ERR_SYSTEM, errno, "pipe");
        close(pair[0]);
        close(pair[1]);
        return -1;
    }
    struct spawn_request request = {
        .path = path,
        .argv = argv,
        .envp = environ,
        .stdio = { pair[1], pair[1], errors[1] },
        .new_session = true,
        .death_signal = SIGTERM, /* it may not read its stdin yet */
        .nofile = &tunnel->agent->setup.nofile,
        .share_memory = true,
    };
    int rc = spawn_start(&request, &tunnel->spawned, err);
    int code = rc == HVD_OK ? spawn_confirm(&tunnel->spawned) : 0;
    if (code != 0)
        rc = fail_errno(err, HVD_ERR_SYSTEM, code, "'%s'", tunnel->name);
    close(pair[1]);
    close(errors[1]);
    tunnel->process_over = rc < 0;
    if (rc == HVD_OK) {
        tunnel->errors = errors[0];
        fcntl(errors[0], F_SETFL, O_RDONLY | O_NONBLOCK);
        return pair[0];
    }
    close(pair[0]);
    close(errors[0]);
    return -1;
}

static int start_tunnel(struct agent_tunnel *tunnel, const struct string_list *words,
                        struct err *err)
{
    char *path = NULL;
    int fd = -1;
    snprintf(tunnel->name, sizeof tunnel->name, "%s", words->items[0]);
    if (program_find(words->items[0], getenv("PATH"), &path, err) == 0)
        fd = spawn_tunnel(tunnel, path, words->items, err);
    free(path);
    return fd;
}

/* From the link to the command, and back. */
static void connect_tunnel(struct agent_tunnel *tunnel, uint32_t number, int fd)
{
    struct agent *agent = tunnel->agent;
    struct err err = { 0 };
    int rc = tunnel_end_open(&tunnel->end, agent->loop, fd, &agent->link, number, &err);
    tunnel->end.context = tunnel;
    tunnel->end.on_input_end = on_tunnel_input_end;
    tunnel->end.queue_max = AGENT_LINK_QUEUE_MAX;
    uv_must(uv_timer_init(agent->loop, &tunnel->timer), "timers");
    uv_must(uv_poll_init(agent->loop, &tunnel->errors_poll, tunnel->errors), "streams");
    tunnel->timer.data = tunnel->errors_poll.data = tunnel;
    tunnel->open_handles = 3;
    tunnel->next = agent->tunnels.first;
    agent->tunnels.first = tunnel;
    agent->tunnels.count++;
    uv_poll_start(&tunnel->errors_poll, UV_READABLE, on_tunnel_errors);
    if (rc == HVD_OK)
        tunnel_end_read(&tunnel->end);
    else
        on_tunnel_input_end(tunnel);
}

void agent_tunnel_open(struct agent *agent, uint32_t number, const struct string_list *words)
{
    struct agent_tunnel *tunnel = xcalloc(1, sizeof *tunnel);
    struct err err = { 0 };
    tunnel->agent = agent;
    tunnel->end.number = number;
    int fd = start_tunnel(tunnel, words, &err);
    if (fd >= 0) {
        connect_tunnel(tunnel, number, fd);
        return;
    }
    send_tunnel_end(tunnel, err.text);
    free(tunnel);
}

/* ---- for the rest of the agent ---- */

void agent_tunnels_resume(struct agent *agent)
{
    for (struct agent_tunnel *tunnel = agent->tunnels.first; tunnel; tunnel = tunnel->next) {
        bool was_held_up = agent_tunnel_is_held_up(tunnel);
        tunnel_end_read(&tunnel->end);
        agent_tunnel_goes_on(tunnel, was_held_up);
    }
}

void agent_tunnels_hang_up(struct agent *agent)
{
    for (struct agent_tunnel *tunnel = agent->tunnels.first; tunnel; tunnel = tunnel->next)
        agent_tunnel_hang_up(tunnel, false);
}

int agent_tunnels_pids(const struct agent *agent, pid_t **pids)
{
    int count = 0;
    *pids = xcalloc((size_t)agent->tunnels.count + 1, sizeof **pids);
    for (const struct agent_tunnel *tunnel = agent->tunnels.first; tunnel; tunnel = tunnel->next)
        if (!tunnel->process_over)
            (*pids)[count++] = tunnel->spawned.pid;
    return count;
}

static bool is_one_of(pid_t pid, const pid_t *pids, int count)
{
    for (int i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

bool agent_has_other_children(const struct agent *agent)
{
    pid_t *pids, *children;
    int npids = agent_tunnels_pids(agent, &pids), nchildren = process_tree_children(&children);
    bool found = false;
    for (int i = 0; i < nchildren && !found; i++)
        found = !is_one_of(children[i], pids, npids);
    free(pids);
    free(children);
    return found;
}

void agent_tunnels_close(struct agent *agent)
{
    while (agent->tunnels.first)
        agent_tunnel_release(agent->tunnels.first);
}
