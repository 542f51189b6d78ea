/* SPDX-License-Identifier: Apache-2.0 */
/* Expands ~, %x and ${NAME} in paths of an OpenSSH configuration: `ssh -G` prints some paths
 * unexpanded. */
#ifndef LAUNCHER_SSH_SSH_CONFIG_EXPAND_H
#define LAUNCHER_SSH_SSH_CONFIG_EXPAND_H

#include "launcher/base/slice.h"

/* The values of the words; all borrowed. */
struct ssh_words {
    const char *host;      /* %n: as the user wrote it */
    const char *host_name; /* %h: the host to connect to */
    const char *alias;     /* %k: the name in known_hosts; NULL: as %n */
    const char *user;      /* %r: on the host */
    int port;              /* %p */
};

/* Expands a text; the caller owns the result. Unknown words (%C, a variable that is not set,
 * ~nobody-like) stay as they are. */
char *ssh_config_expand(struct slice text, const struct ssh_words *words);

/* This user's name, owned by the caller; the home directory for "~". */
char *ssh_config_local_user(void);
char *ssh_config_home(void);

#endif
