/* SPDX-License-Identifier: Apache-2.0 */
/* The text of --help from the table of options: names on the left, wrapped explanations with ranges
 * and defaults from one column on. Never fails. */
#include "src/options/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 80, HELP_COLUMN = 32 };

/* Puts the words of `text` into lines of at most WIDTH columns. The first line has `column` columns
 * already, the other lines begin with `indent` blanks. */
static void put_wrapped(struct text_buffer *help, const char *text, int column, int indent)
{
    bool first = true;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (!first && column + 1 + length > WIDTH) {
            text_buffer_printf(help, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            text_buffer_put_string(help, " ");
            column++;
        }
        text_buffer_put(help, text, (size_t)length);
        column += length;
        first = false;
        text += length;
        text += strspn(text, " ");
    }
    text_buffer_put_string(help, "\n");
}

/* "  -H, --hosts LIST"; returns its width. */
static int put_names(struct text_buffer *help, const struct option_row *row)
{
    size_t start = help->length;
    for (int i = 0; i < OPTION_NAMES && row->names[i]; i++)
        text_buffer_printf(help, "%s%s", i ? ", " : "  ", row->names[i]);
    if (row->metavar)
        text_buffer_printf(help, " %s", row->metavar);
    return (int)(help->length - start);
}

/* "; default: $VARIABLE, else 30", after " (" if it is the first note. */
static void put_default(struct text_buffer *text, const struct option_row *row, bool first)
{
    const char *value = row->otherwise ? row->otherwise : row->value;
    if (!value && !row->variable)
        return;
    text_buffer_printf(text, "%sdefault: ", first ? " (" : "; ");
    if (row->variable)
        text_buffer_printf(text, "$%s%s", row->variable, value ? ", else " : "");
    text_buffer_put_string(text, value ? value : "");
}

char *option_explain(const struct option_row *row)
{
    struct text_buffer text = { 0 };
    bool is_number = row->metavar && (row->min != 0 || row->max != 0);
    text_buffer_put_string(&text, row->help);
    size_t length = text.length;
    if (is_number)
        text_buffer_printf(&text, " (%d to %d", row->min, row->max);
    put_default(&text, row, !is_number);
    if (text.length > length)
        text_buffer_put_string(&text, ")");
    return text_buffer_take(&text);
}

static void put_row(struct text_buffer *help, const struct option_row *row)
{
    int column = put_names(help, row);
    if (column > HELP_COLUMN - 2) {
        text_buffer_put_string(help, "\n");
        column = 0;
    }
    text_buffer_printf(help, "%*s", HELP_COLUMN - column, "");
    char *text = option_explain(row);
    put_wrapped(help, text, HELP_COLUMN, HELP_COLUMN);
    free(text);
}

char *options_help(const struct option_table *table)
{
    struct text_buffer help = { 0 };
    const char *group = "";
    text_buffer_printf(&help, "usage: %s\n\n", table->usage);
    put_wrapped(&help, table->before, 0, 0);
    for (int i = 0; i < table->count; i++) {
        if (strcmp(table->rows[i].group, group) != 0)
            text_buffer_printf(&help, "\n%s:\n", group = table->rows[i].group);
        put_row(&help, &table->rows[i]);
    }
    text_buffer_put_string(&help, "\n");
    put_wrapped(&help, table->after, 0, 0);
    return text_buffer_take(&help);
}
