/* SPDX-License-Identifier: Apache-2.0 */
/* How fast sums are made: GB/s of result for each element type on each path that this machine has,
 * in the cache (256 KiB per operand) and beyond it (64 MiB), and the best path beside the portable
 * one. The paths take turns for several rounds; shown are medians. */
#include "lib/reduce/reduce_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PATHS_MAX = 4, ROUNDS = 9, SMALL = 256 << 10, LARGE = 64 << 20 };

static unsigned char *left, *right;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* GB/s of left += right, over about 64 MiB. */
static double rate(reduce_fn *sum, size_t count, size_t nbytes)
{
    size_t times = LARGE / nbytes;
    double start_s = now_s();
    for (size_t i = 0; i < times; i++)
        sum(left, left, right, count);
    return (double)(times * nbytes) / (now_s() - start_s) * 1e-9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double values[ROUNDS])
{
    qsort(values, ROUNDS, sizeof *values, compare);
    return values[ROUNDS / 2];
}

static void print_rates(enum hvd_dtype dtype, size_t nbytes)
{
    double rates[PATHS_MAX][ROUNDS];
    size_t count = nbytes / dtype_size((int)dtype), paths = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (paths = 0; paths < PATHS_MAX && reduce_path_at(paths); paths++)
            rates[paths][round] =
                rate(reduce_path_at(paths)->reduce[dtype][HVD_SUM], count, nbytes);
    double best = median(rates[0]), portable = best;
    for (size_t path = 0; path < paths; path++)
        printf(" %9.1f", portable = median(rates[path]));
    printf(" %6.1f x", best / portable);
}

static void print_table(const char *title, size_t nbytes)
{
    printf("%-10s", title);
    for (size_t path = 0; reduce_path_at(path); path++)
        printf(" %9s", reduce_path_at(path)->name);
    printf("   best / portable\n");
    for (int dtype = 0; dtype < REDUCE_DTYPES; dtype++) {
        printf("%-10s", dtype_name(dtype));
        print_rates((enum hvd_dtype)dtype, nbytes);
        printf("\n");
    }
}

int main(void)
{
    left = aligned_alloc(64, LARGE);
    right = aligned_alloc(64, LARGE);
    if (!left || !right)
        return fprintf(stderr, "reduce: no memory\n"), 1;
    memset(left, 0x3c, LARGE); /* a usual number, whatever the type */
    memset(right, 0x3c, LARGE);
    print_table("256 KiB", SMALL);
    print_table("64 MiB", LARGE);
    free(left);
    free(right);
    return 0;
}
