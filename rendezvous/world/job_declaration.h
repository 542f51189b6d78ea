/* SPDX-License-Identifier: Apache-2.0 */
/* The body of PUT /v1/jobs/ID, which declares a job before its workers come:
 *
 *   {"size": N, "start_timeout_s": S}
 *   {"min": N, "max": N, "start_timeout_s": S}    an elastic job
 *
 * size, min and max are whole numbers from 1 to WORLD_SIZE_MAX, min at most max; start_timeout_s,
 * which may be left out, is a number from 0.001 to 86400. Refused, with a text that names the field
 * and what was expected: anything that is no JSON object, has an escape in it, or is followed by
 * something; fields that are unknown, twice there, missing, of another type or out of range, or
 * that contradict each other. */
#ifndef RENDEZVOUS_WORLD_JOB_DECLARATION_H
#define RENDEZVOUS_WORLD_JOB_DECLARATION_H

#include "lib/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { JOB_DECLARATION_MAX = 4096 }; /* bytes of it */

struct job_declaration {
    int size;                  /* 0: elastic */
    int min, max;              /* of an elastic one, else 0 */
    uint64_t start_timeout_ms; /* 0: the usual */
};

/* HVD_OK, or HVD_ERR_INVALID with its text. `body` need not be terminated. */
int job_declaration_parse(struct job_declaration *declaration, const char *body, size_t length,
                          struct err *err);

#endif
