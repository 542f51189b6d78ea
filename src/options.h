/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines by table: one row per option feeds the parser, the help text, and whatever else
 * wants to know the options.
 *
 *   PROGRAM [OPTION]... [--] COMMAND [ARGUMENT]...
 *
 * The first word that is no option, or the word behind "--", begins the command; nothing behind it
 * is looked at. A value stands in the next word or behind "=", and, for an option of one letter,
 * directly behind the letter. A value may begin with "-", but the bare name of another option is not
 * taken for a value. A name may be abbreviated as long as it fits one option only. Flags may be
 * repeated, options with a value may not. */
#ifndef SRC_OPTIONS_H
#define SRC_OPTIONS_H

#include "launcher/text_buffer.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum option_kind {
    OPTION_FLAG,   /* a bool that becomes true */
    OPTION_FINAL,  /* as a flag; ends the parsing at once, so that --help always helps */
    OPTION_INT,    /* an int, min..max, both at least 0 */
    OPTION_TEXT,   /* a const char *, not empty */
    OPTION_REFUSED /* known but not available; `help` is the reason */
};

enum { OPTION_NAMES = 4, OPTION_ROWS_MAX = 32 };

struct option_row {
    const char *names[OPTION_NAMES]; /* with their dashes; at least one, NULL behind the last */
    const char *metavar;             /* what the value is called; NULL if there is none */
    const char *help;
    enum option_kind kind;
    size_t offset; /* of the member it sets */
    int min, max;
    const char *variable; /* of the environment: gives the value if the option is not there */
    const char *group;    /* heading in the help; rows of one group stand together */
};

struct option_table {
    const char *usage;  /* what stands behind "usage: " */
    const char *before; /* paragraphs before and behind the options; wrapped */
    const char *after;
    const struct option_row *rows;
    int count; /* at most OPTION_ROWS_MAX */
    const struct option_row *refused;
    int refused_count;
};

/* What was there. */
struct options_seen {
    const char *name[OPTION_ROWS_MAX]; /* under which row i was given; NULL if it was not */
    bool final;                        /* an OPTION_FINAL was; the rest was not read */
    char **rest;                       /* the command: the tail of argv */
};

/* Parses argv, which is ended by NULL and does not include the program's name, into the struct
 * `target`, whose members hold their defaults. Values are borrowed from argv and the environment.
 * Returns HVD_OK, or HVD_ERR_INVALID and one line, "--hosst: ..." or "$VARIABLE: ...". */
int options_parse(const struct option_table *table, void *target, struct options_seen *seen,
                  char **argv, struct err *err);

/* The help text, 80 columns wide; the caller frees it. */
char *options_help(const struct option_table *table);

#endif
