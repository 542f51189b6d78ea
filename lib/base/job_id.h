/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a job, which is not a secret: 1 to 64 letters, digits, '.', '_' and '-'. The first
 * character is a letter or digit. A name can stand in a path, a header and a log without
 * quoting. */
#ifndef LIB_BASE_JOB_ID_H
#define LIB_BASE_JOB_ID_H

#include <stdbool.h>
#include <stddef.h>

enum { JOB_ID_SIZE = 65 };

#define JOB_ID_EXPECTED "1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit"

bool job_id_valid(const char *text, size_t length);

/* Makes a random id. The caller has called auth_init(). */
void job_id_generate(char id[JOB_ID_SIZE]);

#endif
