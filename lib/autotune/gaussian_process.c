/* SPDX-License-Identifier: Apache-2.0 */
/* The Gaussian process; see gaussian_process.h:
 *   the kernel's matrix of all points, with the noise on its diagonal, is kept as its Cholesky
 *   factor, which grows by a row with each value; the weights are solved again after each change.
 * Fails when out of memory, at the beginning. */
#include "lib/autotune/gaussian_process.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* The distance in the cube over which two points are correlated; and the noise that keeps equal
 * points from giving the same equation twice. */
static const double length = 0.4, jitter = 1e-6;

/* Row `row` of the lower triangle. */
static double *row_of(const struct gaussian_process *process, int row)
{
    return process->factor + (size_t)row * (size_t)(row + 1) / 2;
}

static const double *point_of(const struct gaussian_process *process, int index)
{
    return process->points + (size_t)index * (size_t)process->ndims;
}

int gaussian_process_init(struct gaussian_process *process, int ndims, int capacity, double noise,
                          struct err *err)
{
    size_t room = (size_t)capacity;
    *process = (struct gaussian_process){
        .ndims = ndims,
        .capacity = capacity,
        .noise = noise,
        .points = calloc(room * (size_t)ndims + 1, sizeof(double)),
        .values = calloc(room + 1, sizeof(double)),
        .factor = calloc(room * (room + 1) / 2 + 1, sizeof(double)),
        .weights = calloc(room + 1, sizeof(double)),
        .work = calloc(room + 1, sizeof(double)),
    };
    if (process->points && process->values && process->factor && process->weights && process->work)
        return HVD_OK;
    gaussian_process_fini(process);
    return fail(err, HVD_ERR_NOMEM, "out of memory");
}

void gaussian_process_fini(struct gaussian_process *process)
{
    free(process->points);
    free(process->values);
    free(process->factor);
    free(process->weights);
    free(process->work);
    *process = (struct gaussian_process){ 0 };
}

static double kernel(const double *a, const double *b, int ndims)
{
    double square = 0;
    for (int i = 0; i < ndims; i++)
        square += (a[i] - b[i]) * (a[i] - b[i]);
    return exp(-square / (2 * length * length));
}

static double dot(const double *a, const double *b, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Solves factor * x = kernel(points, point) for the first `count` rows; x replaces the right
 * side. */
static void project(const struct gaussian_process *process, const double *point, double *x,
                    int count)
{
    for (int i = 0; i < count; i++) {
        const double *row = row_of(process, i);
        double value = kernel(point_of(process, i), point, process->ndims);
        x[i] = (value - dot(row, x, i)) / row[i];
    }
}

static void measure_values(struct gaussian_process *process)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < process->count; i++)
        sum += process->values[i];
    process->mean = sum / process->count;
    for (int i = 0; i < process->count; i++)
        squares += (process->values[i] - process->mean) * (process->values[i] - process->mean);
    process->spread = sqrt(squares / process->count);
    if (!(process->spread > 0))
        process->spread = fabs(process->mean) > 0 ? fabs(process->mean) : 1;
}

/* factor * factor' * weights = values, relative to their mean and spread. */
static void solve_weights(struct gaussian_process *process)
{
    double *weights = process->weights;
    for (int i = 0; i < process->count; i++) {
        const double *row = row_of(process, i);
        double value = (process->values[i] - process->mean) / process->spread;
        weights[i] = (value - dot(row, weights, i)) / row[i];
    }
    for (int i = process->count - 1; i >= 0; i--) {
        const double *row = row_of(process, i);
        weights[i] /= row[i];
        for (int j = 0; j < i; j++)
            weights[j] -= row[j] * weights[i];
    }
}

void gaussian_process_add(struct gaussian_process *process, const double *point, double value)
{
    int count = process->count;
    double *row = row_of(process, count);
    project(process, point, row, count);
    double rest = 1 + jitter + process->noise * process->noise - dot(row, row, count);
    row[count] = sqrt(rest > jitter ? rest : jitter);
    for (int i = 0; i < process->ndims; i++)
        process->points[(size_t)count * (size_t)process->ndims + (size_t)i] = point[i];
    process->values[count] = value;
    process->count++;
    measure_values(process);
    solve_weights(process);
}

double gaussian_process_mean(const struct gaussian_process *process, const double *point)
{
    double mean = 0;
    for (int i = 0; i < process->count; i++)
        mean += kernel(point_of(process, i), point, process->ndims) * process->weights[i];
    return process->mean + process->spread * mean;
}

struct belief gaussian_process_believe(const struct gaussian_process *process, const double *point)
{
    double *work = process->work;
    project(process, point, work, process->count);
    double variance = 1 - dot(work, work, process->count);
    return (struct belief){
        .mean = gaussian_process_mean(process, point),
        .deviation = variance > 0 ? process->spread * sqrt(variance) : 0,
    };
}

double gaussian_process_improvement(const struct gaussian_process *process, const double *point,
                                    double than)
{
    struct belief belief = gaussian_process_believe(process, point);
    double more = belief.mean - than;
    if (!(belief.deviation > 0))
        return more > 0 ? more : 0;
    double z = more / belief.deviation;
    double below = erfc(-z / sqrt(2)) / 2, density = exp(-z * z / 2) / sqrt(2 * M_PI);
    return more * below + belief.deviation * density;
}
