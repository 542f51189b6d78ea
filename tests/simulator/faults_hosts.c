/* SPDX-License-Identifier: Apache-2.0 */
/* What befalls hosts: their agents and supervisors are killed, stopped or told to end, the links to
 * them are cut, they lose power or a cable, or cannot be reached in the first place. */
#include "tests/simulator/faults_impl.h"

#include <errno.h>
#include <signal.h>

static const struct sim_host *host_of_rank(int rank)
{
    return &world.hosts[world.plan.hosts[world.plan.ranks[rank].host].host->name[1] - '0'];
}

/* Until its ranks run, and those below, it may be silent, for as long as the start may take. */
static bool is_starting(const struct sim_host *host)
{
    for (int rank = 0; rank < world.nranks; rank++)
        if (sim_host_is_within(host_of_rank(rank), host) &&
            (!world.ranks[rank] || sim_now_us() - world.ranks[rank]->begun_us < SIM_MS(100)))
            return true;
    return false;
}

static enum sim_effect lost_within(struct sim_fault *fault, struct sim_host *host,
                                   uint64_t within_ms)
{
    for (int i = 0; i < world.nhosts; i++)
        world.hosts[i].lost |= sim_host_is_within(&world.hosts[i], host);
    sim_fault_allow(fault, STATUS_HOST_LOST);
    fault->starting = is_starting(host);
    if (fault->starting)
        sim_fault_allow(fault, STATUS_TIMEOUT);
    else
        sim_must_learn(within_ms);
    return sim_must_if(sim_host_has_ranks(host));
}

static enum sim_effect lost(struct sim_fault *fault, struct sim_host *host)
{
    return lost_within(fault, host, LEARN_OF_HOST_MS);
}

/* What is cut off may have said its last word before. */
static enum sim_effect cut_off(struct sim_fault *fault, struct sim_host *host)
{
    bool needed = false;
    for (int rank = 0; rank < world.nranks; rank++)
        needed |= world.ranks[rank] &&
                  sim_host_is_within(&world.hosts[world.ranks[rank]->process->host], host) &&
                  world.ranks[rank]->process->alive && world.ranks[rank]->state < WORKER_RUNNING;
    lost(fault, host);
    fault->cut_off = true;
    return sim_must_if(needed);
}

enum sim_effect sim_fire_kill_agent(struct sim_fault *fault)
{
    struct sim_host *host = sim_fault_host(fault);
    if (!host || !host->agent->alive)
        return NOTHING;
    enum sim_effect effect = lost(fault, host);
    sim_kill(host->agent, fault->value = sim_once_in(2) ? SIGKILL : SIGSEGV);
    return effect;
}

enum sim_effect sim_fire_end_agent(struct sim_fault *fault)
{
    struct sim_host *host = sim_fault_host(fault);
    if (!host || !host->agent->alive)
        return NOTHING;
    enum sim_effect effect = lost(fault, host);
    sim_kill(host->agent, SIGTERM);
    return effect;
}

enum sim_effect sim_fire_kill_supervisor(struct sim_fault *fault)
{
    struct sim_host *host = sim_fault_host(fault);
    if (!host || !host->supervisor->alive || !host->agent->alive)
        return NOTHING;
    enum sim_effect effect = lost(fault, host);
    sim_kill(host->supervisor, SIGKILL);
    return effect;
}

enum sim_effect sim_fire_kill_both(struct sim_fault *fault)
{
    struct sim_host *host = sim_fault_host(fault);
    if (!host || !host->supervisor->alive || !host->agent->alive)
        return NOTHING;
    enum sim_effect effect = lost(fault, host);
    host->unguarded = true;
    sim_kill(host->supervisor, SIGKILL);
    sim_kill(host->agent, SIGKILL);
    return effect;
}

/* So much longer than another may a host be silent whose kernel acknowledges. */
enum { ACKNOWLEDGED_MS = 25000 };

enum sim_effect sim_fire_stop_agent(struct sim_fault *fault)
{
    struct sim_host *host = sim_fault_host(fault);
    if (!host || !host->agent->alive)
        return NOTHING;
    bool acknowledges = host->transport == SIM_TRANSPORT_SSH && !host->above;
    enum sim_effect effect =
        lost_within(fault, host, LEARN_OF_HOST_MS + (acknowledges ? ACKNOWLEDGED_MS : 0));
    if (acknowledges) /* who waits for its ranks may give up first */
        sim_fault_allow(fault, STATUS_TIMEOUT);
    sim_kill(host->agent, SIGSTOP);
    return effect;
}

static void feed(void *context)
{
    sim_starve(context, false);
}

/* The hosts below one that is late hear nothing either, and do not know that it is only late. */
static void allow_loss_of_subtree(struct sim_fault *fault, const struct sim_host *host)
{
    for (int i = 0; i < world.nhosts; i++)
        if (&world.hosts[i] != host && sim_host_is_within(&world.hosts[i], host)) {
            world.hosts[i].lost = true;
            sim_fault_allow(fault, STATUS_HOST_LOST);
        }
}

/* For longer than --heartbeat-timeout, and not so long that a host which acknowledges is lost. */
enum sim_effect sim_fire_starve_agent(struct sim_fault *fault)
{
    struct sim_host *host = sim_fault_host(fault);
    if (!host || !host->agent->alive || host->transport == SIM_TRANSPORT_COMMAND || host->above)
        return NOTHING;
    allow_loss_of_subtree(fault, host);
    if (sim_faults_are_two()) { /* when the job is stopped the agent may not end in time */
        host->lost = true;
        sim_fault_allow(fault, STATUS_HOST_LOST);
    }
    sim_starve(host->agent, true);
    sim_after(NULL, SIM_MS(6000) + sim_dice_apart(6000000), feed, host->agent);
    return MAY;
}

enum sim_effect sim_fire_cut_link(struct sim_fault *fault)
{
    struct sim_host *host = sim_fault_host(fault);
    if (!host || host->transport == SIM_TRANSPORT_LOCAL || !host->agent->alive)
        return NOTHING;
    enum sim_effect effect = lost(fault, host);
    if (host->transport == SIM_TRANSPORT_COMMAND && !host->above)
        sim_kill(host->stands, SIGKILL);
    else
        sim_stream_break(host->link, sim_once_in(2) ? ECONNRESET : 0);
    return effect;
}

/* TCP gives up what nobody acknowledges; the way to the agent may be of another kind. */
static void give_up_connections(void *context)
{
    const struct sim_fault *fault = context;
    bool links_too = fault->value;
    for (struct sim_end *end = sim_ends(); end; end = end->next) {
        bool down = sim_path_is_down(end->host, end->peer->host);
        bool is_link =
            end == world.hosts[fault->host].link || end->peer == world.hosts[fault->host].link;
        if (down && end->holders > 0 && (links_too || !is_link))
            sim_stream_break(end, ETIMEDOUT);
    }
}

static void cut_paths(struct sim_fault *fault, bool outwards, bool inwards, uint64_t until_us)
{
    for (int other = 0; other < world.nhosts; other++) {
        if (other == fault->host)
            continue;
        if (outwards)
            sim_path_down(fault->host, other, until_us);
        if (inwards)
            sim_path_down(other, fault->host, until_us);
    }
    fault->value = sim_once_in(2);
    if (until_us == SIM_NEVER)
        sim_after(NULL, SIM_MS(TCP_MS) + sim_dice(500000), give_up_connections, fault);
}

static struct sim_host *remote_host_of(const struct sim_fault *fault)
{
    struct sim_host *host = sim_fault_host(fault);
    return host && host->transport != SIM_TRANSPORT_LOCAL && host->agent->alive ? host : NULL;
}

enum sim_effect sim_fire_cable(struct sim_fault *fault)
{
    struct sim_host *host = remote_host_of(fault);
    if (!host)
        return NOTHING;
    enum sim_effect effect = cut_off(fault, host);
    cut_paths(fault, true, true, SIM_NEVER);
    return effect;
}

enum sim_effect sim_fire_power(struct sim_fault *fault)
{
    struct sim_host *host = remote_host_of(fault);
    if (!host)
        return NOTHING;
    enum sim_effect effect = cut_off(fault, host);
    host->vanished = true;
    sim_freeze(host->index, true);
    cut_paths(fault, true, true, SIM_NEVER);
    return effect;
}

enum sim_effect sim_fire_one_direction(struct sim_fault *fault)
{
    struct sim_host *host = remote_host_of(fault);
    if (!host)
        return NOTHING;
    enum sim_effect effect = cut_off(fault, host);
    bool outwards = sim_once_in(2);
    cut_paths(fault, outwards, !outwards, SIM_NEVER);
    return effect;
}

enum sim_effect sim_fire_flap(struct sim_fault *fault)
{
    if (!remote_host_of(fault))
        return NOTHING;
    world.hosts[fault->host].away = true;
    cut_paths(fault, true, true, sim_now_us() + sim_between(SIM_MS(100), SIM_MS(2000)));
    return MAY;
}

/* ---- start ---- */

void sim_prepare_unreachable(struct sim_fault *fault)
{
    struct sim_host *host = &world.hosts[fault->host];
    host->fails_at = STEP_RESOLVE + sim_dice(STEP_AGENT - STEP_RESOLVE + 1);
    host->fails_with = sim_once_in(3) ? STATUS_REFUSED : STATUS_UNREACHABLE;
}

enum sim_effect sim_fire_unreachable(struct sim_fault *fault)
{
    sim_fault_allow(fault, world.hosts[fault->host].fails_with);
    return sim_host_is_used(fault->host) ? MUST : NOTHING;
}

void sim_prepare_hang(struct sim_fault *fault)
{
    world.hosts[fault->host].hangs_at = STEP_RESOLVE + sim_dice(STEP_AGENT - STEP_RESOLVE + 1);
}

enum sim_effect sim_fire_hang(struct sim_fault *fault)
{
    sim_fault_allow(fault, STATUS_TIMEOUT);
    return sim_host_is_used(fault->host) ? MUST : NOTHING;
}

void sim_prepare_no_program(struct sim_fault *fault)
{
    world.hosts[fault->host].program_status =
        sim_once_in(2) ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

enum sim_effect sim_fire_no_program(struct sim_fault *fault)
{
    sim_fault_allow(fault, world.hosts[fault->host].program_status);
    return sim_host_is_used(fault->host) ? MUST : NOTHING;
}
