/* SPDX-License-Identifier: Apache-2.0 */
/* Logging in with a key, as ssh does: keys of the user's agent first, beginning with those that the
 * identity files name, then the files themselves.
 *
 * Fails when no key is accepted, naming each key with the cause; when a file that the user named
 * does not exist; when the connection is lost. */
#ifndef LAUNCHER_SSH_SSH_LOGIN_H
#define LAUNCHER_SSH_SSH_LOGIN_H

#include "launcher/ssh/ssh_process.h"

#include <uv.h>

struct ssh_config;
struct ssh_login;

/* All borrowed until the login is closed. */
struct ssh_login_request {
    struct ssh_process *process;
    const struct ssh_report *shaken; /* its report SHAKEN; borrowed for the call */
    const char *host;                /* for messages */
    const struct ssh_config *config; /* the user, the agent and identity files */
    const char *const *files; /* named by the user, ended by NULL; NULL or empty: those of the
                               * configuration */
};

struct ssh_login_events {
    void (*on_note)(void *context, const char *text);

    /* Called once, possibly before ssh_login_start() returns. `problem` is NULL when the user is
     * logged in. `lost`: the connection was lost before the login was decided. `need_ssh`: why the
     * external ssh may log in where libssh2 could not ("RSA key ~/.ssh/id_rsa: ..."), or NULL. */
    void (*on_end)(void *context, const char *problem, bool lost, const char *need_ssh);
};

struct ssh_login *ssh_login_start(uv_loop_t *loop, const struct ssh_login_request *request,
                                  const struct ssh_login_events *events, void *context);

/* A report of the process, SIGN or TRIED. */
void ssh_login_on_report(struct ssh_login *login, const struct ssh_report *report);

/* NULL is fine. */
void ssh_login_close(struct ssh_login *login);

#endif
