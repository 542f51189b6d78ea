/* SPDX-License-Identifier: Apache-2.0 */
/* Where ranks stand, with ranks that stand at the same place in one line:
 *   ranks 0-6, 8-15: hvd_wait <- train_step (train.py:40)
 *   rank 7: read <- load_batch (train.py:12)
 * Lines are in the order of their lowest rank, and of arrival for the same rank. Pure. */
#ifndef LAUNCHER_JOB_STACK_GROUPS_H
#define LAUNCHER_JOB_STACK_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

enum { STACK_GROUPS_MAX = 200 };

struct stack_group;

struct stack_groups {
    struct stack_group *groups; /* owned: `count` of them */
    size_t count;
    int nranks;  /* ranks are below this number */
    bool *heard; /* owned: of these ranks something is known */
};

void stack_groups_init(struct stack_groups *self, int nranks);

/* Adds one thread of a rank. The text is made printable, and copied. Beyond STACK_GROUPS_MAX places
 * only the ranks are kept, in one line more. */
void stack_groups_add(struct stack_groups *self, int rank, const char *where);

/* Calls `say` for each line. */
void stack_groups_tell(struct stack_groups *self, void (*say)(void *context, const char *line),
                       void *context);

void stack_groups_fini(struct stack_groups *self);

#endif
