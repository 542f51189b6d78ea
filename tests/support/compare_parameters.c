/* SPDX-License-Identifier: Apache-2.0 */
/* compare_parameters [--tolerance X] FILE FILE
 *
 * Compares two checkpoints (hvd_checkpoint_save(3)) entry by entry, and prints one line:
 *     tensors=8 values=1199882 max_absolute=2.3e-08 max_relative=1.1e-06 tolerance=1e-05 same=yes
 * The relative difference of two tensors is the length of their difference over the length of the
 * first, each taken as one vector: a value that is nearly 0 does not count for more than it is.
 * What is not a tensor of float32 or float64 must be the same to the bit.
 *
 * Exit status 1 if a tensor differs by more than the tolerance, relatively (0 if none is given), or
 * holds what is no number, or if the files differ in anything else; 2 if a file cannot be read. */
#include "lib/training/checkpoint_file.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct difference {
    size_t tensors, values;
    double absolute, relative; /* the largest so far; NaN once there is one */
    bool other;                /* what is not a tensor of such differs */
};

static bool same_form(const struct checkpoint_entry *a, const struct checkpoint_entry *b)
{
    return a->kind == b->kind && a->dtype == b->dtype && a->ndims == b->ndims &&
           memcmp(a->dims, b->dims, sizeof a->dims) == 0 && strcmp(a->name, b->name) == 0;
}

static bool same_forms(const struct checkpoint_file *a, const struct checkpoint_file *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!same_form(&a->entries[i], &b->entries[i]))
            return false;
    return true;
}

static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

static double value_at(const void *data, enum hvd_dtype dtype, size_t i)
{
    return dtype == HVD_FLOAT32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static void compare_floats(struct difference *difference, const void *a, const void *b,
                           enum hvd_dtype dtype, size_t count)
{
    double square = 0, length = 0;
    for (size_t i = 0; i < count; i++) {
        double first = value_at(a, dtype, i), apart = value_at(b, dtype, i) - first;
        difference->absolute = larger(difference->absolute, fabs(apart));
        square += apart * apart;
        length += first * first;
    }
    double relative = square == 0 ? 0 : sqrt(square / length);
    difference->relative = larger(difference->relative, relative);
    difference->tensors++;
    difference->values += count;
}

/* For free(). */
static void *data_of(const struct checkpoint_file *file, size_t entry)
{
    struct err err;
    size_t nbytes = (size_t)file->entries[entry].nbytes;
    void *data = malloc(nbytes + 1);
    if (data && checkpoint_file_read(file, entry, 0, data, nbytes, &err) == HVD_OK)
        return data;
    fprintf(stderr, "compare_parameters: %s\n", data ? err.text : "out of memory");
    exit(2);
}

static void compare_entries(struct difference *difference, const struct checkpoint_file *a,
                            const struct checkpoint_file *b, size_t entry)
{
    const struct checkpoint_entry *form = &a->entries[entry];
    void *left = data_of(a, entry), *right = data_of(b, entry);
    enum hvd_dtype dtype = form->dtype;
    bool floats = dtype == HVD_FLOAT32 || dtype == HVD_FLOAT64;
    if (form->kind == CHECKPOINT_TENSOR && floats)
        compare_floats(difference, left, right, dtype,
                       (size_t)form->nbytes / hvd_dtype_size(dtype));
    else if (memcmp(left, right, (size_t)form->nbytes) != 0)
        difference->other = true;
    free(left);
    free(right);
}

static int compare(const struct checkpoint_file *a, const struct checkpoint_file *b,
                   double tolerance)
{
    if (!same_forms(a, b)) {
        printf("the entries have other names, types or shapes same=no\n");
        return 1;
    }
    struct difference difference = { 0 };
    for (size_t i = 0; i < a->count; i++)
        compare_entries(&difference, a, b, i);
    bool same = difference.relative <= tolerance && !difference.other; /* not if NaN */
    printf("tensors=%zu values=%zu max_absolute=%.2g max_relative=%.2g tolerance=%g same=%s\n",
           difference.tensors, difference.values, difference.absolute, difference.relative,
           tolerance, same ? "yes" : "no");
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
    struct checkpoint_file a = { .fd = -1 }, b = { .fd = -1 };
    struct err err;
    int status = 2;
    if (checkpoint_file_open(&a, argv[argc - 2], &err) < 0 ||
        checkpoint_file_open(&b, argv[argc - 1], &err) < 0)
        fprintf(stderr, "compare_parameters: %s\n", err.text);
    else
        status = compare(&a, &b, tolerance);
    checkpoint_file_close(&a);
    checkpoint_file_close(&b);
    return status;
}
