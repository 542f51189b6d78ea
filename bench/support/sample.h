/* SPDX-License-Identifier: Apache-2.0 */
/* Times, and what is told of several of them. Also compiled with MPI, so nothing of libhvd here. */
#ifndef BENCH_SUPPORT_SAMPLE_H
#define BENCH_SUPPORT_SAMPLE_H

enum { ROUNDS_MAX = 101 };

double now_us(void);

/* Sorts the values. */
double median(double *values, int count);
double size_min(const double *values, int count);

/* How many calls of about `call_us` make a round of about `round_us`: 3 to 20000. */
int calls_per_round(double call_us, double round_us);

/* Reads the whole of `text` as a number between `low` and `high`, or says on stderr what is wrong
 * with `what` and ends the program. */
long number_argument(const char *what, const char *text, long low, long high);

/* One line: peer, operation, ranks, bytes, median_us, min_us. Sorts the values. */
void print_header(void);
void print_sample(const char *peer, const char *operation, int ranks, long nbytes, double *round_us,
                  int rounds);

#endif
