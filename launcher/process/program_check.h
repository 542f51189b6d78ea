/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a file can be executed: it is a regular file that the user may execute, its bytes are a
 * program for this kind of machine or a script, and the same holds for the file that runs it, which
 * is the interpreter on the "#!" line of a script or the dynamic loader of a program.
 *
 * The checks return 0, an errno with which execve() would fail, or one of these. */
#ifndef LAUNCHER_PROCESS_PROGRAM_CHECK_H
#define LAUNCHER_PROCESS_PROGRAM_CHECK_H

#include <limits.h>
#include <stdbool.h>

enum {
    PROGRAM_NOT_REGULAR = -1, /* a pipe, a device or a socket; EACCES for execve() */
    PROGRAM_MUTE_PYTHON = -2, /* Python without "#!", which /bin/sh would get and could not run */
};

/* Checks what the file is and who may execute it, but not its bytes. */
int program_check_file(const char *path);

/* True if the name ends in ".py". */
bool program_is_python(const char *name);

/* What the bytes of a program call for. */
struct program_runner {
    const char *kind;     /* "interpreter" or "loader"; NULL if the program itself is at fault */
    char path[PATH_MAX];  /* as the program has it */
    char needs[PATH_MAX]; /* its own interpreter or loader, if that one is at fault; else "" */
};

/* Checks the bytes of a file that program_check_file() has accepted, and the files that run it. On
 * failure `runner` is the file at fault. A file that cannot be read is accepted, because execve()
 * does not require that. */
int program_check_bytes(const char *path, struct program_runner *runner);

#endif
