/* SPDX-License-Identifier: Apache-2.0 */
/* What must come of bad input: the row's status, and on stderr exactly one line of at most 300
 * printable bytes that begins as the program's errors do, quotes no more than 64 bytes in one piece
 * and says what the row says; nothing on stdout. A row's text that begins with the program's name
 * is the beginning itself. Where the row's status is 0 the input is only odd: the text is on
 * stdout, and stderr is empty. */
#ifndef TESTS_BAD_VERDICT_H
#define TESTS_BAD_VERDICT_H

#include "tests/bad/table.h"

enum { OUTPUT_MAX = 4096 }; /* what is looked at */

struct outcome {
    int wait_status; /* waitpid()'s */
    char out[OUTPUT_MAX], err[OUTPUT_MAX];
};

/* NULL if all is as it must be. `beginning` is that of the program's errors. */
const char *verdict(const struct row *row, const char *beginning, const struct outcome *outcome);

#endif
