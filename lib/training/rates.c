/* SPDX-License-Identifier: Apache-2.0 */
/* Learning rates and momentum as functions of the position in the training (hvd_training.h). They
 * never fail: a value that is not a valid size or number of batches counts as 1. */
#include "lib/hvd_training.h"

#include <math.h>

/* Epochs passed after so many batches of an epoch; a whole number at its end. */
static double epochs_passed(struct hvd_batch at, int64_t batches_done)
{
    int64_t batches = at.batches > 0 ? at.batches : 1;
    return (double)at.epoch + (double)batches_done / (double)batches;
}

double hvd_warmup_rate(double target, double warmup_epochs, int size, struct hvd_batch batch)
{
    double ranks = size > 0 ? size : 1;
    double progress = epochs_passed(batch, batch.batch + 1) / warmup_epochs;
    if (!(progress >= 0 && progress < 1)) /* it is over, or there is none */
        return target;
    return target * (progress * (ranks - 1) + 1) / ranks;
}

static double multiplier(const struct hvd_rate_schedule *schedule, double epoch)
{
    if (schedule->multiplier)
        return schedule->multiplier(epoch, schedule->arg);
    double decay = schedule->decay != 0 ? schedule->decay : 1;
    return pow(decay, epoch - (double)schedule->start_epoch);
}

double hvd_scheduled_rate(const struct hvd_rate_schedule *schedule, struct hvd_batch batch)
{
    if (batch.epoch < schedule->start_epoch ||
        (schedule->end_epoch != 0 && batch.epoch >= schedule->end_epoch))
        return schedule->initial;
    double epoch = epochs_passed(batch, schedule->smooth ? batch.batch : 0);
    return schedule->initial * multiplier(schedule, epoch);
}

double hvd_corrected_momentum(double momentum, double old_rate, double new_rate)
{
    return old_rate != 0 ? momentum * new_rate / old_rate : momentum;
}
