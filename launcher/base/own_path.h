/* SPDX-License-Identifier: Apache-2.0 */
/* Opening files by a path in which other users may have placed something: component by component.
 *
 *   a symbolic link is followed if this user or root has made it, wherever it stands
 *   a directory in which files are made, and a file that is to be written, belong to this user or
 *   to root; and nobody but the group may write to the directory, unless it is sticky, as /tmp is
 *
 * The directories above need not belong to this user: they only lead to the path. Members of a
 * group that may write to a directory can replace its files, but a replacement belongs to them and
 * is refused.
 *
 * Fails with the kernel's error, and with HVD_ERR_SYSTEM for a file of another user. The caller
 * adds the path; the message has the component in front, if it is not the last of the path. */
#ifndef LAUNCHER_BASE_OWN_PATH_H
#define LAUNCHER_BASE_OWN_PATH_H

#include "lib/base/status.h"

/* Opens the directory `path`. Creates the directory and its parents if they do not exist. Returns a
 * descriptor for the other calls, which the caller closes, or a status. `at` is where a relative
 * path begins: such a descriptor, or AT_FDCWD. */
int own_path_directory(int at, const char *path, struct err *err);

/* Opens the file `name` in that directory for writing and truncates it, or creates it. Returns a
 * descriptor or a status. */
int own_path_create(int directory, const char *name, struct err *err);

/* Words for the errno `code` with which opening a file for writing, without waiting, has failed.
 * ENXIO, "No such device or address", means of a pipe that no process reads it. */
const char *own_path_write_error(int directory, const char *name, int code);

/* HVD_OK, or a status if a symbolic link of another user is part of `path`. Nothing is created, and
 * a missing component is no failure. For a file that is opened by other means. */
int own_path_check(const char *path, struct err *err);

#endif
