/* SPDX-License-Identifier: Apache-2.0 */
/* Whole elastic jobs in one thread and in virtual time, from seeds; see elastic_job.h.
 *
 *   simulate_elastic                        the kept seeds, then 2000 others (200 under
 *                                           sanitizers); TAP
 *   simulate_elastic --seeds N [--first M]  N jobs from seed M on, and the rate
 *   simulate_elastic --seed N [--log]       one job, with everything that happens */
#include "launcher/job/job.h"

#include "launcher/verdict/job_report.h"
#include "src/hvdrun/job_rendezvous.h"
#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/elastic_job.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/memory.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/system.h"

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

enum { CHECKED = 2000, CHECKED_SANITIZED = 200 };

/* Whatever is waited for: calm after 60 s, --elastic-timeout, what is removed, cool-downs. */
enum { ENDS_WITHIN_S = 900, GONE_WITHIN_S = 60 };

struct sim_world world;
struct sim_elastic elastic;

static uint64_t current_seed;

/* ---- drawing ---- */

static void draw_hosts(void)
{
    world.nhosts = 1 + (int)sim_dice(SIM_FLAT_HOSTS_MAX);
    for (int i = 0; i < world.nhosts; i++) {
        struct sim_host *host = &world.hosts[i];
        host->index = i;
        host->clock_us = sim_between(0, SIM_MS(1000000000));
        host->transport = i == 0           ? SIM_TRANSPORT_LOCAL
                          : sim_once_in(3) ? SIM_TRANSPORT_COMMAND
                                           : SIM_TRANSPORT_SSH;
        elastic.found[i] = sim_once_in(4) ? 0 : 1 + (int)sim_dice(4);
    }
    if (elastic.found[0] == 0)
        elastic.found[0] = 1;
}

static void draw_options(const struct host_list *list)
{
    int slots = host_list_slots(list);
    struct elastic_options *options = &elastic.setup.elastic;
    options->min = 1 + (int)sim_dice((uint32_t)slots);
    options->np = options->min + (int)sim_dice((uint32_t)(slots - options->min + 1));
    options->max = options->np + (int)sim_dice(6);
    options->timeout_ms = sim_between(5000, 60000);
    options->shutdown_ms = world.seed < SIM_FIRST_HANGING ? 0 : SIM_SHUTDOWN_MS;
    options->reset_limit = sim_once_in(4) ? 1 + (int)sim_dice(5) : 0;
    if (sim_once_in(2)) {
        options->cooldown_low_ms = sim_between(100, 5000);
        options->cooldown_high_ms = options->cooldown_low_ms * (1 + sim_dice(5));
    }
    options->hosts_are_fixed = sim_once_in(3);
    elastic.options.discovery_script =
        options->hosts_are_fixed ? NULL : (char *)(uintptr_t) "discover";
    elastic.options.elastic = true;
    elastic.setup.options = &elastic.options;
    elastic.setup.job_elastic = (struct job_elastic){ options->max, options->np, false };
}

static void draw(uint64_t seed)
{
    static struct host_slots slots[SIM_HOSTS_MAX];
    world = (struct sim_world){ .seed = seed, .begun_us = sim_now_us() };
    elastic = (struct sim_elastic){ .last_epoch = -1, .steps = 1 + (int)sim_dice(200) };
    elastic.calm_us = sim_now_us() + (sim_once_in(5) ? 0 : sim_dice(60000000));
    elastic.crashes_at_start = sim_once_in(4) ? 4 + (int)sim_dice(20) : 0;
    elastic.never_joins = sim_once_in(8) ? 10 + (int)sim_dice(20) : 0;
    draw_hosts();
    sim_discovery_list(&elastic.setup.hosts, slots);
    draw_options(&elastic.setup.hosts);
    sim_log("seed %" PRIu64 ": %d..%d..%d ranks, %d hosts", seed, elastic.setup.elastic.min,
            elastic.setup.elastic.np, elastic.setup.elastic.max, world.nhosts);
}

/* ---- hvdrun, as src/hvdrun/hvdrun.c puts it together ---- */

static void on_finished(void *context, int exit_status)
{
    (void)context;
    if (world.finished)
        sim_broken("the job has finished twice");
    world.finished = true;
    world.exit_status = exit_status;
    world.finished_us = sim_now_us();
    sim_log("the job has finished with status %d", exit_status);
    elastic_driver_destroy(elastic.driver);
    job_rendezvous_destroy(world.rendezvous);
    job_destroy(world.job);
}

static int on_report(void *context, const struct job_report *report, struct err *err)
{
    (void)context, (void)err;
    sim_elastic_on_report(report);
    return HVD_OK;
}

static void on_worker_ended(void *context, int worker, enum job_worker_end end)
{
    (void)context;
    sim_elastic_on_ended(worker, end);
    elastic_driver_on_ended(elastic.driver, worker, end);
}

static void on_drained(void *context, int worker)
{
    (void)context;
    sim_elastic_on_drained(worker);
    elastic_driver_on_drained(elastic.driver, worker);
}

static void on_worker_waiting(void *context, int worker)
{
    (void)context;
    elastic_driver_on_waiting(elastic.driver, worker);
}

static void on_world_made(void *context, int epoch, const int *workers, int size)
{
    (void)context;
    sim_log("hvdrun hears of epoch %d with %d ranks", epoch, size);
    sim_elastic_on_world(epoch, workers, size);
    elastic_driver_on_world(elastic.driver, epoch, workers, size);
}

static void on_workers_late(void *context, const int *workers, int count, const char *why)
{
    (void)context;
    sim_elastic_before_late(workers, count);
    elastic_driver_on_late(elastic.driver, workers, count, why);
    sim_elastic_after_late(workers, count);
}

static bool on_launchers_signal(struct sim_process *process, int signum)
{
    if (signum == SIGCHLD)
        return sim_uv_on_signal(process, signum);
    if (!world.finished)
        job_signal(world.job, signum);
    return true;
}

static void on_loop_empty(struct sim_process *process)
{
    sim_memory_check(process);
    sim_exit(process, world.exit_status);
}

static void choose_options(void)
{
    static char *const command[] = { (char *)(uintptr_t) "train", NULL };
    static char *const environment[] = { (char *)(uintptr_t) "PATH=/bin", NULL };
    static const struct connect_settings connect = { 0 };
    memset(&world.key, (int)world.seed, sizeof world.key);
    world.options = (struct job_options){ .plan = &world.plan,
                                          .elastic = &elastic.setup.job_elastic,
                                          .connect = &connect,
                                          .cwd = "/",
                                          .attributes.umask = 022,
                                          .command = command,
                                          .environment = environment,
                                          .id = "simulated",
                                          .key = &world.key,
                                          .stdin_closed = true,
                                          .grace_ms = 5000,
                                          .start_timeout_ms = 30000,
                                          .heartbeat_timeout_ms = 5000 };
}

static void start_job(struct sim_process *launcher)
{
    static const struct job_callbacks callbacks = { .on_report = on_report,
                                                    .on_finished = on_finished,
                                                    .on_worker_ended = on_worker_ended,
                                                    .on_drained = on_drained };
    static const struct job_rendezvous_events events = { .on_waiting = on_worker_waiting,
                                                         .on_world = on_world_made,
                                                         .on_late = on_workers_late };
    struct err err = { 0 };
    world.rendezvous = job_rendezvous_create(&launcher->loop, &world.options, &world.key, &err);
    struct job_rendezvous_interface rendezvous = job_rendezvous_interface(world.rendezvous);
    world.job = job_create(&launcher->loop, &world.options, &rendezvous, &callbacks, NULL, &err);
    job_rendezvous_attach(world.rendezvous, world.job);
    elastic.driver = elastic_driver_create(&launcher->loop, &elastic.setup, world.job,
                                           job_rendezvous_itself(world.rendezvous));
    job_rendezvous_listen(world.rendezvous, &events, NULL);
}

static void begin_launcher(void)
{
    struct sim_process *launcher = sim_process_add(SIM_LAUNCHER, 0, NULL);
    world.launcher = launcher;
    launcher->on_signal = on_launchers_signal;
    launcher->on_child_end = sim_uv_on_child_end;
    launcher->on_loop_empty = on_loop_empty;
    choose_options();
    struct sim_process *before = sim_enter(launcher);
    start_job(launcher);
    sim_leave(before);
}

/* ---- what the simulator asks for ---- */

uint64_t sim_clock_ahead_us(const struct sim_process *process)
{
    return process ? world.hosts[process->host].clock_us : 0;
}

int sim_host_program_status(int host)
{
    return world.hosts[host].program_status;
}

bool sim_host_is_short_of_memory(int host)
{
    return world.hosts[host].short_of_memory;
}

/* ---- jobs ---- */

static bool all_gone(void)
{
    for (const struct sim_process *at = sim_processes(); at; at = at->next)
        if (at->alive && !world.hosts[at->host].vanished)
            return false;
    return true;
}

static uint64_t deadline_us(void)
{
    return world.finished ? world.finished_us + SIM_MS(1000) * GONE_WITHIN_S
                          : world.begun_us + SIM_MS(1000) * ENDS_WITHIN_S;
}

/* One job; true if all promises held. */
static bool simulate(uint64_t seed, bool shown)
{
    current_seed = seed;
    sim_pool_reset();
    sim_clock_reset();
    sim_dice_seed(seed);
    sim_journal_begin(seed, shown);
    sim_processes_reset();
    sim_streams_reset();
    sim_descriptors_reset();
    draw(seed);
    begin_launcher();
    sim_elastic_befall();
    while (sim_step(deadline_us()) && (world.launcher->alive || !all_gone()))
        ;
    sim_elastic_judge();
    sim_memory_reset();
    return sim_broken_count() == 0;
}

struct tally {
    unsigned long broken, well, worlds, losses, given_up;
};

static struct tally simulate_many(uint64_t first, uint64_t count)
{
    struct tally tally = { 0 };
    for (uint64_t seed = first; seed < first + count; seed++) {
        tally.broken += !simulate(seed, false);
        tally.well += world.finished && world.exit_status == 0;
        tally.worlds += (unsigned long)elastic.worlds;
        tally.losses += (unsigned long)elastic.losses;
        tally.given_up += (unsigned long)elastic.given_up;
    }
    return tally;
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
    struct tally tally = simulate_many(first, count);
    double took = seconds() - began;
    printf(
        "%" PRIu64 " elastic jobs from seed %" PRIu64
        ": %lu broken; %lu ended well, %lu worlds, %lu losses, %lu given up; %.0f s, %.0f jobs/s\n",
        count, first, tally.broken, tally.well, tally.worlds, tally.losses, tally.given_up, took,
        (double)count / took);
    return tally.broken > 0;
}

/* Seeds that have found something. A change of what a seed draws makes them other jobs. */
static const struct {
    uint64_t seed;
    const char *words;
} kept[] = {
    { 892, "rank 0 has the state, also when an older worker comes later" },
    { 373, "a worker that is started again and again does not put the timeout off" },
    { 13560, "time that passes before the first world refuses nobody" },
    { 15458, "a job that is interrupted starts nothing, whatever its hosts do" },
};

enum { KEPT = sizeof kept / sizeof *kept };

static int check(void)
{
    int failed = 0;
    for (int i = 0; i < KEPT; i++) {
        bool kept_fine = simulate(kept[i].seed, false);
        failed += !kept_fine;
        printf("%sok %d - seed %" PRIu64 ": %s\n", kept_fine ? "" : "not ", i + 1, kept[i].seed,
               kept[i].words);
    }
    const char *sanitizers = getenv("SANITIZERS");
    bool sanitized = sanitizers && *sanitizers && strcmp(sanitizers, "no") != 0;
    uint64_t count = sanitized ? CHECKED_SANITIZED : CHECKED;
    struct tally tally = simulate_many(1, count);
    printf("%sok %d - F100 to F108: every promise holds in simulated elastic jobs (%" PRIu64 ")\n",
           tally.broken ? "not " : "", KEPT + 1, count);
    bool fine = tally.well > count / 5 && tally.well < count && tally.worlds > count;
    printf("%sok %d - some of them end well, some do not (%lu worlds, %lu losses)\n",
           fine ? "" : "not ", KEPT + 2, tally.worlds, tally.losses);
    struct tally hanging = simulate_many(SIM_FIRST_HANGING, count / 2);
    bool given_up = hanging.broken == 0 && hanging.given_up > count / 100;
    printf("%sok %d - F100: ranks that hang at once are given up at once, and no others "
           "(%" PRIu64 " jobs, %lu ranks)\n",
           given_up ? "" : "not ", KEPT + 3, count / 2, hanging.given_up);
    printf("1..%d\n", KEPT + 3);
    return failed > 0 || tally.broken > 0 || !fine || !given_up;
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

int main(int argc, char **argv)
{
    uint64_t seed = 0, count = 0, first = 1;
    bool shown = false;
    for (int i = 1; i < argc; i++) {
        uint64_t *number = strcmp(argv[i], "--seed") == 0    ? &seed
                           : strcmp(argv[i], "--seeds") == 0 ? &count
                           : strcmp(argv[i], "--first") == 0 ? &first
                                                             : NULL;
        if (strcmp(argv[i], "--log") == 0) {
            shown = true;
        } else if (!number || ++i == argc || (*number = strtoull(argv[i], NULL, 10)) == 0) {
            fprintf(stderr, "usage: simulate_elastic [--seed N [--log] | --seeds N [--first M]]\n");
            return 2;
        }
    }
    signal(SIGABRT, on_crash);
    signal(SIGSEGV, on_crash);
    auth_init(NULL);
    if (count > 0)
        return many(first, count);
    return seed > 0 ? !simulate(seed, shown) : check();
}
