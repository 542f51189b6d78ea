/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a record of an end (rank_end.h), for people: hvd_last_error(), hvdrun's last line,
 * the report and the status page. No other file has these words. A text is one line and is cut at
 * `size`. */
#ifndef LIB_BASE_RANK_END_TEXT_H
#define LIB_BASE_RANK_END_TEXT_H

#include "lib/base/rank_end.h"
#include "lib/base/status.h"

#include <stddef.h>

/* Longer names of hosts are cut, "%.*s". */
enum { RANK_END_HOST_SHOWN = 80 };

/* The grammatical form: after "FAILED rank 2 on node1:", or after "rank 2 on node1". */
enum rank_end_form {
    RANK_END_SHORT,   /* "killed by signal 9 (SIGKILL)" */
    RANK_END_PASSIVE, /* "was killed by signal 9 (SIGKILL)" */
};

/* "exited with status 3", "killed by signal 11 (SIGSEGV, core dumped)". */
void rank_end_how_text(char *text, size_t size, const struct rank_end_how *how,
                       enum rank_end_form form);

/* Like rank_end_how_text(), and adds the call that the rank did not make: "exited with status 0
 * without hvd_shutdown", "exited with status 3 before hvd_init". */
void rank_end_missed_text(char *text, size_t size, const struct rank_end *end);

/* A sentence: "rank 2 on node1 was killed by signal 9 (SIGKILL)", "allreduce 'grad': rank 1 on a
 * left (hvd_shutdown or exit)", "rank 1 on a: accept: Too many open files". */
void rank_end_text(char *text, size_t size, const struct rank_end *end);

/* Writes the text of rank_end_text() as the failure of a call, with the status of `end`, and
 * returns the status. */
int rank_end_fail(struct err *err, const struct rank_end *end);

#endif
