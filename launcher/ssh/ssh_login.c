/* SPDX-License-Identifier: Apache-2.0 */
/* Trying keys, one after another; see ssh_login.h.
 *
 *   read files -> ask the agent for its keys -> try a key -> accepted
 *                                               ^      \-> refused -> the next one
 *
 * libssh2 sends the questions to the host; the agent signs with its keys meanwhile. */
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
    struct text_buffer signature, algorithm;
    bool cannot_sign;
    char agent_problem[160];
    void *self; /* given by libssh2 to on_sign() */
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
static void end_failed(struct ssh_login *login, const char *lost)
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
    bool is_lost = lost && !ssh_session_dismissed(login->request.session);
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

static void on_signature(void *context, struct ssh_bytes answer, const char *problem)
{
    struct ssh_login *login = context;
    struct ssh_bytes algorithm = ssh_login_bytes_of(&login->algorithm);
    struct ssh_bytes signature = ssh_agent_read_signature(answer, algorithm);
    login->question = NULL;
    text_buffer_put(&login->signature, signature.data, signature.length);
    login->cannot_sign = signature.length == 0;
    if (login->cannot_sign)
        ssh_key_set_outcome(login->trying, problem ? problem : "the agent does not sign with it");
    ssh_session_again(login->request.session);
}

static int give_signature(struct ssh_login *login, unsigned char **signature, size_t *length)
{
    *length = login->signature.length;
    *signature = ssh_session_allocate(login->request.session, *length);
    if (!*signature)
        return LIBSSH2_ERROR_ALLOC;
    memcpy(*signature, login->signature.data, *length);
    login->signature.length = 0;
    return 0;
}

static void ask_signature(struct ssh_login *login, struct ssh_bytes data)
{
    struct ssh_bytes algorithm = ssh_agent_algorithm(data);
    login->algorithm.length = 0;
    text_buffer_put(&login->algorithm, algorithm.data, algorithm.length);
    login->question = ssh_agent_ask_signature(login->loop, agent_path(login),
                                              ssh_login_bytes_of(&login->trying->public), data,
                                              on_signature, login);
}

/* libssh2 calls again with the same data after EAGAIN. */
static int on_sign(LIBSSH2_SESSION *ssh, unsigned char **signature, size_t *length,
                   const unsigned char *data, size_t nbytes, void **abstract)
{
    struct ssh_login *login = *abstract;
    (void)ssh;
    if (login->cannot_sign)
        return LIBSSH2_ERROR_AGENT_PROTOCOL;
    if (login->signature.length > 0)
        return give_signature(login, signature, length);
    if (!login->question)
        ask_signature(login, (struct ssh_bytes){ data, nbytes });
    return LIBSSH2_ERROR_EAGAIN;
}

static int try_agent_key(void *context, LIBSSH2_SESSION *ssh)
{
    struct ssh_login *login = context;
    const struct text_buffer *public = &login->trying->public;
    int rc = libssh2_userauth_publickey(ssh, login->request.config->user,
                                        (const unsigned char *)public->data, public->length,
                                        on_sign, &login->self);
    return rc == LIBSSH2_ERROR_EAGAIN && login->question ? SSH_WAIT : rc;
}

static int try_file_key(void *context, LIBSSH2_SESSION *ssh)
{
    struct ssh_login *login = context;
    const struct ssh_key_file *file = &login->trying->file;
    const char *user = login->request.config->user;
    return libssh2_userauth_publickey_frommemory(ssh, user, strlen(user), NULL, 0, file->data,
                                                 file->length, NULL);
}

/* Sets the outcome for a code of libssh2. A cause of the agent is known already. */
static void set_outcome(struct ssh_login *login, int rc)
{
    bool refused =
        rc == LIBSSH2_ERROR_AUTHENTICATION_FAILED || rc == LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED;
    login->trying->refused = refused && !login->trying->outcome;
    if (!login->trying->outcome)
        ssh_key_set_outcome(login->trying, refused ? "not accepted" : "libssh2 cannot use it");
}

static void on_tried(void *context, int rc)
{
    struct ssh_login *login = context;
    const char *lost = ssh_session_lost(login->request.session);
    if (rc == 0) {
        login->events.on_end(login->context, NULL, false, NULL);
        return;
    }
    set_outcome(login, rc);
    if (lost)
        end_failed(login, lost);
    else
        try_next(login);
}

static void try_next(struct ssh_login *login)
{
    login->trying = ssh_keys_next(&login->keys);
    login->cannot_sign = false;
    if (login->trying)
        ssh_session_run(login->request.session,
                        login->trying->in_agent ? try_agent_key : try_file_key, on_tried, login);
    else
        end_failed(login, NULL);
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
    login->self = login;
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
    text_buffer_fini(&login->signature);
    text_buffer_fini(&login->algorithm);
    free(login);
}
