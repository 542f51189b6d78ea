/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines by table: one row per option feeds the parser, the help text, the completion of
 * shells, and every other reader of the options.
 *
 *   PROGRAM [OPTION]... [--] COMMAND [ARGUMENT]...
 *
 * The first word that is no option, or the word behind "--", begins the command; the parser ignores
 * all words behind it. A dash that only looks like '-' is an error, except behind "--". A value
 * stands in the next word or behind "=", and, for an option of one letter, directly behind it. A
 * value may begin with "-", but the bare name of another option is not taken for a value. A name
 * with two dashes may be abbreviated as long as it fits one option only. Flags and lists may be
 * repeated, other options with a value may not.
 *
 * The command line comes first, then a file, then the environment, then the row's default; each
 * source sets only the options that no earlier source has set: options_parse_words(), options_set()
 * and options_complete(), in this order. */
#ifndef SRC_OPTIONS_OPTIONS_H
#define SRC_OPTIONS_OPTIONS_H

#include "launcher/base/string_list.h"
#include "launcher/base/text_buffer.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The type of the member at `offset`, and how it is set. */
enum option_kind {
    OPTION_FLAG,     /* a bool that becomes true */
    OPTION_FINAL,    /* as a flag; ends the parsing at once, so that --help always helps */
    OPTION_INT,      /* an int, min..max, both at least 0 */
    OPTION_INT_PAIR, /* an int[2], min..max, the second not less: two words of the command line */
    OPTION_TEXT,     /* a const char *, not empty */
    OPTION_CHOICE,   /* an int: the index of the word in `choices`, from 0 */
    OPTION_LIST,    /* a struct string_list, to which a copy of each value is appended; not empty */
    OPTION_SETS,    /* a struct string_list of NAME=VALUE; `sets` is a variable for the ranks */
    OPTION_REFUSED, /* known but not available; `help` is the reason */
    OPTION_OTHER_PROGRAM /* likewise for an option of another program */
};

/* The completions that a shell offers for the value. */
enum option_offer {
    OFFER_NOTHING,
    OFFER_CHOICES, /* the words of `choices` */
    OFFER_FILES,
    OFFER_DIRECTORIES,
    OFFER_HOSTS,
    OFFER_INTERFACES,
    OFFER_VARIABLES
};

enum { OPTION_NAMES = 4, OPTION_ROWS_MAX = 96 };

/* Fails as bad_input() does, with `source` in front, if the value is not acceptable. */
typedef int option_check_fn(const char *value, const char *source, struct err *err);

struct option_row {
    const char *names[OPTION_NAMES]; /* with their dashes; at least one, NULL behind the last */
    const char *metavar;             /* name of the value; NULL if the option has none */
    const char *help;
    enum option_kind kind;
    size_t offset;          /* of the member it sets */
    int min, max;           /* of a value that is a number; no number if both are 0 */
    option_check_fn *check; /* of a value that is a text; or NULL */
    const char *choices;    /* words with blanks between; the value is one of them, in any case */
    const char *variable;   /* environment variable that gives the value if the option is missing;
                             * an empty one does not */
    const char *value;      /* the default; NULL: the member stays as it is. OPTION_SETS: the
                             * library's default; nothing is set */
    const char *otherwise;  /* the effective default in words for --help, instead of `value`; or
                            * NULL */
    const char *sets;       /* OPTION_SETS: the name */
    const char *constant;   /* OPTION_SETS without a metavar: the value */
    int unit;               /* OPTION_SETS of a number: factor; 0: 1 */
    int rivals;             /* rows with the same number other than 0 exclude each other */
    enum option_offer offer;
    const char *group; /* heading in the help; rows of one group stand together */
};

struct option_table {
    const char *usage;  /* the text behind "usage: " */
    const char *before; /* paragraphs before and behind the options; wrapped */
    const char *after;
    const struct option_row *rows;
    int count; /* at most OPTION_ROWS_MAX */
    const struct option_row *refused;
    int refused_count;
};

/* The options that were given. */
struct options_seen {
    const char *name[OPTION_ROWS_MAX]; /* name or source by which row i was given; or NULL */
    bool final;                        /* an OPTION_FINAL was given; the rest was not read */
    bool marked;                       /* "--" stands before the command */
    char **rest;                       /* the command: the tail of argv */
};

/* Parses argv, which is ended by NULL and does not include the program's name, into the struct
 * `target`. Members must be zero unless their default is not in a row. Values are borrowed from
 * argv and the environment, those of lists are copied. Returns HVD_OK, or HVD_ERR_INVALID and one
 * line, "--hosst: ..." or "$VARIABLE: ..."; the lists belong to the caller in any case. */
int options_parse(const struct option_table *table, void *target, struct options_seen *seen,
                  char **argv, struct err *err);

/* The two parts of options_parse(). The second sets the options that were not given, from the
 * environment or the default. */
int options_parse_words(const struct option_table *table, void *target, struct options_seen *seen,
                        char **argv, struct err *err);
int options_complete(const struct option_table *table, void *target,
                     const struct options_seen *seen, struct err *err);

/* Does `word` stand for an option, in any form, also another program's? */
bool options_know(const struct option_table *table, const char *word);

/* Does the table have an option with this full `name`, refused or not, but ours? */
bool options_has(const struct option_table *table, const char *name);

/* The name, or the source, by which the option `name`, or a rival of it, was given; NULL if neither
 * was. */
const char *options_given(const struct option_table *table, const struct options_seen *seen,
                          const char *name);

/* Sets the option with this full `name`, as the command line does, and notes it in `seen`; a
 * refused one fails. `value` is NULL for an option without one. `source` is the origin of the
 * value, and stands for the name; it is borrowed as long as `seen` is used. */
int options_set(const struct option_table *table, void *target, struct options_seen *seen,
                const char *name, const char *value, const char *source, struct err *err);

/* Explains an option: its help, the range of a number, and its default. The caller frees it. */
char *option_explain(const struct option_row *row);

/* The help text, 80 columns wide; the caller frees it. */
char *options_help(const struct option_table *table);

#endif
