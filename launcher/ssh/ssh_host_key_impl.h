/* SPDX-License-Identifier: Apache-2.0 */
/* A host key as people see it: shared by ssh_host_key.c and ssh_host_key_refusal.c. */
#ifndef LAUNCHER_SSH_SSH_HOST_KEY_IMPL_H
#define LAUNCHER_SSH_SSH_HOST_KEY_IMPL_H

#include "launcher/ssh/ssh_host_key.h"

struct shown_key {
    char type[64], fingerprint[FINGERPRINT_SIZE];
};

struct shown_key ssh_host_key_show(const struct ssh_host_key *key);

/* The name of a file with "~" for the user's home, as "~/.ssh/known_hosts"; returns `text`. */
const char *ssh_host_key_user_file(const char *path, char *text, size_t size);

#endif
