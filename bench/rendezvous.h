/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of bench/rendezvous. Each is told where a hvdrendezvousd listens; $HVD_JOB_KEY is that
 * service's key. */
#ifndef BENCH_RENDEZVOUS_H
#define BENCH_RENDEZVOUS_H

#include "lib/base/auth.h"

#include <stdbool.h>

/* How long nothing may happen before it is given up. */
enum { BENCH_PATIENCE_MS = 20000 };

void bench_service_key(struct job_key *key);

/* The value below which `percent` of `count` sorted ones are. */
double bench_percentile(const double *sorted, int count, double percent);
void bench_sort(double *values, int count);

/* One request of the service's over HTTP; ends the program if it is not answered with 200. */
void bench_ask_service(const char *address, const char *request, const char *body);

/* How long worlds of these sizes take from the first dial to the last WELCOME; in jobs that were
 * declared, whose size is known before the first worker comes, or not. */
void bench_join(const char *address, bool declared, int rounds, const int *sizes, int nsizes);

/* Requests on `connections` that stay open, each with its proof or with the key. */
void bench_requests(const char *address, const char *scheme, int connections, int seconds);

/* `connections` at once, each with one GET. */
void bench_gets(const char *address, int connections);

#endif
