/* SPDX-License-Identifier: Apache-2.0 */
/* A table of bad input for a program; tests/bad/README.md says how one is written. */
#ifndef TESTS_BAD_TABLE_H
#define TESTS_BAD_TABLE_H

#include <stddef.h>

/* All texts are borrowed from the table. */
struct row {
    const char *id;
    const char *variables; /* NAME=VALUE words for a shell; "" if there are none */
    const char *arguments; /* words for a shell, behind those that all rows have */
    const char *contents;  /* of the table's file, with escapes as they stand; NULL: no file */
    int status;            /* 2, unless the table says otherwise */
    const char *text;      /* part of the line on stderr, or, where the status is 0, of stdout */
};

struct table {
    char *bytes;
    const char *file; /* that rows have contents for; NULL if the table has none */
    struct row *rows;
    size_t count;
};

/* Ends the program, naming the line, if there is no such file or a row is not as it must be. */
void table_read(struct table *table, const char *path);
void table_free(struct table *table);

/* Writes what the escapes \n, \t, \r, \\ and \0NNN (octal) mean; at most as much as there is.
 * Returns the number of bytes. */
size_t contents_decode(char *out, const char *contents);

#endif
