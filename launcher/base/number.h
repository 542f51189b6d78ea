/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers as users may write them: ASCII digits, nothing else. No sign, no blanks, no base
 * prefix, no "1_000". */
#ifndef LAUNCHER_BASE_NUMBER_H
#define LAUNCHER_BASE_NUMBER_H

#include "lib/base/status.h"

#include <stddef.h>

enum number_verdict { NUMBER_OK, NUMBER_MALFORMED, NUMBER_OUT_OF_RANGE };

/* Parses all of `text`; 0 <= min <= max. "-5" is a number out of range. `value` is set if the
 * verdict is NUMBER_OK. */
enum number_verdict number_parse(int *value, const char *text, size_t length, int min, int max);

/* As number_parse(), with the message "SOURCE: not a number: 'x'" or "SOURCE: out of range (1 to
 * 5): '9'". Returns HVD_OK or HVD_ERR_INVALID. */
int number_parse_or_fail(int *value, const char *text, int min, int max, const char *source,
                         struct err *err);

/* Ports "A-B", 1 to 65535, A not greater than B. Returns HVD_OK or HVD_ERR_INVALID. */
int port_range_parse(int *low, int *high, const char *text, const char *source, struct err *err);

#endif
