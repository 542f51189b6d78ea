/* SPDX-License-Identifier: Apache-2.0 */
/* Values become points; when there is no room for more, each two points become one, and from then
 * on twice as many values. Nothing here fails. */
#include "examples/support/curve.h"

static void halve(struct curve *curve)
{
    for (size_t i = 0; i < CURVE_POINTS / 2; i++) {
        curve->x[i] = curve->x[2 * i + 1];
        curve->y[i] = (curve->y[2 * i] + curve->y[2 * i + 1]) / 2;
    }
    curve->count = CURVE_POINTS / 2;
    curve->every *= 2;
}

void curve_add(struct curve *curve, double x, double y)
{
    if (curve->every == 0)
        curve->every = 1;
    curve->sum += y;
    if (++curve->summed < curve->every)
        return;
    curve->x[curve->count] = x;
    curve->y[curve->count++] = curve->sum / (double)curve->summed;
    curve->sum = 0;
    curve->summed = 0;
    if (curve->count == CURVE_POINTS)
        halve(curve);
}
