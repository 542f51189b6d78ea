/* SPDX-License-Identifier: Apache-2.0 */
/* Curves for a person to look at: an SVG file with axes, ticks and a legend, that any browser
 * shows, written by rank 0 to a temporary file and renamed. */
#ifndef EXAMPLES_SUPPORT_PLOT_H
#define EXAMPLES_SUPPORT_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "examples/support/problem.h"

struct plot_curve {
    const char *label;
    const double *x, *y; /* `count` of each; what is not finite is left out */
    size_t count;
    bool points; /* marks instead of a line */
};

struct plot {
    const char *title, *x_label, *y_label;
    const struct plot_curve *curves; /* at most 8 */
    size_t curve_count;
    bool log_y; /* values of 0 and less are left out */
};

/* Returns 0, or -1 with a problem that names the file. */
int plot_write(const char *path, const struct plot *plot, struct problem *problem);

#endif
