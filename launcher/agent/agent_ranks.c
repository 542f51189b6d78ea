/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of an agent as processes: fork all ranks, confirm that each one runs its program, pass
 * signals on to them. Fails, as FAILED for one rank, when a process cannot be made or bound (71)
 * or the program cannot be executed after all (126, 127); hvdrun then stops the ranks that run, by
 * STOP. */
#include "launcher/agent/agent_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/xalloc.h"
#include "launcher/process/process_tree.h"
#include "launcher/process/spawn.h"
#include "launcher/process/worker_environment.h"
#include "lib/base/rank_info.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The three pipes of a rank. `ours` are the ends that the rank does not have. */
struct rank_pipes {
    int theirs[3], ours[3];
};

static struct agent_rank *add_rank(struct agent *agent, int rank)
{
    struct agent_ranks *ranks = &agent->ranks;
    struct agent_rank *added = xcalloc(1, sizeof *added);
    *added = (struct agent_rank){ .agent = agent, .rank = rank, .local_rank = ranks->count };
    ranks->list = xreallocarray(ranks->list, (size_t)ranks->count + 1, sizeof *ranks->list);
    return ranks->list[ranks->count++] = added;
}

int agent_on_rank(struct agent *agent, struct wire_reader *body, struct err *err)
{
    struct agent_worker worker;
    int last = agent->ranks.count > 0 ? agent->ranks.list[agent->ranks.count - 1]->rank : -1;
    int rc = agent_worker_decode(&worker, body, err);
    if (rc < 0)
        return rc;
    if (!agent->setup.job.version || !agent->setup.host.nhosts)
        rc = fail(err, HVD_ERR_PROTOCOL, "RANK before JOB and HOST");
    else if (worker.worker <= last || worker.worker >= WORLD_SIZE_MAX)
        rc = fail(err, HVD_ERR_PROTOCOL, "rank %d after rank %d", worker.worker, last);
    if (rc == HVD_OK)
        agent_environment_rank(agent, add_rank(agent, worker.worker), &worker);
    job_key_wipe(&worker.key);
    return rc;
}

void agent_ranks_fini(struct agent *agent)
{
    struct agent_ranks *ranks = &agent->ranks;
    for (int i = 0; i < ranks->count; i++) {
        string_list_wipe(&ranks->list[i]->environment);
        free(ranks->list[i]);
    }
    free(ranks->list);
    free(ranks->halted);
    oom_counter_fini(&ranks->oom);
}

struct agent_rank *agent_find_rank(struct agent *agent, int rank)
{
    int low = 0, high = agent->ranks.count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (agent->ranks.list[middle]->rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < agent->ranks.count && agent->ranks.list[low]->rank == rank ? agent->ranks.list[low]
                                                                            : NULL;
}

static void close_three(const int fds[3])
{
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static int open_pipe(struct rank_pipes *pipes, int number)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -1;
    bool input = number == 0;
    pipes->theirs[number] = fds[input ? 0 : 1];
    pipes->ours[number] = fds[input ? 1 : 0];
    return 0;
}

/* stdin is a pipe for rank 0, /dev/null for the others. */
static int open_pipes(struct rank_pipes *pipes, int rank)
{
    *pipes = (struct rank_pipes){ { -1, -1, -1 }, { -1, -1, -1 } };
    int rc;
    if (rank == 0)
        rc = open_pipe(pipes, 0);
    else
        rc = pipes->theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (rc >= 0 && open_pipe(pipes, 1) == 0 && open_pipe(pipes, 2) == 0)
        return 0;
    int saved = errno;
    close_three(pipes->theirs);
    close_three(pipes->ours);
    errno = saved;
    return -1;
}

static int spawn_rank(struct agent_rank *rank, const struct rank_pipes *pipes,
                      struct spawned *spawned, struct err *err)
{
    struct agent *agent = rank->agent;
    const struct binding_place *place = agent_binding_of(rank);
    rank->envp = worker_environment_over(&agent->environment.common, &rank->environment);
    struct spawn_request request = {
        .path = agent->setup.program,
        .argv = agent->setup.arguments.items,
        .envp = rank->envp,
        .stdio = { pipes->theirs[0], pipes->theirs[1], pipes->theirs[2] },
        .death_signal = SIGKILL,
        .attributes = &agent->setup.job.attributes,
        .cgroup = agent->ranks.cgroup.directory,
        .nofile = &agent->setup.nofile,
        .cpus = place ? &place->cpus : NULL,
        .share_memory = true,
    };
    return spawn_start(&request, spawned, err);
}

static int start_rank(struct agent_rank *rank, struct spawned *spawned)
{
    struct rank_pipes pipes;
    struct err err = { 0 };
    if (open_pipes(&pipes, rank->rank) < 0) {
        fail_errno(&err, HVD_ERR_SYSTEM, errno, "pipe");
        agent_send_failed(rank->agent, rank->rank, STEP_RESOURCES, STATUS_RESOURCE, err.text);
        return -1;
    }
    int rc = spawn_rank(rank, &pipes, spawned, &err);
    close_three(pipes.theirs);
    if (rc < 0) {
        close_three(pipes.ours);
        agent_send_failed(rank->agent, rank->rank, STEP_RESOURCES, STATUS_RESOURCE, err.text);
        return -1;
    }
    rank->pid = spawned->pid;
    rank->running = true;
    rank->agent->ranks.running++;
    if (pipes.ours[0] >= 0)
        agent_stdin_start(rank->agent, pipes.ours[0]);
    agent_pump_start(rank, STREAM_STDOUT, pipes.ours[1]);
    agent_pump_start(rank, STREAM_STDERR, pipes.ours[2]);
    return 0;
}

/* Why execve() of a program failed although the checks had passed, as an exit status and a text. */
static int explain_exec(const char *program, int code, struct err *err)
{
    if (code == ENOENT && access(program, F_OK) == 0) { /* since the check, or it cannot be read */
        fail(err, HVD_ERR_SYSTEM, "execute '%s': its interpreter or loader is not found", program);
        return STATUS_NOT_EXECUTABLE;
    }
    fail_errno(err, HVD_ERR_SYSTEM, code, "execute '%s'", program);
    switch (code) {
    case ENOENT:
        return STATUS_NOT_FOUND;
    case E2BIG: /* a limit that exec_limits.h does not know */
        return STATUS_USAGE;
    case EMFILE:
    case ENFILE:
    case EAGAIN:
    case ENOMEM:
        return STATUS_RESOURCE;
    default:
        return STATUS_NOT_EXECUTABLE;
    }
}

static void confirm_rank(struct agent_rank *rank, struct spawned *spawned)
{
    struct agent *agent = rank->agent;
    int code = spawn_confirm(spawned);
    if (code == 0) {
        agent_binding_report(rank);
        struct agent_rank_number started = { rank->rank, 0, (uint32_t)rank->pid };
        agent_rank_number_encode(frame_link_begin(&agent->link, AGENT_STARTED), &started);
        frame_link_send(&agent->link);
        return;
    }
    struct err err = { 0 };
    rank->running = false;
    agent->ranks.running--;
    if (code < 0) { /* a processor that existed when the job was prepared */
        fail_errno(&err, HVD_ERR_SYSTEM, -code, "cannot be bound");
        agent_send_failed(agent, rank->rank, STEP_BINDING, STATUS_RESOURCE, err.text);
        return;
    }
    int exit_status = explain_exec(agent->setup.program, code, &err);
    agent_send_failed(agent, rank->rank, STEP_COMMAND, exit_status, err.text);
}

void agent_ranks_prepare(struct agent *agent)
{
    cgroup_make(&agent->ranks.cgroup);
    oom_counter_find_own(&agent->ranks.oom);
}

/* Sends a signal to each rank's group by number: no other process gets the number of a group until
 * agent_reap() has waited for the rank, and from then on the rank is not running. */
void agent_signal_ranks(struct agent *agent, int signum)
{
    for (int i = 0; i < agent->ranks.count; i++)
        if (agent->ranks.list[i]->running)
            kill(-agent->ranks.list[i]->pid, signum);
}

/* Stops the ranks together with hvdrun, also processes that have left the group of their rank. */
static void suspend(struct agent *agent)
{
    struct agent_ranks *ranks = &agent->ranks;
    pid_t *spared;
    int nspared = agent_tunnels_pids(agent, &spared);
    ranks->suspended = true;
    agent_signal_ranks(agent, SIGSTOP);
    ranks->nhalted = process_tree_stop(&ranks->halted, ranks->nhalted, spared, nspared);
    free(spared);
}

/* The ranks have the key now, or never will. */
static void wipe_environments(struct agent *agent)
{
    for (int i = 0; i < agent->ranks.count; i++) {
        string_list_wipe(&agent->ranks.list[i]->environment);
        free(agent->ranks.list[i]->envp);
        agent->ranks.list[i]->envp = NULL;
    }
}

int agent_on_start(struct agent *agent, struct wire_reader *body, struct err *err)
{
    struct agent_start start;
    int rc = agent_start_decode(&start, body, err);
    if (rc < 0)
        return rc;
    agent_environment_name_network(agent, start.own_address);
    agent_torch_environment(agent, &start);
    worker_environment_finish(&agent->environment.common);
    struct spawned *spawned = xcalloc((size_t)agent->ranks.count, sizeof *spawned);
    agent->phase = AGENT_RUNNING;
    oom_counter_begin(&agent->ranks.oom);
    agent->ranks.started_ms = uv_hrtime() / 1000000;
    int nstarted = 0;
    while (nstarted < agent->ranks.count &&
           start_rank(agent->ranks.list[nstarted], &spawned[nstarted]) == 0)
        nstarted++;
    for (int i = 0; i < nstarted; i++)
        confirm_rank(agent->ranks.list[i], &spawned[i]);
    if (agent->ranks.suspended) /* hvdrun sent SIGSTOP before it knew that it would send START */
        suspend(agent);
    wipe_environments(agent);
    free(spawned);
    uv_update_time(agent->loop);
    return HVD_OK;
}

static void resume(struct agent *agent)
{
    process_tree_continue(agent->ranks.halted, agent->ranks.nhalted);
    free(agent->ranks.halted);
    agent->ranks.halted = NULL;
    agent->ranks.nhalted = 0;
    agent->ranks.suspended = false;
}

/* As agent_signal_ranks(). Allocates `*groups`, those that got the signal; returns their number. */
static int signal_groups(struct agent *agent, int signum, pid_t **groups)
{
    int count = 0;
    *groups = xcalloc((size_t)agent->ranks.count + 1, sizeof **groups);
    for (int i = 0; i < agent->ranks.count; i++) {
        pid_t group = agent->ranks.list[i]->pid;
        if (agent->ranks.list[i]->running && kill(-group, signum) == 0)
            (*groups)[count++] = group;
    }
    return count;
}

/* The commands of tunnels end with their stdin, after the hosts below; but nobody waits for them
 * once the link has ended. */
static void signal_descendants(struct agent *agent, int signum, const pid_t *groups, int ngroups)
{
    pid_t *spared;
    int nspared = agent_tunnels_pids(agent, &spared);
    if (agent->phase == AGENT_ORPHANED)
        process_tree_signal_outside(signum, groups, ngroups, NULL, 0);
    else if (nspared == 0 || agent_has_other_children(agent))
        process_tree_signal_outside(signum, groups, ngroups, spared, nspared);
    free(spared);
}

/* A process gets a signal that it may handle once: a second SIGINT would interrupt what a Python
 * script does after the first. */
void agent_signal_everything(struct agent *agent, int signum)
{
    pid_t *groups;
    int ngroups = signal_groups(agent, signum, &groups);
    signal_descendants(agent, signum, groups, signum == SIGKILL ? 0 : ngroups);
    free(groups);
    if (signum == SIGKILL) {
        cgroup_kill(&agent->ranks.cgroup);
        return;
    }
    agent_signal_ranks(agent, SIGCONT); /* a stopped process would not handle the signal */
    process_tree_continue(agent->ranks.halted, agent->ranks.nhalted);
}

int agent_on_signal(struct agent *agent, struct wire_reader *body, struct err *err)
{
    int signum = wire_get_i32(body);
    int rc = agent_frame_finished(body, AGENT_SIGNAL, err);
    if (rc < 0)
        return rc;
    if (signum <= 0 || signum >= NSIG)
        return fail(err, HVD_ERR_PROTOCOL, "SIGNAL with signal %d", signum);
    agent_watch_told(agent, signum);
    if (signum == SIGSTOP) {
        suspend(agent);
        return HVD_OK;
    }
    if (signum == SIGCONT)
        resume(agent);
    agent_signal_ranks(agent, signum);
    return HVD_OK;
}
