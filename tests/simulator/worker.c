/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a rank's process; see worker.h. */
#include "tests/simulator/worker.h"

#include "lib/base/env_names.h"
#include "lib/base/rank_end_text.h"
#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/faults.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/system.h"
#include "tests/simulator/world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINGERS_US = 8000000 };

struct sim_work work;

void sim_work_draw(int nranks)
{
    static const int64_t counts[] = { 1, 2, 17, 300, 1024, 5000 };
    work = (struct sim_work){ .nnames = 1 + (int)sim_dice(SIM_NAMES_MAX), .wrong_name = -1 };
    for (int i = 0; i < work.nnames; i++)
        work.counts[i] = counts[sim_dice(6)];
    if (nranks > 1 && sim_once_in(4)) {
        work.wrong_name = (int)sim_dice((uint32_t)work.nnames);
        work.odd_rank = (int)sim_dice((uint32_t)nranks);
    }
    work.settings = (struct negotiation_settings){
        .fusion = { sim_once_in(3) ? 0 : 64 << 20, 64 << 10 },
        .inline_max = sim_once_in(3) ? 64 : 4096,
        .cache_capacity = (int)sim_dice(4),
        .group_fusion = true,
    };
    work.again = world.seed % 6 == 5;
}

/* ---- its ends ---- */

struct ending {
    struct sim_worker *worker;
    int status;
};

static void end(void *context)
{
    const struct ending *ending = context;
    sim_exit(ending->worker->process, ending->status);
}

void sim_worker_end(struct sim_worker *worker, int status, uint64_t in_us)
{
    struct ending *ending = sim_new(sizeof *ending);
    *ending = (struct ending){ worker, status };
    sim_after(worker->process, in_us, end, ending);
}

void sim_worker_leave(struct sim_worker *worker, int status)
{
    if (worker->state >= WORKER_LEAVING)
        return;
    worker->state = WORKER_LEAVING;
    struct rank_end well = rank_end_none();
    sim_join_goodbye(worker, &well);
    sim_worker_end(worker, status, sim_between(10, SIM_MS(30)));
}

void sim_worker_fail(struct sim_worker *worker, const struct rank_end *why)
{
    char text[500];
    if (worker->state >= WORKER_LEAVING)
        return;
    rank_end_text(text, sizeof text, why);
    sim_log("rank %d fails with %d: %s", worker->rank, why->status, text);
    if (worker->state == WORKER_RUNNING)
        sim_join_broken(worker, why);
    worker->state = WORKER_FAILED;
    worker->failure = why->status;
    worker->failed_us = sim_now_us();
    sim_join_goodbye(worker, why);
    sim_worker_end(worker, 1, sim_between(100, SIM_MS(50)) + (worker->lingers ? LINGERS_US : 0));
}

void sim_worker_fail_by(struct sim_worker *worker, enum rank_end_kind kind, int status,
                        const char *words)
{
    struct rank_end why = rank_end_none();
    why.how.kind = kind;
    why.status = status;
    snprintf(why.words, sizeof why.words, "%s", words);
    sim_worker_fail(worker, &why);
}

bool sim_worker_waits(const struct sim_worker *worker)
{
    return worker->process->alive && !worker->process->stopped && !worker->process->frozen &&
           (worker->state == WORKER_WAITING ||
            (worker->state == WORKER_RUNNING && worker->nflying > 0));
}

static bool on_signal(struct sim_process *process, int signum)
{
    const struct sim_worker *worker = process->script;
    bool end_asked = signum == SIGTERM || signum == SIGINT || signum == SIGHUP;
    return signum == SIGCONT || (end_asked && worker->ignores_term);
}

static void on_death(struct sim_process *process)
{
    struct sim_worker *worker = process->script;
    worker->process = process;
    sim_voice_end(worker);
    sim_links_fini(worker);
    frame_reader_fini(&worker->reader);
}

/* ---- what it leaves behind ---- */

static bool on_orphans_signal(struct sim_process *process, int signum)
{
    (void)process;
    return signum != SIGKILL && signum != SIGTERM;
}

static bool on_stubborn_orphans_signal(struct sim_process *process, int signum)
{
    (void)process, (void)signum;
    return true;
}

/* In its parent's group, or one of its own; with its parent's output, or without. */
static void fork_orphan(void *context)
{
    struct sim_worker *worker = context;
    struct sim_process *orphan =
        sim_process_add(SIM_ORPHAN, worker->process->host, worker->process);
    orphan->on_signal = sim_once_in(2) ? on_orphans_signal : on_stubborn_orphans_signal;
    if (sim_once_in(2))
        orphan->group = worker->process->group;
    for (int i = 0; i < 2 && sim_once_in(2); i++)
        sim_hold(orphan, worker->voices[i].end);
}

/* ---- its beginning ---- */

static int variable(char *const *envp, const char *name)
{
    size_t length = strlen(name);
    for (; *envp; envp++)
        if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=')
            return atoi(*envp + length + 1);
    return -1;
}

static void begin(void *context)
{
    struct sim_worker *worker = context;
    if (worker->never_joins)
        return;
    worker->state = WORKER_JOINING;
    sim_join_begin(worker);
    if (sim_once_in(3))
        sim_store_begin(worker);
}

static void choose_habits(struct sim_worker *worker)
{
    worker->name_withheld = -1;
    worker->ignores_term = sim_once_in(12);
    worker->lingers = worker->ignores_term && worker->rank % 2 == 1;
    for (int times = (int)sim_dice(4); times > 0 && sim_once_in(4); times--)
        sim_timer(worker->process, sim_between(100, SIM_MS(800)), fork_orphan, worker);
    for (int i = 0; i < work.nnames; i++) {
        int j = (int)sim_dice((uint32_t)i + 1);
        worker->order[i] = worker->order[j];
        worker->order[j] = i;
    }
}

void sim_worker_begin(struct sim_process *process, char *const *envp, const int fds[3])
{
    struct sim_worker *worker = sim_new(sizeof *worker);
    process->script = worker;
    process->on_signal = on_signal;
    process->on_death = on_death;
    worker->process = process;
    worker->begun_us = sim_now_us();
    worker->rank = variable(envp, ENV_RANK);
    worker->size = variable(envp, ENV_SIZE);
    worker->port = variable(envp, ENV_RENDEZVOUS_PORT);
    if (worker->rank < 0 || worker->rank >= world.nranks || world.ranks[worker->rank] ||
        worker->size != world.nranks ||
        process->host !=
            atoi(world.plan.hosts[world.plan.ranks[worker->rank].host].host->name + 1)) {
        sim_broken("a process begins as rank %d of %d on host %d", worker->rank, worker->size,
                   process->host);
        abort();
    }
    if (world.writers_without_thread > 0)
        sim_broken("rank %d runs before hvdrun has its threads", worker->rank);
    world.ranks[worker->rank] = worker;
    choose_habits(worker);
    sim_links_init(worker);
    for (int i = 0; i < 2; i++)
        sim_voice_begin(worker, i, sim_descriptor_end(fds[i + 1]));
    sim_faults_on_worker(worker);
    sim_timer(process, sim_between(SIM_MS(1), SIM_MS(sim_once_in(4) ? 900 : 60)), begin, worker);
}
