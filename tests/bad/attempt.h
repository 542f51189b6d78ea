/* SPDX-License-Identifier: Apache-2.0 */
/* One row tried: the program runs in a folder of its own, without stdin, as a shell reads the row's
 * words, and is killed after a minute.
 *
 *   attempt_start, then, when its process has ended, attempt_end
 *
 * Besides what verdict.h says, the folder must hold what it held before the program ran. */
#ifndef TESTS_BAD_ATTEMPT_H
#define TESTS_BAD_ATTEMPT_H

#include "tests/bad/table.h"

#include <stdbool.h>
#include <sys/types.h>

enum { ATTEMPT_TEXT_MAX = 512, ATTEMPT_LIMIT_MS = 60000 };

/* A program and the rows that it is given. */
struct group {
    const char *beginning; /* of its errors */
    const char *template;  /* a folder whose files each row has; NULL: none */
    char **command;        /* the program and the arguments of all rows, NULL behind them */
    struct table table;
};

struct attempt {
    const struct group *group;
    const struct row *row;
    int number; /* of its folder below the current one */
    pid_t pid;
    double start_ms, took_ms;
    char complaint[ATTEMPT_TEXT_MAX]; /* empty: all is as it must be */
};

void attempt_start(struct attempt *attempt);
void attempt_end(struct attempt *attempt, int wait_status);
bool attempt_is_late(const struct attempt *attempt);

/* CLOCK_MONOTONIC. */
double now_ms(void);

#endif
