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

int port_range_parse(int *low, int *high, const char *text, const char *source, struct err *err)
{
    size_t length = strlen(text), first = strcspn(text, "-");
    enum number_verdict a = number_parse(low, text, first, 1, UINT16_MAX), b = NUMBER_MALFORMED;
    const char *problem = NULL;
    struct shown shown;
    if (text[first] == '-')
        b = number_parse(high, text + first + 1, length - first - 1, 1, UINT16_MAX);
    if (a == NUMBER_MALFORMED || b == NUMBER_MALFORMED)
        problem = "not a range of ports";
    else if (a == NUMBER_OUT_OF_RANGE || b == NUMBER_OUT_OF_RANGE)
        problem = "out of range";
    else if (*low > *high)
        problem = "range of ports is empty";
    else
        return HVD_OK;
    return bad_input(err, source, "%s: '%s' (expected A-B, 1 to 65535, such as 40000-40999)",
                     problem, show_token(&shown, text, length));
}
