/* SPDX-License-Identifier: Apache-2.0 */
/* Means, deviations and ratios; see synthetic_summary.h. Times are positive; on a busy machine a
 * step may all the same be shorter than its parts, or longer than both in a row. */
#include "examples/synthetic_summary.h"

#include <math.h>

static void add_up(struct summary *summary, const struct iteration *iterations, size_t count,
                   double images)
{
    double squares = 0, n = (double)count;
    for (size_t i = 0; i < count; i++) {
        summary->step += iterations[i].step / n;
        summary->alone += iterations[i].alone / n;
        summary->communication += iterations[i].communication / n;
        summary->images_per_s += images / iterations[i].step / n;
    }
    for (size_t i = 0; i < count; i++) {
        double difference = images / iterations[i].step - summary->images_per_s;
        squares += difference * difference;
    }
    summary->margin = 1.96 * sqrt(squares / n);
}

void summarize(struct summary *summary, const struct iteration *iterations, size_t count,
               long batch_size, int ranks)
{
    *summary = (struct summary){ 0 };
    add_up(summary, iterations, count, (double)batch_size);
    summary->efficiency = summary->alone / summary->step;
    if (ranks == 1 || summary->communication <= 0)
        return;
    summary->hidden_s = fmax(0, summary->alone + summary->communication - summary->step);
    summary->hidden = fmin(1, summary->hidden_s / summary->communication);
}
