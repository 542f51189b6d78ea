/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of every example: options, the world, one reason for ending that is told once.
 *
 *   parse the command line, hvd_init(), agree that nobody has a mistake there and that all have the
 *   same options;
 *   --help: rank 0 prints it, all end with 0;
 *   run(); agree; hvd_shutdown().
 *
 * In an elastic job ranks are started while others train, so that nothing is agreed on: a program
 * that has run_elastic() joins by hvd_elastic_init(), and each rank that has a problem prints it.
 *
 * Exit status: 0; 2 for a mistake on the command line; 1 for everything else (EXIT_STATUS_*). */
#ifndef EXAMPLES_SUPPORT_PROGRAM_H
#define EXAMPLES_SUPPORT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "examples/support/agreement.h"
#include "examples/support/options.h"
#include "examples/support/problem.h"

struct program {
    const char *name;    /* in front of messages */
    const char *summary; /* one line of --help */
    const struct option_row *rows;
    size_t row_count;
    void *options;    /* with the defaults in it; the rows are about its fields */
    const bool *help; /* the field of --help in it */

    /* What the rows cannot say about the options; NULL if there is nothing. Returns 0, or -1 with a
     * problem. Called before there is a world. */
    int (*check)(void *options, struct problem *problem);

    /* The program itself: the world is there, the options are fine on all ranks. Returns the status
     * to exit with when all ranks have agreed on one (agree_to_go_on()), or leaves a problem behind
     * and returns -1: then that is what the ranks agree on. */
    int (*run)(void *options, struct problem *problem);

    /* The same in an elastic job: no collective has been made yet. Returns the status to exit with,
     * or -1 with a problem. NULL: the program is the same in any job. */
    int (*run_elastic)(void *options, struct problem *problem);
};

/* Returns the status to exit with. */
int program_main(const struct program *program, int argc, char **argv);

/* Seconds of a clock that only goes forward. */
double program_seconds(void);

/* Does this rank print? Rank 0 does. */
bool program_prints(void);

/* Flushes standard output; 0, or -1 with a problem if something printed has been lost. */
int program_flush(struct problem *problem);

#endif
