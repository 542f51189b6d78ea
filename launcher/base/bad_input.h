/* SPDX-License-Identifier: Apache-2.0 */
/* The form in which a program reports bad input:
 *
 *     SOURCE: PROBLEM: 'TOKEN'[ (HINT)]
 *
 * SOURCE is an option as the user wrote it, FILE:LINE:COLUMN or $VARIABLE. One line of printable
 * ASCII, short enough that it fits in 300 bytes behind "hvdrun: error: " whatever the user has
 * given: long sources and tokens are cut, other bytes appear as \xNN. */
#ifndef LAUNCHER_BASE_BAD_INPUT_H
#define LAUNCHER_BASE_BAD_INPUT_H

#include "lib/base/status.h"

#include <stddef.h>

enum { BAD_INPUT_MAX = 284, SHOWN_COLUMNS = 96 };

/* Foreign text made printable for a message. */
struct shown {
    char text[SHOWN_COLUMNS + 4];
};

/* The first 64 bytes, or as many as fit in SHOWN_COLUMNS, with "..." if some were cut. Returns
 * shown->text. */
const char *show_token(struct shown *shown, const char *text, size_t length);

/* As show_token(), but keeps the end of the text, which has the file's name and line. */
const char *show_source(struct shown *shown, const char *source);

/* Fails with HVD_ERR_INVALID and "SOURCE: " before the formatted text. A long source loses its
 * beginning: its end has the file's name and line. `source` may be NULL for none. */
int bad_input(struct err *err, const char *source, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
