/* SPDX-License-Identifier: Apache-2.0 */
/* How a rendezvous bears many clients, which are simulated here; bench/rendezvous.sh starts one and
 * calls this. Prints TSV.
 *
 *   rendezvous join|join-declared ADDRESS:PORT ROUNDS SIZE...
 *   rendezvous requests ADDRESS:PORT proof|bearer CONNECTIONS SECONDS
 *   rendezvous gets ADDRESS:PORT CONNECTIONS
 *
 * The clients share the machine's cores with the rendezvous, which has one thread. */
#include "bench/rendezvous.h"

#include "bench/support/sample.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES_MAX = 32, CONNECTIONS_MAX = 60000 };

void bench_service_key(struct job_key *key)
{
    const char *hex = getenv("HVD_JOB_KEY");
    if (!hex || !job_key_decode(key, hex, strlen(hex)))
        errx(2, "HVD_JOB_KEY: expected the service's key, 64 hexadecimal digits");
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void bench_sort(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
}

double bench_percentile(const double *sorted, int count, double percent)
{
    int index = (int)((double)count * percent / 100);
    return sorted[index < count ? index : count - 1];
}

static void join(int argc, char **argv, bool declared)
{
    int sizes[SIZES_MAX], nsizes = argc - 2;
    int rounds = (int)number_argument("ROUNDS", argv[1], 1, ROUNDS_MAX);
    if (nsizes > SIZES_MAX)
        errx(2, "at most %d sizes", SIZES_MAX);
    for (int i = 0; i < nsizes; i++)
        sizes[i] = (int)number_argument("SIZE", argv[2 + i], 1, CONNECTIONS_MAX);
    bench_join(argv[0], declared, rounds, sizes, nsizes);
}

static void do_join(int argc, char **argv)
{
    join(argc, argv, false);
}

static void do_join_declared(int argc, char **argv)
{
    join(argc, argv, true);
}

static void do_requests(int argc, char **argv)
{
    (void)argc;
    if (strcmp(argv[1], "proof") != 0 && strcmp(argv[1], "bearer") != 0)
        errx(2, "'%s': expected proof or bearer", argv[1]);
    bench_requests(argv[0], argv[1],
                   (int)number_argument("CONNECTIONS", argv[2], 1, CONNECTIONS_MAX),
                   (int)number_argument("SECONDS", argv[3], 1, 600));
}

static void do_gets(int argc, char **argv)
{
    (void)argc;
    bench_gets(argv[0], (int)number_argument("CONNECTIONS", argv[1], 1, CONNECTIONS_MAX));
}

static const struct {
    const char *name;
    int arguments_min, arguments_max;
    void (*measure)(int argc, char **argv);
} parts[] = {
    { "join", 3, 2 + SIZES_MAX, do_join },
    { "join-declared", 3, 2 + SIZES_MAX, do_join_declared },
    { "requests", 4, 4, do_requests },
    { "gets", 2, 2, do_gets },
};

int main(int argc, char **argv)
{
    struct err err;
    if (auth_init(&err) < 0)
        errx(1, "%s", err.text);
    for (size_t i = 0; argc > 1 && i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(argv[1], parts[i].name) != 0 || argc - 2 < parts[i].arguments_min ||
            argc - 2 > parts[i].arguments_max)
            continue;
        parts[i].measure(argc - 2, argv + 2);
        return 0;
    }
    errx(2, "expected join|join-declared ADDRESS:PORT ROUNDS SIZE..., requests ADDRESS:PORT "
            "proof|bearer "
            "CONNECTIONS SECONDS, or gets ADDRESS:PORT CONNECTIONS");
}
