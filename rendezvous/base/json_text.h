/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the bytes of a small JSON text before cJSON parses them, because cJSON accepts more
 * than JSON. Pure. */
#ifndef RENDEZVOUS_BASE_JSON_TEXT_H
#define RENDEZVOUS_BASE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

bool json_text_is_blank(char byte);

/* Nothing but printable ASCII and blanks: cJSON takes every control character for a blank. No
 * escape: with one of NUL a name ends early. And every number, outside of strings, is written as
 * JSON has it: no 02, 1. or -.5. */
bool json_text_is_plain(const char *text, size_t length);

#endif
