/* SPDX-License-Identifier: Apache-2.0 */
/* What PUT /v1/jobs/ID says of a job before its workers come:
 *
 *   {"size": N, "start_timeout_s": S}
 *
 * size is a whole number from 1 to WORLD_SIZE_MAX; start_timeout_s, which may be left out, a number
 * from 0.001 to 86400. Refused, with a text that names the field and what was expected: anything
 * that is no JSON object, has an escape in it, or is followed by something; fields that are
 * unknown, twice there, missing, of another type or out of range. */
#ifndef RENDEZVOUS_WORLD_JOB_DECLARATION_H
#define RENDEZVOUS_WORLD_JOB_DECLARATION_H

#include "lib/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { JOB_DECLARATION_MAX = 4096 }; /* bytes of it */

struct job_declaration {
    int size;
    uint64_t start_timeout_ms; /* 0: the usual */
};

/* HVD_OK, or HVD_ERR_INVALID with its text. `body` need not be terminated. */
int job_declaration_parse(struct job_declaration *declaration, const char *body, size_t length,
                          struct err *err);

#endif
