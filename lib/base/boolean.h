/* SPDX-License-Identifier: Apache-2.0 */
/* Variables that are true or false. Pure. */
#ifndef LIB_BASE_BOOLEAN_H
#define LIB_BASE_BOOLEAN_H

#include <stdbool.h>

/* An integer, of which 0 is false and any other is true, or "true" or "false" in any case; false if
 * the text is none of them. */
bool boolean_parse(const char *text, bool *value);

#endif
