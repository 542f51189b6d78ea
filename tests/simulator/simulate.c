/* SPDX-License-Identifier: Apache-2.0 */
/* Whole jobs in one thread and in virtual time, from seeds.
 *
 *   simulate                        the kept seeds, then 2000 jobs (500 under sanitizers), and 400
 *                                   (100) with a tree of agents, whose seeds begin with 10^12; TAP
 *   simulate --seeds N [--first M]  N jobs from seed M on, and the rate
 *   simulate --seed N [--log]       one job, with everything that happens
 *   simulate --verdicts N [--first M]  what hvdrun decides in N jobs, one line each
 *
 * hvdrun (launcher/job*.c with the rendezvous) and every hvdagent are the real code, on a libuv and
 * on system calls of the simulator's own (uv.c, system.c); workers, supervisors and networks are
 * scripts (worker*.c, host.c, stream.c). README.md tells how to read and extend it. */
#include "lib/base/auth.h"
#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/faults.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/memory.h"
#include "tests/simulator/oracles.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/uv.h"
#include "tests/simulator/worker.h"
#include "tests/simulator/world.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined __SANITIZE_ADDRESS__
/* memory.c looks for leaks; what a killed process leaves is none. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

enum { CHECKED = 2000, CHECKED_SANITIZED = 500, KEPT_MAX = 256 };
enum { CHECKED_TREES = 400, CHECKED_TREES_SANITIZED = 100 };

struct kept {
    uint64_t seed;
    char words[200];
    bool broken;
};

static uint64_t current_seed;
static unsigned long again_jobs, again_broken; /* in which messages come twice, or late */

static void reset(uint64_t seed, bool shown)
{
    current_seed = seed;
    sim_pool_reset();
    sim_clock_reset();
    sim_dice_seed(seed);
    sim_journal_begin(seed, shown);
    sim_processes_reset();
    sim_streams_reset();
    sim_descriptors_reset();
    sim_store_reset();
}

/* Until hvdrun has ended and everything is gone, or it takes too long. */
static void run(void)
{
    while (sim_step(world.finished || sim_launcher_was_killed() ? sim_faults_gone_us()
                                                                : sim_faults_deadline_us()))
        if (!world.launcher->alive && sim_all_gone())
            break;
}

/* One job; true if all promises held. */
static bool simulate(uint64_t seed, bool shown)
{
    reset(seed, shown);
    sim_world_draw(seed);
    sim_work_draw(world.nranks);
    sim_faults_draw();
    sim_launcher_begin();
    run();
    sim_oracles_judge();
    bool broken = sim_broken_count() > 0;
    sim_faults_count(broken);
    again_jobs += work.again;
    again_broken += work.again && broken;
    sim_world_end();
    sim_memory_reset();
    return !broken;
}

static unsigned long simulate_many(uint64_t first, uint64_t count)
{
    unsigned long broken = 0;
    for (uint64_t seed = first; seed < first + count; seed++)
        broken += !simulate(seed, false);
    return broken;
}

/* What fails an assertion, or worse, belongs to a seed, too. */
static void on_crash(int signum)
{
    char text[80];
    int length = snprintf(text, sizeof text, "# seed %" PRIu64 " crashes\n", current_seed);
    ssize_t ignored = write(STDOUT_FILENO, text, (size_t)length);
    (void)ignored;
    signal(signum, SIG_DFL);
    raise(signum);
}

/* "SEED words" lines; '#' begins a comment. */
static int read_kept(struct kept kept[KEPT_MAX])
{
    const char *srcdir = getenv("srcdir");
    char path[4096], line[400];
    snprintf(path, sizeof path, "%s/tests/simulator/seeds", srcdir ? srcdir : ".");
    FILE *file = fopen(path, "re");
    int count = 0;
    while (file && count < KEPT_MAX && fgets(line, sizeof line, file))
        if (sscanf(line, "%" SCNu64 " %199[^\n]", &kept[count].seed, kept[count].words) == 2)
            count++;
    if (file)
        fclose(file);
    return count;
}

static const char again_sentence[] = "messages that come late, or twice, do no harm";
static const char inner_sentence[] = "a lost inner agent costs its subtree, and its host is named";
static const char pair_sentence[] =
    "F111: two faults at once end a job as one of them does, and hit the host that is named lost";
static int test_number;

static void tell(bool fine, const char *format, uint64_t number, const char *words)
{
    printf("%sok %d - ", fine ? "" : "not ", ++test_number);
    printf(format, number, words);
    putchar('\n');
}

static int tell_faults(void)
{
    unsigned long befallen, broken;
    int failed = 0;
    const char *sentence;
    for (int i = 0; (sentence = sim_fault_sentence(i, &befallen, &broken)); i++) {
        bool fine = befallen > 0 && broken == 0;
        failed += !fine;
        tell(fine, "%2$s (%1$" PRIu64 " jobs)", befallen, sentence);
    }
    tell(again_broken == 0, "%2$s (%1$" PRIu64 " jobs)", again_jobs, again_sentence);
    befallen = sim_faults_of_inner_hosts(&broken);
    tell(befallen > 0 && broken == 0, "%2$s (%1$" PRIu64 " jobs)", befallen, inner_sentence);
    failed += (again_broken > 0) + (befallen == 0 || broken > 0);
    befallen = sim_faults_in_pairs(&broken);
    tell(befallen > 0 && broken == 0, "%2$s (%1$" PRIu64 " jobs)", befallen, pair_sentence);
    return failed + (befallen == 0 || broken > 0);
}

static int check(void)
{
    static struct kept kept[KEPT_MAX];
    const char *sanitizers = getenv("SANITIZERS");
    bool sanitized = sanitizers && *sanitizers && strcmp(sanitizers, "no") != 0;
    uint64_t count = sanitized ? CHECKED_SANITIZED : CHECKED;
    uint64_t ntrees = sanitized ? CHECKED_TREES_SANITIZED : CHECKED_TREES;
    int nkept = read_kept(kept), failed = 0;
    for (int i = 0; i < nkept; i++) {
        bool fine = simulate(kept[i].seed, false);
        failed += !fine;
        tell(fine, "seed %" PRIu64 ": %s", kept[i].seed, kept[i].words);
    }
    unsigned long broken = simulate_many(1, count);
    tell(broken == 0, "every promise holds in %" PRIu64 " simulated jobs%s", count, "");
    failed += broken > 0;
    broken = simulate_many(SIM_TREE_SEEDS, ntrees);
    tell(broken == 0, "and in %" PRIu64 " with a tree of agents%s", ntrees, "");
    failed += broken > 0;
    failed += tell_faults();
    printf("1..%d\n", test_number);
    return failed > 0;
}

/* Numbers only, so that programs whose messages differ can be compared. */
static int print_verdicts(uint64_t first, uint64_t count)
{
    for (uint64_t seed = first; seed < first + count; seed++) {
        simulate(seed, false);
        const struct sim_verdict *verdict = &world.verdict;
        printf("verdict %" PRIu64 ": status %d cause %d rank %d host %d\n", seed, world.exit_status,
               verdict->cause, verdict->rank, verdict->host);
    }
    return 0;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int many(uint64_t first, uint64_t count)
{
    double began = seconds();
    unsigned long broken = simulate_many(first, count), befallen, bad;
    double took = seconds() - began;
    const char *sentence;
    for (int i = 0; (sentence = sim_fault_sentence(i, &befallen, &bad)); i++)
        printf("%8lu jobs, %lu broken: %s\n", befallen, bad, sentence);
    printf("%8lu jobs, %lu broken: %s\n", again_jobs, again_broken, again_sentence);
    befallen = sim_faults_of_inner_hosts(&bad);
    printf("%8lu jobs, %lu broken: %s\n", befallen, bad, inner_sentence);
    befallen = sim_faults_in_pairs(&bad);
    printf("%8lu jobs, %lu broken: %s\n", befallen, bad, pair_sentence);
    printf("%" PRIu64 " jobs from seed %" PRIu64 ": %lu broken, %.0f s, %.0f jobs/s\n", count,
           first, broken, took, (double)count / took);
    return broken > 0;
}

static int usage(const char *problem, const char *token)
{
    fprintf(stderr,
            "simulate: %s: '%s' (--seed N [--log] | --seeds N | --verdicts N [--first M])\n",
            problem, token);
    return 2;
}

int main(int argc, char **argv)
{
    uint64_t seed = 0, count = 0, verdicts = 0, first = 1;
    bool shown = false;
    for (int i = 1; i < argc; i++) {
        char *end = NULL;
        uint64_t *number = strcmp(argv[i], "--seed") == 0       ? &seed
                           : strcmp(argv[i], "--seeds") == 0    ? &count
                           : strcmp(argv[i], "--verdicts") == 0 ? &verdicts
                           : strcmp(argv[i], "--first") == 0    ? &first
                                                                : NULL;
        if (strcmp(argv[i], "--log") == 0)
            shown = true;
        else if (!number)
            return usage("not an option", argv[i]);
        else if (++i == argc)
            return usage("needs a number", argv[i - 1]);
        else if ((*number = strtoull(argv[i], &end, 10)) == 0 || *end)
            return usage("not a number from 1 on", argv[i]);
    }
    signal(SIGABRT, on_crash);
    signal(SIGSEGV, on_crash);
    auth_init(NULL);
    if (count > 0)
        return many(first, count);
    if (verdicts > 0)
        return print_verdicts(first, verdicts);
    return seed > 0 ? !simulate(seed, shown) : check();
}
