/* SPDX-License-Identifier: Apache-2.0 */
/* One axis of a plot: what it spans, and where its ticks are. Arithmetic only. */
#ifndef EXAMPLES_SUPPORT_PLOT_AXIS_H
#define EXAMPLES_SUPPORT_PLOT_AXIS_H

#include <stdbool.h>
#include <stddef.h>

enum { PLOT_TICKS_MAX = 16, PLOT_TICK_TEXT = 32 };

struct plot_axis {
    bool log;
    double low, high; /* its ends, low < high; on a log axis their decimal logarithms */
    double step;      /* between ticks, likewise */
    double ticks[PLOT_TICKS_MAX];
    int tick_count;
};

/* Whether an axis can show a value. */
bool plot_axis_shows(bool log, double value);

/* An axis that holds `low` to `high`, both of which it can show, and ends at round numbers. If they
 * are as good as equal it is opened around them. */
void plot_axis_init(struct plot_axis *axis, bool log, double low, double high);

/* Where a value lies: 0 at the lower end, 1 at the upper one. */
double plot_axis_place(const struct plot_axis *axis, double value);

/* What is written at a tick. */
void plot_axis_text(const struct plot_axis *axis, double tick, char text[PLOT_TICK_TEXT]);

#endif
