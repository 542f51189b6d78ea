/* SPDX-License-Identifier: Apache-2.0 */
/* Processes; see process.h. */
#include "tests/simulator/process.h"

#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/stream.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

static struct sim_process *list, **list_end, *current;
static pid_t last_pid;

void sim_processes_reset(void)
{
    list = current = NULL;
    list_end = &list;
    last_pid = 1000;
}

struct sim_process *sim_processes(void)
{
    return list;
}

struct sim_process *sim_process_add(enum sim_kind kind, int host, struct sim_process *parent)
{
    struct sim_process *process = sim_new(sizeof *process);
    process->kind = kind;
    process->pid = process->group = ++last_pid;
    process->host = host;
    for (int i = 0; i < SIM_MARKS && parent; i++)
        process->marks[i] = parent->marks[i];
    process->parent = parent;
    process->alive = true;
    process->loop.data = process;
    *list_end = process;
    list_end = &process->next;
    sim_log("%s (pid %d) begins on host %d", sim_process_name(process), process->pid, host);
    return process;
}

const char *sim_process_name(const struct sim_process *process)
{
    static const char *const names[] = { "launcher", "carrier", "supervisor",
                                         "agent",    "worker",  "orphan" };
    return process ? names[process->kind] : "nobody";
}

struct sim_process *sim_enter(struct sim_process *process)
{
    struct sim_process *before = current;
    current = process;
    return before;
}

void sim_leave(struct sim_process *before)
{
    current = before;
}

struct sim_process *sim_current(void)
{
    return current;
}

static struct sim_process *adopter(const struct sim_process *dead)
{
    struct sim_process *up = dead->parent;
    while (up && !(up->alive && up->adopts))
        up = up->parent;
    return up;
}

/* Its parent hears of it. */
static void on_child_end(void *context)
{
    struct sim_process *child = context;
    if (child->parent && child->parent->on_child_end && !child->reaped)
        child->parent->on_child_end(child->parent, child);
}

static void tell_parent(struct sim_process *child)
{
    if (!child->parent || !child->parent->alive)
        child->reaped = true;
    else
        sim_after(child->parent, sim_between(10, 300), on_child_end, child);
}

static void orphan_children(struct sim_process *dead)
{
    struct sim_process *heir = adopter(dead);
    for (struct sim_process *at = list; at; at = at->next) {
        if (at->parent != dead)
            continue;
        at->parent = heir;
        if (at->alive && at->death_signal)
            sim_kill(at, at->death_signal);
        if (!at->alive && !at->reaped)
            tell_parent(at);
    }
}

static void die(struct sim_process *process, int wait_status)
{
    if (!process->alive)
        return;
    sim_log("%s (pid %d) ends with wait status %#x", sim_process_name(process), process->pid,
            (unsigned)wait_status);
    process->alive = process->stopped = false;
    process->wait_status = wait_status;
    process->died_us = sim_now_us();
    sim_release_all(process);
    orphan_children(process);
    tell_parent(process);
    if (process->on_death)
        process->on_death(process);
}

void sim_exit(struct sim_process *process, int status)
{
    die(process, (status & 0xff) << 8);
}

static void go_on(struct sim_process *process)
{
    if (!process->stopped && !process->frozen)
        sim_release_held(process);
}

/* The handler of a signal runs before anything else happens; a loop calls back up to GAP_US later,
 * in the order in which signals came. In a stopped process, when it goes on. */
enum { GAP_US = 1000 };

struct delivery {
    struct sim_process *process;
    int signum;
};

static void deliver(void *context)
{
    const struct delivery *delivery = context;
    struct sim_process *process = delivery->process;
    if (!process->on_signal || !process->on_signal(process, delivery->signum))
        die(process, delivery->signum);
}

static bool has_loop(const struct sim_process *process)
{
    return process->kind == SIM_LAUNCHER || process->kind == SIM_AGENT;
}

static uint64_t reading_us(struct sim_process *process)
{
    uint64_t now_us = sim_now_us();
    if (!has_loop(process))
        return 0;
    uint64_t due_us = now_us + sim_dice_apart(GAP_US);
    if (due_us > process->signals_due_us)
        process->signals_due_us = due_us;
    return process->signals_due_us - now_us;
}

static struct sim_event *post_after(struct sim_process *process, int signum, uint64_t delay_us)
{
    struct delivery *delivery = sim_new(sizeof *delivery);
    *delivery = (struct delivery){ process, signum };
    return sim_after(process, delay_us, deliver, delivery);
}

void sim_stop_listen(struct sim_process *process)
{
    sim_cancel(process->stop_event);
    process->stop_event =
        process->stop_pending ? post_after(process, SIGTSTP, sim_dice_apart(GAP_US)) : NULL;
}

void sim_stop_drop(struct sim_process *process)
{
    process->stop_pending = false;
    sim_stop_listen(process);
}

void sim_stop_itself(struct sim_process *process)
{
    if (!process->stop_pending)
        return;
    process->stop_pending = false;
    sim_kill(process, SIGSTOP);
}

static void post(struct sim_process *process, int signum)
{
    if (signum != SIGTSTP) {
        post_after(process, signum, reading_us(process));
        return;
    }
    bool news = !process->stop_pending;
    process->stop_pending = true;
    if (news)
        sim_stop_listen(process);
}

/* SIGCONT also takes back a stop that is pending. */
static void take_up(struct sim_process *process)
{
    sim_stop_drop(process);
    process->stopped = false;
    go_on(process);
}

void sim_kill(struct sim_process *process, int signum)
{
    if (!process->alive || signum == 0)
        return;
    sim_log("%s (pid %d) gets signal %d", sim_process_name(process), process->pid, signum);
    if (signum == SIGKILL) {
        die(process, SIGKILL);
    } else if (signum == SIGSTOP) {
        process->stopped = process->tells_stop = true;
        if (process->parent && process->parent->alive)
            sim_after(process->parent, sim_between(10, 300), on_child_end, process);
    } else {
        if (signum == SIGCONT)
            take_up(process);
        if (signum != SIGCONT || process->on_signal)
            post(process, signum);
    }
}

void sim_kill_pid(pid_t pid, int signum)
{
    for (struct sim_process *at = list, *next; at; at = next) {
        next = at->next;
        if (pid > 0 ? at->pid == pid : at->group == -pid)
            sim_kill(at, signum);
    }
}

void sim_starve(struct sim_process *process, bool starved)
{
    if (!process->alive || process->frozen == starved)
        return;
    process->frozen = starved;
    if (!starved)
        go_on(process);
}

void sim_freeze(int host, bool frozen)
{
    for (struct sim_process *at = list; at; at = at->next)
        if (host < 0 || at->host == host)
            sim_starve(at, frozen);
}

pid_t sim_wait(struct sim_process *process, int *status, bool stopped_too)
{
    bool children = false;
    for (struct sim_process *at = list; at; at = at->next) {
        if (at->parent != process || at->reaped)
            continue;
        children = true;
        if (stopped_too && at->tells_stop && at->stopped) {
            at->tells_stop = false;
            *status = SIGSTOP << 8 | 0x7f;
            return at->pid;
        }
        if (at->alive)
            continue;
        at->reaped = true;
        *status = at->wait_status;
        return at->pid;
    }
    return children ? 0 : -1;
}

bool sim_is_descendant(const struct sim_process *process, const struct sim_process *ancestor)
{
    for (const struct sim_process *up = process->parent; up; up = up->parent)
        if (up == ancestor)
            return true;
    return false;
}
