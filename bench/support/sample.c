/* SPDX-License-Identifier: Apache-2.0 */
/* Times, and what is told of several of them; see sample.h. */
#include "bench/support/sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS_MIN = 3, CALLS_MAX = 20000 };

double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    double upper = values[count / 2];
    return count % 2 ? upper : (values[count / 2 - 1] + upper) / 2;
}

double size_min(const double *values, int count)
{
    double result = values[0];
    for (int i = 1; i < count; i++)
        if (values[i] < result)
            result = values[i];
    return result;
}

int calls_per_round(double call_us, double round_us)
{
    double calls = round_us / (call_us > 0.01 ? call_us : 0.01);
    return calls < CALLS_MIN ? CALLS_MIN : calls > CALLS_MAX ? CALLS_MAX : (int)calls;
}

long number_argument(const char *what, const char *text, long low, long high)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (!errno && *text && !*end && number >= low && number <= high)
        return number;
    fprintf(stderr, "%s: '%s' is not a number from %ld to %ld\n", what, text, low, high);
    exit(2);
}

void print_header(void)
{
    printf("peer\toperation\tranks\tbytes\tmedian_us\tmin_us\n");
}

void print_sample(const char *peer, const char *operation, int ranks, long nbytes, double *round_us,
                  int rounds)
{
    double lowest = size_min(round_us, rounds);
    printf("%s\t%s\t%d\t%ld\t%.2f\t%.2f\n", peer, operation, ranks, nbytes,
           median(round_us, rounds), lowest);
    fflush(stdout);
}
