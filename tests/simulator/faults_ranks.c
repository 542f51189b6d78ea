/* SPDX-License-Identifier: Apache-2.0 */
/* What befalls ranks: they are killed, fail, leave, are stopped, never join or never call; others
 * say that they are they, or say nothing that makes sense. */
#include "tests/simulator/faults_impl.h"

#include <signal.h>
#include <string.h>

/* One that can do something itself. */
static struct sim_worker *actor_of(const struct sim_fault *fault)
{
    struct sim_worker *worker = sim_fault_worker(fault);
    return worker && !worker->process->stopped && !worker->process->frozen ? worker : NULL;
}

enum sim_effect sim_fire_kill(struct sim_fault *fault)
{
    static const int signals[] = { SIGKILL, SIGKILL, SIGSEGV, SIGABRT, SIGBUS, SIGFPE };
    struct sim_worker *worker = sim_fault_worker(fault);
    if (!worker)
        return NOTHING;
    fault->value = signals[actor_of(fault) ? sim_dice(6) : 0];
    sim_fault_allow(fault, STATUS_SIGNAL + fault->value);
    sim_kill(worker->process, fault->value);
    sim_must_learn(LEARN_MS);
    return MUST;
}

enum sim_effect sim_fire_out_of_memory(struct sim_fault *fault)
{
    struct sim_worker *worker = sim_fault_worker(fault);
    if (!worker)
        return NOTHING;
    world.hosts[worker->process->host].short_of_memory = true;
    sim_fault_allow(fault, STATUS_SIGNAL + SIGKILL);
    sim_kill(worker->process, SIGKILL);
    sim_must_learn(LEARN_MS);
    return MUST;
}

enum sim_effect sim_fire_exit(struct sim_fault *fault)
{
    static const int statuses[] = { 1, 3, 42, 125 };
    struct sim_worker *worker = actor_of(fault);
    if (!worker)
        return NOTHING;
    fault->value = statuses[sim_dice(4)];
    sim_fault_allow(fault, fault->value);
    sim_exit(worker->process, fault->value);
    sim_must_learn(LEARN_MS);
    return MUST;
}

/* Without a word, though others may need it. */
enum sim_effect sim_fire_leave(struct sim_fault *fault)
{
    struct sim_worker *worker = actor_of(fault);
    if (!worker)
        return NOTHING;
    sim_fault_allow(fault, 1);
    sim_fault_allow(fault, STATUS_PROTOCOL);
    sim_exit(worker->process, 0);
    sim_must_learn(LEARN_MS);
    return MAY;
}

enum sim_effect sim_fire_stop_rank(struct sim_fault *fault)
{
    struct sim_worker *worker = sim_fault_worker(fault);
    if (!worker)
        return NOTHING;
    sim_kill(worker->process, SIGSTOP);
    sim_after(NULL, sim_between(SIM_MS(100), SIM_MS(8000)), sim_go_on, worker->process);
    return MAY;
}

enum sim_effect sim_fire_stop_for_good(struct sim_fault *fault)
{
    struct sim_worker *worker = sim_fault_worker(fault);
    if (!worker)
        return NOTHING;
    fault->value = SIGTERM;
    sim_fault_allow(fault, STATUS_SIGNAL + SIGTERM);
    sim_kill(worker->process, SIGSTOP);
    sim_after(NULL, sim_between(SIM_MS(10), SIM_MS(3000)), sim_tell_launcher_to_stop, fault);
    return MUST;
}

void sim_never_join(struct sim_worker *worker)
{
    worker->never_joins = world.nranks > 1;
}

enum sim_effect sim_fire_never_join(struct sim_fault *fault)
{
    if (world.nranks == 1 || !sim_fault_worker(fault) || !sim_fault_worker(fault)->never_joins)
        return NOTHING;
    sim_fault_allow(fault, STATUS_TIMEOUT);
    fault->value = SIGTERM; /* if nobody waits for it, it is nobody's concern */
    sim_fault_allow(fault, STATUS_SIGNAL + SIGTERM);
    sim_after(NULL, SIM_MS(45000), sim_tell_launcher_to_stop, fault);
    return MUST;
}

void sim_withhold(struct sim_worker *worker)
{
    worker->name_withheld = (int)sim_dice((uint32_t)work.nnames);
}

/* It stands still for ever, until somebody stops the job. */
enum sim_effect sim_fire_withhold(struct sim_fault *fault)
{
    struct sim_worker *worker = sim_fault_worker(fault);
    if (!worker || worker->name_withheld < 0)
        return NOTHING;
    fault->value = SIGTERM;
    sim_fault_allow(fault, STATUS_SIGNAL + SIGTERM);
    sim_after(NULL, SIM_MS(6000), sim_tell_launcher_to_stop, fault);
    return MUST;
}

enum sim_effect sim_fire_double(struct sim_fault *fault)
{
    struct sim_worker *worker = actor_of(fault);
    if (!worker || !worker->said_hello)
        return NOTHING;
    struct sim_process *before = sim_enter(worker->process);
    sim_join_again(worker, false);
    sim_leave(before);
    return MAY;
}

enum sim_effect sim_fire_unauthenticated(struct sim_fault *fault)
{
    char noise[300];
    struct sim_worker *worker = actor_of(fault);
    struct sim_end *end = worker ? sim_dial(worker->process, worker->port) : NULL;
    if (!end)
        return NOTHING;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)sim_dice(256);
    if (sim_once_in(2))
        memcpy(noise, "HVD1", 4);
    sim_write(end, noise, sim_dice(sizeof noise));
    if (sim_once_in(2))
        sim_release(worker->process, end);
    return MAY;
}
