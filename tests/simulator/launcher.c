/* SPDX-License-Identifier: Apache-2.0 */
/* hvdrun: hosts and ranks as the seed draws them, then the real plan, rendezvous and job on one
 * loop, as src/hvdrun/hvdrun.c puts them together. Signals go to the job; when it is over
 * everything is released, and the process ends when nothing is active on its loop. */
#include "launcher/job/job.h"

#include "launcher/connect/host_connect.h"
#include "launcher/verdict/job_report.h"
#include "src/hvdrun/job_rendezvous.h"
#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/memory.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/system.h"
#include "tests/simulator/world.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_world world;

/* ---- drawing ---- */

static void draw_host(int index)
{
    struct sim_host *host = &world.hosts[index];
    host->index = index;
    host->slots = 1 + (int)sim_dice(world.tree_width > 0 ? 2 : 4);
    host->clock_us = sim_between(0, SIM_MS(1000000000));
    host->transport = index == 0       ? SIM_TRANSPORT_LOCAL
                      : sim_once_in(3) ? SIM_TRANSPORT_COMMAND
                                       : SIM_TRANSPORT_SSH;
}

/* "h0:2,h1:4": with or without the launcher's own machine. */
static char *host_text(void)
{
    int first = world.nhosts > 1 && sim_once_in(3) ? 1 : 0;
    char *text = sim_format("h%d:%d", first, world.hosts[first].slots);
    world.nranks = world.hosts[first].slots;
    for (int i = first + 1; i < world.nhosts; i++) {
        text = sim_format("%s,h%d:%d", text, i, world.hosts[i].slots);
        world.nranks += world.hosts[i].slots;
    }
    if (world.nranks > SIM_RANKS_MAX)
        world.nranks = SIM_RANKS_MAX;
    if (world.tree_width > 0) /* all hosts have ranks, or almost all */
        world.nranks -= world.nranks > 3 ? (int)sim_dice(3) : 0;
    else
        world.nranks = 1 + (int)sim_dice((uint32_t)world.nranks);
    return text;
}

static void plan_ranks(const char *text)
{
    struct err err = { 0 };
    enum rank_order order = sim_once_in(3) ? RANKS_BY_NODE : RANKS_BY_SLOT;
    if (host_list_parse(&world.list, text, strlen(text), "-H", &err) < 0 ||
        rank_plan_make(&world.plan, &world.list, world.nranks, order, &err) < 0)
        sim_broken("no plan for %d ranks on %s: %s", world.nranks, text, err.text);
    else
        sim_rank_infos_check(order == RANKS_BY_NODE);
}

void sim_world_draw(uint64_t seed)
{
    world = (struct sim_world){ .seed = seed,
                                .begun_us = sim_now_us(),
                                .verdict = { .rank = -1, .host = -1 } };
    if (seed >= SIM_TREE_SEEDS)
        world.tree_width = 2 + (int)sim_dice(3);
    world.nhosts = world.tree_width > 0 ? 4 + (int)sim_dice(SIM_HOSTS_MAX - 3)
                                        : 1 + (int)sim_dice(SIM_FLAT_HOSTS_MAX);
    for (int i = 0; i < world.nhosts; i++)
        draw_host(i);
    char *text = host_text();
    plan_ranks(text);
    sim_log("seed %" PRIu64 ": %d ranks on %s", seed, world.nranks, text);
}

/* ---- running ---- */

static void on_finished(void *context, int exit_status)
{
    (void)context;
    if (world.finished)
        sim_broken("the job has finished twice");
    world.finished = true;
    world.exit_status = exit_status;
    world.finished_us = sim_now_us();
    sim_log("the job has finished with status %d", exit_status);
    job_rendezvous_destroy(world.rendezvous);
    job_destroy(world.job);
}

static int on_report(void *context, const struct job_report *report, struct err *err)
{
    (void)context, (void)err;
    world.verdict = (struct sim_verdict){ report->cause, report->rank, report->host };
    return HVD_OK;
}

static void on_suspended(void *context)
{
    (void)context;
    if (world.told_to_stop)
        sim_broken("hvdrun stops itself after it was told to end");
    sim_stop_itself(world.launcher);
}

static bool ends_the_job(int signum)
{
    return signum == SIGINT || signum == SIGTERM || signum == SIGHUP;
}

static bool on_signal(struct sim_process *process, int signum)
{
    if (signum == SIGCHLD)
        return sim_uv_on_signal(process, signum);
    world.told_to_stop = signum == SIGTSTP ? false : world.told_to_stop || ends_the_job(signum);
    if (ends_the_job(signum))
        sim_stop_drop(process);
    if (!world.finished && signum == SIGUSR2)
        job_rendezvous_ask(world.rendezvous);
    else if (!world.finished)
        job_signal(world.job, signum);
    if (signum == SIGCONT)
        sim_stop_listen(process);
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
    static const char *const interfaces[SIM_HOSTS_MAX] = { "", "", "", "", "", "", "", "", "" };
    static const struct connect_settings connect = { 0 };
    memset(&world.key, (int)world.seed, sizeof world.key);
    world.options = (struct job_options){ .plan = &world.plan,
                                          .connect = &connect,
                                          .interfaces = interfaces,
                                          .cwd = "/",
                                          .attributes.umask = 022,
                                          .command = command,
                                          .environment = environment,
                                          .id = "simulated",
                                          .key = &world.key,
                                          .stdin_closed = true,
                                          .tree_width = world.tree_width,
                                          .grace_ms = 5000,
                                          .start_timeout_ms = 30000,
                                          .heartbeat_timeout_ms = 5000 };
}

static void start_job(struct sim_process *launcher)
{
    static const struct job_callbacks callbacks = { .on_report = on_report,
                                                    .on_finished = on_finished,
                                                    .on_suspended = on_suspended };
    const struct job_options *options = &world.options;
    struct err err = { 0 };
    world.rendezvous = job_rendezvous_create(&launcher->loop, options, &world.key, &err);
    struct job_rendezvous_interface rendezvous = job_rendezvous_interface(world.rendezvous);
    world.job = job_create(&launcher->loop, options, &rendezvous, &callbacks, NULL, &err);
    job_rendezvous_attach(world.rendezvous, world.job);
}

void sim_launcher_begin(void)
{
    struct sim_process *launcher = sim_process_add(SIM_LAUNCHER, 0, NULL);
    world.launcher = launcher;
    launcher->on_signal = on_signal;
    launcher->on_child_end = sim_uv_on_child_end;
    launcher->on_loop_empty = on_loop_empty;
    choose_options();
    struct sim_process *before = sim_enter(launcher);
    start_job(launcher);
    sim_leave(before);
}

void sim_world_end(void)
{
    rank_plan_fini(&world.plan);
    host_list_fini(&world.list);
}

bool sim_all_gone(void)
{
    for (const struct sim_process *at = sim_processes(); at; at = at->next)
        if (at->alive && !world.hosts[at->host].vanished)
            return false;
    return true;
}

/* ---- uv.h, system.h ---- */

bool sim_host_is_cut(const struct sim_host *host)
{
    for (; host; host = host->above) {
        int above = host->above ? host->above->index : 0;
        if (sim_path_is_down(above, host->index) || sim_path_is_down(host->index, above))
            return true;
    }
    return false;
}

bool sim_host_is_unheard(const struct sim_host *host)
{
    for (; host; host = host->above)
        if (sim_path_is_down(host->index, host->above ? host->above->index : 0))
            return true;
    return false;
}

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
