/* SPDX-License-Identifier: Apache-2.0 */
/* Telling a person how far the training is: on a terminal one line that is rewritten up to ten
 * times a second, anywhere else plain lines, at most 20 in an epoch.
 *
 *     epoch 1/2  step 240/468  loss 0.5121  2110 images/s  ETA 0:41 */
#ifndef EXAMPLES_SUPPORT_PROGRESS_H
#define EXAMPLES_SUPPORT_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct progress {
    FILE *out;          /* borrowed; NULL to say nothing */
    bool terminal;      /* rewrite one line */
    long epochs, steps; /* to make, and in each epoch */
    long images;        /* of each step, over all ranks */
    long before;        /* steps made by an earlier run */
    double last_shown;  /* seconds of training when a line was last written */
    double loss_sum;    /* of the steps since then */
    long loss_count;
};

/* A run that goes on with another has `before` set afterwards. */
void progress_init(struct progress *progress, FILE *out, long epochs, long steps, long images);

/* A step has been made: `epoch` and `step` count from 0, `seconds` is the time that this run has
 * spent in training so far. Writes a line if one is due. */
void progress_step(struct progress *progress, long epoch, long step, double loss, double seconds);

/* Whether a line is due after that step: the last step of an epoch always has one. */
bool progress_due(const struct progress *progress, long step, double seconds);

/* The line itself, without a newline; `loss` is shown as it is. */
void progress_format(const struct progress *progress, char *line, size_t size, long epoch,
                     long step, double loss, double seconds);

#endif
