/* SPDX-License-Identifier: Apache-2.0 */
/* The files of --output-filename, laid out as horovodrun does: DIRECTORY/rank.RANK/stdout and
 * stderr, RANK with as many digits as the highest rank needs. */
#ifndef LAUNCHER_OUTPUT_OUTPUT_FILES_H
#define LAUNCHER_OUTPUT_OUTPUT_FILES_H

#include "lib/base/status.h"

/* The path of a rank's file; the caller frees it. */
char *output_file_path(const char *directory, int rank, int nranks, const char *stream);

/* Creates the file, or truncates it, and creates the directories above it; own_path.h says which
 * files of other users are refused. Returns a descriptor, or a status and `err` naming the file or
 * directory. */
int output_file_create(const char *directory, int rank, int nranks, const char *stream,
                       struct err *err);

#endif
