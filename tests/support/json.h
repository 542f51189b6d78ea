/* SPDX-License-Identifier: Apache-2.0 */
/* A strict reader of JSON for tests, which shares nothing with what writes it: RFC 8259 and valid
 * UTF-8, or it says no. */
#ifndef TESTS_SUPPORT_JSON_H
#define TESTS_SUPPORT_JSON_H

#include <stddef.h>

/* How many elements the array has that is the whole text, or -1 if it is anything else. */
int json_array_length(const char *text, size_t length);

#endif
