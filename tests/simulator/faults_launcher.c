/* SPDX-License-Identifier: Apache-2.0 */
/* What befalls the launcher: it is killed, told to stop, suspended, stopped, frozen with everything
 * else, asked, and nobody reads its output. */
#include "tests/simulator/faults_impl.h"

#include "tests/simulator/journal.h"

#include <signal.h>

/* After the second signal everything is killed; the rest is the way there and back. */
enum { KILLED_MS = 3000 };

/* How long hvdrun may be about to stop itself, and is stopped at least. */
enum { SUSPENDING_US = 8000, AWAY_MS = 3000 };

enum sim_effect sim_fire_kill_launcher(struct sim_fault *fault)
{
    (void)fault;
    if (world.finished)
        return NOTHING;
    world.launcher_killed = true;
    sim_kill(world.launcher, SIGKILL);
    return MUST;
}

/* While hvdrun is about to stop itself, or has just done so: then it hears of it later. */
static void end_after_suspension(struct sim_fault *fault)
{
    world.was_suspended = world.slept = true;
    sim_kill(world.launcher, SIGTSTP);
    sim_after(NULL, sim_dice_apart(SUSPENDING_US), sim_tell_launcher_to_stop, fault);
    sim_after(NULL, SIM_MS(AWAY_MS), sim_go_on, world.launcher);
}

enum sim_effect sim_fire_signal(struct sim_fault *fault)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
    if (world.finished)
        return NOTHING;
    fault->value = signals[sim_dice(3)];
    sim_fault_allow(fault, STATUS_SIGNAL + fault->value);
    if (sim_dice_apart(4) == 0)
        end_after_suspension(fault);
    else
        sim_kill(world.launcher, fault->value);
    return MAY;
}

static void look_if_over(void *context)
{
    const struct sim_fault *fault = context;
    if (!world.finished && !sim_faults_are_two())
        sim_broken("the job goes on after it was told to stop with signal %d twice", fault->value);
}

enum sim_effect sim_fire_interrupt_twice(struct sim_fault *fault)
{
    if (world.finished)
        return NOTHING;
    fault->value = SIGINT;
    sim_fault_allow(fault, STATUS_SIGNAL + SIGINT);
    sim_kill(world.launcher, SIGINT);
    uint64_t again_us = sim_between(1000, SIM_MS(1500));
    sim_after(NULL, again_us, sim_tell_launcher_to_stop, fault);
    sim_after(NULL, again_us + SIM_MS(KILLED_MS), look_if_over, fault);
    return MAY;
}

enum sim_effect sim_fire_suspend(struct sim_fault *fault)
{
    (void)fault;
    if (world.finished)
        return NOTHING;
    world.was_suspended = world.slept = true;
    sim_kill(world.launcher, SIGTSTP);
    uint64_t away_us = SIM_MS(AWAY_MS) + sim_dice(9000000);
    bool at_once = sim_dice_apart(3) == 0;
    sim_after(NULL, at_once ? sim_dice_apart(SUSPENDING_US) : away_us, sim_go_on, world.launcher);
    return MAY;
}

static bool has_remote_hosts(void)
{
    for (int i = 1; i < world.nhosts; i++)
        if (sim_host_is_used(i))
            return true;
    return false;
}

/* Agents of other machines take it for the end; so may the ranks there. */
enum sim_effect sim_fire_stop_launcher(struct sim_fault *fault)
{
    if (world.finished)
        return NOTHING;
    if (has_remote_hosts())
        sim_fault_allow(fault, STATUS_HOST_LOST);
    for (int i = 1; i < world.nhosts; i++)
        world.hosts[i].lost = true;
    world.slept = true;
    sim_kill(world.launcher, SIGSTOP);
    sim_after(NULL, sim_between(SIM_MS(500), SIM_MS(12000)), sim_go_on, world.launcher);
    return MAY;
}

static void thaw(void *context)
{
    (void)context;
    sim_freeze(-1, false);
}

enum sim_effect sim_fire_freeze_all(struct sim_fault *fault)
{
    (void)fault;
    world.slept = true;
    sim_freeze(-1, true);
    sim_after(NULL, SIM_MS(20000), thaw, NULL);
    return MAY;
}

enum sim_effect sim_fire_ask(struct sim_fault *fault)
{
    (void)fault;
    sim_kill(world.launcher, SIGUSR2);
    return MAY;
}

enum sim_effect sim_fire_reader_gone(struct sim_fault *fault)
{
    sim_fault_allow(fault, STATUS_SIGNAL + SIGPIPE);
    world.reader_gone = true;
    return MAY;
}

enum sim_effect sim_fire_slow_reader(struct sim_fault *fault)
{
    (void)fault;
    world.slow_reader = true;
    return MAY;
}
