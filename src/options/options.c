/* SPDX-License-Identifier: Apache-2.0 */
/* A command line against a table:
 *   word by word up to the command: find the option, find its value, set its member; then let the
 *   environment and the defaults fill in what was not given.
 * Fails on an option that is not known, ambiguous or refused, on a value that is missing,
 * unexpected or not acceptable, on an option that is given twice, on two that exclude each other,
 * and on a word that begins with another dash than '-'. */
#include "src/options/options.h"

#include "launcher/base/bad_input.h"
#include "src/options/option_dash.h"
#include "src/options/option_find.h"
#include "src/options/option_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_refused(const struct option_row *row)
{
    return row->kind == OPTION_REFUSED || row->kind == OPTION_OTHER_PROGRAM;
}

/* The next word as a value. */
static int take_word(const char **value, const struct option_found *found,
                     const struct option_table *table, char ***at, struct err *err)
{
    const char *next = **at, *metavar = found->row->metavar;
    if (!next)
        return bad_input(err, found->name, "missing value (%s)", metavar);
    if (strcmp(next, "--") == 0 || option_is_name(table, next))
        return bad_input(err, found->name, "missing value (%s) before '%s'", metavar, next);
    *value = *(*at)++;
    return HVD_OK;
}

/* Takes the value from the next word if it did not come with the name. */
static int take_value(struct option_found *found, const struct option_table *table, char ***at,
                      struct err *err)
{
    const struct option_row *row = found->row;
    struct shown shown;
    if (is_refused(row))
        return HVD_OK;
    if (!row->metavar && found->value)
        return bad_input(err, found->name, "takes no value: '%s'",
                         show_token(&shown, found->value, strlen(found->value)));
    int rc = HVD_OK;
    if (row->metavar && !found->value)
        rc = take_word(&found->value, found, table, at, err);
    if (rc == HVD_OK && row->kind == OPTION_INT_PAIR)
        rc = take_word(&found->second, found, table, at, err);
    return rc;
}

/* The name by which a rival of a row was given, or NULL. */
static const char *rival_given(const struct option_table *table, const struct options_seen *seen,
                               const struct option_row *row)
{
    for (int i = 0; i < table->count && row->rivals; i++)
        if (seen->name[i] && &table->rows[i] != row && table->rows[i].rivals == row->rivals)
            return seen->name[i];
    return NULL;
}

static bool may_repeat(const struct option_row *row)
{
    return !row->metavar || row->kind == OPTION_LIST;
}

/* Notes that a row of the table was given. */
static int options_note(const struct option_table *table, struct options_seen *seen,
                        const struct option_found *found, struct err *err)
{
    long row = found->row - table->rows;
    const char *rival = rival_given(table, seen, found->row);
    if (seen->name[row] && !may_repeat(found->row))
        return bad_input(err, found->name, "given twice");
    if (rival)
        return bad_input(err, found->name, "not together with '%s'", rival);
    seen->name[row] = found->name;
    seen->final = found->row->kind == OPTION_FINAL;
    return HVD_OK;
}

/* Parses the option at `*at` and moves on behind it. */
static int parse_option(const struct option_table *table, void *target, struct options_seen *seen,
                        char ***at, struct err *err)
{
    struct option_found found = { 0 };
    int rc;
    if ((rc = option_find(&found, table, *(*at)++, err)) < 0 ||
        (rc = take_value(&found, table, at, err)) < 0 ||
        (rc = option_set(found.row, target, found.value, found.name, err)) < 0 ||
        (found.second &&
         (rc = option_set_second(found.row, target, found.second, found.name, err)) < 0))
        return rc;
    return options_note(table, seen, &found, err);
}

int options_parse_words(const struct option_table *table, void *target, struct options_seen *seen,
                        char **argv, struct err *err)
{
    char **at = argv;
    *seen = (struct options_seen){ .rest = argv };
    while (*at && !seen->marked) {
        int rc = option_dash_check(*at, err);
        if (rc < 0)
            return rc;
        if ((*at)[0] != '-' || !(*at)[1])
            break;
        seen->marked = strcmp(*at, "--") == 0;
        if (seen->marked)
            at++;
        else if ((rc = parse_option(table, target, seen, &at, err)) < 0 || seen->final)
            return rc;
    }
    seen->rest = at;
    return HVD_OK;
}

/* The value of the row's variable, with `source` set to "$NAME", or the default, or NULL. */
static const char *value_not_given(const struct option_row *row, char *source, size_t size)
{
    const char *value = row->variable ? getenv(row->variable) : NULL;
    snprintf(source, size, "%s%s", value ? "$" : "", value ? row->variable : row->names[0]);
    if (value && *value)
        return value;
    return row->kind == OPTION_SETS ? NULL : row->value;
}

int options_complete(const struct option_table *table, void *target,
                     const struct options_seen *seen, struct err *err)
{
    for (int i = 0; i < table->count; i++) {
        const struct option_row *row = &table->rows[i];
        char source[128];
        const char *value = seen->name[i] ? NULL : value_not_given(row, source, sizeof source);
        int rc = value ? option_set(row, target, value, source, err) : HVD_OK;
        if (rc < 0)
            return rc;
    }
    return HVD_OK;
}

int options_parse(const struct option_table *table, void *target, struct options_seen *seen,
                  char **argv, struct err *err)
{
    int rc = options_parse_words(table, target, seen, argv, err);
    if (rc < 0 || seen->final)
        return rc;
    return options_complete(table, target, seen, err);
}

bool options_know(const struct option_table *table, const char *word)
{
    struct option_found found;
    return *word == '-' && option_find(&found, table, word, NULL) == HVD_OK;
}

bool options_has(const struct option_table *table, const char *name)
{
    struct option_found found;
    return option_find_named(&found, table, name) && found.row->kind != OPTION_OTHER_PROGRAM;
}

const char *options_given(const struct option_table *table, const struct options_seen *seen,
                          const char *name)
{
    struct option_found found;
    if (!option_find_named(&found, table, name) || is_refused(found.row))
        return NULL;
    const char *given = seen->name[found.row - table->rows];
    return given ? given : rival_given(table, seen, found.row);
}

int options_set(const struct option_table *table, void *target, struct options_seen *seen,
                const char *name, const char *value, const char *source, struct err *err)
{
    struct option_found found;
    if (!option_find_named(&found, table, name))
        return bad_input(err, source, "unknown option: '%s'", name);
    int rc = option_set(found.row, target, value, source, err);
    if (rc == HVD_OK)
        seen->name[found.row - table->rows] = source;
    return rc;
}
