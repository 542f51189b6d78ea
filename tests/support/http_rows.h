/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tests/bad/http.tsv, which says what they are. */
#ifndef TESTS_SUPPORT_HTTP_ROWS_H
#define TESTS_SUPPORT_HTTP_ROWS_H

#include "lib/base/wire.h"

#include <stdbool.h>
#include <stdio.h>

enum { HTTP_ROW_TEXT_SIZE = 64 };

struct http_row {
    char id[HTTP_ROW_TEXT_SIZE], sentence[HTTP_ROW_TEXT_SIZE];
    char answers[HTTP_ROW_TEXT_SIZE], end[HTTP_ROW_TEXT_SIZE];
    struct wire_writer request;
};

/* Reads the next row, whose bytes http_row_fini() frees; `key` is what a Bearer says. False at the
 * end of the file. A row that is none ends the program. */
bool http_row_next(FILE *file, const char *key, struct http_row *row);
void http_row_fini(struct http_row *row);

/* The statuses in what was received, as the rows write them: "200,400", "-" if there are none. */
void http_row_statuses(const char *received, char answers[HTTP_ROW_TEXT_SIZE]);

#endif
