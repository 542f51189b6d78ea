/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs in one world, one after the other:
 *
 *   hvdrun -np N random SEED COUNT [FIRST]
 *
 * Each rank submits the program's collectives in an order of its own and waits for them in another
 * one. What the ranks agree on must give the right result; what one of them wants otherwise must be
 * a mismatch on all of them that names both sides; and the world goes on. Ends with status 1, and
 * program and step on stderr, at the first that does not, and when one takes longer than two
 * minutes. */
#include "tests/random/carry_out.h"
#include "tests/support/elements.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 120 };

static int rank, size;
static long programs, collectives, mismatches;
static double slowest_ms;

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void on_alarm(int signum)
{
    static const char text[] = "random: a program hangs\n";
    (void)signum;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(1);
}

static void shuffle(int *order, int count, uint64_t *state)
{
    for (int i = 0; i < count; i++) {
        size_t at = random_less_than(state, (size_t)i + 1);
        order[i] = order[at];
        order[at] = i;
    }
}

static void finish(struct attempt *attempt, int program, int step, int way)
{
    const char *wrong = attempt_finish(attempt, way);
    if (!wrong)
        return;
    fprintf(stderr, "random: program %d, step %d (kind %d, %s), rank %d: %s (%s)\n", program, step,
            (int)attempt->step.kind, attempt->step.name, rank, wrong, hvd_last_error());
    exit(1);
}

static void run_program(const struct plan *plan, int program, uint64_t *state)
{
    struct attempt attempts[STEPS_MAX];
    bool takes_part[STEPS_MAX];
    int order[STEPS_MAX];
    shuffle(order, plan->count, state);
    for (int i = 0; i < plan->count; i++)
        takes_part[order[i]] = attempt_submit(&attempts[order[i]], &plan->steps[order[i]], rank,
                                              random_less_than(state, 2) == 0);
    shuffle(order, plan->count, state);
    for (int i = 0; i < plan->count; i++) {
        if (takes_part[order[i]])
            finish(&attempts[order[i]], program, order[i], (int)random_less_than(state, 3));
        mismatches += plan->steps[order[i]].odd_rank >= 0;
    }
    collectives += plan->count;
    programs++;
}

/* The world, and from three ranks on all but the first. */
static int make_sets(struct members *sets)
{
    sets[0] = (struct members){ .set = 0, .count = size };
    sets[1] = (struct members){ .set = 0, .count = size - 1 };
    for (int i = 0; i < size; i++)
        sets[0].ranks[i] = i;
    for (int i = 1; i < size; i++)
        sets[1].ranks[i - 1] = i;
    if (size < 3)
        return 1;
    sets[1].set = hvd_add_process_set(sets[1].ranks, size - 1);
    return sets[1].set > 0 ? 2 : 1;
}

static void run_programs(uint64_t seed, int first, int count)
{
    static struct members sets[2];
    int nsets = make_sets(sets);
    for (int program = first; program < first + count; program++) {
        struct plan plan;
        uint64_t state = seed + (uint64_t)program * 31 + (uint64_t)rank * 1009 + 1;
        double start_ms = now_ms();
        alarm(PATIENCE_S);
        plan_make(&plan, seed, program, sets, nsets);
        run_program(&plan, program, &state);
        double took_ms = now_ms() - start_ms;
        slowest_ms = took_ms > slowest_ms ? took_ms : slowest_ms;
    }
    alarm(0);
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4)
        return 2;
    signal(SIGALRM, on_alarm);
    if (hvd_init() != HVD_OK) {
        fprintf(stderr, "random: %s\n", hvd_last_error());
        return 1;
    }
    rank = hvd_rank();
    size = hvd_size();
    if (size > MEMBERS_MAX)
        return 2;
    run_programs(strtoull(argv[1], NULL, 10), argc > 3 ? atoi(argv[3]) : 0, atoi(argv[2]));
    if (rank == 0)
        printf("%ld programs, %ld collectives, %ld mismatches; the slowest program took %.0f ms\n",
               programs, collectives, mismatches, slowest_ms);
    return hvd_shutdown() == HVD_OK ? 0 : 1;
}
