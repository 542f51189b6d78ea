/* SPDX-License-Identifier: Apache-2.0 */
/* The user's OpenSSH configuration for a host, as `ssh -G` prints it. Without an ssh client, the
 * defaults of OpenSSH. */
#ifndef LAUNCHER_SSH_SSH_CONFIG_H
#define LAUNCHER_SSH_SSH_CONFIG_H

#include "launcher/base/string_list.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

enum strict_host_key { STRICT_YES, STRICT_ACCEPT_NEW, STRICT_NO };

struct ssh_config {
    char *host_name; /* owned; the host to connect to */
    char *user;      /* owned */
    int port;
    char *host_key_alias;              /* owned; the name in known_hosts; or NULL */
    struct string_list identity_files; /* with ~, % and ${} expanded; the files need not exist */
    struct string_list certificates;   /* of CertificateFile; expanded, need not exist */
    struct string_list known_hosts;    /* the user's files, then the global ones */
    size_t nuser_files;                /* how many of known_hosts are the user's */
    enum strict_host_key strict;       /* "ask" counts as yes: nobody can be asked */
    bool hash_known_hosts, identities_only;
    char *identity_agent;  /* owned; a socket; NULL: SSH_AUTH_SOCK; "": none */
    char *proxy;           /* owned; "ProxyJump bastion" or "ProxyCommand ..."; or NULL */
    char *ssh_only;        /* owned; "RevokedHostKeys FILE", or another line that libssh2 cannot
                            * follow; or NULL */
    char *unread;          /* owned; "FILE cannot be read: CAUSE", of the configuration, which ssh
                            * passes over without a word; or NULL */
    int family;            /* AF_UNSPEC, AF_INET, AF_INET6 */
    bool has_session_type; /* this ssh knows SessionType, StdinNull and ForkAfterAuthentication; a
                            * client before OpenSSH 8.7 would refuse these options */
};

/* Parses the output of `ssh -G`. Unknown keywords are skipped. HVD_ERR_PROTOCOL naming the
 * malformed line, or the missing keyword; the configuration is empty then. */
int ssh_config_parse(struct ssh_config *config, const char *text, size_t length, struct err *err);

/* The defaults without a client: the host itself, this user, port 22, the usual files. `user` may
 * be NULL. */
void ssh_config_default(struct ssh_config *config, const char *host, const char *user);
void ssh_config_fini(struct ssh_config *config);

/* Runs `ssh -G` from the PATH for a host. Without a client the answer is ssh_config_default(). */
struct ssh_config_query;
struct children;

/* err->code is HVD_OK, and the receiver owns the configuration. Otherwise `err` explains the
 * failure, in the client's own words (a bad line of ~/.ssh/config); HVD_ERR_SYSTEM if this machine
 * has no process or descriptor left for the client. Called once, later, unless the query is
 * cancelled. */
typedef void ssh_config_fn(void *context, struct ssh_config *config, const struct err *err);

/* `user` may be NULL; port 0: as configured. Both are part of the answer. */
struct ssh_config_query *ssh_config_ask(uv_loop_t *loop, struct children *children,
                                        const char *host, const char *user, int port,
                                        ssh_config_fn *on_answer, void *context);

/* Cancels; allowed only before the answer has come. The memory is freed later. NULL is fine. */
void ssh_config_cancel(struct ssh_config_query *query);

#endif
