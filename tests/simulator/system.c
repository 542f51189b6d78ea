/* SPDX-License-Identifier: Apache-2.0 */
/* What hvdrun and hvdagent ask of the kernel, answered by the simulator; see system.h. The
 * functions of launcher/ that do nothing but system calls (spawn.c, process_tree.c, cgroup.c,
 * socket_owner.c, program_find.c, descriptors.c) have their namesakes here. */
#include "tests/simulator/system.h"

#include "launcher/base/descriptors.h"
#include "launcher/base/exit_status.h"
#include "launcher/base/xalloc.h"
#include "launcher/cleanup/orphans.h"
#include "launcher/process/cgroup.h"
#include "launcher/process/oom_counter.h"
#include "launcher/process/process_tree.h"
#include "launcher/process/program_find.h"
#include "launcher/process/socket_owner.h"
#include "launcher/process/spawn.h"
#include "lib/base/env_names.h"
#include "lib/base/interfaces.h"
#include "tests/simulator/clock.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/uv.h"
#include "tests/simulator/world.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- wrapped calls ---- */

int __real_close(int fd);
int __real_fcntl(int fd, int command, ...);
int __real_open(const char *path, int flags, ...);
int __real_fstat(int fd, struct stat *status);
int __wrap_close(int fd);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_fstat(int fd, struct stat *status);
int __wrap_pipe2(int fds[2], int flags);
int __wrap_socketpair(int domain, int type, int protocol, int fds[2]);
ssize_t __real_read(int fd, void *buffer, size_t size);
ssize_t __wrap_read(int fd, void *buffer, size_t size);
ssize_t __real_recv(int fd, void *buffer, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *buffer, size_t size, int flags);
int __wrap_chdir(const char *path);
mode_t __wrap_umask(mode_t mask);
int __wrap_kill(pid_t pid, int signum);
pid_t __wrap_getpid(void);
pid_t __wrap_getppid(void);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);
int __wrap_interfaces_read(struct interfaces *interfaces, struct err *err);
char __wrap_process_state(pid_t pid);
bool __wrap_process_is_ending(pid_t pid);
uint64_t __wrap_monotonic_ms(void);
uint64_t __wrap_monotonic_ns(void);

int __wrap_close(int fd)
{
    if (!sim_is_descriptor(fd))
        return __real_close(fd);
    sim_descriptor_close(fd);
    return 0;
}

int __wrap_fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    long argument = va_arg(args, long);
    va_end(args);
    if (!sim_is_descriptor(fd))
        return __real_fcntl(fd, command, argument);
    return command == F_DUPFD_CLOEXEC ? sim_descriptor_copy(fd) : 0;
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = flags & O_CREAT ? va_arg(args, int) : 0;
    va_end(args);
    if (sim_current() && strcmp(path, "/dev/null") == 0)
        return sim_descriptor(sim_current(), NULL);
    return __real_open(path, flags, mode);
}

/* stdout and stderr are two files, whatever they are here. */
int __wrap_fstat(int fd, struct stat *status)
{
    if (!sim_current())
        return __real_fstat(fd, status);
    *status = (struct stat){ .st_ino = (ino_t)fd };
    return 0;
}

int __wrap_pipe2(int fds[2], int flags)
{
    struct sim_process *process = sim_current();
    struct sim_end *ends[2];
    (void)flags;
    sim_stream_make(ends, process->host, process->host);
    fds[0] = sim_descriptor(process, ends[0]);
    fds[1] = sim_descriptor(process, ends[1]);
    return 0;
}

int __wrap_socketpair(int domain, int type, int protocol, int fds[2])
{
    (void)domain, (void)type, (void)protocol;
    return __wrap_pipe2(fds, 0);
}

/* What the command of a tunnel writes to stderr: nothing. */
ssize_t __wrap_read(int fd, void *buffer, size_t size)
{
    if (!sim_is_descriptor(fd))
        return __real_read(fd, buffer, size);
    errno = EAGAIN;
    return -1;
}

/* Of a socket, without waiting. */
ssize_t __wrap_recv(int fd, void *buffer, size_t size, int flags)
{
    struct sim_end *end = sim_descriptor_end(fd);
    if (!end)
        return __real_recv(fd, buffer, size, flags);
    int error;
    long count = sim_read(end, buffer, size, &error);
    if (count > 0 || (count < 0 && !error))
        return count > 0 ? count : 0;
    errno = error ? error : EAGAIN;
    return -1;
}

int __wrap_chdir(const char *path)
{
    (void)path;
    return 0;
}

mode_t __wrap_umask(mode_t mask)
{
    return mask;
}

int __wrap_kill(pid_t pid, int signum)
{
    sim_kill_pid(pid, signum);
    return 0;
}

pid_t __wrap_getpid(void)
{
    return sim_current() ? sim_current()->pid : 1;
}

pid_t __wrap_getppid(void)
{
    return sim_current() && sim_current()->parent ? sim_current()->parent->pid : 1;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
    (void)pid;
    return sim_wait(sim_current(), status, options & WUNTRACED);
}

int __wrap_interfaces_read(struct interfaces *interfaces, struct err *err)
{
    (void)err;
    *interfaces = (struct interfaces){ 1, { { .name = "eth0", .kind = INTERFACE_REAL } } };
    return HVD_OK;
}

uint64_t __wrap_monotonic_ms(void)
{
    return uv_hrtime() / 1000000;
}

uint64_t __wrap_monotonic_ns(void)
{
    return uv_hrtime();
}

/* ---- launcher/process/process_tree.h ---- */

void process_tree_adopt(void)
{
    sim_current()->adopts = true;
}

int process_tree_children(pid_t **children)
{
    int count = 0;
    *children = NULL;
    for (const struct sim_process *at = sim_processes(); at; at = at->next) {
        if (at->parent != sim_current() || at->reaped)
            continue;
        *children = xrealloc(*children, (size_t)(count + 1) * sizeof **children);
        (*children)[count++] = at->pid;
    }
    return count;
}

static bool is_spared(const struct sim_process *process, const pid_t *spared, int nspared)
{
    for (const struct sim_process *up = process; up; up = up->parent)
        for (int i = 0; i < nspared; i++)
            if (up->pid == spared[i])
                return true;
    return false;
}

int process_tree_signal(int signum, const pid_t *spared, int nspared)
{
    return process_tree_signal_outside(signum, NULL, 0, spared, nspared);
}

/* A rank and what it has started are one here. */
static bool is_of_group(const struct sim_process *process, const pid_t *groups, int ngroups)
{
    for (int i = 0; i < ngroups; i++)
        if (process->pid == groups[i])
            return true;
    return false;
}

int process_tree_signal_outside(int signum, const pid_t *groups, int ngroups, const pid_t *spared,
                                int nspared)
{
    const struct sim_process *self = sim_current();
    int count = 0;
    for (struct sim_process *at = sim_processes(), *next; at; at = next) {
        next = at->next;
        if (!at->alive || !sim_is_descendant(at, self) || is_spared(at, spared, nspared))
            continue;
        count++;
        if (!is_of_group(at, groups, ngroups))
            sim_kill(at, signum);
    }
    return count;
}

int process_tree_stop(struct stopped_process **stopped, int count, const pid_t *spared, int nspared)
{
    (void)stopped, (void)spared, (void)nspared;
    return count; /* a rank and what it has started are one here */
}

void process_tree_continue(const struct stopped_process *stopped, int count)
{
    (void)stopped, (void)count;
}

int process_tree_stuck(struct stuck_process *list, int max)
{
    (void)list, (void)max;
    return 0;
}

/* ---- launcher/cleanup/orphans.h: whatever comes from a rank has the job's variables ---- */

bool orphans_has(pid_t pid, const char *variable)
{
    (void)pid, (void)variable;
    return false;
}

static const char *const marks[SIM_MARKS] = { ENV_WORKER, ENV_AGENT };

/* A search for the ranks of the job, of an agent, or for one worker. */
static bool is_sought(const struct sim_process *process, const struct string_list *variables)
{
    for (int i = 0; i < SIM_MARKS; i++) {
        const char *value = string_list_variable(variables, marks[i]);
        if (value && (!process->marks[i] || strcmp(process->marks[i], value) != 0))
            return false;
    }
    return process->kind == SIM_WORKER || process->kind == SIM_ORPHAN;
}

int orphans_signal(int signum, const struct string_list *variables)
{
    int count = 0;
    for (struct sim_process *at = sim_processes(), *next; at; at = next) {
        next = at->next;
        if (!at->alive || !is_sought(at, variables) || at->host != sim_current()->host)
            continue;
        count++;
        sim_kill(at, signum);
    }
    return count;
}

/* ---- launcher/process/oom_counter.h: as a fault says ---- */

void oom_counter_find_own(struct oom_counter *counter)
{
    (void)counter;
}

void oom_counter_begin(struct oom_counter *counter)
{
    (void)counter;
}

void oom_counter_fini(struct oom_counter *counter)
{
    (void)counter;
}

bool oom_counter_rose(struct oom_counter *counter)
{
    (void)counter;
    return sim_host_is_short_of_memory(sim_current()->host);
}

/* ---- launcher/process/spawn.h ---- */

static char *marked_value(char *const *envp, const char *name)
{
    size_t length = strlen(name);
    for (; *envp; envp++)
        if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=')
            return sim_format("%s", *envp + length + 1);
    return NULL;
}

int spawn_start(const struct spawn_request *request, struct spawned *spawned, struct err *err)
{
    struct sim_process *parent = sim_current();
    if (strcmp(request->argv[0], SIM_HOP) == 0) {
        const struct sim_process *hop = sim_host_hop(&world.hosts[atoi(request->argv[1])],
                                                     sim_descriptor_end(request->stdio[0]));
        *spawned = (struct spawned){ .pid = hop->pid, .report = -1 };
        return HVD_OK;
    }
    struct sim_process *worker = sim_process_add(SIM_WORKER, parent->host, parent);
    (void)err;
    worker->death_signal = request->death_signal;
    for (int i = 0; i < SIM_MARKS; i++)
        worker->marks[i] = marked_value(request->envp, marks[i]);
    sim_worker_begin(worker, request->envp, request->stdio);
    *spawned = (struct spawned){ .pid = worker->pid, .report = -1 };
    return HVD_OK;
}

int spawn_confirm(struct spawned *spawned)
{
    (void)spawned;
    return 0;
}

void spawn_abandon(struct spawned *spawned)
{
    (void)spawned;
}

/* ---- launcher/process/cgroup.h: there is none ---- */

void cgroup_make(struct cgroup *group)
{
    (void)group;
}

void cgroup_kill(const struct cgroup *group)
{
    (void)group;
}

void cgroup_remove(struct cgroup *group)
{
    (void)group;
}

/* ---- launcher/process/socket_owner.h: everybody is the job's own user ---- */

void socket_owner_init(struct socket_owner *self)
{
    (void)self;
}

void socket_owner_fini(struct socket_owner *self)
{
    (void)self;
}

bool socket_owner_find(struct socket_owner *self, int fd, uid_t *uid)
{
    (void)self, (void)fd;
    *uid = geteuid();
    return true;
}

/* ---- launcher/process/program_find.h, launcher/base/descriptors.h ---- */

int program_find(const char *name, const char *path, char **file, struct err *err)
{
    int status = sim_host_program_status(sim_current()->host);
    (void)path;
    if (status && strcmp(name, SIM_HOP) != 0) {
        fail(err, HVD_ERR_SYSTEM, "'%s' is not there", name);
        return status;
    }
    *file = xstrdup(name);
    return 0;
}

int descriptors_allow(unsigned long needed, struct rlimit *before, struct err *err)
{
    (void)needed, (void)err;
    if (before)
        *before = (struct rlimit){ 1024, 4096 };
    return HVD_OK;
}

/* Processes of the simulation end at once. */
bool __wrap_process_is_ending(pid_t pid)
{
    (void)pid;
    return false;
}

/* Who is frozen alone is starved. What stands for an agent of this machine here is its
 * supervisor. */
char __wrap_process_state(pid_t pid)
{
    for (const struct sim_process *at = sim_processes(); at; at = at->next)
        if (at->kind == SIM_AGENT && at->alive && at->parent && at->parent->pid == pid)
            return (char)(at->stopped ? 'T' : at->frozen ? 'R' : 'S');
    return 0;
}
