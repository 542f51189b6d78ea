/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing faults, and judging by them; see faults.h. The rows are in faults_table.c. */
#include "tests/simulator/faults_impl.h"

#include "tests/simulator/journal.h"
#include "tests/simulator/pool.h"

enum { KINDS_MAX = 64, NOMINAL_MS = 20000, GONE_MS = 25000, START_MS = 32000 };

static struct sim_fault faults[FAULTS_MAX];
static int nfaults;

void sim_fault_allow(struct sim_fault *fault, int status)
{
    fault->statuses[fault->nstatuses++] = status;
}

struct sim_worker *sim_fault_worker(const struct sim_fault *fault)
{
    struct sim_worker *worker = world.ranks[fault->rank];
    return worker && worker->process->alive && !world.finished ? worker : NULL;
}

struct sim_host *sim_fault_host(const struct sim_fault *fault)
{
    struct sim_host *host = &world.hosts[fault->host];
    return host->reached && !world.finished ? host : NULL;
}

bool sim_host_is_within(const struct sim_host *host, const struct sim_host *above)
{
    while (host && host != above)
        host = host->above;
    return host;
}

bool sim_host_has_ranks(const struct sim_host *host)
{
    for (int rank = 0; rank < world.nranks; rank++)
        if (world.ranks[rank] && world.ranks[rank]->process->alive &&
            sim_host_is_within(&world.hosts[world.ranks[rank]->process->host], host))
            return true;
    return false;
}

enum sim_effect sim_must_if(bool certain)
{
    return certain ? MUST : MAY;
}

static bool launcher_runs(void)
{
    return world.launcher->alive && !world.launcher->stopped && !world.launcher->frozen;
}

bool sim_host_is_used(int host)
{
    for (int i = 0; i < world.plan.host_count; i++)
        if (world.plan.hosts[i].host->name[1] == '0' + host)
            return true;
    return false;
}

static void look_who_waits(void *context)
{
    (void)context;
    for (int rank = 0; rank < world.nranks && launcher_runs() && !world.finished; rank++) {
        const struct sim_worker *worker = world.ranks[rank];
        if (worker && sim_worker_waits(worker) && !world.hosts[worker->process->host].vanished &&
            !sim_host_is_cut(&world.hosts[worker->process->host]))
            sim_broken("rank %d still waits for what is lost", rank);
    }
}

/* Later, if something else may keep the news away. */
void sim_must_learn(uint64_t within_ms)
{
    sim_after(NULL, SIM_MS(within_ms + (nfaults > 1 ? LEARN_LATER_MS : 0)), look_who_waits, NULL);
}

/* ---- what happens later ---- */

void sim_go_on(void *context)
{
    struct sim_process *process = context;
    sim_kill(process, SIGCONT);
}

void sim_tell_launcher_to_stop(void *context)
{
    struct sim_fault *fault = context;
    sim_kill(world.launcher, fault->value);
}

/* ---- counting ---- */

static unsigned long jobs[KINDS_MAX], broken_jobs[KINDS_MAX], inner_jobs, broken_inner_jobs;
static unsigned long pair_jobs, broken_pair_jobs;

const char *sim_fault_sentence(int index, unsigned long *befallen, unsigned long *broken)
{
    if (index >= sim_fault_kind_count)
        return NULL;
    *befallen = jobs[index];
    *broken = broken_jobs[index];
    return sim_fault_kinds[index].sentence;
}

static bool is_inner(const struct sim_host *host)
{
    for (int i = 0; i < world.nhosts; i++)
        if (world.hosts[i].above == host)
            return true;
    return false;
}

unsigned long sim_faults_of_inner_hosts(unsigned long *broken)
{
    *broken = broken_inner_jobs;
    return inner_jobs;
}

unsigned long sim_faults_in_pairs(unsigned long *broken)
{
    *broken = broken_pair_jobs;
    return pair_jobs;
}

void sim_faults_count(bool broken)
{
    bool inner = false;
    int befell = 0;
    for (int i = 0; i < nfaults; i++) {
        if (faults[i].effect == NOTHING)
            continue;
        befell++;
        inner |= world.hosts[faults[i].host].lost && is_inner(&world.hosts[faults[i].host]);
        jobs[faults[i].kind - sim_fault_kinds]++;
        broken_jobs[faults[i].kind - sim_fault_kinds] += broken;
    }
    inner_jobs += inner;
    broken_inner_jobs += inner && broken;
    pair_jobs += befell > 1;
    broken_pair_jobs += befell > 1 && broken;
}

/* ---- firing ---- */

static void fire(void *context)
{
    struct sim_fault *fault = context;
    fault->fired_us = sim_now_us();
    fault->effect = fault->kind->fire(fault);
    sim_log("%s: rank %d, host %d: %s", fault->kind->sentence, fault->rank, fault->host,
            fault->effect == NOTHING ? "there is nobody to befall" : "it befalls");
}

enum { APART_ONCE_IN = 20 };

static const struct sim_fault_kind *draw_kind(void)
{
    int count = sim_fault_kind_count - sim_fault_kinds_apart;
    int index = (int)sim_dice((uint32_t)count);
    if (sim_dice_apart(APART_ONCE_IN) == 0)
        index = count + (int)sim_dice_apart((uint32_t)sim_fault_kinds_apart);
    return &sim_fault_kinds[index];
}

void sim_faults_draw(void)
{
    nfaults = sim_once_in(16) ? 0 : 1 + (int)sim_dice(FAULTS_MAX);

    for (int i = 0; i < nfaults; i++) {
        struct sim_fault *fault = &faults[i];
        *fault = (struct sim_fault){ .kind = draw_kind(),
                                     .rank = (int)sim_dice((uint32_t)world.nranks),
                                     .host = (int)sim_dice((uint32_t)world.nhosts) };
        if (fault->kind->prepare)
            fault->kind->prepare(fault);
        uint64_t at_us = sim_once_in(3) ? sim_dice(300000) : sim_dice(1300000);
        if (!fault->kind->on_worker)
            sim_after(NULL, fault->kind->prepare ? 0 : at_us, fire, fault);
    }
}

void sim_faults_on_worker(struct sim_worker *worker)
{
    for (int i = 0; i < nfaults; i++) {
        if (!faults[i].kind->on_worker || faults[i].rank != worker->rank)
            continue;
        faults[i].kind->on_worker(worker);
        sim_after(NULL, SIM_MS(500), fire, &faults[i]);
    }
}

/* ---- what they allow ---- */

bool sim_faults_are_two(void)
{
    return nfaults > 1;
}

bool sim_launcher_was_killed(void)
{
    return world.launcher_killed;
}

static bool all_have_ended_well(void)
{
    for (int rank = 0; rank < world.nranks; rank++)
        if (!world.ranks[rank] || world.ranks[rank]->process->alive ||
            world.ranks[rank]->process->wait_status != 0)
            return false;
    return true;
}

/* Whoever was stopped, held up the others or was cut off from them was sent on its way by another
 * fault, or by what was under way to it; hvdrun can only know if it still hears it. */
static bool may_have_passed(const struct sim_fault *fault)
{
    return fault->effect != MUST ||
           (fault->kind->fire != sim_fire_cut_link &&
            !(fault->cut_off && sim_host_is_unheard(&world.hosts[fault->host])));
}

/* Ranks have lost each other, and hvdrun could not see meanwhile which host was away. */
static bool is_unexplained(const struct sim_fault *fault, int status)
{
    return fault->cut_off && world.slept && status == 1;
}

bool sim_faults_allow(int status)
{
    bool fine = all_have_ended_well();
    for (int i = 0; i < nfaults; i++) {
        const struct sim_fault *fault = &faults[i];
        fine &= may_have_passed(fault);
        if (is_unexplained(fault, status))
            return true;
        for (int j = 0; j < fault->nstatuses; j++)
            if (fault->effect != NOTHING && fault->statuses[j] == status)
                return true;
    }
    return status == 0 && fine;
}

const char *sim_faults_text(void)
{
    const char *text = "";
    for (int i = 0; i < nfaults; i++)
        if (faults[i].effect != NOTHING)
            text = sim_format("%s%s\"%s\"", text, *text ? ", " : "", faults[i].kind->sentence);
    return *text ? text : "nothing";
}

static bool is_alone(void)
{
    return nfaults == 1 || (nfaults == 2 && faults[1].effect == NOTHING);
}

const char *sim_faults_words(int status)
{
    bool is_its = nfaults > 0 && faults[0].nstatuses > 0 && faults[0].statuses[0] == status;
    return is_alone() && is_its ? faults[0].kind->words : NULL;
}

int sim_faults_blamed_host(int status)
{
    bool is_lost = status == STATUS_HOST_LOST && sim_faults_words(status);
    return is_lost ? faults[0].host : -1;
}

bool sim_faults_may_lose(int host)
{
    bool may = host >= 0 && host < world.nhosts && world.hosts[host].lost;
    for (int i = 0; i < nfaults; i++)
        for (int j = 0; j < faults[i].nstatuses; j++)
            may |= faults[i].effect != NOTHING && faults[i].host == host &&
                   faults[i].statuses[j] == STATUS_HOST_LOST;
    return may;
}

int sim_faults_blamed_rank(void)
{
    bool one = is_alone();
    bool rank = nfaults > 0 &&
                (faults[0].kind->fire == sim_fire_kill || faults[0].kind->fire == sim_fire_exit);
    return one && rank && faults[0].effect == MUST ? faults[0].rank : -1;
}

uint64_t sim_faults_deadline_us(void)
{
    uint64_t deadline_us = world.begun_us + SIM_MS(NOMINAL_MS);
    for (int i = 0; i < nfaults; i++)
        if (faults[i].effect != NOTHING)
            deadline_us += SIM_MS(faults[i].kind->bound_ms + (faults[i].starting ? START_MS : 0));
    return deadline_us;
}

uint64_t sim_faults_gone_us(void)
{
    uint64_t since_us = world.finished ? world.finished_us : sim_faults_deadline_us();
    return since_us + SIM_MS(GONE_MS);
}
