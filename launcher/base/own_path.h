/* SPDX-License-Identifier: Apache-2.0 */
/* Opening files by a path on which other users may have put something: component by component.
 *
 *   a symbolic link is followed if this user or root has made it, wherever it stands
 *   a directory in which files are made, and a file that is to be written, belong to this user or to
 *   root; and nobody but the group may write to the directory, unless it is sticky, as /tmp is
 *
 * The directories above need not be this user's: they say no more than where the path leads. Members
 * of a group that may write to a directory can remove what is in it, and what they put there instead
 * is refused because it is theirs.
 *
 * Fails with what the kernel says, and with HVD_ERR_SYSTEM for what is somebody else's; the name of
 * the file or directory is the caller's to add. */
#ifndef LAUNCHER_BASE_OWN_PATH_H
#define LAUNCHER_BASE_OWN_PATH_H

#include "lib/base/status.h"

/* The directory `path`, which is made, with those above it, if it is not there: a descriptor that
 * other calls take, to be closed by the caller, or a status. `at` is where a relative path begins:
 * such a descriptor, or AT_FDCWD. */
int own_path_directory(int at, const char *path, struct err *err);

/* Opens the file `name` in that directory for writing, empty, and makes it if it is not there. A
 * descriptor or a status. */
int own_path_create(int directory, const char *name, struct err *err);

/* HVD_OK, or a status if a symbolic link of another user stands on the way to `path`, or is it.
 * Nothing is made, and what is not there is no failure: for a file that is opened otherwise. */
int own_path_check(const char *path, struct err *err);

#endif
