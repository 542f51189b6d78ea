/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of a simulated job: pids, parents, signals, ends, zombies, and who adopts orphans.
 *
 *   running <-> stopped;   running, stopped -> dead (a zombie until its parent has waited for it)
 *
 * `frozen` is the same as stopped, but of its whole machine. A process is simulated by the real
 * code on a loop (launcher, agent) or by a script (worker, supervisor, what a worker leaves
 * behind). */
#ifndef TESTS_SIMULATOR_PROCESS_H
#define TESTS_SIMULATOR_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

enum sim_kind { SIM_LAUNCHER, SIM_CARRIER, SIM_SUPERVISOR, SIM_AGENT, SIM_WORKER, SIM_ORPHAN };

enum { SIM_MARKS = 2 };

struct sim_event;
struct sim_end;
struct sim_hold;

struct sim_process {
    enum sim_kind kind;
    pid_t pid, group;
    int host;
    char *marks[SIM_MARKS];     /* the values of HVD_WORKER and HVD_AGENT that it has; or NULL */
    struct sim_process *parent; /* NULL: init */
    bool alive, stopped, frozen, reaped;
    bool tells_stop;  /* its parent has not been told yet */
    bool adopts;      /* orphans below it */
    int death_signal; /* when its parent dies; 0 for none */
    int wait_status;
    uint64_t died_us;
    struct sim_event *held;       /* what happens when it goes on */
    struct sim_event *stop_event; /* it is about to see a SIGTSTP that is pending */
    bool stop_pending;            /* SIGTSTP is, and no SIGCONT has come since */
    uint64_t signals_due_us;      /* when its loop has read all signals that have come */

    /* True: it knows what to do about `signum`. NULL: the defaults. */
    bool (*on_signal)(struct sim_process *process, int signum);
    void (*on_child_end)(struct sim_process *process, struct sim_process *child);
    void (*on_death)(struct sim_process *process);
    void (*on_loop_empty)(struct sim_process *process); /* its last handle is closed */
    void *script;

    struct sim_hold *holds; /* ends of streams */
    struct sim_handle *handles;
    uv_loop_t loop;
    size_t pieces; /* of memory that it has allocated and not freed */
    struct sim_process *next;
};

void sim_processes_reset(void);
struct sim_process *sim_processes(void);

struct sim_process *sim_process_add(enum sim_kind kind, int host, struct sim_process *parent);
const char *sim_process_name(const struct sim_process *process);

/* Who runs now; NULL for nobody. Returns who ran before. */
struct sim_process *sim_enter(struct sim_process *process);
void sim_leave(struct sim_process *before);
struct sim_process *sim_current(void);

/* The process ends by itself; by a signal. */
void sim_exit(struct sim_process *process, int status);
void sim_kill(struct sim_process *process, int signum);

/* As src/hvdrun/self_stop.h has it, of the SIGTSTP that is pending: the process stops, unless there
 * is none; forgets it; sees it again. */
void sim_stop_itself(struct sim_process *process);
void sim_stop_drop(struct sim_process *process);
void sim_stop_listen(struct sim_process *process);

/* As kill(2): pid, or -group. */
void sim_kill_pid(pid_t pid, int signum);

/* The process gets no processor, or gets one again. */
void sim_starve(struct sim_process *process, bool starved);

/* Of the whole machine, or of all. */
void sim_freeze(int host, bool frozen);

/* As waitpid(-1, status, WNOHANG), or with WUNTRACED. */
pid_t sim_wait(struct sim_process *process, int *status, bool stopped_too);

bool sim_is_descendant(const struct sim_process *process, const struct sim_process *ancestor);

#endif
