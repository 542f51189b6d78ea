/* SPDX-License-Identifier: Apache-2.0 */
/* A command line and the environment beside it.
 *
 *   u8: 0 hvdrun's, 1 hvdrendezvousd's; then lines: $NAME=VALUE is a variable, if an option reads it; any other
 *   line is a word
 *
 * Whatever they say: it is accepted, or refused by one line of printable ASCII that is not too
 * long, and then nothing is kept; twice the same each time. What is accepted is within what the
 * table promises: numbers in their range, each variable for the ranks once, a command that is a
 * tail of the words. */
#include "launcher/base/bad_input.h"
#include "src/hvdrun/hvdrun_options.h"
#include "src/service/hvdrendezvousd_options.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 64 };

static const struct option_table *const tables[] = { &hvdrun_option_table,
                                                     &hvdrendezvousd_option_table };

/* ---- the environment ---- */

static bool is_variable(const struct option_table *table, const char *name)
{
    for (int i = 0; i < table->count; i++)
        if (table->rows[i].variable && strcmp(table->rows[i].variable, name) == 0)
            return true;
    return false;
}

static void set_variable(const struct option_table *table, char *line)
{
    char *equals = strchr(line, '=');
    if (!equals)
        return;
    *equals = '\0';
    if (is_variable(table, line))
        setenv(line, equals + 1, 1);
}

static void clear_variables(void)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (int row = 0; row < tables[i]->count; row++)
            if (tables[i]->rows[row].variable)
                unsetenv(tables[i]->rows[row].variable);
}

/* ---- what was accepted ---- */

/* The member of a number that some row sets is in that row's range, or what it was before. */
static void check_numbers(const struct option_table *table, const void *target, const void *before)
{
    for (int i = 0; i < table->count; i++) {
        const struct option_row *row = &table->rows[i];
        if (row->kind != OPTION_INT)
            continue;
        int value, old;
        memcpy(&value, (const char *)target + row->offset, sizeof value);
        memcpy(&old, (const char *)before + row->offset, sizeof old);
        PROMISE(value == old || (value >= row->min && value <= row->max));
    }
}

static void check_set(const struct string_list *set)
{
    for (size_t i = 0; i < set->count; i++) {
        size_t length = strcspn(set->items[i], "=") + 1;
        PROMISE(length > 1 && set->items[i][length - 1] == '=');
        for (size_t other = 0; other < i; other++)
            PROMISE(strncmp(set->items[i], set->items[other], length) != 0);
    }
}

static void check_refusal(int rc, const struct err *err)
{
    PROMISE(rc == HVD_ERR_INVALID && err->code == rc && strlen(err->text) <= BAD_INPUT_MAX);
    fuzz_check_line(err->text, "");
}

static bool is_tail(char **tail, char **words, int count)
{
    for (int i = 0; i <= count; i++)
        if (tail == words + i)
            return true;
    return false;
}

static int take_hvdrun(char **words, int count, struct err *err)
{
    /* --help ends the parsing before defaults are set. */
    static const struct hvdrun_options before;
    struct hvdrun_options options;
    int rc = hvdrun_options_parse(&options, count + 1, words - 1, err);
    if (rc < 0) {
        check_refusal(rc, err);
        PROMISE(options.set.count == 0 && options.warnings.count == 0 && options.notes.count == 0);
        return rc;
    }
    bool answers = options.help || options.version || options.check_build || options.completion;
    check_numbers(&hvdrun_option_table, &options, &before);
    check_set(&options.set);
    PROMISE(answers || is_tail(options.command, words, count));
    PROMISE(answers || options.check_hosts || (options.command[0] && options.command[0][0]));
    PROMISE(!options.hosts || !options.hostfile);
    PROMISE(options.port_low <= options.port_high && options.port_high <= 65535);
    hvdrun_options_fini(&options);
    return rc;
}

static int take_service(char **words, int count, struct err *err)
{
    static const struct hvdrendezvousd_options before = { .ready_fd = -1 };
    struct hvdrendezvousd_options options;
    (void)count;
    int rc = hvdrendezvousd_options_parse(&options, words - 1, err);
    if (rc < 0) {
        check_refusal(rc, err);
        PROMISE(options.listen.count == 0);
        return rc;
    }
    check_numbers(&hvdrendezvousd_option_table, &options, &before);
    hvdrendezvousd_options_fini(&options);
    return rc;
}

static int take(bool service, char **words, int count, struct err *err)
{
    return (service ? take_service : take_hvdrun)(words, count, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    bool service = fuzz_u8(&input) & 1;
    char *text = fuzz_rest_text(&input), *rest = text, *line;
    char *words[1 + WORDS + 1] = { "program" };
    int count = 0;
    clear_variables();
    while (count < WORDS && (line = fuzz_line(&rest))) {
        if (*line == '$')
            set_variable(tables[service], line + 1);
        else
            words[1 + count++] = line;
    }
    struct err first = { .code = HVD_OK }, second = { .code = HVD_OK };
    int rc = take(service, words + 1, count, &first);
    PROMISE(take(service, words + 1, count, &second) == rc);
    PROMISE(strcmp(first.text, second.text) == 0);
    free(text);
    return 0;
}
