/* SPDX-License-Identifier: Apache-2.0 */
/* What an HTTP client makes of the bytes that have come back, strictly. */
#ifndef TESTS_FUZZ_ANSWERS_H
#define TESTS_FUZZ_ANSWERS_H

#include <stddef.h>

/* The bytes are a sequence of whole answers: status line, headers, Content-Length in just this
 * spelling (not with 204) and a body of that length, or none, as to HEAD; JSON parses as such;
 * after "Connection: close" nothing comes. Returns how many there are, and the status of the last
 * in `*status`, 0 if there is none. */
int answers_check(const char *data, size_t length, int *status);

#endif
