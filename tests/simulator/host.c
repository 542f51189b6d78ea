/* SPDX-License-Identifier: Apache-2.0 */
/* A host: the agent, which is the real one, on a loop of its own; and, as scripts, what stands
 * around it: the supervisor (launcher/cleanup/supervisor.c), which adopts, kills what an agent
 * leaves behind and an agent that lives on without its link, at once if it is stopped; and a
 * command that carries the stream, of the launcher or of the agent of a host above. The agent ends
 * when nothing is active on its loop any more. */
#include "launcher/agent/agent.h"
#include "launcher/cleanup/cleanup.h"
#include "launcher/cleanup/supervisor.h"
#include "launcher/placement/binding_places.h"
#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/memory.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/world.h"

#include <signal.h>

enum { SUPERVISOR_SWEEP_MS = 5000, STDIN_CHECK_MS = 200 };

/* ---- the supervisor ---- */

struct supervisor {
    struct sim_process *process, *agent;
    struct sim_end *stdin_end; /* on another machine sshd's copy, which ends with the agent */
    uint64_t hung_up_us, sweeping_us;
};

static void sweep(void *context)
{
    struct supervisor *supervisor = context;
    int status;
    pid_t pid;
    while ((pid = sim_wait(supervisor->process, &status, false)) > 0)
        ;
    if (pid < 0 || sim_now_us() - supervisor->sweeping_us > SIM_MS(SUPERVISOR_SWEEP_MS)) {
        sim_exit(supervisor->process, 0);
        return;
    }
    for (struct sim_process *at = sim_processes(), *next; at; at = next) {
        next = at->next;
        if (at->alive && sim_is_descendant(at, supervisor->process))
            sim_kill(at, SIGKILL);
    }
    sim_timer(supervisor->process, SIM_MS(CLEANUP_CHECK_MS), sweep, supervisor);
}

static void on_supervisors_child(struct sim_process *process, struct sim_process *child)
{
    struct supervisor *supervisor = process->script;
    int status;
    if (child != supervisor->agent || child->alive || supervisor->sweeping_us > 0)
        return;
    while (sim_wait(process, &status, false) > 0)
        ;
    supervisor->sweeping_us = sim_now_us();
    sweep(supervisor);
}

static bool on_supervisors_signal(struct sim_process *process, int signum)
{
    const struct supervisor *supervisor = process->script;
    bool passed_on = signum == SIGTERM || signum == SIGINT || signum == SIGHUP;
    if (passed_on)
        sim_kill(supervisor->agent, signum);
    return passed_on || signum == SIGCONT;
}

static void check_stdin(void *context)
{
    struct supervisor *supervisor = context;
    if (supervisor->sweeping_us > 0)
        return;
    if (supervisor->hung_up_us == 0 && supervisor->stdin_end->fin)
        supervisor->hung_up_us = sim_now_us();
    uint64_t hung_up_for_us =
        supervisor->hung_up_us > 0 ? sim_now_us() - supervisor->hung_up_us : 0;
    if (hung_up_for_us > SIM_MS(SUPERVISOR_HANG_UP_MS) ||
        (supervisor->hung_up_us > 0 && supervisor->agent->stopped)) {
        sim_kill(supervisor->agent, SIGKILL);
        return;
    }
    sim_timer(supervisor->process, SIM_MS(STDIN_CHECK_MS), check_stdin, supervisor);
}

static struct supervisor *begin_supervisor(struct sim_host *host, struct sim_process *parent,
                                           struct sim_end *stdin_end)
{
    struct supervisor *supervisor = sim_new(sizeof *supervisor);
    supervisor->process = sim_process_add(SIM_SUPERVISOR, host->index, parent);
    supervisor->stdin_end = stdin_end;
    supervisor->process->script = supervisor;
    supervisor->process->adopts = true;
    supervisor->process->on_signal = on_supervisors_signal;
    supervisor->process->on_child_end = on_supervisors_child;
    sim_timer(supervisor->process, SIM_MS(STDIN_CHECK_MS), check_stdin, supervisor);
    return supervisor;
}

/* ---- the agent ---- */

static void on_agents_loop_empty(struct sim_process *process)
{
    agent_release(process->script);
    sim_memory_check(process);
    sim_exit(process, 0);
}

static void begin_agent(struct supervisor *supervisor, struct sim_end *end)
{
    struct sim_process *process =
        sim_process_add(SIM_AGENT, supervisor->process->host, supervisor->process);
    static const struct agent_settings settings = { AGENT_RELAY_STALL_MS, binding_places_read };
    struct err err = { 0 };
    supervisor->agent = process;
    process->death_signal = SIGTERM;
    process->on_signal = sim_uv_on_signal;
    process->on_child_end = sim_uv_on_child_end;
    process->on_loop_empty = on_agents_loop_empty;
    struct sim_process *before = sim_enter(process);
    int input = sim_descriptor(process, end), output = sim_descriptor_copy(input);
    process->script = agent_open(&process->loop, input, output, &settings, &err);
    sim_leave(before);
}

/* ---- a command that carries the stream ---- */

struct carrier {
    struct sim_process *process;
    struct sim_end *link;
    struct sim_host *host; /* to which it connects */
};

static void on_carriers_death(struct sim_process *process)
{
    const struct carrier *carrier = process->script;
    sim_stream_break(carrier->link, 0);
}

static bool has_ended(const struct sim_end *end)
{
    return end->holders == 0 && end->peer->in_flight == 0;
}

static void check_stream(void *context)
{
    const struct carrier *carrier = context;
    if (has_ended(carrier->link) || has_ended(carrier->link->peer))
        sim_exit(carrier->process, 0);
    else
        sim_timer(carrier->process, SIM_MS(20), check_stream, context);
}

static struct carrier *begin_carrier(struct sim_process *parent, struct sim_end *link)
{
    struct carrier *carrier = sim_new(sizeof *carrier);
    carrier->process = sim_process_add(SIM_CARRIER, parent->host, parent);
    carrier->link = link;
    carrier->process->script = carrier;
    carrier->process->on_death = on_carriers_death;
    carrier->process->death_signal = SIGTERM;
    return carrier;
}

static void carry(struct carrier *carrier)
{
    sim_timer(carrier->process, SIM_MS(20), check_stream, carrier);
}

static void host_begun(struct sim_host *host, struct supervisor *supervisor, struct sim_end *link,
                       struct sim_process *stands)
{
    host->link = link;
    host->supervisor = supervisor->process;
    host->agent = supervisor->agent;
    host->stands = stands;
}

struct sim_process *sim_host_begin(struct sim_host *host, struct sim_process *launcher,
                                   struct sim_end *ends[2])
{
    bool local = host->transport == SIM_TRANSPORT_LOCAL, again = host->supervisor;
    struct supervisor *supervisor = begin_supervisor(host, local ? launcher : NULL, ends[1]);
    struct sim_process *stands = NULL;
    begin_agent(supervisor, ends[1]);
    if (local) {
        sim_hold(supervisor->process, ends[1]);
        stands = supervisor->process;
    } else if (host->transport == SIM_TRANSPORT_COMMAND) {
        struct carrier *carrier = begin_carrier(launcher, ends[0]);
        stands = carrier->process;
        carry(carrier);
    }
    if (!again) /* faults know the first */
        host_begun(host, supervisor, ends[0], stands);
    return stands;
}

/* ---- a host below another ---- */

/* The agent there begins, behind the answer that the launcher waits for. */
static void hop_arrive(struct carrier *carrier)
{
    struct sim_host *host = carrier->host;
    bool again = host->supervisor;
    carrier->link->host = host->index;
    sim_write(carrier->link, "!", 1);
    struct supervisor *supervisor = begin_supervisor(host, NULL, carrier->link);
    begin_agent(supervisor, carrier->link);
    sim_release(carrier->process, carrier->link);
    carry(carrier);
    if (again)
        return;
    host->above = &world.hosts[carrier->process->host];
    host_begun(host, supervisor, carrier->link, carrier->process);
}

static void hop_step(void *context)
{
    struct carrier *carrier = context;
    int from = carrier->process->host, to = carrier->host->index;
    if (sim_path_is_down(from, to) || sim_path_is_down(to, from))
        sim_after(carrier->process, SIM_MS(200), hop_step, carrier);
    else if (carrier->host->fails_at)
        sim_exit(carrier->process, 255);
    else if (!carrier->host->hangs_at)
        hop_arrive(carrier);
}

struct sim_process *sim_host_hop(struct sim_host *host, struct sim_end *end)
{
    struct carrier *carrier = begin_carrier(sim_current(), end);
    carrier->host = host;
    sim_hold(carrier->process, end);
    sim_after(carrier->process, sim_between(10, SIM_MS(200)), hop_step, carrier);
    return carrier->process;
}
