/* SPDX-License-Identifier: Apache-2.0 */
/* A host that is reached by libssh2, without any child process but `ssh -G`:
 *
 *   ask ssh's configuration -> resolve -> connect, banner, exchange of keys -> is it the host?
 *     -> login -> one channel, /bin/sh -> pump
 *
 * An address of this machine goes over to the local way, a proxy to the external ssh.
 * Fails when the configuration is bad, the name is unknown, no address answers, the host does not
 * speak ssh, its key is not the known one, no key of ours is accepted, or it takes too long; each
 * names the address and what was under way. Afterwards the way ends with the channel or when the
 * connection is lost. */
#include "launcher/base/exit_status.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "launcher/connect/host_transport.h"
#include "launcher/hosts/resolve.h"
#include "launcher/process/children.h"
#include "launcher/protocol/tcp_acknowledged.h"
#include "launcher/ssh/ssh_connect.h"
#include "launcher/ssh/ssh_login.h"
#include "launcher/ssh/ssh_pump.h"
#include "launcher/ssh/ssh_texts.h"
#include "launcher/ssh/ssh_trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RESOLVE_MS = 5000, RESERVE_MS = 100 };

struct ssh_way {
    const struct reach_job *job;
    struct ssh_config config;
    struct ssh_trust *trust;
    struct addrinfo *addresses;
    struct ssh_config_query *query; /* these four: while under way */
    struct resolve *resolve;
    struct ssh_connect *connect;
    struct ssh_login *login;
    struct ssh_session *session;
    LIBSSH2_CHANNEL *channel;
    struct ssh_pump *pump;
    enum ssh_stage stage;
    char peer[100]; /* "198.51.100.11 port 22" */
    uv_timer_t deadline, turn;
    int open_handles;
    bool over; /* failed, or handed over to another way */
};

/* ---- how it ends before it is opened ---- */

/* Nothing goes on; the memory is released by close(). */
static void stop(struct ssh_way *way)
{
    way->over = true;
    uv_timer_stop(&way->deadline);
    uv_timer_stop(&way->turn);
    ssh_config_cancel(way->query);
    resolve_cancel(way->resolve);
    ssh_connect_cancel(way->connect);
    way->query = NULL;
    way->resolve = NULL;
    way->connect = NULL;
    if (way->session)
        ssh_session_stop(way->session);
}

static void fail_way(struct ssh_way *way, int exit_status, const char *text)
{
    stop(way);
    reach_way_failed(way->job->reach, exit_status, text);
}

static void on_deadline(uv_timer_t *timer)
{
    struct ssh_way *way = timer->data;
    const struct ssh_situation situation = {
        .stage = way->stage,
        .host = way->job->target->host,
        .user = way->config.user,
        .peer = way->peer,
        .timeout_ms = way->job->settings->timeout_ms,
    };
    char text[400], connect[300] = "";
    if (way->connect)
        ssh_connect_describe(way->connect, connect, sizeof connect);
    ssh_say_late(text, sizeof text, &situation, connect);
    fail_way(way, STATUS_UNREACHABLE, text);
}

/* ---- the channel ---- */

static void on_stderr(void *context, const char *data, size_t length)
{
    struct ssh_way *way = context;
    reach_way_stderr(way->job->reach, data, length);
}

static void on_pump_end(void *context, const char *text, bool lost)
{
    struct ssh_way *way = context;
    char longer[400];
    snprintf(longer, sizeof longer, "ssh connection to %s: %s", way->peer, text);
    reach_way_ended(way->job->reach, lost ? longer : text);
}

static void open_stream(struct ssh_way *way)
{
    static const struct ssh_pump_events events = { on_stderr, on_pump_end };
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
        fail_way(way, STATUS_RESOURCE, "socketpair: no descriptor is left");
        return;
    }
    uv_timer_stop(&way->deadline);
    struct reached reached = { .input = pair[0], .output = pair[0] };
    reach_way_opened(way->job->reach, &reached);
    way->pump = ssh_pump_start(way->job->loop, way->session, way->channel, pair[1], &events, way);
}

static void fail_channel(struct ssh_way *way)
{
    const char *lost = ssh_session_lost(way->session);
    char text[400];
    snprintf(text, sizeof text, "ssh connection to %s: /bin/sh: %s", way->peer,
             lost ? lost : ssh_session_problem(way->session));
    fail_way(way, STATUS_UNREACHABLE, text);
}

static int try_exec(void *context, LIBSSH2_SESSION *ssh)
{
    struct ssh_way *way = context;
    (void)ssh;
    return libssh2_channel_exec(way->channel, "/bin/sh");
}

static void on_exec(void *context, int rc)
{
    struct ssh_way *way = context;
    if (rc == 0)
        open_stream(way);
    else
        fail_channel(way);
}

static int try_channel(void *context, LIBSSH2_SESSION *ssh)
{
    static const char type[] = "session";
    struct ssh_way *way = context;
    way->channel = libssh2_channel_open_ex(ssh, type, sizeof type - 1, SSH_PUMP_WINDOW,
                                           SSH_PUMP_PACKET, NULL, 0);
    return way->channel ? 0 : libssh2_session_last_errno(ssh);
}

static void on_channel(void *context, int rc)
{
    struct ssh_way *way = context;
    if (rc != 0) {
        fail_channel(way);
        return;
    }
    ssh_session_set_channel(way->session, way->channel);
    ssh_session_run(way->session, try_exec, on_exec, way);
}

/* ---- host key and login ---- */

static void on_login_note(void *context, const char *text)
{
    struct ssh_way *way = context;
    reach_way_note(way->job->reach, false, text);
}

static void on_login(void *context, const char *problem, bool lost)
{
    struct ssh_way *way = context;
    if (way->over)
        return;
    if (problem) {
        fail_way(way, lost ? STATUS_UNREACHABLE : STATUS_REFUSED, problem);
        return;
    }
    way->stage = SSH_STAGE_CHANNEL;
    reach_way_step(way->job->reach, STEP_AGENT);
    ssh_session_run(way->session, try_channel, on_channel, way);
}

static void login(struct ssh_way *way)
{
    static const struct ssh_login_events events = { on_login_note, on_login };
    const struct ssh_login_request request = {
        .session = way->session,
        .host = way->job->target->host,
        .config = &way->config,
        .files = way->job->settings->identity_files,
    };
    way->stage = SSH_STAGE_LOGIN;
    reach_way_step(way->job->reach, STEP_LOGIN);
    way->login = ssh_login_start(way->job->loop, &request, &events, way);
}

/* True if the host is the one that it says it is; otherwise the way has failed. */
static bool trust_host(struct ssh_way *way)
{
    size_t nbytes;
    int type;
    char text[700];
    const char *blob = libssh2_session_hostkey(ssh_session_libssh2(way->session), &nbytes, &type);
    enum ssh_host_key_answer answer =
        ssh_trust_judge(way->trust, (const unsigned char *)blob, nbytes, text, sizeof text);
    if (answer == SSH_HOST_KEY_REFUSE)
        fail_way(way, STATUS_REFUSED, text);
    else if (answer == SSH_HOST_KEY_ADD)
        reach_way_note(way->job->reach, true, text);
    return answer != SSH_HOST_KEY_REFUSE;
}

/* ---- the connection ---- */

static void on_connected(void *context, struct ssh_session *session, const char *text)
{
    struct ssh_way *way = context;
    way->connect = NULL;
    way->session = session;
    if (!session) {
        fail_way(way, STATUS_UNREACHABLE, text);
        return;
    }
    snprintf(way->peer, sizeof way->peer, "%s", text);
    reach_way_step(way->job->reach, STEP_HOST_KEY);
    if (trust_host(way))
        login(way);
}

static void connect_host(struct ssh_way *way)
{
    const struct ssh_connect_request request = {
        .addresses = way->addresses,
        .known_types = ssh_trust_types(way->trust),
        .silence_ms = way->job->settings->silence_ms,
    };
    way->stage = SSH_STAGE_CONNECT;
    reach_way_step(way->job->reach, STEP_CONNECT);
    way->connect = ssh_connect_start(way->job->loop, &request, on_connected, way);
}

static void read_known_hosts(struct ssh_way *way)
{
    struct string_list warnings = { 0 };
    way->trust = ssh_trust_create(way->job->target->host, &way->config,
                                  way->job->settings->accept_new, &warnings);
    for (size_t i = 0; i < warnings.count; i++)
        reach_way_note(way->job->reach, false, warnings.items[i]);
    string_list_fini(&warnings);
}

/* ---- configuration and name ---- */

/* Nothing distinguishes the host from this machine. */
static bool is_this_machine(const struct ssh_way *way)
{
    if (way->job->target->user || way->config.port != 22)
        return false;
    for (const struct addrinfo *at = way->addresses; at; at = at->ai_next)
        if (!reach_way_is_own_address(way->job->reach, at->ai_addr))
            return false;
    return ssh_is_own_user(way->config.user);
}

static void on_resolved(void *context, struct addrinfo *addresses, const char *problem)
{
    struct ssh_way *way = context;
    way->resolve = NULL;
    way->addresses = addresses;
    if (problem) {
        char text[400];
        ssh_say_unresolved(text, sizeof text, way->job->target->host, way->config.host_name,
                           problem);
        fail_way(way, STATUS_UNREACHABLE, text);
    } else if (is_this_machine(way)) {
        stop(way);
        reach_way_is_local(way->job->reach);
    } else {
        read_known_hosts(way);
        connect_host(way);
    }
}

/* With what its configuration may say otherwise, as far as it knows that; see reach_command.c for
 * the rest. */
static const char *external_ssh(const struct ssh_config *config)
{
    return config->has_session_type ? "ssh -oSessionType=default -oStdinNull=no "
                                      "-oForkAfterAuthentication=no %h"
                                    : "ssh %h";
}

static void on_config(void *context, struct ssh_config *config, const struct err *err)
{
    struct ssh_way *way = context;
    char text[400];
    way->query = NULL;
    if (err->code != HVD_OK) {
        snprintf(text, sizeof text, "%.390s", err->text);
        fail_way(way, err->code == HVD_ERR_SYSTEM ? STATUS_RESOURCE : STATUS_UNREACHABLE, text);
        return;
    }
    way->config = *config;
    if (config->proxy) {
        snprintf(text, sizeof text, "reached by the external ssh: %.200s", config->proxy);
        stop(way);
        reach_way_needs_command(way->job->reach, external_ssh(config), text);
        return;
    }
    way->stage = SSH_STAGE_RESOLVE;
    way->resolve = resolve_start(way->job->loop, config->host_name, config->port, config->family,
                                 RESOLVE_MS, on_resolved, way);
}

/* ---- open and close ---- */

static void on_first_turn(uv_timer_t *timer)
{
    struct ssh_way *way = timer->data;
    const struct reach_job *job = way->job;
    reach_way_step(job->reach, STEP_RESOLVE);
    way->query = ssh_config_ask(job->loop, job->children, job->target->host, job->target->user,
                                job->settings->ssh_port, on_config, way);
    ssh_session_prepare(); /* meanwhile */
}

static void *open_ssh(const struct reach_job *job)
{
    struct ssh_way *way = xcalloc(1, sizeof *way);
    uint32_t timeout_ms = job->settings->timeout_ms;
    way->job = job;
    uv_must(uv_timer_init(job->loop, &way->deadline), "timers");
    uv_must(uv_timer_init(job->loop, &way->turn), "timers");
    way->deadline.data = way->turn.data = way;
    way->open_handles = 2;
    uv_timer_start(&way->turn, on_first_turn, 0, 0);
    /* Before reach.c gives up by the same clock, which cannot say what was under way. */
    uv_timer_start(&way->deadline, on_deadline,
                   timeout_ms > 10 * RESERVE_MS ? timeout_ms - RESERVE_MS : timeout_ms, 0);
    return way;
}

static void on_closed(uv_handle_t *handle)
{
    struct ssh_way *way = handle->data;
    struct reach *reach = way->job->reach;
    if (--way->open_handles > 0)
        return;
    free(way);
    reach_way_closed(reach);
}

static void close_ssh(void *state)
{
    struct ssh_way *way = state;
    ssh_pump_close(way->pump);
    stop(way);
    ssh_session_close(way->session);
    ssh_login_close(way->login);
    ssh_trust_destroy(way->trust);
    if (way->addresses)
        uv_freeaddrinfo(way->addresses);
    ssh_config_fini(&way->config);
    uv_close((uv_handle_t *)&way->deadline, on_closed);
    uv_close((uv_handle_t *)&way->turn, on_closed);
}

static uint64_t acknowledged_ssh(const void *state)
{
    const struct ssh_way *way = state;
    return way->session ? tcp_acknowledged(ssh_session_socket(way->session)) : 0;
}

const struct reach_way reach_ssh_way = { "ssh", open_ssh, close_ssh, acknowledged_ssh };
