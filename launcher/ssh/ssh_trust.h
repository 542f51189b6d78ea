/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies a host's identity. The user's known_hosts are read before the host is asked for its key,
 * so that a type which they hold is requested, and again before a key is added: meanwhile another
 * host may have been added under the same name. */
#ifndef LAUNCHER_SSH_SSH_TRUST_H
#define LAUNCHER_SSH_SSH_TRUST_H

#include "launcher/ssh/ssh_host_key.h"

struct ssh_trust;

/* Reads the files. `host` is the user's name for it; all is borrowed. A file that cannot be read
 * adds a warning. `has_ssh`: the external ssh is there for keys that libssh2 cannot check. */
struct ssh_trust *ssh_trust_create(const char *host, const struct ssh_config *config,
                                   bool accept_new, bool has_ssh, struct string_list *warnings);
void ssh_trust_destroy(struct ssh_trust *trust);

/* The types of keys that are known for the host. */
const struct string_list *ssh_trust_types(const struct ssh_trust *trust);

/* May the key of a host that is not known be accepted? */
bool ssh_trust_may_be_new(const struct ssh_trust *trust);

/* The type of a key by which the host is known and which only the external ssh can check, such as
 * "ssh-rsa"; NULL if there is none, or no ssh. Lines for another port do not count. */
const char *ssh_trust_type_for_ssh(const struct ssh_trust *trust);

/* True if such a key, and none that libssh2 can check, is known; `text` says so. The host's own key
 * is then of no use. */
bool ssh_trust_needs_ssh(const struct ssh_trust *trust, char *text, size_t size);

/* Decides about the host's key; NULL is refused. `text` explains why the key is refused, or is left
 * to the external ssh, or reports that it was added, or why it was accepted but not added; "" for a
 * known key. */
enum ssh_host_key_answer ssh_trust_judge(struct ssh_trust *trust, const unsigned char *blob,
                                         size_t nbytes, char *text, size_t size);

#endif
