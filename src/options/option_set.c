/* SPDX-License-Identifier: Apache-2.0 */
/* The value of an option:
 *   check that it is a number in range, one of the choices, or what the row's own check wants, then
 *   set the member, or the variable of the ranks.
 * Fails on a value that is not acceptable, and on an option that is refused. */
#include "src/options/option_set.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/number.h"
#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Sets the member of a row from `value`, which came from `source`. */
typedef int set_fn(const struct option_row *row, void *member, const char *value,
                   const char *source, struct err *err);

static bool is_number(const struct option_row *row)
{
    return row->min != 0 || row->max != 0;
}

/* The index of `value` in `choices`, in any case; -1: none. */
static int find_choice(const char *choices, const char *value)
{
    size_t length = strlen(value);
    for (int index = 0; *choices; index++) {
        size_t word = strcspn(choices, " ");
        if (word == length && strncasecmp(choices, value, length) == 0)
            return index;
        choices += word + strspn(choices + word, " ");
    }
    return -1;
}

/* "off, auto or require" for "off auto require"; the caller frees it. */
static char *choices_text(const char *choices)
{
    struct text_buffer text = { 0 };
    for (const char *word = choices; *word;) {
        size_t length = strcspn(word, " ");
        const char *next = word + length + strspn(word + length, " ");
        const char *between = word == choices ? "" : *next ? ", " : " or ";
        text_buffer_printf(&text, "%s%.*s", between, (int)length, word);
        word = next;
    }
    return text_buffer_take(&text);
}

static int refuse_choice(const char *choices, const char *value, const char *source,
                         struct err *err)
{
    struct shown shown;
    char *expected = choices_text(choices);
    int rc = bad_input(err, source, "unknown value: '%s' (expected %s)",
                       show_token(&shown, value, strlen(value)), expected);
    free(expected);
    return rc;
}

static int check_text(const struct option_row *row, const char *value, const char *source,
                      struct err *err)
{
    if (!*value)
        return bad_input(err, source, "empty value: ''");
    if (row->choices && find_choice(row->choices, value) < 0)
        return refuse_choice(row->choices, value, source, err);
    return row->check ? row->check(value, source, err) : HVD_OK;
}

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
    int rc = check_text(row, value, source, err);
    if (rc == HVD_OK)
        *(const char **)member = value;
    return rc;
}

static int set_choice(const struct option_row *row, void *member, const char *value,
                      const char *source, struct err *err)
{
    int rc = check_text(row, value, source, err);
    if (rc == HVD_OK)
        *(int *)member = find_choice(row->choices, value);
    return rc;
}

static int set_list(const struct option_row *row, void *member, const char *value,
                    const char *source, struct err *err)
{
    int rc = check_text(row, value, source, err);
    if (rc == HVD_OK)
        string_list_add(member, value, strlen(value));
    return rc;
}

static int set_number_variable(const struct option_row *row, struct string_list *list,
                               const char *value, const char *source, struct err *err)
{
    int number;
    int rc = number_parse_or_fail(&number, value, row->min, row->max, source, err);
    if (rc < 0)
        return rc;
    char *text = xasprintf("%lld", (long long)number * (row->unit ? row->unit : 1));
    variable_set(list, row->sets, text);
    free(text);
    return HVD_OK;
}

static int set_variable(const struct option_row *row, void *member, const char *value,
                        const char *source, struct err *err)
{
    if (is_number(row))
        return set_number_variable(row, member, value, source, err);
    int rc = row->metavar ? check_text(row, value, source, err) : HVD_OK;
    if (rc == HVD_OK)
        variable_set(member, row->sets, row->metavar ? value : row->constant);
    return rc;
}

static int option_set_refuse(const struct option_row *row, void *member, const char *value,
                             const char *source, struct err *err)
{
    (void)member, (void)value;
    return bad_input(err, source, "%s", row->help);
}

static set_fn *const set_kind[] = {
    [OPTION_FLAG] = set_flag,
    [OPTION_FINAL] = set_flag,
    [OPTION_INT] = set_int,
    [OPTION_INT_PAIR] = set_int,
    [OPTION_TEXT] = set_text,
    [OPTION_LIST] = set_list,
    [OPTION_SETS] = set_variable,
    [OPTION_CHOICE] = set_choice,
    [OPTION_REFUSED] = option_set_refuse,
    [OPTION_OTHER_PROGRAM] = option_set_refuse,
};

int option_set(const struct option_row *row, void *target, const char *value, const char *source,
               struct err *err)
{
    return set_kind[row->kind](row, (char *)target + row->offset, value, source, err);
}

int option_set_second(const struct option_row *row, void *target, const char *value,
                      const char *source, struct err *err)
{
    int *pair = (int *)(void *)((char *)target + row->offset);
    int rc = number_parse_or_fail(&pair[1], value, row->min, row->max, source, err);
    if (rc == HVD_OK && pair[1] < pair[0])
        rc = bad_input(err, source, "%d is more than %d (%s)", pair[0], pair[1], row->metavar);
    return rc;
}

void variable_set(struct string_list *list, const char *name, const char *value)
{
    char *entry = xasprintf("%s=%s", name, value);
    size_t length = strlen(name) + 1;
    for (size_t i = 0; i < list->count; i++) {
        if (strncmp(list->items[i], entry, length) != 0)
            continue;
        free(list->items[i]);
        list->items[i] = entry;
        return;
    }
    string_list_take(list, entry);
}
