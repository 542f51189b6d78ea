/* SPDX-License-Identifier: Apache-2.0 */
/* The transport by libssh2, which is in a process of hvdssh for each host (ssh_process.h):
 *
 *   ask ssh's configuration -> resolve -> connect, banner, exchange of keys -> is it the host?
 *     -> login -> one channel, /bin/sh -> the process passes bytes on
 *
 * Files, names, sockets and the agent are handled here, and what the host sends is read there.
 *
 * A host with an address of this machine is handed over to the local transport. A host is handed
 * over to the external ssh if it is behind a proxy, if its configuration has another line that
 * libssh2 cannot follow, if only a certificate authority vouches for its key, if it is known by a
 * key that libssh2 cannot check and ssh can (RSA), or if it accepts no key which libssh2 can use
 * while there is an RSA key, a certificate or a hardware token. The external ssh then accepts a new
 * key only where hvdrun would, and never one that has changed or is revoked.
 *
 * Fails when the configuration is bad, the name is unknown, no address answers, the host does not
 * speak ssh, its key is not the known one, no key of ours is accepted, the process of the host has
 * ended, or the connection takes too long; each message names the address and the current step.
 * Once connected, the transport ends with the channel or when the connection or the process is
 * lost. */
#include "launcher/base/exit_status.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "launcher/connect/host_transport.h"
#include "launcher/hosts/resolve.h"
#include "launcher/process/children.h"
#include "launcher/process/program_find.h"
#include "launcher/protocol/tcp_acknowledged.h"
#include "launcher/ssh/ssh_connect.h"
#include "launcher/ssh/ssh_helper.h"
#include "launcher/ssh/ssh_login.h"
#include "launcher/ssh/ssh_trust.h"
#include "launcher/ssh/ssh_unreachable_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESOLVE_MS = 5000, RESERVE_MS = 100 };

struct ssh_transport {
    const struct host_transport_job *job;
    struct ssh_config config;
    struct ssh_trust *trust;
    struct addrinfo *addresses;
    struct ssh_helper *helper;
    struct ssh_config_query *query; /* these three: NULL unless in progress */
    struct resolve *resolve;
    struct ssh_connect *connect;
    struct ssh_login *login;
    struct ssh_process *process;
    enum ssh_stage stage;
    bool is_known;  /* the host has shown the key that known_hosts have for it */
    char peer[100]; /* "198.51.100.11 port 22" */
    uv_timer_t deadline, turn;
    int open_handles;
    bool over;   /* failed, or handed over to another transport */
    bool opened; /* the stream was handed over, once */
    bool ended;  /* nothing more comes on it */
};

/* ---- ending before the transport is opened ---- */

/* Stops everything; close() releases the memory. */
static void transport_ssh_stop(struct ssh_transport *transport)
{
    transport->over = true;
    uv_timer_stop(&transport->deadline);
    uv_timer_stop(&transport->turn);
    ssh_config_cancel(transport->query);
    resolve_cancel(transport->resolve);
    ssh_connect_cancel(transport->connect);
    transport->query = NULL;
    transport->resolve = NULL;
    transport->connect = NULL;
}

/* Until the login has succeeded, a configuration that could not be read may be the cause: it may
 * have another name, port, user or key for the host. */
static void fail_transport(struct ssh_transport *transport, int exit_status, const char *text)
{
    const char *unread = transport->stage < SSH_STAGE_CHANNEL ? transport->config.unread : NULL;
    char longer[1200];
    snprintf(longer, sizeof longer, "%.700s%s%.400s", text, unread ? "; " : "",
             unread ? unread : "");
    transport_ssh_stop(transport);
    host_transport_failed(transport->job->connect, exit_status, longer);
}

static void on_transport_ssh_deadline(uv_timer_t *timer)
{
    struct ssh_transport *transport = timer->data;
    const struct ssh_situation situation = {
        .stage = transport->stage,
        .host = transport->job->target->host,
        .user = transport->config.user,
        .peer = transport->peer,
        .timeout_ms = transport->job->settings->timeout_ms,
    };
    char text[400], connect[300] = "";
    if (transport->connect)
        ssh_connect_describe(transport->connect, connect, sizeof connect);
    ssh_say_late(text, sizeof text, &situation, connect);
    fail_transport(transport, STATUS_UNREACHABLE, text);
}

/* ---- handing over to the external ssh ---- */

static bool has_ssh_client(void)
{
    char *program = NULL;
    int rc = program_find("ssh", getenv("PATH"), &program, NULL);
    free(program);
    return rc == 0;
}

static void read_known_hosts(struct ssh_transport *transport)
{
    struct string_list warnings = { 0 };
    transport->trust =
        ssh_trust_create(transport->job->target->host, &transport->config,
                         transport->job->settings->accept_new, has_ssh_client(), &warnings);
    for (size_t i = 0; i < warnings.count; i++)
        host_transport_note(transport->job->connect, false, warnings.items[i]);
    string_list_fini(&warnings);
}

/* May the external ssh accept a key of the host that is new? The second needs the known hosts. */
enum new_key { NEW_KEY_REFUSED, NEW_KEY_AS_ALLOWED };

/* The value of StrictHostKeyChecking for the external ssh. With "no", which the configuration may
 * have, ssh would accept a key that has changed or is revoked: hvdrun never does. */
static const char *strict_value(const struct ssh_transport *transport, enum new_key new_key)
{
    return new_key == NEW_KEY_AS_ALLOWED && ssh_trust_may_be_new(transport->trust) ? "accept-new"
                                                                                   : "yes";
}

/* Ends with the host handed over to the external ssh. The options override the configuration, as
 * far as it is known; host_command.c adds the rest. */
static void leave_to_ssh(struct ssh_transport *transport, const char *why, enum new_key new_key)
{
    char text[400], command[200];
    snprintf(text, sizeof text, "reached by the external ssh: %.360s", why);
    snprintf(command, sizeof command, "ssh%s -oStrictHostKeyChecking=%s %%h",
             transport->config.has_session_type
                 ? " -oSessionType=default -oStdinNull=no -oForkAfterAuthentication=no"
                 : "",
             strict_value(transport, new_key));
    transport_ssh_stop(transport);
    host_transport_needs_command(transport->job->connect, command, text);
}

/* ---- the channel ---- */

static void open_stream(struct ssh_transport *transport)
{
    int fd = ssh_process_take_stream(transport->process);
    uv_timer_stop(&transport->deadline);
    transport->opened = true;
    struct host_stream stream = { .input = fd, .output = fd };
    host_transport_opened(transport->job->connect, &stream);
}

static void on_shell(struct ssh_transport *transport, const struct ssh_report *report)
{
    char text[500];
    if (report->result == SSH_RESULT_OK) {
        open_stream(transport);
        return;
    }
    snprintf(text, sizeof text, "ssh connection to %s: /bin/sh: %s", transport->peer,
             report->is_lost ? report->lost : report->problem);
    fail_transport(transport, STATUS_UNREACHABLE, text);
}

/* Nothing more comes: the stream ends when its reader can ask why. */
static void end_stream(struct ssh_transport *transport, const char *text)
{
    transport->ended = true;
    host_transport_ended(transport->job->connect, text);
    ssh_process_end_stream(transport->process);
}

static void on_ended(struct ssh_transport *transport, const struct ssh_report *report)
{
    char said[200], longer[400];
    ssh_message_text(said, sizeof said, report->bytes);
    snprintf(longer, sizeof longer, "ssh connection to %s: %s", transport->peer, said);
    end_stream(transport, report->code ? longer : said);
}

/* ---- the process ---- */

/* A process in the hands of its host may send any report at any time: each counts in its stage
 * only, and there is one stream. */
static void on_transport_ssh_report(void *context, const struct ssh_report *report)
{
    struct ssh_transport *transport = context;
    if (transport->over || transport->ended)
        return;
    if (report->type == SSH_REPORT_STDERR)
        host_transport_stderr(transport->job->connect, (const char *)report->bytes.data,
                              report->bytes.length);
    else if (report->type == SSH_REPORT_ENDED && transport->opened)
        on_ended(transport, report);
    else if (report->type == SSH_REPORT_SHELL && transport->stage == SSH_STAGE_CHANNEL &&
             !transport->opened)
        on_shell(transport, report);
    else if (transport->login && transport->stage == SSH_STAGE_LOGIN)
        ssh_login_on_report(transport->login, report);
}

/* The process has crashed, was killed, or has run out of memory. */
static void on_transport_ssh_dead(void *context, bool no_resource, const char *text)
{
    struct ssh_transport *transport = context;
    char longer[400];
    (void)no_resource; /* the process was made, since it has exchanged keys */
    if (transport->over || transport->ended)
        return;
    snprintf(longer, sizeof longer, "ssh connection to %s: %s", transport->peer, text);
    if (transport->opened)
        end_stream(transport, longer);
    else
        fail_transport(transport, STATUS_UNREACHABLE, longer);
}

/* ---- host key and login ---- */

static void on_login_note(void *context, const char *text)
{
    struct ssh_transport *transport = context;
    host_transport_note(transport->job->connect, false, text);
}

static void on_login(void *context, const char *problem, bool lost, const char *need_ssh)
{
    struct ssh_transport *transport = context;
    if (transport->over)
        return;
    if (problem && need_ssh && has_ssh_client()) {
        leave_to_ssh(transport, need_ssh,
                     transport->is_known ? NEW_KEY_REFUSED : NEW_KEY_AS_ALLOWED);
        return;
    }
    if (problem) {
        fail_transport(transport, lost ? STATUS_UNREACHABLE : STATUS_REFUSED, problem);
        return;
    }
    const struct ssh_bytes none = { 0 };
    transport->stage = SSH_STAGE_CHANNEL;
    host_transport_step(transport->job->connect, STEP_AGENT);
    ssh_process_order(transport->process, SSH_ORDER_SHELL, none, none);
}

static void login(struct ssh_transport *transport, const struct ssh_report *shaken)
{
    static const struct ssh_login_events events = { on_login_note, on_login };
    const struct ssh_login_request request = {
        .process = transport->process,
        .shaken = shaken,
        .host = transport->job->target->host,
        .config = &transport->config,
        .files = transport->job->settings->identity_files,
    };
    transport->stage = SSH_STAGE_LOGIN;
    host_transport_step(transport->job->connect, STEP_LOGIN);
    transport->login = ssh_login_start(transport->job->loop, &request, &events, transport);
}

/* `text` says why libssh2 cannot judge the key. */
static void leave_host_key_to_ssh(struct ssh_transport *transport, const char *text)
{
    char longer[800];
    if (has_ssh_client()) {
        snprintf(longer, sizeof longer, "host key: %s", text);
        leave_to_ssh(transport, longer, NEW_KEY_REFUSED);
    } else {
        snprintf(longer, sizeof longer, "%s; install ssh, or add the key itself", text);
        fail_transport(transport, STATUS_REFUSED, longer);
    }
}

/* True if the host's identity is verified; otherwise the transport has ended. */
static bool trust_host(struct ssh_transport *transport, struct ssh_bytes key)
{
    char text[700];
    enum ssh_host_key_answer answer = ssh_trust_judge(
        transport->trust, key.length > 0 ? key.data : NULL, key.length, text, sizeof text);
    transport->is_known = answer == SSH_HOST_KEY_TRUST;
    if (answer == SSH_HOST_KEY_REFUSE)
        fail_transport(transport, STATUS_REFUSED, text);
    else if (answer == SSH_HOST_KEY_NEEDS_SSH)
        leave_host_key_to_ssh(transport, text);
    else if (answer == SSH_HOST_KEY_ADD)
        host_transport_note(transport->job->connect, true, text);
    return answer == SSH_HOST_KEY_TRUST || answer == SSH_HOST_KEY_ADD;
}

/* ---- the connection ---- */

/* An RSA key may be the only key of the host. The cause may also be a cipher or another algorithm:
 * the external ssh has more of them. */
static bool leave_no_common_to_ssh(struct ssh_transport *transport)
{
    char text[200];
    const char *type = ssh_trust_type_for_ssh(transport->trust);
    if (!type)
        return false;
    snprintf(text, sizeof text,
             "connect: no algorithm in common with libssh2, and the host is known as %s", type);
    leave_to_ssh(transport, text, NEW_KEY_REFUSED);
    return true;
}

static void on_connected(void *context, const struct ssh_connected *connected)
{
    static const struct ssh_process_events events = { on_transport_ssh_report,
                                                      on_transport_ssh_dead };
    struct ssh_transport *transport = context;
    transport->connect = NULL;
    if (!connected->process) {
        if (connected->no_common && leave_no_common_to_ssh(transport))
            return;
        fail_transport(transport, connected->no_resource ? STATUS_RESOURCE : STATUS_UNREACHABLE,
                       connected->text);
        return;
    }
    transport->process = connected->process;
    ssh_process_listen(transport->process, &events, transport);
    snprintf(transport->peer, sizeof transport->peer, "%s", connected->text);
    if (!connected->report->is_confined)
        host_transport_note(transport->job->connect, false,
                            "the system calls of hvdssh are not filtered here");
    host_transport_step(transport->job->connect, STEP_HOST_KEY);
    if (trust_host(transport, connected->report->bytes))
        login(transport, connected->report);
}

static void connect_host(struct ssh_transport *transport)
{
    const struct ssh_connect_request request = {
        .helper = transport->helper,
        .addresses = transport->addresses,
        .known_types = ssh_trust_types(transport->trust),
        .heartbeat_timeout_ms = transport->job->settings->heartbeat_timeout_ms,
    };
    transport->stage = SSH_STAGE_CONNECT;
    host_transport_step(transport->job->connect, STEP_CONNECT);
    transport->connect = ssh_connect_start(transport->job->loop, &request, on_connected, transport);
}

/* ---- configuration and name ---- */

/* True if name, port and user do not distinguish the host from this machine. */
static bool is_this_machine(const struct ssh_transport *transport)
{
    if (transport->job->target->user || transport->config.port != 22)
        return false;
    for (const struct addrinfo *at = transport->addresses; at; at = at->ai_next)
        if (!host_transport_is_own_address(transport->job->connect, at->ai_addr))
            return false;
    return ssh_is_own_user(transport->config.user);
}

static void connect_or_leave_to_ssh(struct ssh_transport *transport)
{
    char text[200];
    if (transport->config.ssh_only)
        leave_to_ssh(transport, transport->config.ssh_only, NEW_KEY_AS_ALLOWED);
    else if (ssh_trust_needs_ssh(transport->trust, text, sizeof text))
        leave_host_key_to_ssh(transport, text);
    else
        connect_host(transport);
}

static void on_resolved(void *context, struct addrinfo *addresses, const char *problem)
{
    struct ssh_transport *transport = context;
    transport->resolve = NULL;
    transport->addresses = addresses;
    if (problem) {
        char text[400];
        ssh_say_unresolved(text, sizeof text, transport->job->target->host,
                           transport->config.host_name, problem);
        fail_transport(transport, STATUS_UNREACHABLE, text);
    } else if (is_this_machine(transport)) {
        transport_ssh_stop(transport);
        host_transport_is_local(transport->job->connect);
    } else {
        read_known_hosts(transport);
        connect_or_leave_to_ssh(transport);
    }
}

static void on_config(void *context, struct ssh_config *config, const struct err *err)
{
    struct ssh_transport *transport = context;
    char text[400];
    transport->query = NULL;
    if (err->code != HVD_OK) {
        snprintf(text, sizeof text, "%.390s", err->text);
        fail_transport(transport,
                       err->code == HVD_ERR_SYSTEM ? STATUS_RESOURCE : STATUS_UNREACHABLE, text);
        return;
    }
    transport->config = *config;
    if (config->proxy) {
        read_known_hosts(transport);
        leave_to_ssh(transport, config->proxy, NEW_KEY_AS_ALLOWED);
        return;
    }
    transport->stage = SSH_STAGE_RESOLVE;
    transport->resolve = resolve_start(transport->job->loop, config->host_name, config->port,
                                       config->family, RESOLVE_MS, on_resolved, transport);
}

/* ---- open and close ---- */

static void on_first_turn(uv_timer_t *timer)
{
    struct ssh_transport *transport = timer->data;
    const struct host_transport_job *job = transport->job;
    host_transport_step(job->connect, STEP_RESOLVE);
    transport->query =
        ssh_config_ask(job->loop, job->children, job->target->host, job->target->user,
                       job->settings->ssh_port, on_config, transport);
    transport->helper = ssh_helper_use(host_transport_shared(job->connect), job->loop,
                                       job->children, job->settings->ssh_program);
}

static void *open_ssh(const struct host_transport_job *job)
{
    struct ssh_transport *transport = xcalloc(1, sizeof *transport);
    uint32_t timeout_ms = job->settings->timeout_ms;
    transport->job = job;
    uv_must(uv_timer_init(job->loop, &transport->deadline), "timers");
    uv_must(uv_timer_init(job->loop, &transport->turn), "timers");
    transport->deadline.data = transport->turn.data = transport;
    transport->open_handles = 2;
    uv_timer_start(&transport->turn, on_first_turn, 0, 0);
    /* Earlier than the deadline of host_connect.c, which cannot name the current step. */
    uv_timer_start(&transport->deadline, on_transport_ssh_deadline,
                   timeout_ms > 10 * RESERVE_MS ? timeout_ms - RESERVE_MS : timeout_ms, 0);
    return transport;
}

static void on_transport_ssh_closed(uv_handle_t *handle)
{
    struct ssh_transport *transport = handle->data;
    struct host_connect *connect = transport->job->connect;
    if (--transport->open_handles > 0)
        return;
    free(transport);
    host_transport_closed(connect);
}

static void on_helper_released(void *context)
{
    struct ssh_transport *transport = context;
    uv_close((uv_handle_t *)&transport->deadline, on_transport_ssh_closed);
    uv_close((uv_handle_t *)&transport->turn, on_transport_ssh_closed);
}

static void close_ssh(void *state)
{
    struct ssh_transport *transport = state;
    transport_ssh_stop(transport);
    ssh_login_close(transport->login);
    ssh_process_close(transport->process);
    transport->process = NULL;
    ssh_trust_destroy(transport->trust);
    if (transport->addresses)
        uv_freeaddrinfo(transport->addresses);
    ssh_config_fini(&transport->config);
    if (transport->helper)
        ssh_helper_release(transport->helper, on_helper_released, transport);
    else
        on_helper_released(transport);
}

static uint64_t acknowledged_ssh(const void *state)
{
    const struct ssh_transport *transport = state;
    return transport->process ? tcp_acknowledged(ssh_process_socket(transport->process)) : 0;
}

const struct host_transport transport_ssh = { "ssh", open_ssh, close_ssh, acknowledged_ssh };
