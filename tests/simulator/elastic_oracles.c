/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of every elastic job:
 *   epochs only grow, and hvdrun and the members know the same worlds;
 *   a process is in one world at a time, and rank 0 has the state if anybody has been in a world;
 *   a world has at least --min-np ranks, with those that have finished, and at most --max-np;
 *   workers are started on hosts that were found, and not in more slots than these have;
 *   ranks that hang are given up together, and their world's other ranks stay;
 *   every worker's end is told, and the job ends: well when enough ranks have finished, else with
 *   a line that names the cause; and leaves no process, and no memory. */
#include "launcher/verdict/job_report.h"
#include "tests/simulator/clock.h"
#include "tests/simulator/elastic_job.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/pool.h"

#include <string.h>

static int count_finished(void)
{
    int count = 0;
    for (int i = 0; i < elastic.numbered; i++) {
        const struct sim_member *member = elastic.members[i];
        count += member && !member->process->alive && member->process->wait_status == 0;
    }
    return count;
}

/* ---- worlds ---- */

static bool is_known_epoch(int epoch, int size)
{
    if (epoch < 0 || epoch >= SIM_WORLDS_MAX || size < 1 || size > SIM_WORLD_SIZE_MAX) {
        sim_broken("epoch %d of %d ranks", epoch, size);
        return false;
    }
    struct sim_epoch *known = &elastic.epochs[epoch];
    if (known->size == 0)
        known->size = size;
    else if (known->size != size)
        sim_broken("epoch %d has %d ranks, and %d", epoch, known->size, size);
    return true;
}

static bool is_without_state(const struct sim_member *member)
{
    return sim_member_lives(member) && !member->has_state;
}

/* A member of the epoch. */
static bool somebody_has_state(const struct sim_epoch *epoch)
{
    for (int rank = 0; rank < epoch->size; rank++) {
        const struct sim_member *member = elastic.members[epoch->told[rank]];
        if (sim_member_lives(member) && member->has_state)
            return true;
    }
    return false;
}

void sim_elastic_on_world(int epoch, const int *workers, int size)
{
    const struct elastic_options *options = &elastic.setup.elastic;
    if (!is_known_epoch(epoch, size))
        return;
    if (epoch <= elastic.last_epoch)
        sim_broken("epoch %d comes after %d", epoch, elastic.last_epoch);
    if (size > options->max || size + count_finished() < options->min)
        sim_broken("a world of %d, with %d..%d", size, options->min, options->max);
    if (options->reset_limit > 0 && epoch > options->reset_limit)
        sim_broken("epoch %d is beyond the limit of %d resets", epoch, options->reset_limit);
    elastic.last_epoch = epoch;
    elastic.worlds++;
    elastic.epochs[epoch].was_told = true;
    for (int rank = 0; rank < size; rank++) {
        elastic.epochs[epoch].told[rank] = workers[rank];
        if (workers[rank] < 0 || workers[rank] >= elastic.numbered)
            sim_broken("worker %d is in epoch %d", workers[rank], epoch);
        for (int other = 0; other < rank; other++)
            if (workers[other] == workers[rank])
                sim_broken("worker %d is twice in epoch %d", workers[rank], epoch);
    }
    if (sim_broken_count() == 0 && is_without_state(elastic.members[workers[0]]) &&
        somebody_has_state(&elastic.epochs[epoch]))
        sim_broken("rank 0 of epoch %d has no state", epoch);
}

void sim_elastic_on_welcome(struct sim_member *member, const struct join_welcome *welcome)
{
    int epoch = (int)welcome->epoch, rank = welcome->rank_info.rank;
    if (welcome->worker != member->number)
        sim_broken("worker %d is welcomed as %d", member->number, welcome->worker);
    if (epoch <= member->epoch)
        sim_broken("worker %d comes from epoch %d to %d", member->number, member->epoch, epoch);
    if (!is_known_epoch(epoch, welcome->rank_info.size) || rank >= elastic.epochs[epoch].size)
        return;
    struct sim_epoch *known = &elastic.epochs[epoch];
    if (known->members[rank])
        sim_broken("epoch %d has two ranks %d", epoch, rank);
    if (!known->was_told || known->told[rank] != member->number)
        sim_broken("hvdrun knows worker %d as rank %d of epoch %d, which is worker %d",
                   known->told[rank], rank, epoch, member->number);
    known->members[rank] = member;
    member->epoch = epoch;
    member->rank = rank;
}

/* ---- starts ---- */

void __real_job_add_batch(struct job *job, const struct job_batch *batch);
void __wrap_job_add_batch(struct job *job, const struct job_batch *batch);
void __real_job_worker_removed(struct job *job, int worker);
void __wrap_job_worker_removed(struct job *job, int worker);

/* Not cool since then. */
static bool is_hot(uint64_t since_us)
{
    uint64_t low_ms = elastic.setup.elastic.cooldown_low_ms;
    return since_us > 0 && (low_ms == 0 || sim_now_us() + 1000 < since_us + SIM_MS(low_ms));
}

/* Slots of a host that hvdrun may use: one less while a failure there is not cool, and none while
 * it is drained. */
static int usable_slots(int host)
{
    if (is_hot(elastic.drained_us[host]))
        return 0;
    return elastic.delivered[host] - is_hot(elastic.failed_us[host]);
}

void sim_elastic_on_drained(int worker)
{
    int host = elastic.workers[worker].host;
    sim_log("hvdrun drains host %d", host);
    elastic.drained_us[host] = sim_now_us();
}

void __wrap_job_add_batch(struct job *job, const struct job_batch *batch)
{
    int host = batch->host[1] - '0', busy = 0;
    sim_log("hvdrun starts %d workers on host %d", batch->count, host);
    for (int i = 0; i < elastic.numbered; i++)
        busy += elastic.workers[i].host == host && !elastic.workers[i].ended;
    if (busy + batch->count > usable_slots(host))
        sim_broken("%d workers are started beside %d on host %d, which has %d slots and %d usable",
                   batch->count, busy, host, elastic.delivered[host], usable_slots(host));
    if (batch->worker != elastic.numbered || elastic.numbered + batch->count > SIM_MEMBERS_MAX) {
        sim_broken("worker %d is started as the %dth", batch->worker, elastic.numbered);
        return;
    }
    for (int i = 0; i < batch->count; i++)
        elastic.workers[elastic.numbered++] = (struct sim_elastic_worker){ .host = host };
    __real_job_add_batch(job, batch);
}

void __wrap_job_worker_removed(struct job *job, int worker)
{
    elastic.workers[worker].removed = true;
    __real_job_worker_removed(job, worker);
}

static bool is_of_last_world(int worker)
{
    const struct sim_epoch *epoch =
        elastic.last_epoch < 0 ? NULL : &elastic.epochs[elastic.last_epoch];
    for (int rank = 0; epoch && rank < epoch->size; rank++)
        if (epoch->told[rank] == worker)
            return true;
    return !epoch;
}

void sim_elastic_on_ended(int worker, enum job_worker_end end)
{
    struct sim_elastic_worker *known = &elastic.workers[worker];
    sim_log("hvdrun hears of the end of worker %d: %d", worker, end);
    if (known->ended)
        sim_broken("the end of worker %d is told twice", worker);
    known->ended = true;
    if (!known->removed && !(end == JOB_WORKER_FINISHED && is_of_last_world(worker)))
        elastic.failed_us[known->host] = sim_now_us();
}

/* ---- ranks that hang ---- */

static bool is_named(int worker, const int *workers, int count)
{
    for (int i = 0; i < count; i++)
        if (workers[i] == worker)
            return true;
    return false;
}

/* The members of the last world that stay, before the news of late ranks. */
static struct {
    bool whole; /* all of them did */
    bool stays[SIM_MEMBERS_MAX];
} before_late;

void sim_elastic_before_late(const int *workers, int count)
{
    const struct sim_epoch *epoch = &elastic.epochs[elastic.last_epoch];
    before_late.whole = true;
    for (int rank = 0; rank < epoch->size; rank++) {
        const struct sim_elastic_worker *known = &elastic.workers[epoch->told[rank]];
        before_late.stays[epoch->told[rank]] = !known->ended && !known->removed;
        before_late.whole &= !known->ended && !known->removed;
    }
    for (int i = 0; i < count; i++)
        if (!is_of_last_world(workers[i]))
            sim_broken("worker %d is late, and not in the world", workers[i]);
}

void sim_elastic_after_late(const int *workers, int count)
{
    const struct sim_epoch *epoch = &elastic.epochs[elastic.last_epoch];
    if (job_is_stopping(world.job) || !before_late.whole)
        return;
    for (int rank = 0; rank < epoch->size; rank++) {
        int worker = epoch->told[rank];
        bool named = is_named(worker, workers, count);
        if (named && !elastic.workers[worker].removed)
            sim_broken("worker %d hangs, and is not given up", worker);
        if (!named && elastic.workers[worker].removed)
            sim_broken("worker %d is removed because others hang", worker);
        elastic.given_up += named;
    }
}

/* ---- the end ---- */

void sim_elastic_on_report(const struct job_report *report)
{
    if (report->nranks != elastic.numbered && !elastic.interrupted)
        sim_broken("%d workers are reported of %d", report->nranks, elastic.numbered);
    for (int i = 0; i < report->nranks && i < elastic.numbered; i++) {
        const struct report_rank *rank = &report->ranks[i];
        const struct sim_member *member = elastic.members[i];
        bool known = rank->end == END_BY_ITSELF || rank->end == END_TERMINATED;
        if (!member || world.hosts[member->process->host].vanished)
            continue;
        if (known && member->process->alive)
            sim_broken("worker %d has not ended as was told", i);
        if (rank->pid != 0 && rank->pid != member->process->pid)
            sim_broken("worker %d has another pid than was told", i);
        if (known && rank->how.kind == RANK_END_EXITED &&
            rank->how.code << 8 != member->process->wait_status)
            sim_broken("worker %d has exited with another status than was told", i);
    }
    for (int i = 1; i < report->nworlds; i++)
        if (report->worlds[i].epoch <= report->worlds[i - 1].epoch)
            sim_broken("epoch %d is reported after %d", report->worlds[i].epoch,
                       report->worlds[i - 1].epoch);
}

static void check_elastic_end(void)
{
    const char *line = sim_last_line();
    if (!world.finished)
        sim_broken("the job does not end: %s", line);
    else if (world.launcher->alive)
        sim_broken("hvdrun does not end with its job");
    else if (world.exit_status == 0 && count_finished() < elastic.setup.elastic.min)
        sim_broken("the job ends well with %d ranks that have finished", count_finished());
    else if (world.exit_status != 0 && strncmp(line, "hvdrun: ", 8) != 0)
        sim_broken("status %d without a last line: %s", world.exit_status, line);
    sim_log("status %d: %s", world.exit_status, line);
}

static void check_elastic_processes(void)
{
    for (const struct sim_process *at = sim_processes(); at; at = at->next)
        if (at->alive && !world.hosts[at->host].vanished && at != world.launcher)
            sim_broken("%s (pid %d) on host %d is left", sim_process_name(at), at->pid, at->host);
}

void sim_elastic_judge(void)
{
    check_elastic_end();
    check_elastic_processes();
}
