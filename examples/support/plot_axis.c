/* SPDX-License-Identifier: Apache-2.0 */
/* Round numbers: the steps are 1, 2 or 5 times a power of ten, so that there are 3 to 9 of them; on
 * a log axis whole decades, and 1, 2, 5 within one or two. Nothing here fails. */
#include "examples/support/plot_axis.h"

#include <math.h>
#include <stdio.h>

/* Beyond it sums and differences of values could overflow. */
static const double largest = 1e300;

bool plot_axis_shows(bool log, double value)
{
    return fabs(value) <= largest && (!log || value >= 1 / largest);
}

/* The smallest round step of which eight reach across `span`. */
static double round_step(double span)
{
    double power = pow(10, floor(log10(span / 8)));
    const double factors[] = { 1, 2, 5 };
    for (int i = 0; i < 3; i++)
        if (factors[i] * power * 8 >= span * (1 - 1e-9))
            return factors[i] * power;
    return 10 * power;
}

static void add_tick(struct plot_axis *axis, double tick)
{
    if (axis->tick_count < PLOT_TICKS_MAX)
        axis->ticks[axis->tick_count++] = tick;
}

static void place_linear(struct plot_axis *axis, double low, double high)
{
    double size = fmax(fabs(low), fabs(high));
    if (high - low <= 1e-6 * size || size < 1 / largest) {
        double room = size < 1 / largest ? 1 : size / 2;
        low -= room;
        high += room;
    }
    axis->step = round_step(high - low);
    double first = floor(low / axis->step + 1e-9), last = ceil(high / axis->step - 1e-9);
    axis->low = first * axis->step;
    axis->high = last * axis->step;
    for (double i = first; i <= last; i++)
        add_tick(axis, i * axis->step);
}

static void place_log(struct plot_axis *axis, double low, double high)
{
    axis->low = floor(log10(low) + 1e-9);
    axis->high = ceil(log10(high) - 1e-9);
    if (axis->high <= axis->low)
        axis->high = axis->low + 1;
    double decades = axis->high - axis->low;
    axis->step = decades <= 8 ? 1 : round_step(decades);
    for (double at = axis->low; at <= axis->high; at += axis->step) {
        add_tick(axis, pow(10, at));
        if (decades <= 2 && at < axis->high) {
            add_tick(axis, 2 * pow(10, at));
            add_tick(axis, 5 * pow(10, at));
        }
    }
}

void plot_axis_init(struct plot_axis *axis, bool log, double low, double high)
{
    *axis = (struct plot_axis){ .log = log };
    if (log)
        place_log(axis, low, high);
    else
        place_linear(axis, low, high);
}

double plot_axis_place(const struct plot_axis *axis, double value)
{
    double at = axis->log ? log10(value) : value;
    return (at - axis->low) / (axis->high - axis->low);
}

void plot_axis_text(const struct plot_axis *axis, double tick, char text[PLOT_TICK_TEXT])
{
    double size = fmax(fabs(axis->low), fabs(axis->high));
    int place = (int)floor(log10(axis->step) + 1e-9);
    if (axis->log)
        snprintf(text, PLOT_TICK_TEXT, "%g", tick);
    else if (size < 1e-3 || size >= 1e6)
        snprintf(text, PLOT_TICK_TEXT, "%.*g", (int)floor(log10(size)) - place + 1, tick);
    else
        snprintf(text, PLOT_TICK_TEXT, "%.*f", place < 0 ? -place : 0, tick);
}
