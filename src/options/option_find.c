/* SPDX-License-Identifier: Apache-2.0 */
/* Which option a word means; in this order:
 *   a name in full, the beginning of a name with two dashes, a letter with its value behind it;
 *   each time among the options there are, then among those that are refused by name.
 * Fails on the beginning of several options and on a word that is no option. */
#include "src/options/option_find.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/slice.h"
#include "launcher/base/text_buffer.h"
#include "src/options/suggestion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The options to search. */
struct rows {
    const struct option_row *at;
    int count;
};

/* Decides whether a name of a row fits a word. */
typedef bool fits_fn(const struct option_row *row, const char *name, struct slice word);

static bool fits_in_full(const struct option_row *row, const char *name, struct slice word)
{
    (void)row;
    return strlen(name) == word.length && memcmp(name, word.at, word.length) == 0;
}

/* A word with one dash is too likely another program's option: "-c 4" is not "-cb". */
static bool fits_shortened(const struct option_row *row, const char *name, struct slice word)
{
    return row->kind != OPTION_OTHER_PROGRAM && word.length > 2 && word.at[1] == '-' &&
           strncmp(name, word.at, word.length) == 0;
}

/* Does the row's letter accept the text behind it? */
static bool takes(const struct option_row *row, const char *value, size_t length)
{
    if (row->kind == OPTION_OTHER_PROGRAM)
        return strspn(value, "0123456789") >= length;
    if (row->kind == OPTION_INT) /* otherwise "-nosuch" would be -n with a malformed number */
        return *value >= '0' && *value <= '9';
    return row->metavar || row->kind == OPTION_REFUSED;
}

static bool fits_as_letter(const struct option_row *row, const char *name, struct slice word)
{
    return strlen(name) == 2 && name[1] != '-' && word.length > 2 &&
           strncmp(name, word.at, 2) == 0 && takes(row, word.at + 2, word.length - 2);
}

/* The row's first name that fits, or NULL. */
static const char *fitting_name(const struct option_row *row, fits_fn *fits, struct slice word)
{
    for (int i = 0; i < OPTION_NAMES && row->names[i]; i++)
        if (fits(row, row->names[i], word))
            return row->names[i];
    return NULL;
}

/* Returns the number of options that fit; `found` is the first of them. */
static int count_fitting(struct option_found *found, struct rows rows, fits_fn *fits,
                         struct slice word)
{
    int count = 0;
    for (int i = 0; i < rows.count; i++) {
        const char *name = fitting_name(&rows.at[i], fits, word);
        if (name && count++ == 0)
            *found = (struct option_found){ .row = &rows.at[i], .name = name };
    }
    return count;
}

static int fail_ambiguous(struct rows rows, struct slice word, struct err *err)
{
    enum { LISTED = 4 };
    struct text_buffer names = { 0 };
    int count = 0;
    for (int i = 0; i < rows.count; i++) {
        const char *name = fitting_name(&rows.at[i], fits_shortened, word);
        if (name && count++ < LISTED)
            text_buffer_printf(&names, "%s'%s'", count > 1 ? ", " : "", name);
    }
    text_buffer_put_string(&names, count > LISTED ? ", ..." : "");
    char *list = text_buffer_take(&names);
    struct shown shown;
    int rc = bad_input(err, NULL, "ambiguous option: '%s' (%s)",
                       show_token(&shown, word.at, word.length), list);
    free(list);
    return rc;
}

/* The name for which `word` was probably meant, or NULL. */
static const char *suggested_name(struct rows rows, struct slice word)
{
    struct suggestion suggestion = suggestion_for(word);
    for (int i = 0; i < rows.count; i++)
        for (int j = 0; j < OPTION_NAMES && rows.at[i].names[j]; j++)
            suggestion_try(&suggestion, rows.at[i].names[j]);
    return suggestion.name;
}

static int fail_unknown(struct rows rows, struct slice word, struct err *err)
{
    const char *near = suggested_name(rows, word);
    struct shown shown;
    show_token(&shown, word.at, word.length);
    if (near)
        return bad_input(err, NULL, "unknown option: '%s' (did you mean '%s'?)", shown.text, near);
    return bad_input(err, NULL, "unknown option: '%s'", shown.text);
}

/* "--name" of "--name=value". */
static struct slice option_find_name_of(const char *word)
{
    return (struct slice){ word, strcspn(word, "=") };
}

/* The text behind the name in the same word, or NULL. */
static const char *value_in(const char *word, struct slice name, fits_fn *fits)
{
    if (fits == fits_as_letter)
        return word + 2;
    return *slice_end(name) == '=' ? slice_end(name) + 1 : NULL;
}

int option_find(struct option_found *found, const struct option_table *table, const char *word,
                struct err *err)
{
    static fits_fn *const ways[] = { fits_in_full, fits_shortened, fits_as_letter };
    const struct rows sets[] = { { table->rows, table->count },
                                 { table->refused, table->refused_count } };
    struct slice name = option_find_name_of(word);
    for (int i = 0; i < 6; i++) {
        int count = count_fitting(found, sets[i % 2], ways[i / 2], name);
        if (count > 1 && ways[i / 2] == fits_shortened)
            return fail_ambiguous(sets[i % 2], name, err);
        if (count > 0) {
            found->value = value_in(word, name, ways[i / 2]);
            return HVD_OK;
        }
    }
    return fail_unknown(sets[0], name, err);
}

bool option_find_named(struct option_found *found, const struct option_table *table,
                       const char *name)
{
    struct slice word = { name, strlen(name) };
    return count_fitting(found, (struct rows){ table->rows, table->count }, fits_in_full, word) ||
           count_fitting(found, (struct rows){ table->refused, table->refused_count }, fits_in_full,
                         word);
}

bool option_is_name(const struct option_table *table, const char *word)
{
    struct option_found found;
    return option_find_named(&found, table, word);
}
