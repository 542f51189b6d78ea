/* SPDX-License-Identifier: Apache-2.0 */
/* Owners of keys; see key_owner.h. */
#include "lib/base/key_owner.h"

#include <stdio.h>
#include <string.h>

/* -1 if it is no number of a worker. */
static int parse_worker(const char *text, size_t length)
{
    int worker = 0;
    if (length < 1 || length > 7 || (text[0] == '0' && length > 1))
        return -1;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        worker = worker * 10 + (text[i] - '0');
    }
    return worker <= WORKER_NUMBER_MAX ? worker : -1;
}

bool key_owner_parse(struct key_owner *owner, const char *text, size_t length)
{
    const char *slash = length > 0 ? memchr(text, '/', length) : NULL;
    size_t job_length = slash ? (size_t)(slash - text) : length;
    *owner = (struct key_owner){ .worker = -1 };
    if (job_length > 0 && !job_id_valid(text, job_length))
        return false;
    if (job_length > 0)
        memcpy(owner->job, text, job_length);
    if (slash)
        owner->worker = parse_worker(slash + 1, length - job_length - 1);
    return !slash || owner->worker >= 0;
}

void key_owner_format(char text[KEY_OWNER_SIZE], const char *job, int worker)
{
    if (worker < 0)
        snprintf(text, KEY_OWNER_SIZE, "%s", job);
    else
        snprintf(text, KEY_OWNER_SIZE, "%s/%d", job, worker);
}
