/* SPDX-License-Identifier: Apache-2.0 */
/* The host's key: the kinds to ask for, the verdict of known_hosts about the key, and the messages
 * for people. */
#ifndef LAUNCHER_SSH_SSH_HOST_KEY_H
#define LAUNCHER_SSH_SSH_HOST_KEY_H

#include "launcher/ssh/known_hosts.h"
#include "launcher/ssh/ssh_config.h"

/* The kinds to ask a host for. Kinds that known_hosts holds come first, else a key of another kind
 * would be taken for a change. "ssh-ed25519,ecdsa-sha2-nistp256,..."; the caller frees it. */
char *ssh_host_key_order(const struct string_list *known_types);

/* The first of the known kinds that no host is asked for, such as "ssh-rsa", because libssh2 cannot
 * check it; NULL if there is none. `only`: NULL, too, if one of the kinds can be asked for. */
const char *ssh_host_key_unasked(const struct string_list *known_types, bool only);

/* The host, and the key that it has sent. */
struct ssh_host_key {
    const char *host; /* the user's name for it */
    const struct ssh_config *config;
    const char *unread; /* the file that could not be read, and may contain the key; or NULL */
    const unsigned char *blob;
    size_t nbytes;
};

/* The name to look up in known_hosts: an alias, which has no port, or the name. */
const char *ssh_host_key_name(const struct ssh_config *config, int *port);

enum ssh_host_key_answer {
    SSH_HOST_KEY_TRUST,
    SSH_HOST_KEY_ADD,
    SSH_HOST_KEY_REFUSE,
    SSH_HOST_KEY_NEEDS_SSH /* only a certificate, or a key of another type, can tell, which the
                            * external ssh checks */
};

/* `accept_new`: the user has allowed new keys for this run. A key is only accepted for a host
 * without known keys, and only if `complete`: all files could be read. */
enum ssh_host_key_answer ssh_host_key_decide(enum known_hosts_verdict verdict, bool complete,
                                             enum strict_host_key strict, bool accept_new);

/* The host is known by a key of the type `known`, for which it was not asked. */
void ssh_host_key_say_unasked(char *text, size_t size, const char *known);

/* One line: why the key is refused, and the command that repairs it. */
void ssh_host_key_refusal(char *text, size_t size, const struct ssh_host_key *key,
                          const struct known_hosts_found *found);

/* Appends the key to the user's first file, and reports success or failure in `note`. */
void ssh_host_key_add(char *note, size_t size, const struct ssh_host_key *key);

#endif
