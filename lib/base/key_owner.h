/* SPDX-License-Identifier: Apache-2.0 */
/* Whose key a client proves, as it stands in OPEN and in an Authorization header:
 *
 *   ""         the only job that the rendezvous has
 *   ID         the job of that name
 *   ID/WORKER  one worker of the job; its key follows from the job's (auth.h). ID may be empty
 *
 * The number of a worker is decimal digits, without zeros in front. */
#ifndef LIB_BASE_KEY_OWNER_H
#define LIB_BASE_KEY_OWNER_H

#include "lib/base/job_id.h"

#include <stdbool.h>
#include <stddef.h>

enum { WORKER_NUMBER_MAX = (1 << 20) - 1, KEY_OWNER_SIZE = JOB_ID_SIZE + 8 };

struct key_owner {
    char job[JOB_ID_SIZE];
    int worker; /* -1: the job itself */
};

bool key_owner_parse(struct key_owner *owner, const char *text, size_t length);
void key_owner_format(char text[KEY_OWNER_SIZE], const char *job, int worker);

#endif
