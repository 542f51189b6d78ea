/* SPDX-License-Identifier: Apache-2.0 */
/* What went wrong, in one line, and the status to exit with. The place that notices it fills it in
 * and returns -1; those above pass the -1 on; main prints it, once (see agreement.h). */
#ifndef EXAMPLES_SUPPORT_PROBLEM_H
#define EXAMPLES_SUPPORT_PROBLEM_H

#include <stdbool.h>

enum { EXIT_STATUS_DATA = 1, EXIT_STATUS_USAGE = 2 };

struct problem {
    int exit_status;  /* 0 while there is none */
    bool world_broke; /* a collective failed: the ranks cannot agree on anything any more */
    int hvd_status;   /* which enum hvd_status it returned, of problem_from_hvd_status() */
    char text[600];   /* one line without a newline */
};

/* Records the first problem and keeps it; later ones are consequences. Always returns -1. */
int problem_set(struct problem *problem, int exit_status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As problem_set(), out of memory. */
int problem_nomem(struct problem *problem);

/* "<program>: <text>" to stderr. Returns the status to exit with. */
int problem_print(const char *program, const struct problem *problem);

#endif
