/* SPDX-License-Identifier: Apache-2.0 */
/* Computing by sleeping or burning; see synthetic_compute.h. Fails for a text that is neither, or
 * whose time is no number from 0 to 10^6. */
#include "examples/synthetic_compute.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int compute_parse(struct compute *compute, const char *text, struct problem *problem)
{
    static const char *const prefixes[] = { [COMPUTE_SLEEP] = "sleep:", [COMPUTE_BURN] = "burn:" };
    for (int kind = 0; kind < (int)(sizeof prefixes / sizeof *prefixes); kind++) {
        size_t length = strlen(prefixes[kind]);
        if (strncmp(text, prefixes[kind], length) != 0)
            continue;
        char *end;
        double ms = strtod(text + length, &end);
        if (!isdigit((unsigned char)text[length]) || *end != '\0' || !(ms >= 0 && ms <= 1e6))
            break;
        *compute = (struct compute){ .kind = (enum compute_kind)kind, .seconds = ms / 1e3 };
        return 0;
    }
    return problem_set(problem, EXIT_STATUS_USAGE,
                       "--compute wants sleep:MS or burn:MS, MS from 0 to 1000000, not '%.60s'",
                       text);
}

double compute_seconds_of_accelerator(const struct model *model, long batch_size)
{
    /* Backwards there are twice as many multiplications: by the weights and by the inputs. */
    static const double per_second = 300 * 3 * 4.11e9;
    return 3 * (double)model_multiplications(model) * (double)batch_size / per_second;
}

void compute_schedule(const struct model *model, double seconds, double ready_at[])
{
    double all = (double)model_multiplications(model), done = 0;
    for (int i = model->count - 1; i >= 0; i--) {
        done += (double)model->tensors[i].multiplications;
        ready_at[i] = seconds * (1 + 2 * done / all) / 3;
    }
}

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void sleep_until(double when)
{
    double whole = floor(when);
    struct timespec time = { .tv_sec = (time_t)whole, .tv_nsec = (long)((when - whole) * 1e9) };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
        ;
}

/* Returns how many seconds of processor time it has taken: a little more than was asked for. */
static double burn(double seconds)
{
    double begin = now(CLOCK_THREAD_CPUTIME_ID), taken = 0, x = 1;
    while (taken < seconds) {
        for (int i = 0; i < 500; i++)
            x = x * 0.999999 + 1e-6;
        __asm__ volatile("" : "+m"(x)); /* or it would all be left out */
        taken = now(CLOCK_THREAD_CPUTIME_ID) - begin;
    }
    return taken;
}

void compute_begin(struct compute *compute)
{
    compute->origin = now(CLOCK_MONOTONIC);
    compute->spent = 0;
}

void compute_until(struct compute *compute, double seconds)
{
    if (compute->kind == COMPUTE_BURN)
        compute->spent += burn(seconds - compute->spent);
    else if (now(CLOCK_MONOTONIC) < compute->origin + seconds)
        sleep_until(compute->origin + seconds);
}
