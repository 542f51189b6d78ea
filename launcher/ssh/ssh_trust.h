/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies a host's identity. The user's known_hosts are read before the host is asked for its key,
 * so that a kind which they hold is requested, and again before a key is added: meanwhile another
 * host may have been added under the same name. */
#ifndef LAUNCHER_SSH_SSH_TRUST_H
#define LAUNCHER_SSH_SSH_TRUST_H

#include "launcher/ssh/ssh_host_key.h"

struct ssh_trust;

/* Reads the files. `host` is the user's name for it; all is borrowed. A file that cannot be read
 * adds a warning. */
struct ssh_trust *ssh_trust_create(const char *host, const struct ssh_config *config,
                                   bool accept_new, struct string_list *warnings);
void ssh_trust_destroy(struct ssh_trust *trust);

/* The kinds of keys that are known for the host. */
const struct string_list *ssh_trust_types(const struct ssh_trust *trust);

/* The kind by which the host is known and for which libssh2 cannot ask it, such as "ssh-rsa"; NULL
 * if there is none. `only`: NULL, too, if it is known by another kind. */
const char *ssh_trust_unasked(const struct ssh_trust *trust, bool only);

/* Decides about the host's key; NULL is refused. `text` explains why the key is refused, or cannot
 * be judged without the external ssh, or reports that it was added, or why it was accepted but not
 * added; "" for a known key. */
enum ssh_host_key_answer ssh_trust_judge(struct ssh_trust *trust, const unsigned char *blob,
                                         size_t nbytes, char *text, size_t size);

#endif
