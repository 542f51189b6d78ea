/* SPDX-License-Identifier: Apache-2.0 */
/* The synchronization of all gradients; see optimizer_impl.h:
 *   complete the gradients that are not, submit the groups that are not in flight, wait for all,
 *   decompress.
 *
 * The call returns the first failure, and leaves nothing in flight. A gradient that cannot be
 * completed is not submitted, nor is its group. */
#include "lib/training/optimizer_impl.h"

/* Called under the lock. */
static int optimizer_reduction_begin(struct hvd_optimizer *optimizer, bool step, struct err *err)
{
    if (optimizer->reducing || (step && optimizer->stepping))
        return fail(err, HVD_ERR_INVALID, "a step or synchronization is under way");
    if (optimizer->busy > 0)
        return fail(err, HVD_ERR_INVALID, "a gradient is being made ready in another thread");
    optimizer->reducing = true;
    optimizer->stepping |= step;
    return HVD_OK;
}

int optimizer_begin(struct hvd_optimizer *optimizer, struct err *err)
{
    pthread_mutex_lock(&optimizer->lock);
    int rc = optimizer_reduction_begin(optimizer, true, err);
    pthread_mutex_unlock(&optimizer->lock);
    return rc;
}

int optimizer_begin_reducing(struct hvd_optimizer *optimizer, struct err *err)
{
    pthread_mutex_lock(&optimizer->lock);
    int rc = optimizer_reduction_begin(optimizer, false, err);
    pthread_mutex_unlock(&optimizer->lock);
    return rc;
}

void optimizer_end_reducing(struct hvd_optimizer *optimizer)
{
    pthread_mutex_lock(&optimizer->lock);
    optimizer->reducing = false;
    pthread_mutex_unlock(&optimizer->lock);
}

void optimizer_end(struct hvd_optimizer *optimizer)
{
    pthread_mutex_lock(&optimizer->lock);
    optimizer->stepping = false;
    pthread_mutex_unlock(&optimizer->lock);
}

/* A gradient that was reduced before and has not become ready again is reduced as it is. */
void optimizer_fill_up(struct hvd_optimizer *optimizer, struct err *first)
{
    struct err err;
    for (struct gradient *gradient = optimizer->gradients;
         gradient < optimizer->gradients + optimizer->count; gradient++) {
        if (gradient->state == GRADIENT_COMPLETE)
            continue;
        int rc = gradient_fill_up(gradient, &optimizer->settings, optimizer->synchronized, &err);
        keep_first(first, rc, &err);
        if (rc < 0)
            continue;
        gradient->state = GRADIENT_COMPLETE;
        gradient->group->incomplete--;
        gradient->tensor->ready = NULL;
        if (optimizer_sends_gradients(optimizer))
            gradient_compress(gradient, gradient->parameter.gradient);
    }
}

void optimizer_open(struct hvd_optimizer *optimizer)
{
    for (int i = 0; i < optimizer->ngroups; i++)
        optimizer->groups[i].incomplete = optimizer->groups[i].count;
    for (int i = 0; i < optimizer->count; i++) {
        optimizer->gradients[i].state = GRADIENT_OPEN;
        optimizer->gradients[i].passes_left = optimizer->settings.passes;
    }
    optimizer->synchronized = false;
}

bool optimizer_is_open(const struct hvd_optimizer *optimizer)
{
    for (int i = 0; i < optimizer->count; i++)
        if (optimizer->gradients[i].passes_left < optimizer->settings.passes)
            return false;
    return true;
}

static void await_gradients(const struct hvd_optimizer *optimizer, struct err *first)
{
    struct err err;
    for (int i = 0; i < optimizer->count; i++)
        keep_first(first, gradient_await(&optimizer->gradients[i], &err), &err);
}

int optimizer_reduce(struct hvd_optimizer *optimizer, struct err *err)
{
    err->code = HVD_OK;
    optimizer_fill_up(optimizer, err);
    if (optimizer->alone) {
        await_gradients(optimizer, err);
    } else {
        groups_submit(optimizer, false, err);
        groups_wait(optimizer, err);
    }
    for (int i = 0; i < optimizer->count && err->code == HVD_OK; i++)
        gradient_decompress(&optimizer->gradients[i], optimizer->gradients[i].parameter.gradient);
    optimizer_open(optimizer);
    optimizer->synchronized = err->code == HVD_OK;
    return err->code;
}
