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
    OPTION_FLAG,    /* a bool that becomes true */
    OPTION_FINAL,   /* as a flag; ends the parsing at once, so that --help always helps */
    OPTION_INT,     /* an int, min..max, both at least 0 */
    OPTION_TEXT,    /* a const char *, not empty */
    OPTION_CHOICE,  /* an int: which word of `choices`, from 0 */
    OPTION_LIST,    /* a struct string_list, to which a copy of each value is appended; not empty */
    OPTION_SETS,    /* a struct string_list of NAME=VALUE; `sets` is a variable for the ranks */
    OPTION_REFUSED, /* known but not available; `help` is the reason */
    OPTION_OTHER_PROGRAM /* the same for another program's option, which is none of ours */
};

/* What a shell offers for the value. */
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
    const char *metavar;             /* what the value is called; NULL if there is none */
    const char *help;
    enum option_kind kind;
    size_t offset;          /* of the member it sets */
    int min, max;           /* of a value that is a number; no number if both are 0 */
    option_check_fn *check; /* of a value that is a text; or NULL */
    const char *choices;    /* words with blanks between; the value is one of them, in any case */
    const char *variable;   /* of the environment: gives the value if the option is not there; an
                               empty one does not */
    const char *value;      /* the default: the value if nobody gives one; NULL: the member stays as
                               it is. OPTION_SETS: what the library takes; nothing is set */
    const char *otherwise; /* instead of `value`, what applies then, in words for --help; or NULL */
    const char *sets;      /* OPTION_SETS: the name */
    const char *constant;  /* OPTION_SETS without a metavar: the value */
    int unit;              /* OPTION_SETS of a number: what it is multiplied with; 0: 1 */
    int rivals;            /* rows with the same number other than 0 exclude each other */
    enum option_offer offer;
    const char *group; /* heading in the help; rows of one group stand together */
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
    const char *name[OPTION_ROWS_MAX]; /* under which, or where, row i was given; or NULL */
    bool final;                        /* an OPTION_FINAL was; the rest was not read */
    bool marked;                       /* "--" stands before the command */
    char **rest;                       /* the command: the tail of argv */
};

/* Parses argv, which is ended by NULL and does not include the program's name, into the struct
 * `target`, which is zero but for members whose default is no value of a row. Values are borrowed from argv and the environment,
 * those of lists are copied. Returns HVD_OK, or HVD_ERR_INVALID and one line, "--hosst: ..." or
 * "$VARIABLE: ..."; the lists belong to the caller in any case. */
int options_parse(const struct option_table *table, void *target, struct options_seen *seen,
                  char **argv, struct err *err);

/* The two parts of it. The second sets what was not given, from the environment or the default. */
int options_parse_words(const struct option_table *table, void *target, struct options_seen *seen,
                        char **argv, struct err *err);
int options_complete(const struct option_table *table, void *target,
                     const struct options_seen *seen, struct err *err);

/* Does `word` stand for an option, in any way, also another program's? */
bool options_know(const struct option_table *table, const char *word);

/* Is there an option called `name`, in full, refused or not, but ours? */
bool options_has(const struct option_table *table, const char *name);

/* Under which name, or from which source, the option called `name`, or a rival of it, was given;
 * NULL if neither was. */
const char *options_given(const struct option_table *table, const struct options_seen *seen,
                          const char *name);

/* Sets the option called `name`, in full, as the command line does, and notes it; a refused one
 * fails. `value` is NULL for one without. `source` says where it came from; it is borrowed as long
 * as `seen` is used, in which it stands for the name. */
int options_set(const struct option_table *table, void *target, struct options_seen *seen,
                const char *name, const char *value, const char *source, struct err *err);

/* What an option is: its help, the range of a number, and its default. The caller frees it. */
char *option_explain(const struct option_row *row);

/* The help text, 80 columns wide; the caller frees it. */
char *options_help(const struct option_table *table);

#endif
