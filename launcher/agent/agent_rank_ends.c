/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of an agent's ranks: each child that has ended, or that a signal has stopped, is reaped
 * and reported, ranks that a signal has ended before the others; processes that live on after
 * SIGKILL are named. */
#include "launcher/agent/agent_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/xalloc.h"
#include "launcher/process/process_tree.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

/* A child that ended, as reported by waitpid(). */
struct ended {
    struct agent_rank *rank;
    struct rank_end_how how;
};

/* What the number of a rank here is: ranks of an elastic job change, numbers of workers do not. */
static const char *agent_rank_kind(const struct agent *agent)
{
    return agent->setup.job.elastic ? "worker" : "rank";
}

/* A loader exits with 127 when a library is missing, and a shell when it finds no command. The
 * ranks of a host have the same program, so the note is sent once. */
static void tell_library(struct agent *agent, int rank, const struct rank_end_how *how)
{
    struct agent_note note;
    char text[200];
    if (how->kind != RANK_END_EXITED || how->code != STATUS_NOT_FOUND ||
        agent->ending.stop.phase != STOP_IDLE || agent->ranks.library_told)
        return;
    agent->ranks.library_told = true;
    if (!agent_library_missing(agent, text, sizeof text))
        return;
    snprintf(note.text, sizeof note.text, "%s %d: %s", agent_rank_kind(agent), rank, text);
    agent_note_encode(frame_link_begin(&agent->link, AGENT_NOTE), &note);
    frame_link_send(&agent->link);
}

static void report_exit(struct agent *agent, const struct ended *ended)
{
    uint64_t now_us = uv_hrtime() / 1000;
    bool stopped = agent->ending.stop.phase != STOP_IDLE && !ended->rank->ends_itself;
    bool told = stopped || ended->rank->told_to_end;
    bool killed = ended->how.kind == RANK_END_KILLED && ended->how.code == SIGKILL;
    struct agent_exited exited = {
        .end = rank_end_none(),
        .after_ms = now_us / 1000 - agent->ranks.started_ms,
        .told = told,
    };
    exited.end.rank = ended->rank->rank;
    exited.end.how = ended->how;
    exited.end.how.oom = killed && !told && oom_counter_rose(&agent->ranks.oom);
    exited.end.at_us = now_us;
    tell_library(agent, exited.end.rank, &exited.end.how);
    agent_exited_encode(frame_link_begin(&agent->link, AGENT_EXITED), &exited);
    frame_link_send(&agent->link);
}

/* Reports that a signal has stopped a rank, or that the rank goes on. Not reported while
 * hvdrun stops too, or while the ranks are being ended. */
static void report_stop(struct agent *agent, const struct agent_rank *rank, int wait_status)
{
    struct rank_end stopped = rank_end_none();
    if (agent->ranks.suspended || agent->ending.stop.phase != STOP_IDLE)
        return;
    stopped.rank = rank->rank;
    if (WIFSTOPPED(wait_status))
        stopped.how = rank_end_how_of(wait_status);
    agent_stopped_encode(frame_link_begin(&agent->link, AGENT_STOPPED), &stopped);
    frame_link_send(&agent->link);
}

static struct agent_rank *rank_of_pid(struct agent *agent, pid_t pid)
{
    for (int i = 0; i < agent->ranks.count; i++)
        if (agent->ranks.list[i]->running && agent->ranks.list[i]->pid == pid)
            return agent->ranks.list[i];
    return NULL;
}

/* Orders ranks that ended since the last check. Ranks that a signal ended are reported first: the
 * others are more likely to have followed them than the other way round. */
static int signalled_first(const void *a, const void *b)
{
    const struct ended *x = a, *y = b;
    return (int)(y->how.kind == RANK_END_KILLED) - (int)(x->how.kind == RANK_END_KILLED);
}

static bool any_failed(const struct ended *ended, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!rank_end_is_clean_exit(&ended[i].how))
            return true;
    return false;
}

bool agent_reap(struct agent *agent)
{
    struct ended *ended = xcalloc((size_t)agent->ranks.count + 1, sizeof *ended);
    size_t count = 0;
    pid_t pid;
    for (int status; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;) {
        struct agent_rank *rank = rank_of_pid(agent, pid);
        bool is_end = WIFEXITED(status) || WIFSIGNALED(status);
        if (!rank && agent_tunnel_reaped(agent, pid, status))
            continue;
        if (!rank && is_end)
            agent_stacks_reaped(agent, pid);
        if (rank && !is_end)
            report_stop(agent, rank, status);
        if (!rank || !is_end)
            continue;
        rank->running = false;
        agent->ranks.running--;
        ended[count++] = (struct ended){ rank, rank_end_how_of(status) };
    }
    if (count > 0)
        agent_relay_take_rest(agent);
    if (any_failed(ended, count) && agent->ending.stop.phase == STOP_IDLE)
        agent_streams_take_stderr(agent);
    qsort(ended, count, sizeof *ended, signalled_first);
    for (size_t i = 0; i < count; i++)
        report_exit(agent, &ended[i]);
    free(ended);
    return pid == 0;
}

static void tell_stuck(struct agent *agent, const struct stuck_process *process)
{
    const struct agent_rank *rank = rank_of_pid(agent, process->pid);
    struct agent_note note;
    char who[64];
    if (rank)
        snprintf(who, sizeof who, "%s %d (pid %d, %s)", agent_rank_kind(agent), rank->rank,
                 (int)process->pid, process->name);
    else
        snprintf(who, sizeof who, "process %d (%s)", (int)process->pid, process->name);
    snprintf(note.text, sizeof note.text, "%s cannot be killed: it waits inside the kernel (%s)",
             who, process->where);
    agent_note_encode(frame_link_begin(&agent->link, AGENT_NOTE), &note);
    frame_link_send(&agent->link);
}

void agent_tell_stuck(struct agent *agent)
{
    struct stuck_process stuck[AGENT_STUCK_TOLD];
    int count = process_tree_stuck(stuck, AGENT_STUCK_TOLD);
    for (int i = 0; i < count; i++)
        tell_stuck(agent, &stuck[i]);
}
