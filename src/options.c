/* SPDX-License-Identifier: Apache-2.0 */
/* A command line against a table:
 *   word by word up to the command: find the option, find its value, set its member; then let the
 *   environment fill in what was not given.
 * Fails on an option that is not known, ambiguous or refused, on a value that is missing, not wanted
 * or not acceptable, and on an option that is given twice. */
#include "src/options.h"

#include "launcher/bad_input.h"
#include "launcher/number.h"
#include "src/option_find.h"

#include <stdlib.h>
#include <string.h>

/* Sets the member of a row from `value`, which came from `source`. */
typedef int set_fn(const struct option_row *row, void *member, const char *value,
                   const char *source, struct err *err);

static int set_flag(const struct option_row *row, void *member, const char *value,
                    const char *source, struct err *err)
{
    (void)row, (void)value, (void)source, (void)err;
    *(bool *)member = true;
    return HVD_OK;
}

static int set_int(const struct option_row *row, void *member, const char *value,
                   const char *source, struct err *err)
{
    return number_parse_or_fail(member, value, row->min, row->max, source, err);
}

static int set_text(const struct option_row *row, void *member, const char *value,
                    const char *source, struct err *err)
{
    (void)row;
    if (!*value)
        return bad_input(err, source, "empty value: ''");
    *(const char **)member = value;
    return HVD_OK;
}

static int refuse(const struct option_row *row, void *member, const char *value, const char *source,
                  struct err *err)
{
    (void)member, (void)value;
    return bad_input(err, source, "%s", row->help);
}

static set_fn *const set_kind[] = {
    [OPTION_FLAG] = set_flag, [OPTION_FINAL] = set_flag, [OPTION_INT] = set_int,
    [OPTION_TEXT] = set_text, [OPTION_REFUSED] = refuse,
};

static int set(const struct option_row *row, void *target, const char *value, const char *source,
               struct err *err)
{
    return set_kind[row->kind](row, (char *)target + row->offset, value, source, err);
}

/* Takes the value out of the next word if it did not come with the name. */
static int take_value(struct option_found *found, const struct option_table *table, char ***at,
                      struct err *err)
{
    const struct option_row *row = found->row;
    struct shown shown;
    if (row->kind == OPTION_REFUSED)
        return HVD_OK;
    if (!row->metavar && found->value)
        return bad_input(err, found->name, "takes no value: '%s'",
                         show_token(&shown, found->value, strlen(found->value)));
    if (!row->metavar || found->value)
        return HVD_OK;
    const char *next = **at;
    if (!next)
        return bad_input(err, found->name, "missing value (%s)", row->metavar);
    if (strcmp(next, "--") == 0 || option_is_name(table, next))
        return bad_input(err, found->name, "missing value (%s) before '%s'", row->metavar, next);
    found->value = *(*at)++;
    return HVD_OK;
}

/* Notes that a row of the table was given. */
static int note(struct options_seen *seen, const struct option_found *found, int row,
                struct err *err)
{
    if (seen->name[row] && found->row->metavar)
        return bad_input(err, found->name, "given twice");
    seen->name[row] = found->name;
    seen->final = found->row->kind == OPTION_FINAL;
    return HVD_OK;
}

/* Reads the option at `*at` and moves on behind it. */
static int parse_option(const struct option_table *table, void *target, struct options_seen *seen,
                        char ***at, struct err *err)
{
    struct option_found found;
    int rc;
    if ((rc = option_find(&found, table, *(*at)++, err)) < 0 ||
        (rc = take_value(&found, table, at, err)) < 0 ||
        (rc = set(found.row, target, found.value, found.name, err)) < 0)
        return rc;
    return note(seen, &found, (int)(found.row - table->rows), err);
}

static int read_variables(const struct option_table *table, void *target,
                          const struct options_seen *seen, struct err *err)
{
    for (int i = 0; i < table->count; i++) {
        const struct option_row *row = &table->rows[i];
        const char *value = row->variable && !seen->name[i] ? getenv(row->variable) : NULL;
        char source[128] = "$";
        if (!value)
            continue;
        strncat(source, row->variable, sizeof source - 2);
        int rc = set(row, target, value, source, err);
        if (rc < 0)
            return rc;
    }
    return HVD_OK;
}

int options_parse(const struct option_table *table, void *target, struct options_seen *seen,
                  char **argv, struct err *err)
{
    char **at = argv;
    *seen = (struct options_seen){ .rest = argv };
    while (*at && (*at)[0] == '-' && (*at)[1]) {
        if (strcmp(*at, "--") == 0) {
            at++;
            break;
        }
        int rc = parse_option(table, target, seen, &at, err);
        if (rc < 0)
            return rc;
        if (seen->final)
            return HVD_OK;
    }
    seen->rest = at;
    return read_variables(table, target, seen, err);
}
