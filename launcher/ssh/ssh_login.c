/* SPDX-License-Identifier: Apache-2.0 */
/* Trying keys, one after another; see ssh_login.h.
 *
 *   read files -> ask the agent for its keys -> try a key -> accepted
 *                                               ^      \-> refused -> the next one
 *
 * The host's process (ssh_process.h) asks the host; this process decides which key is next, and
 * asks the agent for signatures, so that the host's process neither reads files nor sees the
 * agent. */
#include "launcher/ssh/ssh_login.h"

#include "launcher/base/xalloc.h"
#include "launcher/ssh/ssh_agent.h"
#include "launcher/ssh/ssh_config.h"
#include "launcher/ssh/ssh_keys.h"
#include "launcher/ssh/ssh_unreachable_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ssh_login {
    uv_loop_t *loop;
    struct ssh_login_request request;
    struct ssh_login_events events;
    void *context;
    struct ssh_keys keys;
    struct ssh_key *trying;
    struct ssh_agent_question *question;
    struct text_buffer algorithm;
    bool asked; /* the agent, for a signature by the key that is tried */
    char agent_problem[160];
};

static void try_next(struct ssh_login *login);

/* ---- messages ---- */

static void describe_keys(const struct ssh_login *login, char *text, size_t size)
{
    char keys[400];
    ssh_keys_describe(&login->keys, keys, sizeof keys);
    if (!keys[0])
        snprintf(text, size, "no key to try: ssh-agent: %s; identity files: none is there",
                 login->agent_problem[0] ? login->agent_problem : "SSH_AUTH_SOCK is not set");
    else if (login->agent_problem[0])
        snprintf(text, size, "no key is accepted: ssh-agent: %s; %s", login->agent_problem, keys);
    else
        snprintf(text, size, "no key is accepted: %s", keys);
}

/* "; ssh-copy-id host1", or "". */
static void describe_mend(const struct ssh_login *login, char *text, size_t size)
{
    const struct ssh_config *config = login->request.config;
    bool own = ssh_is_own_user(config->user);
    char target[200], port[16] = "", mend[298];
    if (config->port != 22)
        snprintf(port, sizeof port, "-p %d ", config->port);
    snprintf(target, sizeof target, "%s%s%s%s", port, own ? "" : config->user, own ? "" : "@",
             login->request.host);
    ssh_keys_mend(&login->keys, target, mend, sizeof mend);
    snprintf(text, size, "%s%s", *mend ? "; " : "", mend);
}

/* A text that is too long is cut before the command at its end. */
static void end_failed(struct ssh_login *login, const char *lost, bool dismissed)
{
    const struct ssh_login_request *request = &login->request;
    char keys[600], mend[300] = "", text[700], why[200];
    describe_keys(login, keys, sizeof keys);
    if (!lost)
        describe_mend(login, mend, sizeof mend);
    int room = 400, n = snprintf(text, (size_t)room, "%s@%s: %s%s%s", request->config->user,
                                 request->host, lost ? lost : "", lost ? ": " : "", keys);
    if (n >= room)
        memcpy(text + room - 4, "...", 4);
    strcat(text, mend);
    bool is_lost = lost && !dismissed;
    bool need_ssh = !is_lost && ssh_keys_need_ssh(&login->keys, &request->config->certificates, why,
                                                  sizeof why);
    login->events.on_end(login->context, text, is_lost, need_ssh ? why : NULL);
}

static void skip_agent(struct ssh_login *login, const char *path, const char *problem)
{
    char text[300];
    snprintf(login->agent_problem, sizeof login->agent_problem, "%s", problem);
    snprintf(text, sizeof text, "ssh-agent at %s is not asked: %s", path, problem);
    login->events.on_note(login->context, text);
}

/* ---- one key ---- */

static const char *agent_path(const struct ssh_login *login)
{
    const char *path = login->request.config->identity_agent;
    return path ? path : getenv("SSH_AUTH_SOCK");
}

static struct ssh_bytes ssh_login_bytes_of(const struct text_buffer *buffer)
{
    return (struct ssh_bytes){ (const unsigned char *)buffer->data, buffer->length };
}

static void order_login(struct ssh_login *login, enum ssh_order_type type, struct ssh_bytes first,
                        struct ssh_bytes second)
{
    ssh_process_order(login->request.process, type, first, second);
}

/* An empty signature says that there is none. */
static void on_signature(void *context, struct ssh_bytes answer, const char *problem)
{
    struct ssh_login *login = context;
    struct ssh_bytes algorithm = ssh_login_bytes_of(&login->algorithm);
    struct ssh_bytes signature = ssh_agent_read_signature(answer, algorithm);
    login->question = NULL;
    if (signature.length == 0)
        ssh_key_set_outcome(login->trying, problem ? problem : "the agent does not sign with it");
    order_login(login, SSH_ORDER_SIGNATURE, signature, (struct ssh_bytes){ 0 });
}

/* The process may be in the hands of the host. It gets one signature, of a request to log in, by
 * the key whose turn it is. */
static void ask_signature(struct ssh_login *login, struct ssh_bytes data)
{
    struct ssh_bytes algorithm = ssh_agent_algorithm(data);
    if (login->asked || !login->trying || !login->trying->in_agent)
        return;
    login->asked = true;
    if (algorithm.length == 0) {
        order_login(login, SSH_ORDER_SIGNATURE, (struct ssh_bytes){ 0 }, (struct ssh_bytes){ 0 });
        return;
    }
    login->algorithm.length = 0;
    text_buffer_put(&login->algorithm, algorithm.data, algorithm.length);
    login->question = ssh_agent_ask_signature(login->loop, agent_path(login),
                                              ssh_login_bytes_of(&login->trying->public), data,
                                              on_signature, login);
}

/* A cause of the agent is known already. */
static void set_outcome(struct ssh_login *login, enum ssh_result result)
{
    bool refused = result == SSH_RESULT_REFUSED;
    login->trying->refused = refused && !login->trying->outcome;
    if (!login->trying->outcome)
        ssh_key_set_outcome(login->trying, refused ? "not accepted" : "libssh2 cannot use it");
}

static void on_tried(struct ssh_login *login, const struct ssh_report *report)
{
    if (report->result == SSH_RESULT_OK) {
        login->events.on_end(login->context, NULL, false, NULL);
        return;
    }
    set_outcome(login, report->result);
    if (report->is_lost)
        end_failed(login, report->lost, report->is_dismissed);
    else
        try_next(login);
}

void ssh_login_on_report(struct ssh_login *login, const struct ssh_report *report)
{
    if (report->type == SSH_REPORT_SIGN)
        ask_signature(login, report->bytes);
    else if (report->type == SSH_REPORT_TRIED && login->trying)
        on_tried(login, report);
}

static void try_next(struct ssh_login *login)
{
    const char *user = login->request.config->user;
    const struct ssh_bytes name = { (const unsigned char *)user, strlen(user) };
    struct ssh_key *key = login->trying = ssh_keys_next(&login->keys);
    const struct ssh_key_file *file = key ? &key->file : NULL;
    ssh_agent_cancel(login->question);
    login->question = NULL;
    login->asked = false;
    if (!key)
        end_failed(login, NULL, false);
    else if (key->in_agent)
        order_login(login, SSH_ORDER_LOGIN_AGENT, name, ssh_login_bytes_of(&key->public));
    else
        order_login(login, SSH_ORDER_LOGIN_FILE, name,
                    (struct ssh_bytes){ (const unsigned char *)file->data, file->length });
}

/* ---- the list of keys ---- */

static void on_agent_keys(void *context, struct ssh_bytes answer, const char *problem)
{
    struct ssh_login *login = context;
    login->question = NULL;
    bool only_files = login->request.config->identities_only;
    int count = problem ? 0 : ssh_keys_add_agent(&login->keys, answer, only_files);
    if (count < 0)
        problem = "an answer that is none";
    if (problem)
        skip_agent(login, agent_path(login), problem);
    else if (login->keys.count == login->keys.nfiles)
        snprintf(login->agent_problem, sizeof login->agent_problem, "no key%s",
                 count > 0 ? " of the identity files" : "");
    try_next(login);
}

static int read_files(struct ssh_login *login, struct err *err)
{
    const char *const *named = login->request.files;
    const struct string_list *usual = &login->request.config->identity_files;
    size_t count = 0;
    while (named && named[count])
        count++;
    if (count > 0)
        return ssh_keys_add_files(&login->keys, named, count, true, err);
    return ssh_keys_add_files(&login->keys, (const char *const *)usual->items, usual->count, false,
                              err);
}

struct ssh_login *ssh_login_start(uv_loop_t *loop, const struct ssh_login_request *request,
                                  const struct ssh_login_events *events, void *context)
{
    struct ssh_login *login = xcalloc(1, sizeof *login);
    struct err err = { 0 };
    login->loop = loop;
    login->request = *request;
    login->events = *events;
    login->context = context;
    memcpy(login->keys.libssh2, request->shaken->version, sizeof login->keys.libssh2);
    login->keys.signs_sha2 = request->shaken->signs_sha2;
    login->request.shaken = NULL;
    const char *path = agent_path(login);
    if (read_files(login, &err) < 0)
        events->on_end(context, err.text, false, NULL);
    else if (path && path[0])
        login->question = ssh_agent_ask_keys(loop, path, on_agent_keys, login);
    else
        try_next(login);
    return login;
}

void ssh_login_close(struct ssh_login *login)
{
    if (!login)
        return;
    ssh_agent_cancel(login->question);
    ssh_keys_fini(&login->keys);
    text_buffer_fini(&login->algorithm);
    free(login);
}
