/* SPDX-License-Identifier: Apache-2.0 */
/* See boolean.h. */
#include "lib/base/boolean.h"

#include <string.h>
#include <strings.h>

bool boolean_parse(const char *text, bool *value)
{
    if (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0) {
        *value = strcasecmp(text, "true") == 0;
        return true;
    }
    text += *text == '-';
    size_t digits = strspn(text, "0123456789");
    *value = strspn(text, "0") < digits;
    return digits > 0 && text[digits] == '\0';
}
