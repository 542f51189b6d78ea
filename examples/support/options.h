/* SPDX-License-Identifier: Apache-2.0 */
/* Command line options from a table: one row is the option's name, its kind, its field in the
 * program's own struct, its bounds and its line of --help. Fields not mentioned keep their value,
 * so the program fills in the defaults first. */
#ifndef EXAMPLES_SUPPORT_OPTIONS_H
#define EXAMPLES_SUPPORT_OPTIONS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "examples/support/problem.h"

enum option_kind {
    OPTION_FLAG,    /* bool, set to true; takes no value */
    OPTION_INTEGER, /* long */
    OPTION_REAL,    /* double */
    OPTION_TEXT,    /* const char *, borrowed from argv; not empty */
    OPTION_PATH,    /* likewise; a path on this rank's host, which may be another one elsewhere */
    OPTION_SIZE     /* long, in bytes: an integer, with K, M, G or T for powers of 1024 */
};

struct option_row {
    const char *name;     /* "--epochs"; with a letter for short: "-n, --iters" */
    const char *argument; /* what --help calls the value; NULL for a flag */
    enum option_kind kind;
    size_t offset;    /* of the field in the program's struct */
    double low, high; /* bounds of a number, both inside */
    const char *help;
};

enum { OPTION_ROWS_MAX = 64 };

/* Reads `--name value` and `--name=value`, `-n value` and `-nvalue`. Returns 0, or -1 with a
 * problem of exit status 2 that names the option and what it wants. */
int options_parse(const struct option_row *rows, size_t row_count, void *options, int argc,
                  char **argv, struct problem *problem);

/* A number that tells values of one option apart; of a path only whether there is one. For ranks
 * that compare their command lines. */
uint64_t options_fingerprint(const struct option_row *row, const void *options);

void options_print_help(const struct option_row *rows, size_t row_count, FILE *out);

#endif
