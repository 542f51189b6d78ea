/* SPDX-License-Identifier: Apache-2.0 */
/* A worker that checks every collective from inside a real job, through hvd.h alone; what its
 * files share. Each subcommand compares results with those of plain loops. The first wrong
 * result ends the process with status 1 and a line on stderr. */
#ifndef TESTS_SUPPORT_COLLECTIVES_H
#define TESTS_SUPPORT_COLLECTIVES_H

#include "lib/hvd.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

extern int my_rank, world_size;

/* Calls hvd_init(), unless it was called already. */
void join_world(void);

void require(bool condition, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Zeroed memory of malloc(), at least one byte; never NULL. */
void *room(size_t nbytes);

/* Waits for the collective, which must succeed. `result` may be NULL. */
void finish(int64_t handle, struct hvd_result *result, const char *what);

/* An allreduce of the whole world must work. */
void check_world_works(const char *after);

const char *type_name(enum hvd_dtype dtype);
bool is_floating(enum hvd_dtype dtype);

/* Subcommands, with the arguments behind their names. */
void test_matrix(int argc, char **argv); /* names of types; none: all */
void test_scales(int argc, char **argv);
void test_shapes(int argc, char **argv);
void test_order(int argc, char **argv); /* a seed */
void test_sets(int argc, char **argv);
void test_errors(int argc, char **argv);
void test_refused(void); /* the first part of it */
void test_join(int argc, char **argv);
void test_huge(int argc, char **argv); /* BITS: tensors of 2^BITS + 1 elements; none: 31 */

#endif
