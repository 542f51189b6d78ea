/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line. Time comes in as an argument. That the output cannot be written is not noticed
 * here but once, at the end of the program. */
#include "examples/support/progress.h"

#include <unistd.h>

enum { PLAIN_LINES = 20 };

void progress_init(struct progress *progress, FILE *out, long epochs, long steps, long images)
{
    *progress = (struct progress){ .out = out, .epochs = epochs, .steps = steps, .images = images };
    progress->terminal = out != NULL && isatty(fileno(out)) == 1;
}

bool progress_due(const struct progress *progress, long step, double seconds)
{
    if (step == progress->steps - 1)
        return true;
    if (progress->terminal)
        return seconds - progress->last_shown >= 0.1;
    long every = (progress->steps + PLAIN_LINES - 1) / PLAIN_LINES;
    return (step + 1) % every == 0;
}

void progress_format(const struct progress *progress, char *line, size_t size, long epoch,
                     long step, double loss, double seconds)
{
    long done = epoch * progress->steps + step + 1,
         left = progress->epochs * progress->steps - done, here = done - progress->before;
    double per_second = seconds > 0 ? (double)(here * progress->images) / seconds : 0;
    long eta = (long)(seconds / (double)here * (double)left + 0.5);
    snprintf(line, size, "epoch %ld/%ld  step %ld/%ld  loss %.4f  %.0f images/s  ETA %ld:%02ld",
             epoch + 1, progress->epochs, step + 1, progress->steps, loss, per_second, eta / 60,
             eta % 60);
}

static void show(const struct progress *progress, const char *line, bool last)
{
    if (progress->terminal)
        fprintf(progress->out, "\r%s\033[K%s", line, last ? "\n" : "");
    else
        fprintf(progress->out, "%s\n", line);
    fflush(progress->out);
}

void progress_step(struct progress *progress, long epoch, long step, double loss, double seconds)
{
    progress->loss_sum += loss;
    progress->loss_count++;
    if (progress->out == NULL || !progress_due(progress, step, seconds))
        return;
    char line[160];
    progress_format(progress, line, sizeof line, epoch, step,
                    progress->loss_sum / (double)progress->loss_count, seconds);
    show(progress, line, step == progress->steps - 1);
    progress->last_shown = seconds;
    progress->loss_sum = 0;
    progress->loss_count = 0;
}
