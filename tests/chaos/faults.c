/* SPDX-License-Identifier: Apache-2.0 */
/* The table of faults; see faults.h. */
#include "tests/chaos/faults.h"

#include <signal.h>
#include <string.h>

#define LOST "hvdrun: FAILED on %s: host lost: "
#define RANK "hvdrun: FAILED rank "
#define STOPPED(how) "hvdrun: stopped by signal " how " "

/* clang-format off */
const struct fault faults[] = {
    { .name = "none", .rows = "F5", .exit_status = 0, .local_ms = 5000, .hosts_ms = 10000 },
    { .name = "launcher-kill", .rows = "F8", .victim = MEMBER_LAUNCHER, .signum = SIGKILL,
      .exit_status = 137, .local_ms = 1000, .hosts_ms = 6000 },
    { .name = "launcher-term", .rows = "F32", .victim = MEMBER_LAUNCHER, .signum = SIGTERM,
      .exit_status = 143, .line = STOPPED("15"), .local_ms = 2000, .hosts_ms = 2000 },
    { .name = "launcher-int", .rows = "F30", .victim = MEMBER_LAUNCHER, .signum = SIGINT,
      .exit_status = 130, .line = STOPPED("2"), .local_ms = 2000, .hosts_ms = 2000 },
    { .name = "launcher-int-twice", .rows = "F31", .victim = MEMBER_LAUNCHER, .signum = SIGINT,
      .next = { { 50, MEMBER_LAUNCHER, SIGINT } }, .running_only = true,
      .exit_status = 130, .line = STOPPED("2"), .local_ms = 2000, .hosts_ms = 2000 },
    { .name = "launcher-hup", .rows = "F33", .victim = MEMBER_LAUNCHER, .signum = SIGHUP,
      .exit_status = 129, .line = STOPPED("1"), .local_ms = 2000, .hosts_ms = 2000 },
    { .name = "launcher-stop", .rows = "F29", .victim = MEMBER_LAUNCHER, .signum = SIGSTOP,
      .next = { { 700, MEMBER_LAUNCHER, SIGCONT }, { 100, MEMBER_LAUNCHER, SIGTERM } },
      .running_only = true,
      .exit_status = 143, .line = STOPPED("15"), .local_ms = 3000, .hosts_ms = 3000 },
    { .name = "agent-kill", .rows = "F9 F15", .victim = MEMBER_AGENT, .signum = SIGKILL,
      .exit_status = 68, .line = LOST, .local_ms = 1000, .hosts_ms = 7000 },
    { .name = "agent-term", .rows = "F9", .victim = MEMBER_AGENT, .signum = SIGTERM,
      .exit_status = 68, .line = LOST, .local_ms = 2000, .hosts_ms = 7000 },
    { .name = "agent-stop", .rows = "F28", .victim = MEMBER_AGENT, .signum = SIGSTOP,
      .running_only = true, .slow = true,
      .exit_status = 68, .line = LOST, .local_ms = 7000, .hosts_ms = 34000 },
    { .name = "supervisor-kill", .rows = "F10", .victim = MEMBER_SUPERVISOR, .signum = SIGKILL,
      .hosts_only = true, .remote_only = true,
      .exit_status = 68, .line = LOST, .local_ms = 0, .hosts_ms = 7000 },
    { .name = "guards-kill", .rows = "F11", .victim = MEMBER_SUPERVISOR, .also = MEMBER_AGENT,
      .signum = SIGKILL, .hosts_only = true, .remote_only = true,
      .exit_status = 68, .line = LOST, .local_ms = 0, .hosts_ms = 10000 },
    { .name = "login-kill", .rows = "F12", .victim = MEMBER_LAUNCHER, .also = MEMBER_AGENT,
      .signum = SIGKILL, .direct_only = true,
      .exit_status = 137, .local_ms = 1000, .hosts_ms = 6000 },
    { .name = "session-kill", .rows = "F13", .victim = MEMBER_SESSION, .signum = SIGKILL,
      .hosts_only = true, .remote_only = true,
      .exit_status = 68, .line = LOST, .local_ms = 0, .hosts_ms = 7000 },
    { .name = "client-kill", .rows = "F16", .victim = MEMBER_CLIENT, .signum = SIGKILL,
      .hosts_only = true,
      .exit_status = 68, .line = "hvdrun: FAILED on ", .local_ms = 0, .hosts_ms = 7000 },
    { .name = "worker-kill", .rows = "F1 F2", .victim = MEMBER_WORKER, .signum = SIGKILL,
      .exit_status = 137, .line = RANK, .local_ms = 1000, .hosts_ms = 1500 },
    { .name = "worker-fail", .rows = "F3", .victim = MEMBER_WORKER, .signum = SIGUSR1,
      .running_only = true,
      .exit_status = 42, .line = RANK, .local_ms = 1000, .hosts_ms = 1500 },
    { .name = "worker-segv", .rows = "F6", .victim = MEMBER_WORKER, .signum = SIGSEGV,
      .exit_status = 139, .line = RANK, .local_ms = 1000, .hosts_ms = 1500 },
    { .name = "worker-stop", .rows = "F26 F27", .victim = MEMBER_WORKER, .signum = SIGSTOP,
      .next = { { 200, MEMBER_LAUNCHER, SIGTERM } }, .running_only = true,
      .exit_status = 143, .line = STOPPED("15"), .local_ms = 2500, .hosts_ms = 2500 },
    { .name = "elastic-worker-kill", .rows = "F100 F107", .victim = MEMBER_WORKER,
      .signum = SIGKILL, .elastic = true,
      .exit_status = 0, .local_ms = 5000, .hosts_ms = 10000 },
    { .name = "elastic-worker-again", .rows = "F103 F107", .victim = MEMBER_WORKER,
      .signum = SIGKILL, .elastic = true, .again = true,
      .exit_status = 0, .local_ms = 5000, .hosts_ms = 10000 },
    { .name = "elastic-worker-join", .rows = "F102 F103", .victim = MEMBER_WORKER,
      .signum = SIGKILL, .elastic = true, .again = true, .comes_back = true, .slow = true,
      .exit_status = 0, .local_ms = 5000, .hosts_ms = 10000 },
    { .name = "elastic-worker-fail", .rows = "F100", .victim = MEMBER_WORKER, .signum = SIGUSR1,
      .running_only = true, .elastic = true,
      .exit_status = 0, .local_ms = 5000, .hosts_ms = 10000 },
    { .name = "elastic-worker-stop", .rows = "F104", .victim = MEMBER_WORKER, .signum = SIGSTOP,
      .next = { { 100, MEMBER_WORKER, SIGCONT } }, .elastic = true,
      .exit_status = 0, .local_ms = 5000, .hosts_ms = 10000 },
    { .name = "elastic-agent-kill", .rows = "F100", .victim = MEMBER_AGENT, .signum = SIGKILL,
      .elastic = true, .exit_status = 0, .local_ms = 5000, .hosts_ms = 15000 },
    { .name = "elastic-agent-term", .rows = "F100", .victim = MEMBER_AGENT, .signum = SIGTERM,
      .elastic = true, .exit_status = 0, .local_ms = 5000, .hosts_ms = 15000 },
    { .name = "elastic-session-kill", .rows = "F100", .victim = MEMBER_SESSION, .signum = SIGKILL,
      .hosts_only = true, .remote_only = true,
      .elastic = true, .exit_status = 0, .local_ms = 0, .hosts_ms = 15000 },
    { .name = "elastic-launcher-term", .rows = "F32", .victim = MEMBER_LAUNCHER, .signum = SIGTERM,
      .elastic = true,
      .exit_status = 143, .line = STOPPED("15"), .local_ms = 2000, .hosts_ms = 2000 },
    { .name = "elastic-launcher-kill", .rows = "F109", .victim = MEMBER_LAUNCHER, .signum = SIGKILL,
      .elastic = true, .exit_status = 137, .local_ms = 1000, .hosts_ms = 6000 },
};
/* clang-format on */

const int fault_count = sizeof faults / sizeof *faults;

const struct worker_kind worker_kinds[] = {
    { .name = "plain" },
    { .name = "collective" },
    { .name = "stubborn", .stubborn = true },
    { .name = "grandchild", .descends = true },
    { .name = "daemon", .stubborn = true, .descends = true },
    { .name = "closed", .stubborn = true, .descends = true },
    { .name = "comet", .stubborn = true, .descends = true },
    { .name = "bomb", .stubborn = true, .descends = true },
    { .name = "elastic", .elastic = true },
};

const int worker_kind_count = sizeof worker_kinds / sizeof *worker_kinds;

int fault_find(const char *name)
{
    for (int i = 0; i < fault_count; i++)
        if (strcmp(faults[i].name, name) == 0)
            return i;
    return -1;
}

int worker_kind_find(const char *name)
{
    for (int i = 0; i < worker_kind_count; i++)
        if (strcmp(worker_kinds[i].name, name) == 0)
            return i;
    return -1;
}

const char *phase_name(enum phase phase)
{
    static const char *const names[PHASES] = { "begin", "running", "end" };
    return names[phase];
}
