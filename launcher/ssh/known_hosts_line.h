/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a known_hosts file, for known_hosts.c: lines (known_hosts_line.c), the names in them
 * (known_hosts_match.c) and the keys (known_hosts_key.c). Pure. */
#ifndef LAUNCHER_SSH_KNOWN_HOSTS_LINE_H
#define LAUNCHER_SSH_KNOWN_HOSTS_LINE_H

#include "launcher/base/slice.h"

enum known_marker { MARKER_NONE, MARKER_REVOKED, MARKER_CA };

/* Borrowed from the file's text. */
struct known_line {
    enum known_marker marker;
    struct slice names, type, key; /* `key` in base64 */
};

/* Removes a line from the front of `rest`, which is not empty. False if the line is empty, a
 * comment, or malformed. */
bool known_line_take(struct slice *rest, struct known_line *line);

/* Does a NAMES field stand for this name, which is in lower case? */
bool known_names_match(struct slice names, const char *name);

/* "|1|SALT|HMAC" of a name in lower case, with 20 bytes of salt. */
enum { HOST_HASH_BYTES = 20, HASHED_NAME_SIZE = 64 };
void known_name_hash(char text[HASHED_NAME_SIZE], const unsigned char salt[HOST_HASH_BYTES],
                     const char *name);

/* The key of a line, owned by the caller, and the name of its type, valid for ever. NULL if the
 * type is unknown, or the key is not one of that type. */
unsigned char *known_key_decode(const struct known_line *line, size_t *nbytes, const char **type);

#endif
