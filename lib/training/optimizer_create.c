/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls that create and destroy an optimizer; see optimizer_impl.h:
 *   check, make, agree with the other ranks of the process set.
 *
 * A rank that has failed before the agreement, or is out of memory, still takes part in it, so that
 * no rank waits. A single rank, or a rank outside the process set, agrees with nobody. */
#include "lib/training/optimizer_impl.h"

#include "lib/process.h"
#include "lib/training/call.h"

#include <stdlib.h>

int optimizer_answer(int rc, struct err *err)
{
    if (rc < 0)
        fail_context(err, "optimizer");
    return process_answer(rc, err);
}

static int make_gradients(struct hvd_optimizer *optimizer, const struct hvd_parameter *parameters,
                          int count, struct err *err)
{
    int rc = HVD_OK;
    optimizer->gradients = calloc((size_t)count + 1, sizeof *optimizer->gradients);
    if (!optimizer->gradients)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    for (; rc == HVD_OK && optimizer->count < count; optimizer->count++)
        rc = gradient_init(&optimizer->gradients[optimizer->count], &parameters[optimizer->count],
                           &optimizer->settings, optimizer->alone, err);
    return rc;
}

static void discard(struct hvd_optimizer *optimizer)
{
    if (!optimizer)
        return;
    for (int i = 0; i < optimizer->count; i++)
        gradient_fini(&optimizer->gradients[i]);
    pthread_mutex_destroy(&optimizer->lock);
    free(optimizer->groups);
    free(optimizer->tensors);
    free(optimizer->gradients);
    free(optimizer);
}

/* The arguments of the create call. */
struct plan {
    const struct hvd_parameter *parameters;
    int count;
    const struct hvd_optimizer_options *options;
    hvd_update_fn *update;
    void *arg;
    bool alone;
};

static struct hvd_optimizer *make(const struct plan *plan, struct err *err)
{
    struct hvd_optimizer *optimizer = calloc(1, sizeof *optimizer);
    if (!optimizer) {
        fail(err, HVD_ERR_NOMEM, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&optimizer->lock, NULL);
    optimizer->settings = optimizer_settings(plan->options);
    optimizer->update = plan->update;
    optimizer->arg = plan->arg;
    optimizer->alone = plan->alone;
    int rc = make_gradients(optimizer, plan->parameters, plan->count, err);
    if (rc == HVD_OK)
        rc = groups_make(optimizer, plan->options, err);
    if (rc == HVD_OK)
        return optimizer;
    discard(optimizer);
    return NULL;
}

static int optimizer_create_check(const struct plan *plan, bool has_place, struct err *err)
{
    if (!has_place)
        return fail(err, HVD_ERR_INVALID, "there is no place for the optimizer");
    if (!plan->update)
        return fail(err, HVD_ERR_INVALID, "there is no update function");
    return optimizer_check(plan->parameters, plan->count, plan->options, err);
}

/* Whether this rank reduces with nobody; or a negative status. */
static int stands_alone(int process_set, struct err *err)
{
    int member = call_answer(hvd_process_set_included(process_set), err);
    if (member <= 0)
        return member < 0 ? member : 1;
    int size = call_answer(hvd_process_set_size(process_set), err);
    return size < 0 ? size : size == 1;
}

static int optimizer_create_from_plan(struct plan *plan, struct hvd_optimizer **out,
                                      struct err *err)
{
    struct err own = { .code = HVD_OK };
    struct hvd_optimizer *optimizer = NULL;
    int process_set = plan->options->process_set;
    optimizer_create_check(plan, out != NULL, &own);
    int rc = stands_alone(process_set, err);
    if (rc < 0)
        return call_own_mistake_first(rc, &own, err);
    plan->alone = rc;
    if (own.code == HVD_OK)
        optimizer = make(plan, &own);
    rc = own.code;
    if (!plan->alone)
        rc = optimizer_agree(optimizer, process_set, &own, err);
    else if (rc < 0)
        *err = own;
    if (rc == HVD_OK)
        *out = optimizer;
    else
        discard(optimizer);
    return rc;
}

int hvd_optimizer_create(const struct hvd_parameter *parameters, int count,
                         const struct hvd_optimizer_options *options, hvd_update_fn *update,
                         void *arg, struct hvd_optimizer **optimizer)
{
    static const struct hvd_optimizer_options defaults = { .process_set = 0 };
    struct err err;
    struct plan plan = { parameters, count, options ? options : &defaults, update, arg, false };
    if (optimizer)
        *optimizer = NULL;
    return optimizer_answer(optimizer_create_from_plan(&plan, optimizer, &err), &err);
}

void hvd_optimizer_destroy(struct hvd_optimizer *optimizer)
{
    struct err ignored = { .code = HVD_OK };
    if (optimizer)
        groups_wait(optimizer, &ignored);
    discard(optimizer);
}
