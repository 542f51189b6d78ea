/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a command line by a table of options.
 *
 * Fails for an unknown option, an argument that is no option, an option without its value, a flag
 * with one, and a value that is no number or is out of its bounds; the first one is told. */
#include "examples/support/options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct option_row *find(const struct option_row *rows, size_t row_count,
                                     const char *name, size_t length)
{
    for (size_t i = 0; i < row_count; i++)
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
            return &rows[i];
    return NULL;
}

static int store_integer(const struct option_row *row, long *field, const char *value,
                         struct problem *problem)
{
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (end == value || *end != '\0' || errno != 0 || (double)number < row->low ||
        (double)number > row->high)
        return problem_set(problem, EXIT_STATUS_USAGE,
                           "%s wants an integer from %.0f to %.0f, not '%.60s'", row->name,
                           row->low, row->high, value);
    *field = number;
    return 0;
}

static int store_real(const struct option_row *row, double *field, const char *value,
                      struct problem *problem)
{
    char *end;
    double number = strtod(value, &end);
    if (end == value || *end != '\0' || !(number >= row->low && number <= row->high))
        return problem_set(problem, EXIT_STATUS_USAGE,
                           "%s wants a number from %g to %g, not '%.60s'", row->name, row->low,
                           row->high, value);
    *field = number;
    return 0;
}

static int store(const struct option_row *row, void *options, const char *value,
                 struct problem *problem)
{
    void *field = (char *)options + row->offset;
    if (row->kind == OPTION_INTEGER)
        return store_integer(row, field, value, problem);
    if (row->kind == OPTION_REAL)
        return store_real(row, field, value, problem);
    if (row->kind == OPTION_FLAG) {
        *(bool *)field = true;
        return 0;
    }
    if (*value == '\0')
        return problem_set(problem, EXIT_STATUS_USAGE, "%s wants %s, not nothing", row->name,
                           row->argument);
    *(const char **)field = value;
    return 0;
}

/* Parses argv[0] and, if the option takes its value from there, argv[1]. Returns how many it
 * used. */
static int parse_one(const struct option_row *rows, size_t row_count, void *options, char **argv,
                     struct problem *problem)
{
    const char *name = argv[0], *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct option_row *row = find(rows, row_count, name, length);
    if (row == NULL)
        return problem_set(problem, EXIT_STATUS_USAGE,
                           "unknown %s '%.60s' (--help lists the options)",
                           name[0] == '-' ? "option" : "argument", name);
    if (row->kind == OPTION_FLAG && equals)
        return problem_set(problem, EXIT_STATUS_USAGE, "%s takes no value", row->name);
    if (row->kind == OPTION_FLAG || equals)
        return store(row, options, equals ? equals + 1 : "", problem) < 0 ? -1 : 1;
    if (argv[1] == NULL)
        return problem_set(problem, EXIT_STATUS_USAGE, "%s wants %s after it", row->name,
                           row->argument);
    return store(row, options, argv[1], problem) < 0 ? -1 : 2;
}

int options_parse(const struct option_row *rows, size_t row_count, void *options, int argc,
                  char **argv, struct problem *problem)
{
    for (int i = 1; i < argc;) {
        int used = parse_one(rows, row_count, options, argv + i, problem);
        if (used < 0)
            return -1;
        i += used;
    }
    return 0;
}

void options_print_help(const struct option_row *rows, size_t row_count, FILE *out)
{
    for (size_t i = 0; i < row_count; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", rows[i].name,
                 rows[i].argument ? rows[i].argument : "");
        fprintf(out, "  %-22s %s\n", left, rows[i].help);
    }
}
