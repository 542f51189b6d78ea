/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a command line by a table of options.
 *
 * Fails for an unknown option, an argument that is no option, an option without its value, a flag
 * with one, and a value that is no number or is out of its bounds; the first one is told. */
#include "examples/support/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "examples/support/hash.h"

/* An option as it stands on the command line. */
struct word {
    const struct option_row *row; /* NULL: there is no such option */
    const char *name;
    int length;        /* of the name */
    const char *value; /* in the same word; NULL if none */
};

/* The row's name is "--name" or "-n, --name". */
static bool has_name(const struct option_row *row, const char *name, size_t length)
{
    const char *comma = strchr(row->name, ',');
    const char *longer = comma ? comma + 2 : row->name;
    if (comma && length == 2 && memcmp(row->name, name, 2) == 0)
        return true;
    return strlen(longer) == length && memcmp(longer, name, length) == 0;
}

static struct word read_word(const struct option_row *rows, size_t row_count, const char *text)
{
    bool letter = text[0] == '-' && text[1] != '-' && text[1] != '\0';
    const char *equals = strchr(text, '=');
    size_t length = letter ? 2 : equals ? (size_t)(equals - text) : strlen(text);
    struct word word = { .name = text, .length = (int)length };
    if (letter && text[2] != '\0')
        word.value = text + 2;
    else if (!letter && equals)
        word.value = equals + 1;
    for (size_t i = 0; i < row_count && !word.row; i++)
        if (has_name(&rows[i], text, length))
            word.row = &rows[i];
    return word;
}

/* strtol() and strtod() would skip blanks. */
static bool begins_number(const char *text)
{
    return isdigit((unsigned char)*text) || (*text != '\0' && strchr("-+.", *text) != NULL);
}

static int store_integer(const struct word *word, long *field, const char *value,
                         struct problem *problem)
{
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (!begins_number(value) || end == value || *end != '\0' || errno != 0 ||
        (double)number < word->row->low || (double)number > word->row->high)
        return problem_set(problem, EXIT_STATUS_USAGE,
                           "%.*s wants an integer from %.0f to %.0f, not '%.60s'", word->length,
                           word->name, word->row->low, word->row->high, value);
    *field = number;
    return 0;
}

static int store_real(const struct word *word, double *field, const char *value,
                      struct problem *problem)
{
    char *end;
    double number = strtod(value, &end);
    if (!begins_number(value) || end == value || *end != '\0' ||
        !(number >= word->row->low && number <= word->row->high))
        return problem_set(problem, EXIT_STATUS_USAGE,
                           "%.*s wants a number from %g to %g, not '%.60s'", word->length,
                           word->name, word->row->low, word->row->high, value);
    *field = number;
    return 0;
}

/* "64K"; false for what is no size. */
static bool read_size(const char *text, double *size)
{
    static const char suffixes[] = "KMGT";
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    *size = (double)number;
    if (!isdigit((unsigned char)*text) || errno != 0)
        return false;
    const char *suffix = *end != '\0' ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
    if (suffix == NULL)
        return *end == '\0';
    for (long i = 0; i <= suffix - suffixes; i++)
        *size *= 1024;
    return end[1] == '\0';
}

static int store_size(const struct word *word, long *field, const char *value,
                      struct problem *problem)
{
    double size;
    if (!read_size(value, &size) || size < word->row->low || size > word->row->high)
        return problem_set(problem, EXIT_STATUS_USAGE,
                           "%.*s wants a size from %.0f to %.0f bytes, such as 512 or 64M, "
                           "not '%.60s'",
                           word->length, word->name, word->row->low, word->row->high, value);
    *field = (long)size;
    return 0;
}

static int store(const struct word *word, void *options, const char *value, struct problem *problem)
{
    const struct option_row *row = word->row;
    void *field = (char *)options + row->offset;
    switch (row->kind) {
    case OPTION_INTEGER:
        return store_integer(word, field, value, problem);
    case OPTION_REAL:
        return store_real(word, field, value, problem);
    case OPTION_SIZE:
        return store_size(word, field, value, problem);
    case OPTION_FLAG:
        *(bool *)field = true;
        return 0;
    case OPTION_TEXT:
    case OPTION_PATH:
        if (*value == '\0')
            break;
        *(const char **)field = value;
        return 0;
    }
    return problem_set(problem, EXIT_STATUS_USAGE, "%.*s wants %s, not nothing", word->length,
                       word->name, row->argument);
}

/* Parses argv[0] and, if the option takes its value from there, argv[1]. Returns how many it
 * used. */
static int parse_one(const struct option_row *rows, size_t row_count, void *options, char **argv,
                     struct problem *problem)
{
    struct word word = read_word(rows, row_count, argv[0]);
    if (word.row == NULL)
        return problem_set(problem, EXIT_STATUS_USAGE,
                           "unknown %s '%.60s' (--help lists the options)",
                           argv[0][0] == '-' ? "option" : "argument", argv[0]);
    if (word.row->kind == OPTION_FLAG && word.value)
        return problem_set(problem, EXIT_STATUS_USAGE, "%.*s takes no value, not '%.60s'",
                           word.length, word.name, word.value);
    if (word.row->kind == OPTION_FLAG || word.value)
        return store(&word, options, word.value, problem) < 0 ? -1 : 1;
    if (argv[1] == NULL)
        return problem_set(problem, EXIT_STATUS_USAGE, "%.*s wants %s after it", word.length,
                           word.name, word.row->argument);
    return store(&word, options, argv[1], problem) < 0 ? -1 : 2;
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

uint64_t options_fingerprint(const struct option_row *row, const void *options)
{
    const void *field = (const char *)options + row->offset;
    static const size_t sizes[] = { [OPTION_FLAG] = sizeof(bool),
                                    [OPTION_INTEGER] = sizeof(long),
                                    [OPTION_REAL] = sizeof(double),
                                    [OPTION_SIZE] = sizeof(long) };
    const char *text = NULL;
    if (row->kind != OPTION_TEXT && row->kind != OPTION_PATH)
        return hash_bytes(field, sizes[row->kind]);
    memcpy(&text, field, sizeof text);
    if (text == NULL || row->kind == OPTION_PATH)
        return text != NULL;
    return hash_bytes(text, strlen(text));
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
