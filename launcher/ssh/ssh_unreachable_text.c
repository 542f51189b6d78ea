/* SPDX-License-Identifier: Apache-2.0 */
/* Messages about ssh; see ssh_unreachable_text.h. */
#include "launcher/ssh/ssh_unreachable_text.h"

#include "launcher/base/bad_input.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void ssh_say_late(char *text, size_t size, const struct ssh_situation *situation,
                  const char *connect)
{
    char what[300] = "";
    switch (situation->stage) {
    case SSH_STAGE_CONFIG:
        snprintf(what, sizeof what, "ssh -G %s: no answer", situation->host);
        break;
    case SSH_STAGE_RESOLVE:
        snprintf(what, sizeof what, "%s cannot be resolved: no answer", situation->host);
        break;
    case SSH_STAGE_CONNECT:
        snprintf(what, sizeof what, "%s", connect);
        break;
    case SSH_STAGE_LOGIN:
        snprintf(what, sizeof what, "%s@%s: no answer", situation->user, situation->host);
        break;
    case SSH_STAGE_CHANNEL:
        snprintf(what, sizeof what, "ssh connection to %s: no /bin/sh", situation->peer);
        break;
    }
    snprintf(text, size, "%s within %g s", what, situation->timeout_ms / 1000.0);
}

void ssh_say_unresolved(char *text, size_t size, const char *host, const char *name,
                        const char *problem)
{
    bool same = strcmp(host, name) == 0;
    snprintf(text, size, "%s%s%s%s cannot be resolved: %s", host, same ? "" : " (",
             same ? "" : name, same ? "" : ")", problem);
}

void ssh_say_no_handshake_yet(char *text, size_t size, const struct ssh_report *state)
{
    const char *noise = state->noise;
    struct shown shown;
    if (state->has_banner)
        snprintf(text, size, "no exchange of keys");
    else if (*noise)
        snprintf(text, size, "no ssh banner, but '%s'", show_token(&shown, noise, strlen(noise)));
    else
        snprintf(text, size, "no ssh banner");
}

void ssh_say_no_handshake(char *text, size_t size, const struct ssh_report *report,
                          const char *peer)
{
    const char *noise = report->noise;
    struct shown shown;
    show_token(&shown, noise, strlen(noise));
    if (report->result == SSH_RESULT_LACKS)
        snprintf(text, size, "libssh2 %s lacks algorithms; use --remote-shell 'ssh %%h'",
                 report->version);
    else if (report->is_lost && !report->has_banner)
        snprintf(text, size, "%s: %s before an ssh banner%s%s%s", peer, report->lost,
                 *noise ? "; it says '" : "", shown.text, *noise ? "'" : "");
    else if (report->is_lost)
        snprintf(text, size, "%s: exchange of keys: %s", peer, report->lost);
    else if (!report->has_banner)
        snprintf(text, size, "%s: no ssh banner%s%s%s", peer, *noise ? ", but '" : "", shown.text,
                 *noise ? "'" : "");
    else if (report->result == SSH_RESULT_NO_COMMON)
        snprintf(text, size,
                 "%s: no algorithm in common for host key, exchange of keys or cipher (of RSA host "
                 "keys, libssh2 %s knows SHA-1 only); use --remote-shell 'ssh %%h'",
                 peer, report->version);
    else
        snprintf(text, size, "%s: exchange of keys: %s (libssh2 error %d)", peer, report->problem,
                 report->code);
}

bool ssh_is_own_user(const char *user)
{
    const struct passwd *self = getpwuid(getuid());
    return self && strcmp(self->pw_name, user) == 0;
}
