/* SPDX-License-Identifier: Apache-2.0 */
/* The service key in a file: 64 hexadecimal digits and perhaps a newline, readable by its owner
 * only. Nothing here prints or quotes the contents of the file. */
#ifndef SRC_SERVICE_KEY_FILE_H
#define SRC_SERVICE_KEY_FILE_H

#include "lib/base/auth.h"

/* Reads the key. HVD_ERR_INVALID and one line that begins with `source`: the file cannot be opened,
 * is not a regular file, belongs to neither us nor root, may be read or written by others than its
 * owner, or does not hold just a key. A symbolic link is followed to such a file.
 *
 * A file in $CREDENTIALS_DIRECTORY, which systemd keeps, may show the group as a reader: an access
 * list for one user looks like this. */
int key_file_read(struct job_key *key, const char *path, const char *source, struct err *err);

/* Creates a file with a new key. The file must not exist; on failure there is none. HVD_ERR_SYSTEM.
 * Requires auth_init(). */
int key_file_create(const char *path, struct err *err);

#endif
