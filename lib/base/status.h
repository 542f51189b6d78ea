/* SPDX-License-Identifier: Apache-2.0 */
/* Failure is one line: a status code and its text, which grows outwards.
 *
 * The place where something fails says what happened, `return fail(err, HVD_ERR_PROTOCOL, "length
 * %u", n)`; a caller puts in front what was wanted, `return fail_context(err, "join %s", address)`.
 * Only the code that handles the error prints the text. */
#ifndef LIB_BASE_STATUS_H
#define LIB_BASE_STATUS_H

#include "lib/hvd.h"

struct err {
    int code;       /* enum hvd_status; HVD_OK while nothing has failed */
    int errnum;     /* errno's value, when a system call failed; else 0 */
    char text[500]; /* one line without a newline; control characters of foreign text are escaped */
};

/* All three return err->code, so that `return fail(...)` passes it on. `err` may be NULL. */
int fail(struct err *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Like fail(), with ": " and strerror(errnum) behind the text. */
int fail_errno(struct err *err, int code, int errnum, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Puts "<text>: " before the present text. */
int fail_context(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A short text for a status; borrowed for ever. */
const char *status_text(int status);

/* Writes `length` bytes of foreign text into `out` (at most `size`, always terminated), cut at 64
 * bytes with "..." and with control and non-ASCII bytes as \xNN, so that it can be quoted in a
 * message. Returns `out`. */
char *quote_token(char *out, size_t size, const char *text, size_t length);

enum { QUOTED_SIZE = 64 * 4 + 12 };

#endif
