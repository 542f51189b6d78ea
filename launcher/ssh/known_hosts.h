/* SPDX-License-Identifier: Apache-2.0 */
/* Is a host's key the one that known_hosts files hold? Decides as OpenSSH does:
 *
 *   [MARKER] NAMES TYPE KEY [COMMENT]
 *
 * MARKER is @revoked or @cert-authority; NAMES are patterns with commas (*, ?, ! in front),
 * [NAME]:PORT for other ports than 22, or one hashed name (|1|SALT|HMAC-SHA1). A malformed line
 * hides no other. Pure but for reading the files; a missing file is empty.
 *
 * For another port than 22 a host is looked up as [NAME]:PORT; where that is unknown, the same key
 * under the plain name will do. */
#ifndef LAUNCHER_SSH_KNOWN_HOSTS_H
#define LAUNCHER_SSH_KNOWN_HOSTS_H

#include "launcher/base/string_list.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum known_hosts_verdict {
    KNOWN_HOSTS_MATCH,
    KNOWN_HOSTS_UNKNOWN, /* no key of that host is known */
    KNOWN_HOSTS_CHANGED, /* only other keys are known, of any type; see `type` below */
    KNOWN_HOSTS_REVOKED, /* by a @revoked line, whatever other lines say */
    KNOWN_HOSTS_NEEDS_CA /* only a certificate authority is known, which we cannot check */
};

struct known_hosts; /* the contents of the files */

struct known_hosts_found {
    enum known_hosts_verdict verdict;
    const char *path; /* file of the deciding line; borrowed; NULL if there is none */
    int line;         /* from 1 */
    const char *type; /* of the key in that line, valid for ever; NULL if there is none. For
                       * CHANGED: the checked key's own type if a key of that type is known */
};

/* Reads the files, in their order. A file that exists but cannot be read, or has more than 16 MiB,
 * adds a warning. Never NULL. */
struct known_hosts *known_hosts_read(char *const *paths, size_t npaths,
                                     struct string_list *warnings);
/* As known_hosts_read() from memory, for one file; `path` is for messages. Both are copied. */
struct known_hosts *known_hosts_parse(const char *text, size_t length, const char *path);
void known_hosts_destroy(struct known_hosts *known);

/* "FILE cannot be read: CAUSE" for the first existing file that could not be read: an unknown host
 * may be known in that file, and its key should not be accepted as new. NULL if all could be read.
 * Borrowed. */
const char *known_hosts_unread(const struct known_hosts *known);

/* The verdict on a key in the form of the ssh protocol ("blob": string type, ...). The host is
 * looked up as `name` (a name or an address, any case), with its port; a HostKeyAlias goes with
 * port 22, whatever the port is. */
struct known_hosts_found known_hosts_check(const struct known_hosts *known, const char *name,
                                           int port, const unsigned char *blob, size_t nbytes);

/* Appends the key types that are known for a host ("ssh-ed25519"), each once, so that the session
 * asks for them first. Types of lines with a marker are left out. True if lines for this port have
 * them; false if there are none, or if they are those of the plain name. */
bool known_hosts_types(const struct known_hosts *known, const char *name, int port,
                       struct string_list *types);

/* "SHA256:..." as printed by ssh-keygen -l. */
enum { FINGERPRINT_SIZE = 64 };
void known_hosts_fingerprint(char text[FINGERPRINT_SIZE], const unsigned char *blob, size_t nbytes);

/* The type inside a blob, "ssh-ed25519"; false if it has none. */
bool known_hosts_blob_type(char *type, size_t size, const unsigned char *blob, size_t nbytes);

/* Appends a line for the host to a file, which is created (0600, its directory 0700) if needed,
 * with a hashed name if `hashed`. HVD_ERR_INVALID for a name that would not be one word,
 * HVD_ERR_SYSTEM. */
int known_hosts_add(const char *path, const char *name, int port, bool hashed,
                    const unsigned char *blob, size_t nbytes, struct err *err);

#endif
