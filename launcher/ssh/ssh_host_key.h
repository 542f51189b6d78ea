/* SPDX-License-Identifier: Apache-2.0 */
/* The host's key: the types to ask for, the verdict of known_hosts about the key, and the messages
 * for people. */
#ifndef LAUNCHER_SSH_SSH_HOST_KEY_H
#define LAUNCHER_SSH_SSH_HOST_KEY_H

#include "launcher/ssh/known_hosts.h"
#include "launcher/ssh/ssh_config.h"

/* The types to ask a host for. Types that known_hosts holds come first, else a key of another type
 * would be taken for a change. "ssh-ed25519,ecdsa-sha2-nistp256,..."; the caller frees it. */
char *ssh_host_key_order(const struct string_list *known_types);

/* Is a known type one of those, which libssh2 supports? */
bool ssh_host_key_is_supported(const struct string_list *known_types);

/* A known type that libssh2 does not support and the external ssh does, such as "ssh-rsa"; NULL if
 * there is none. */
const char *ssh_host_key_type_for_ssh(const struct string_list *known_types);

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
    SSH_HOST_KEY_NEEDS_SSH /* only the external ssh can tell: by a certificate, or by a key of
                            * another type */
};

/* `accept_new`: the user has allowed new keys for this run. A key is only accepted for a host
 * without known keys, and only if `complete`: all files could be read. The first says whether such
 * a host may have a key that nobody knows. */
bool ssh_host_key_may_be_new(bool complete, enum strict_host_key strict, bool accept_new);
enum ssh_host_key_answer ssh_host_key_decide(enum known_hosts_verdict verdict, bool complete,
                                             enum strict_host_key strict, bool accept_new);

/* The host is known by a key of this type, which libssh2 does not support. */
void ssh_host_key_say_unsupported(char *text, size_t size, const char *type);

/* One line: why the key is refused, and the command that repairs it. */
void ssh_host_key_refusal(char *text, size_t size, const struct ssh_host_key *key,
                          const struct known_hosts_found *found);

/* Appends the key to the user's first file, and reports success or failure in `note`. */
void ssh_host_key_add(char *note, size_t size, const struct ssh_host_key *key);

#endif
