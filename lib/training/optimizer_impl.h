/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of an optimizer; for the files lib/training/optimizer*.c.
 *
 * Each gradient belongs to a group, mostly a group of its own. A gradient collects its backward
 * passes. When all gradients of a group are complete, the group is in flight until a thread has
 * waited for it:
 *
 *   open -> busy -> open, after an early pass
 *                -> complete, after the last -> open, when all gradients have been reduced
 *
 * The lock guards the states of gradients and groups and the flags behind the lock. While
 * `reducing` is set, all of these belong to the thread that set it, which needs no lock then; other
 * threads' calls fail. A busy gradient belongs to its thread. `stepping` is set during a step or
 * synchronization; there is one at a time. */
#ifndef LIB_TRAINING_OPTIMIZER_IMPL_H
#define LIB_TRAINING_OPTIMIZER_IMPL_H

#include "lib/base/status.h"
#include "lib/hvd_optimizer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIMIZER_PREFIX "allreduce."

/* The options, with the defaults filled in. */
struct optimizer_settings {
    int process_set;
    enum hvd_op op;
    enum hvd_compression compression;
    int passes;
    bool average_passes;
    double predivide_factor;
};

enum gradient_state { GRADIENT_OPEN, GRADIENT_BUSY, GRADIENT_COMPLETE };

struct gradient {
    struct hvd_parameter parameter; /* its dims are those below, its name is the end of the name
                                     * below */
    char name[sizeof OPTIMIZER_PREFIX + HVD_PARAMETER_NAME_MAX]; /* in flight */
    int64_t dims[HVD_DIMS_MAX];
    size_t count;  /* of elements */
    size_t nbytes; /* of all of them */
    enum gradient_state state;
    int passes_left;
    struct group *group;
    struct hvd_tensor *tensor; /* the tensor to send; one of the optimizer's */
    void *sum;   /* owned; of the passes so far, that of halves in float32. NULL for one pass */
    void *wire;  /* owned; the compressed gradient, else NULL */
    void *start; /* owned; HVD_ADASUM: the negative of the data before the update, else NULL */
};

struct group {
    int first, count; /* of the optimizer's tensors */
    int incomplete;   /* gradients of it */
    bool in_flight;
    int64_t handle; /* while in flight */
};

struct hvd_optimizer {
    struct optimizer_settings settings;
    hvd_update_fn *update;
    void *arg;
    bool alone;                 /* nothing is sent: one rank, or not in the process set */
    int count;                  /* of gradients, and of tensors */
    struct gradient *gradients; /* owned; in the caller's order */
    struct hvd_tensor *tensors; /* owned; those of a group stand together */
    struct group *groups;       /* owned */
    int ngroups;
    pthread_mutex_t lock;
    bool stepping, reducing;
    bool synchronized; /* the gradients are the result of a synchronization */
    bool skip;         /* the next step does not synchronize */
    bool warned;       /* has warned of a step that synchronizes again */
    int busy;          /* gradients */
};

/* Whether gradients travel as soon as they are complete. */
static inline bool optimizer_sends_gradients(const struct hvd_optimizer *optimizer)
{
    return !optimizer->alone && optimizer->settings.op != HVD_ADASUM;
}

/* Keeps the first failure of several calls that are made even after a failure. */
static inline void keep_first(struct err *first, int rc, const struct err *failure)
{
    if (rc < 0 && first->code == HVD_OK)
        *first = *failure;
}

/* ---- optimizer_create.c ---- */

/* The result of a public call: `rc`, and `err` as the thread's last error. */
int optimizer_answer(int rc, struct err *err);

/* ---- optimizer_options.c ---- */

/* Checks that an optimizer can be made. HVD_ERR_INVALID, or HVD_ERR_NOMEM. */
int optimizer_check(const struct hvd_parameter *parameters, int count,
                    const struct hvd_optimizer_options *options, struct err *err);

/* The settings of options that have been checked. */
struct optimizer_settings optimizer_settings(const struct hvd_optimizer_options *options);

/* ---- optimizer_parameters.c ---- */

/* The part of optimizer_check() about the parameters alone. */
int optimizer_check_parameters(const struct hvd_parameter *parameters, int count,
                               const struct hvd_optimizer_options *options, struct err *err);

/* ---- optimizer_agreement.c ---- */

/* Agrees with the other ranks of the process set whether all have succeeded and have the same
 * arguments. `own` is this rank's result; `optimizer` is NULL when `own` is a failure. */
int optimizer_agree(const struct hvd_optimizer *optimizer, int process_set, const struct err *own,
                    struct err *err);

/* ---- optimizer_gradient.c ---- */

/* A copy of a parameter, and the memory that its gradient needs. HVD_ERR_NOMEM. */
int gradient_init(struct gradient *gradient, const struct hvd_parameter *parameter,
                  const struct optimizer_settings *settings, bool alone, struct err *err);
void gradient_fini(struct gradient *gradient);

/* The tensor to send: `memory`, or its compressed form. */
struct hvd_tensor gradient_tensor(const struct gradient *gradient, enum hvd_compression compression,
                                  void *memory);

/* Takes the gradient of a pass from the gradient's memory. After the last pass, this memory has the
 * sum of all passes. */
void gradient_take_pass(struct gradient *gradient, const struct optimizer_settings *settings);

/* Counts missing passes as zeros; but if no pass has come and `keep`, the gradient is unchanged.
 * Fails when device memory cannot be written. */
int gradient_fill_up(struct gradient *gradient, const struct optimizer_settings *settings,
                     bool keep, struct err *err);

/* Sets the gradient's memory to zero; fails when device memory cannot be written. */
int gradient_clear(const struct gradient *gradient, struct err *err);

/* Waits for the event after which the gradient is ready, if it has one, as a reduction would. Fails
 * when the event does. */
int gradient_await(const struct gradient *gradient, struct err *err);

/* From `memory` to the tensor to send, and back; does nothing if both are the same. */
void gradient_compress(const struct gradient *gradient, const void *memory);
void gradient_decompress(const struct gradient *gradient, void *memory);

/* ---- optimizer_groups.c ---- */

/* Makes the groups of an optimizer that has its gradients, and their tensors. HVD_ERR_NOMEM. */
int groups_make(struct hvd_optimizer *optimizer, const struct hvd_optimizer_options *options,
                struct err *err);

/* Starts the reduction of a group. */
int group_submit(struct hvd_optimizer *optimizer, struct group *group, struct err *err);

/* Submits the groups that are complete, or all, unless they are in flight; and waits until none is
 * in flight. Both try every group: `first` keeps an earlier failure, and otherwise becomes the
 * first failure. */
void groups_submit(struct hvd_optimizer *optimizer, bool all, struct err *first);
void groups_wait(struct hvd_optimizer *optimizer, struct err *first);

/* ---- optimizer_reduction.c ---- */

/* Sets `stepping` and `reducing`, or only the latter. HVD_ERR_INVALID if another thread has set
 * it. */
int optimizer_begin(struct hvd_optimizer *optimizer, struct err *err);
int optimizer_begin_reducing(struct hvd_optimizer *optimizer, struct err *err);

/* Clears `reducing`, and then `stepping`. */
void optimizer_end_reducing(struct hvd_optimizer *optimizer);
void optimizer_end(struct hvd_optimizer *optimizer);

/* While reducing: completes the gradients that are not. Treats `first` as groups_wait() does. */
void optimizer_fill_up(struct hvd_optimizer *optimizer, struct err *first);

/* While reducing: discards the passes that gradients have taken, and that they have been
 * synchronized; and whether no gradient has taken a pass. */
void optimizer_open(struct hvd_optimizer *optimizer);
bool optimizer_is_open(const struct hvd_optimizer *optimizer);

/* While reducing: all gradients get their values reduced over all ranks. */
int optimizer_reduce(struct hvd_optimizer *optimizer, struct err *err);

/* ---- optimizer_adasum.c ---- */

/* While reducing, before the update: completes this rank's gradients, and keeps the old
 * parameters. */
void adasum_prepare(struct hvd_optimizer *optimizer, struct err *first);

/* After the update: the parameters become those of all ranks. `updated` false: the update has
 * failed. */
int adasum_combine(struct hvd_optimizer *optimizer, bool updated, struct err *err);

#endif
