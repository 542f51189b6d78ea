/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of hvd_optimizer.h, except those that create and destroy.
 *
 *   ready:   take a pass; after the last one compress, and submit the group if it is complete;
 *   step:    reduce all gradients (or none, after a synchronization; or the update's changes,
 *            HVD_ADASUM), update.
 *
 * A mistake of this rank itself changes nothing. A gradient that cannot be submitted stays
 * complete, and the next synchronization tries again. */
#include "lib/training/optimizer_impl.h"

#include "lib/base/log.h"
#include "lib/training/names.h"

#define READY_ALREADY "its gradient is ready already, for the next step"

/* ---- gradients that become ready ---- */

static int check_gradient(const struct hvd_optimizer *optimizer, int parameter, const void *event,
                          struct err *err)
{
    if (!optimizer)
        return fail(err, HVD_ERR_INVALID, "there is none");
    if (parameter < 0 || parameter >= optimizer->count)
        return fail(err, HVD_ERR_INVALID, "parameter %d does not exist, there are %d", parameter,
                    optimizer->count);
    if (event && optimizer->gradients[parameter].parameter.device == 0)
        return fail(err, HVD_ERR_INVALID, "parameter %d is in host memory, which has no events",
                    parameter);
    return HVD_OK;
}

/* Called under the lock. */
static int check_state(const struct hvd_optimizer *optimizer, const struct gradient *gradient,
                       struct err *err)
{
    if (optimizer->reducing)
        return fail(err, HVD_ERR_INVALID, "a synchronization is under way");
    if (gradient->state == GRADIENT_BUSY)
        return fail(err, HVD_ERR_INVALID, "another thread is making it ready");
    if (gradient->state == GRADIENT_COMPLETE)
        return fail(err, HVD_ERR_INVALID, READY_ALREADY);
    return HVD_OK;
}

static int begin_pass(struct hvd_optimizer *optimizer, struct gradient *gradient, struct err *err)
{
    char label[NAME_LABEL];
    pthread_mutex_lock(&optimizer->lock);
    int rc = check_state(optimizer, gradient, err);
    if (rc == HVD_OK) {
        gradient->state = GRADIENT_BUSY;
        optimizer->busy++;
    }
    pthread_mutex_unlock(&optimizer->lock);
    if (rc < 0)
        fail_context(err, "%s", name_label(label, "parameter", gradient->parameter.name));
    return rc;
}

static void take_pass(const struct hvd_optimizer *optimizer, struct gradient *gradient)
{
    gradient_take_pass(gradient, &optimizer->settings);
    if (gradient->passes_left == 0 && optimizer_sends_gradients(optimizer))
        gradient_compress(gradient, gradient->parameter.gradient);
}

static int end_pass(struct hvd_optimizer *optimizer, struct gradient *gradient, struct err *err)
{
    int rc = HVD_OK;
    bool complete = gradient->passes_left == 0;
    pthread_mutex_lock(&optimizer->lock);
    optimizer->busy--;
    gradient->state = complete ? GRADIENT_COMPLETE : GRADIENT_OPEN;
    if (complete && --gradient->group->incomplete == 0 && optimizer_sends_gradients(optimizer))
        rc = group_submit(optimizer, gradient->group, err);
    pthread_mutex_unlock(&optimizer->lock);
    return rc;
}

int hvd_optimizer_ready_after(struct hvd_optimizer *optimizer, int parameter, void *event)
{
    struct err err;
    int rc = check_gradient(optimizer, parameter, event, &err);
    if (rc < 0)
        return optimizer_answer(rc, &err);
    struct gradient *gradient = &optimizer->gradients[parameter];
    if ((rc = begin_pass(optimizer, gradient, &err)) < 0)
        return optimizer_answer(rc, &err);
    gradient->tensor->ready = event;
    take_pass(optimizer, gradient);
    return optimizer_answer(end_pass(optimizer, gradient, &err), &err);
}

int hvd_optimizer_ready(struct hvd_optimizer *optimizer, int parameter)
{
    return hvd_optimizer_ready_after(optimizer, parameter, NULL);
}

/* ---- steps ---- */

static int check_adasum(const struct hvd_optimizer *optimizer, struct err *err)
{
    if (!optimizer)
        return fail(err, HVD_ERR_INVALID, "there is none");
    if (optimizer->settings.op == HVD_ADASUM)
        return fail(err, HVD_ERR_INVALID, "adasum does not synchronize gradients");
    return HVD_OK;
}

int hvd_optimizer_synchronize(struct hvd_optimizer *optimizer)
{
    struct err err;
    int rc = check_adasum(optimizer, &err);
    if (rc == HVD_OK)
        rc = optimizer_begin(optimizer, &err);
    if (rc < 0)
        return optimizer_answer(rc, &err);
    rc = optimizer_reduce(optimizer, &err);
    optimizer_end_reducing(optimizer);
    optimizer_end(optimizer);
    return optimizer_answer(rc, &err);
}

int hvd_optimizer_skip_synchronize(struct hvd_optimizer *optimizer)
{
    struct err err;
    int rc = check_adasum(optimizer, &err);
    if (rc == HVD_OK)
        rc = optimizer_begin_reducing(optimizer, &err);
    if (rc < 0)
        return optimizer_answer(rc, &err);
    optimizer->skip = true;
    optimizer_end_reducing(optimizer);
    return HVD_OK;
}

static void warn(struct hvd_optimizer *optimizer)
{
    if (!optimizer->warned)
        log_line(LOG_WARNING, hvd_rank(),
                 "hvd_optimizer_step() after hvd_optimizer_synchronize() reduces gradients twice; "
                 "hvd_optimizer_skip_synchronize() avoids that");
    optimizer->warned = true;
}

/* Uses the gradients as the synchronization has left them. */
static int take_synchronized(struct hvd_optimizer *optimizer, struct err *err)
{
    if (!optimizer->synchronized)
        return fail(err, HVD_ERR_INVALID, "nothing has been synchronized since the last step");
    if (!optimizer_is_open(optimizer))
        return fail(err, HVD_ERR_INVALID, "gradients have become ready after synchronizing");
    optimizer->skip = false;
    return HVD_OK;
}

static int prepare_update(struct hvd_optimizer *optimizer, struct err *err)
{
    if (optimizer->skip)
        return take_synchronized(optimizer, err);
    if (optimizer->settings.op == HVD_ADASUM) {
        err->code = HVD_OK;
        adasum_prepare(optimizer, err);
        return err->code;
    }
    if (optimizer->synchronized)
        warn(optimizer);
    return optimizer_reduce(optimizer, err);
}

/* The update may do anything with gradients. */
static int update(struct hvd_optimizer *optimizer, int *updated, struct err *err)
{
    optimizer->synchronized = false;
    optimizer_end_reducing(optimizer);
    *updated = optimizer->update(optimizer->arg);
    if (optimizer->settings.op == HVD_ADASUM)
        return adasum_combine(optimizer, *updated == 0, err);
    return HVD_OK;
}

int hvd_optimizer_step(struct hvd_optimizer *optimizer)
{
    struct err err;
    int updated = 0;
    int rc =
        optimizer ? optimizer_begin(optimizer, &err) : fail(&err, HVD_ERR_INVALID, "there is none");
    if (rc < 0)
        return optimizer_answer(rc, &err);
    rc = prepare_update(optimizer, &err);
    if (rc == HVD_OK)
        rc = update(optimizer, &updated, &err);
    else
        optimizer_end_reducing(optimizer);
    optimizer_end(optimizer);
    return rc < 0 ? optimizer_answer(rc, &err) : updated;
}

static int clear(struct hvd_optimizer *optimizer, struct err *err)
{
    char label[NAME_LABEL];
    int rc = HVD_OK;
    for (int i = 0; i < optimizer->count; i++)
        if (optimizer->gradients[i].state == GRADIENT_COMPLETE)
            return fail(err, HVD_ERR_INVALID, "%s: " READY_ALREADY,
                        name_label(label, "parameter", optimizer->gradients[i].parameter.name));
    for (int i = 0; rc == HVD_OK && i < optimizer->count; i++)
        rc = gradient_clear(&optimizer->gradients[i], err);
    optimizer_open(optimizer);
    return rc;
}

int hvd_optimizer_zero_gradients(struct hvd_optimizer *optimizer)
{
    struct err err;
    int rc = optimizer ? optimizer_begin_reducing(optimizer, &err)
                       : fail(&err, HVD_ERR_INVALID, "there is none");
    if (rc < 0)
        return optimizer_answer(rc, &err);
    rc = clear(optimizer, &err);
    optimizer_end_reducing(optimizer);
    return optimizer_answer(rc, &err);
}
