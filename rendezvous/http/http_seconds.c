/* SPDX-License-Identifier: Apache-2.0 */
/* Reading seconds; see http_seconds.h. */
#include "rendezvous/http/http_seconds.h"

#include <string.h>

static bool http_seconds_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool http_seconds_parse(struct http_text text, uint64_t *ms)
{
    const char *at = text.data, *end = text.data + text.length;
    uint64_t seconds = 0;
    for (; at < end && http_seconds_is_digit(*at) && seconds <= HTTP_WAIT_SECONDS_MAX; at++)
        seconds = 10 * seconds + (uint64_t)(*at - '0');
    bool whole = at > text.data;
    uint64_t thousandths = 0;
    if (at < end && *at == '.') {
        whole = whole && at + 1 < end && end - at <= 4;
        uint64_t unit = 100;
        for (at++; at < end && http_seconds_is_digit(*at); at++, unit /= 10)
            thousandths += unit * (uint64_t)(*at - '0');
    }
    *ms = 1000 * seconds + thousandths;
    return whole && at == end && *ms <= 1000 * HTTP_WAIT_SECONDS_MAX;
}

bool http_seconds_wait(struct http_text text, uint64_t *ms)
{
    static const char wait[] = "wait=";
    const size_t prefix = sizeof wait - 1;
    if (text.length <= prefix || memcmp(text.data, wait, prefix) != 0)
        return false;
    return http_seconds_parse((struct http_text){ text.data + prefix, text.length - prefix }, ms);
}
