/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers; see number.h. */
#include "launcher/base/number.h"

#include "launcher/base/bad_input.h"

#include <stdbool.h>
#include <string.h>

static bool number_all_digits(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return length > 0;
}

enum number_verdict number_parse(int *value, const char *text, size_t length, int min, int max)
{
    if (length > 1 && text[0] == '-' && number_all_digits(text + 1, length - 1))
        return NUMBER_OUT_OF_RANGE;
    if (!number_all_digits(text, length))
        return NUMBER_MALFORMED;
    if (length > 9)
        return NUMBER_OUT_OF_RANGE;
    int number = 0;
    for (size_t i = 0; i < length; i++)
        number = 10 * number + (text[i] - '0');
    if (number < min || number > max)
        return NUMBER_OUT_OF_RANGE;
    *value = number;
    return NUMBER_OK;
}

int number_parse_or_fail(int *value, const char *text, int min, int max, const char *source,
                         struct err *err)
{
    struct shown shown;
    size_t length = strlen(text);
    switch (number_parse(value, text, length, min, max)) {
    case NUMBER_OK:
        return HVD_OK;
    case NUMBER_MALFORMED:
        return bad_input(err, source, "not a number: '%s'", show_token(&shown, text, length));
    case NUMBER_OUT_OF_RANGE:
        break;
    }
    return bad_input(err, source, "out of range (%d to %d): '%s'", min, max,
                     show_token(&shown, text, length));
}
