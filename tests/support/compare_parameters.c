/* SPDX-License-Identifier: Apache-2.0 */
/* compare_parameters [--tolerance X] FILE FILE
 *
 * Compares two checkpoints tensor by tensor, and prints one line:
 *     tensors=8 values=1199882 max_absolute=2.3e-08 max_relative=1.1e-06 tolerance=1e-05 same=yes
 * The relative difference of two tensors is the length of their difference over the length of the
 * first, each taken as one vector: a value that is nearly 0 does not count for more than it is.
 *
 * Exit status 1 if a tensor differs by more than the tolerance, relatively (0 if none is given), or
 * in name or shape, or holds what is no number; 2 if a file cannot be read. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/support/checkpoint.h"

struct difference {
    size_t values;
    double absolute, relative; /* the largest so far; NaN once there is one */
};

static bool same_form(const struct checkpoint *a, const struct checkpoint *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->tensors[i].name, b->tensors[i].name) != 0 ||
            memcmp(a->tensors[i].shape, b->tensors[i].shape, sizeof a->tensors[i].shape) != 0)
            return false;
    return true;
}

static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

static void compare_tensors(struct difference *difference, const struct tensor *a,
                            const struct tensor *b)
{
    double square = 0, length = 0;
    for (size_t i = 0; i < a->count; i++) {
        double apart = (double)b->values[i] - (double)a->values[i];
        difference->absolute = larger(difference->absolute, fabs(apart));
        square += apart * apart;
        length += (double)a->values[i] * (double)a->values[i];
    }
    double relative = square == 0 ? 0 : sqrt(square / length);
    difference->relative = larger(difference->relative, relative);
    difference->values += a->count;
}

static int compare(const struct checkpoint *a, const struct checkpoint *b, double tolerance)
{
    if (!same_form(a, b)) {
        printf("the tensors have other names or shapes same=no\n");
        return 1;
    }
    struct difference difference = { 0 };
    for (size_t i = 0; i < a->count; i++)
        compare_tensors(&difference, &a->tensors[i], &b->tensors[i]);
    bool same = difference.relative <= tolerance; /* not if NaN */
    printf("tensors=%zu values=%zu max_absolute=%.2g max_relative=%.2g tolerance=%g same=%s\n",
           a->count, difference.values, difference.absolute, difference.relative, tolerance,
           same ? "yes" : "no");
    return !same;
}

static int usage(void)
{
    fprintf(stderr, "usage: compare_parameters [--tolerance X] FILE FILE\n");
    return 2;
}

int main(int argc, char **argv)
{
    double tolerance = 0;
    char *end = NULL;
    if (argc == 5 && strcmp(argv[1], "--tolerance") == 0)
        tolerance = strtod(argv[2], &end);
    if ((argc != 3 && argc != 5) || (argc == 5 && (end == NULL || *end != '\0')))
        return usage();
    struct checkpoint a = { 0 }, b = { 0 };
    struct problem problem = { 0 };
    int status = 2;
    if (checkpoint_read(&a, argv[argc - 2], &problem) < 0 ||
        checkpoint_read(&b, argv[argc - 1], &problem) < 0)
        fprintf(stderr, "compare_parameters: %s\n", problem.text);
    else
        status = compare(&a, &b, tolerance);
    checkpoint_fini(&a);
    checkpoint_fini(&b);
    return status;
}
