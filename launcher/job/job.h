/* SPDX-License-Identifier: Apache-2.0 */
/* One job: connects to every host of a plan, has the ranks started there, carries their output and
 * stdin, watches them, and brings everything to an end. Reports in one line why a job failed.
 *
 * The connections that come in through the agents go straight to the rendezvous. A job knows
 * nothing else of the rendezvous but what it reports to its owner (struct
 * job_rendezvous_interface).
 *
 * One thread: all calls and callbacks are made on the loop's thread. */
#ifndef LAUNCHER_JOB_JOB_H
#define LAUNCHER_JOB_JOB_H

#include "launcher/base/rank_attributes.h"
#include "launcher/connect/host_connect.h"
#include "launcher/placement/rank_plan.h"
#include "lib/base/auth.h"
#include "lib/base/rank_end.h"
#include "lib/base/rank_waits.h"
#include "lib/base/rendezvous_stream.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct job;
struct children;

/* An elastic job begins without workers. Its owner adds and ends workers while the job runs, and
 * says when the job is over. */
struct job_elastic {
    int size_max;     /* no world has more ranks */
    int first_size;   /* ranks of the first world: their output files are created with the job */
    bool one_machine; /* all workers will run on one machine */
};

struct job_options {
    const struct rank_plan *plan;           /* borrowed until job_destroy(), as all members */
    const struct job_elastic *elastic;      /* or NULL; an elastic job ignores `plan` */
    const struct connect_settings *connect; /* how to connect to hosts */
    const char *const
        *interfaces; /* for each host of the plan, its part of --network-interfaces; "" for any */
    const char *cwd;
    char *const *command;         /* ended by NULL */
    char *const *environment;     /* NAME=VALUE for every rank, ended by NULL */
    bool check_libraries;         /* check the program's libraries before it starts */
    bool check_cuda;              /* ask what of CUDA the hosts have */
    char *const *own_environment; /* defaults for ranks on this machine, overridden by
                                   * `environment`; ended by NULL; or NULL */
    const char *id;               /* value of HVD_JOB_ID */
    const struct job_key *key;    /* of the job; each worker is given its own (auth.h) */
    const char *output_directory; /* or NULL */
    const char *python_path;      /* a directory that comes first in PYTHONPATH; or NULL */
    struct rank_attributes attributes;
    bool timestamps, verbose;
    bool status_line; /* stderr is a terminal: show the progress of the hosts */
    bool colour;      /* a failure may be coloured there */
    bool stdin_closed, stdout_closed, stderr_closed;
    uint32_t grace_ms, start_timeout_ms;
    uint64_t timeout_ms; /* for the whole job; 0: as long as it takes */
    uint64_t epoch_ms;   /* when the job begins: since 1970 */
    bool stopped_fails;  /* a rank that is stopped by a signal is a failure */
    bool keep_lines;     /* the report needs all kept lines of the ranks' output */
    int report_fd;       /* STDOUT_FILENO or STDERR_FILENO if the report goes there; else 0 */
    int tree_width;      /* hosts that hvdrun, and each agent, starts; 0: hvdrun starts all */
    uint32_t heartbeat_timeout_ms; /* a host from which nothing comes for so long is lost */
};

struct job_report;

/* How a rank has ended. */
struct job_rank_end {
    struct rank_end_how how;
    bool told; /* after hvdrun had told it to end */
};

/* The launcher's reports to the owner of the rendezvous, where the workers meet. */
struct job_rendezvous_interface {
    /* Serves the connections that come in through the agents. */
    struct rendezvous_server server;

    /* A rank runs. */
    void (*on_rank_started)(void *context, int rank, int pid);

    /* A rank has ended, or is lost. Borrowed for the call. */
    void (*on_rank_ended)(void *context, int rank, const struct job_rank_end *end);

    /* Asks every rank for its status text. job_rank_told() brings the answers, in order of rank. */
    void (*on_question)(void *context);

    /* The job has ended; `report` describes it. The last call. */
    void (*on_over)(void *context, const struct job_report *report);
    void *context;
};

/* Why a worker of an elastic job is no more. */
enum job_worker_end {
    JOB_WORKER_FINISHED,    /* exited with status 0 */
    JOB_WORKER_FAILED,      /* exited otherwise, or was killed */
    JOB_WORKER_NOT_STARTED, /* its host is not reached, refuses it or cannot run its program */
    JOB_WORKER_HOST_LOST    /* its host or agent was lost */
};

struct job_callbacks {
    /* The job has ended; `report` is complete. Returns HVD_OK, or a status and `err`, which is
     * printed before the verdict; a job that went well has then lost output. Called once, or never;
     * may be NULL. */
    int (*on_report)(void *context, const struct job_report *report, struct err *err);

    /* The job is over: nothing runs, all output is written. Called once, as the last call, and
     * never from inside job_create(). */
    void (*on_finished)(void *context, int exit_status);

    /* After SIGTSTP: the ranks have been told to stop for a while, and hvdrun may stop itself now,
     * unless a SIGCONT has come meanwhile that job_signal() has not seen yet. */
    void (*on_suspended)(void *context);

    /* Elastic jobs: a worker has ended, or will never run. Called once for each worker that was
     * added, after the rendezvous has heard of it, and no more once the job is being stopped. May
     * call any function here except job_destroy(). */
    void (*on_worker_ended)(void *context, int worker, enum job_worker_end end);

    /* Elastic jobs: the host of `worker` is to be left, because its agent was asked to end. Its
     * workers run on. May be NULL; may call any function here except job_destroy(). */
    void (*on_drained)(void *context, int worker);

    /* The end of job_exchange(): 0 and the answer, borrowed for the call, or a negative error
     * number of libuv. May be NULL. */
    void (*on_exchanged)(void *context, uint32_t id, int error, const void *answer, size_t length);
};

/* Begins to connect to the hosts. NULL and `err` when an output file cannot be created. */
struct job *job_create(uv_loop_t *loop, const struct job_options *options,
                       const struct job_rendezvous_interface *rendezvous,
                       const struct job_callbacks *callbacks, void *context, struct err *err);

/* Reports of the rendezvous: a rank has joined, maybe one that the job has not started; a rank has
 * left, or its world is broken, because of `end`; the failure of the rank `end->because_of` was the
 * first and has ended the ranks' world; the connection of a rank has ended without a word. */
void job_rank_met(struct job *job, int rank);
void job_rank_left(struct job *job, int rank, const struct rank_end *end);
void job_world_failed(struct job *job, const struct rank_end *end);
void job_rank_disconnected(struct job *job, int rank);

/* The kind of event for which a rank waits, and its status text, or why there is none. False: the
 * job has not asked for it, and another part of hvdrun may have. */
bool job_rank_told(struct job *job, int rank, enum rank_waits_for waits_for, const char *text);

/* The last lines that a rank has written to stdout or stderr, at most `nbytes`; the caller frees
 * them. */
char *job_last_lines(const struct job *job, int rank, bool of_stderr, size_t nbytes);

/* hvdrun has received a signal: SIGINT, SIGTERM and SIGHUP stop the job, SIGTSTP and SIGCONT stop
 * and continue the ranks, others are passed on. */
void job_signal(struct job *job, int signum);

/* Prints where each rank stands, then asks every rank for its status text. The attribute
 * `stack_traces` must be set. */
void job_say_stacks(struct job *job);

/* The job cannot go on; `text` gives the cause in its last line, `exit_status` becomes its
 * status. */
void job_fail(struct job *job, int exit_status, const char *text);

/* Prints a line on hvdrun's stderr; job_note() only under --verbose. */
void job_say(struct job *job, const char *line);
void job_note(struct job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- elastic jobs ----
 *
 * A worker is one process, with a number that is given once, ascending from 0. In a job that is not
 * elastic the worker's number is its rank. In an elastic job a worker has a rank only within a
 * world, and `rank` in every function above and in struct job_rendezvous_interface is the number of
 * a worker. */

/* Workers that are started together on one host, by an agent of their own. */
struct job_batch {
    const char *host, *user; /* user: or NULL; copied, as all */
    const char *interfaces;  /* the host's part of --network-interfaces; "" for any */
    int worker, count;       /* `count` >= 1 workers from the number `worker` on, which is the next
                              * that no batch has had */
    const struct rank_info *places; /* of each worker, in the world for which it is started */
};

/* Is the job being stopped, or over? Then it takes no batch and knows no new worker. */
bool job_is_stopping(const struct job *job);

/* Time in which this process ran since the job was created: time in which it was stopped by Ctrl-Z,
 * or in which its machine was frozen, does not count. */
uint64_t job_ran_ms(const struct job *job);

/* Begins to connect to the host; its workers start when it is ready. Does nothing if the job is
 * being stopped. Does not call back before it returns. */
void job_add_batch(struct job *job, const struct job_batch *batch);

/* The worker has not joined in time, and is to be removed: it is lost for the reason `why`, status
 * 75. */
void job_give_up_worker(struct job *job, int worker, const char *why);

/* The worker is in no next world: its end is not a loss, however it ends. */
void job_worker_removed(struct job *job, int worker);

/* Ends a worker: SIGTERM, after --grace SIGKILL. on_worker_ended() follows. A worker that does not
 * run yet is ended as soon as it does. Fine if it has ended. */
void job_stop_worker(struct job *job, int worker);

/* Sends a request to `port` of the IPv4 address `ip`, as the host of the worker sees it, and
 * reports the answer with on_exchanged(). Nothing is reported if the host or the worker is gone. */
void job_exchange(struct job *job, int worker, uint32_t id, uint32_t ip, uint16_t port,
                  const void *request, size_t length);

/* A report of the rendezvous: the world of that epoch is complete. `workers` in order of rank, all
 * of them added before. */
void job_world_made(struct job *job, int epoch, const int *workers, int size);

/* The job is done: workers that still run are stopped, and hvdrun ends with status 0. */
void job_end(struct job *job);

/* The job cannot go on because `worker` has ended, whose exit status becomes hvdrun's; `text` is
 * the cause in hvdrun's last line, which then names the worker and how it was lost. */
void job_fail_worker(struct job *job, int worker, const char *text);

/* The host of a worker, as the batch named it; its rank in the last world, or, before its first
 * world, the rank for which it was started; -1 once it is in none. */
const char *job_worker_host(const struct job *job, int worker);
int job_worker_rank(const struct job *job, int worker);

/* Prints the epoch, the members and the hosts of the present world on hvdrun's stderr. */
void job_say_world(struct job *job);

/* Watches over the children of this process: whoever starts one more must watch it there. */
struct children *job_children(struct job *job);

/* Call this once the job is over, also from on_finished(). Freed when the loop has run until
 * nothing is active. NULL is fine. */
void job_destroy(struct job *job);

#endif
