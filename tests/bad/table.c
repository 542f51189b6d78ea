/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a table; see table.h. Its first line names the columns:
 *   "# id <tab> variables <tab> arguments <tab> contents of hosts <tab> status <tab> text" */
#include "tests/bad/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 8 };

static const char *path_read;
static int line_read;

static void stop(const char *what, const char *word)
{
    fprintf(stderr, "%s:%d: %s: '%s'\n", path_read, line_read, what, word);
    exit(99);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        stop("cannot be read", path);
    size_t length = (size_t)ftell(file);
    char *bytes = malloc(length + 1);
    rewind(file);
    if (!bytes || fread(bytes, 1, length, file) != length)
        stop("cannot be read", path);
    bytes[length] = '\0';
    fclose(file);
    return bytes;
}

static int split(char *words[COLUMNS_MAX], char *line)
{
    int count = 0;
    for (char *word; (word = strsep(&line, "\t"));)
        if (count < COLUMNS_MAX)
            words[count++] = word;
        else
            stop("too many columns", word);
    return count;
}

static void set_text(const char **field, const char *word)
{
    *field = strcmp(word, "-") == 0 ? "" : word;
}

static const char contents_of[] = "contents of ";

static void set_column(struct row *row, const char *column, const char *word)
{
    if (strcmp(column, "id") == 0)
        set_text(&row->id, word);
    else if (strcmp(column, "variables") == 0)
        set_text(&row->variables, word);
    else if (strcmp(column, "arguments") == 0)
        set_text(&row->arguments, word);
    else if (strcmp(column, "status") == 0)
        row->status = atoi(word);
    else if (strcmp(column, "text") == 0)
        set_text(&row->text, word);
    else if (strncmp(column, contents_of, strlen(contents_of)) == 0)
        row->contents = strcmp(word, "-") == 0 ? NULL : word;
    else
        stop("no such column", column);
}

static void add_row(struct table *table, char *const *columns, int count, char *line)
{
    char *words[COLUMNS_MAX];
    struct row row = { .id = "", .variables = "", .arguments = "", .status = 2, .text = "" };
    if (split(words, line) != count)
        stop("not as many columns as above", words[0]);
    for (int i = 0; i < count; i++)
        set_column(&row, columns[i], words[i]);
    if (!*row.id)
        stop("no id", words[0]);
    table->rows = realloc(table->rows, (table->count + 1) * sizeof *table->rows);
    if (!table->rows)
        stop("no memory", row.id);
    table->rows[table->count++] = row;
}

void table_read(struct table *table, const char *path)
{
    char *columns[COLUMNS_MAX], *line;
    int count = 0;
    path_read = path;
    line_read = 0;
    *table = (struct table){ .bytes = read_file(path) };
    for (char *rest = table->bytes; (line = strsep(&rest, "\n"));) {
        line_read++;
        if (count == 0 && strncmp(line, "# id\t", 5) == 0)
            count = split(columns, line + 2);
        else if (*line && *line != '#')
            add_row(table, columns, count, line);
    }
    for (int i = 0; i < count; i++)
        if (strncmp(columns[i], contents_of, strlen(contents_of)) == 0)
            table->file = columns[i] + strlen(contents_of);
}

void table_free(struct table *table)
{
    free(table->rows);
    free(table->bytes);
}

/* Up to three digits behind the 0, as printf's %b has them. */
static char decode_octal(const char **at)
{
    int value = 0;
    ++*at;
    for (int digits = 0; digits < 3 && **at >= '0' && **at <= '7'; digits++)
        value = value * 8 + *(*at)++ - '0';
    return (char)value;
}

size_t contents_decode(char *out, const char *contents)
{
    static const char letters[] = "ntr\\", bytes[] = "\n\t\r\\";
    size_t used = 0;
    while (*contents) {
        char byte = *contents++;
        const char *known = byte == '\\' && *contents ? strchr(letters, *contents) : NULL;
        if (known) {
            byte = bytes[known - letters];
            contents++;
        } else if (byte == '\\' && *contents == '0') {
            byte = decode_octal(&contents);
        }
        out[used++] = byte;
    }
    return used;
}
