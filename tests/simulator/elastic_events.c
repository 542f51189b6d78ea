/* SPDX-License-Identifier: Apache-2.0 */
/* What befalls an elastic job: one thing after the other from a table, until the seed lets it be
 * calm. Nothing befalls it before hvdrun runs, or after it has ended. */
#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/elastic_job.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/pool.h"

#include <errno.h>
#include <signal.h>

enum { CHOICES_MAX = 256, TCP_GIVES_UP_US = 3500000 };

static struct sim_process *some_process(enum sim_kind kind)
{
    struct sim_process *choices[CHOICES_MAX];
    uint32_t count = 0;
    for (struct sim_process *at = sim_processes(); at; at = at->next)
        if (at->kind == kind && at->alive && count < CHOICES_MAX)
            choices[count++] = at;
    return count > 0 ? choices[sim_dice(count)] : NULL;
}

static void kill_rank(void)
{
    struct sim_process *rank = some_process(SIM_WORKER);
    if (rank)
        sim_kill(rank, sim_once_in(2) ? SIGKILL : SIGSEGV);
}

static void kill_rank_0(void)
{
    const struct sim_epoch *epoch =
        elastic.last_epoch < 0 ? NULL : &elastic.epochs[elastic.last_epoch];
    if (epoch && sim_member_lives(epoch->members[0]))
        sim_kill(epoch->members[0]->process, SIGKILL);
}

static void exit_rank(void)
{
    struct sim_process *rank = some_process(SIM_WORKER);
    if (rank)
        sim_member_exit(rank->script, sim_once_in(8) ? 0 : 1);
}

static void go_on_later(void *context)
{
    struct sim_process *process = context;
    if (process->alive)
        sim_kill(process, SIGCONT);
}

static void stop_rank(void)
{
    struct sim_process *rank = some_process(SIM_WORKER);
    if (!rank)
        return;
    sim_kill(rank, SIGSTOP);
    sim_after(NULL, sim_between(SIM_MS(10), SIM_MS(9000)), go_on_later, rank);
}

static void kill_agent(void)
{
    struct sim_process *agent = some_process(SIM_AGENT);
    if (agent)
        sim_kill(agent, sim_once_in(3) ? SIGTERM : SIGKILL);
}

static void kill_supervisor(void)
{
    struct sim_process *supervisor = some_process(SIM_SUPERVISOR);
    if (supervisor)
        sim_kill(supervisor, SIGKILL);
}

static void kill_carrier(void)
{
    struct sim_process *carrier = some_process(SIM_CARRIER);
    if (carrier)
        sim_kill(carrier, SIGKILL);
}

static struct sim_host *some_remote_host(void)
{
    struct sim_host *host = &world.hosts[sim_dice((uint32_t)world.nhosts)];
    return host->transport == SIM_TRANSPORT_LOCAL || host->vanished ? NULL : host;
}

static void cut_host(const struct sim_host *host, uint64_t until_us)
{
    for (int other = 0; other < world.nhosts; other++) {
        if (other == host->index)
            continue;
        sim_path_down(host->index, other, until_us);
        sim_path_down(other, host->index, until_us);
    }
}

static void give_up_connections(void *context)
{
    const struct sim_host *host = context;
    for (struct sim_end *end = sim_ends(); end; end = end->next)
        if (end->host == host->index && end->peer->host != host->index && end->holders > 0)
            sim_stream_break(end, ETIMEDOUT);
}

static void power_off(void)
{
    struct sim_host *host = some_remote_host();
    if (!host)
        return;
    sim_log("host %d loses its power", host->index);
    host->vanished = true;
    sim_freeze(host->index, true);
    cut_host(host, SIM_NEVER);
    if (sim_once_in(2))
        sim_after(NULL, TCP_GIVES_UP_US, give_up_connections, host);
}

static void flap(void)
{
    const struct sim_host *host = some_remote_host();
    if (host)
        cut_host(host, sim_now_us() + sim_between(SIM_MS(100), SIM_MS(12000)));
}

static void thaw(void *context)
{
    const struct sim_host *host = context;
    if (!host->vanished)
        sim_freeze(host->index, false);
}

static void freeze(void)
{
    struct sim_host *host = some_remote_host();
    if (!host)
        return;
    sim_freeze(host->index, true);
    sim_after(NULL, sim_between(SIM_MS(100), SIM_MS(12000)), thaw, host);
}

static void fail_connections(void)
{
    struct sim_host *host = some_remote_host();
    if (host)
        host->fails_at = sim_once_in(2) ? STEP_AGENT : 0;
}

/* Hosts are found, removed, or have other slots. */
static void change_hosts(void)
{
    int host = (int)sim_dice((uint32_t)world.nhosts);
    elastic.found[host] = sim_once_in(3) ? 0 : 1 + (int)sim_dice(4);
    sim_log("host %d has %d slots from now on", host, elastic.found[host]);
}

static void empty_discovery(void)
{
    for (int host = 0; host < world.nhosts; host++)
        elastic.found[host] = 0;
}

static void interrupt(void)
{
    if (!sim_once_in(12))
        return;
    elastic.interrupted = true;
    sim_kill(world.launcher, sim_once_in(2) ? SIGINT : SIGTERM);
}

/* Some of the ranks of the last world, within a moment. */
static void hang_ranks(void)
{
    const struct sim_epoch *epoch =
        elastic.last_epoch < 0 ? NULL : &elastic.epochs[elastic.last_epoch];
    for (int rank = 0; epoch && rank < epoch->size; rank++)
        if (sim_member_lives(epoch->members[rank]) && sim_once_in(3))
            sim_member_hang(epoch->members[rank]);
}

static void (*const happenings[])(void) = {
    kill_rank,    kill_rank,       kill_rank_0,      exit_rank,    stop_rank,
    kill_agent,   kill_agent,      kill_supervisor,  kill_carrier, power_off,
    flap,         freeze,          fail_connections, change_hosts, change_hosts,
    change_hosts, empty_discovery, interrupt,        hang_ranks,   hang_ranks,
};

enum { HANGING_HAPPENINGS = 2, HAPPENINGS = sizeof happenings / sizeof *happenings };

static uint32_t happenings_count(void)
{
    return world.seed < SIM_FIRST_HANGING ? HAPPENINGS - HANGING_HAPPENINGS : HAPPENINGS;
}

static void something_happens(void *context)
{
    (void)context;
    if (world.finished || sim_now_us() > elastic.calm_us)
        return;
    happenings[sim_dice(happenings_count())]();
    sim_elastic_befall();
}

void sim_elastic_befall(void)
{
    uint64_t most_ms = sim_once_in(4) ? 10 : sim_once_in(2) ? 500 : 6000;
    sim_after(NULL, sim_between(100, SIM_MS(most_ms)), something_happens, NULL);
}
