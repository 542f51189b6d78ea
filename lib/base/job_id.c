/* SPDX-License-Identifier: Apache-2.0 */
/* Names of jobs; see job_id.h. */
#include "lib/base/job_id.h"

#include "lib/base/auth.h"

#include <stdio.h>
#include <string.h>

enum { JOB_ID_RANDOM_BYTES = 5 };

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool job_id_valid(const char *text, size_t length)
{
    if (length < 1 || length >= JOB_ID_SIZE || !is_letter_or_digit(text[0]))
        return false;
    for (size_t i = 1; i < length; i++)
        if (!is_letter_or_digit(text[i]) && !memchr("._-", text[i], 3))
            return false;
    return true;
}

void job_id_generate(char id[JOB_ID_SIZE])
{
    unsigned char random[NONCE_SIZE];
    nonce_generate(random);
    for (int i = 0; i < JOB_ID_RANDOM_BYTES; i++)
        snprintf(id + 2 * i, 3, "%02x", random[i]);
}
