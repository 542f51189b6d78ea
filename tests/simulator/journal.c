/* SPDX-License-Identifier: Apache-2.0 */
/* See journal.h. */
#include "tests/simulator/journal.h"

#include "tests/simulator/clock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static struct {
    uint64_t seed, began_us;
    bool shown;
    int broken;
} journal;

void sim_journal_begin(uint64_t seed, bool shown)
{
    journal.seed = seed;
    journal.began_us = sim_now_us();
    journal.shown = shown;
    journal.broken = 0;
}

static double seconds(void)
{
    return (double)(sim_now_us() - journal.began_us) / 1e6;
}

void sim_log(const char *format, ...)
{
    va_list args;
    if (!journal.shown)
        return;
    printf("%10.6f ", seconds());
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

void sim_broken(const char *format, ...)
{
    va_list args;
    journal.broken++;
    printf("# seed %" PRIu64 ", %.6f s: BROKEN: ", journal.seed, seconds());
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
}

int sim_broken_count(void)
{
    return journal.broken;
}
