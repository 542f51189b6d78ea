/* SPDX-License-Identifier: Apache-2.0 */
/* The private interface of a job, shared by job.c (its life), job_events.c (reports of hosts),
 * job_check.c (periodic checks), job_start.c (until all ranks run), job_stop.c (bringing the job to
 * an end), job_lost.c (agents that end too early), job_signals.c (signals to hvdrun), job_timeout.c
 * (--timeout), job_stacks.c (--stack-traces), job_progress.c (the progress of the job, in words),
 * job_tree.c (agents that start agents), job_elastic.c (batches, workers
 * and worlds of an elastic job) and job_losses.c (the workers that it has lost). */
#ifndef LAUNCHER_JOB_JOB_IMPL_H
#define LAUNCHER_JOB_JOB_IMPL_H

#include "launcher/cleanup/adopted.h"
#include "launcher/cleanup/cleanup.h"
#include "launcher/job/job.h"
#include "launcher/job/job_host.h"
#include "launcher/job/stack_groups.h"
#include "launcher/output/job_output.h"
#include "launcher/output/stdin_reader.h"
#include "launcher/process/children.h"
#include "launcher/tree/host_tree.h"
#include "launcher/verdict/job_report.h"
#include "launcher/verdict/job_state.h"

/* The private data of each file: only that file writes it, others may read. Times ending in `by_ms`
 * are compared with job_check.ran_ms; 0 is none. */

/* job_check.c: the periodic checks. */
struct job_check {
    uv_timer_t timer;
    int nchecks;         /* since hosts were asked for a heartbeat */
    uint64_t checked_ms; /* the last run of the timer, by uv_now() */
    uint64_t ran_ms;     /* time until then in which this process ran: not stopped, not frozen */
};

/* job_start.c: until all ranks run. */
struct job_start {
    uv_timer_t status_timer; /* while hosts are connecting, on a terminal */
    uint64_t started_ms;     /* when START was sent to the hosts; 0 before */
    int nstarted;            /* ranks that run */
    int nfailures;           /* failed hosts before the ranks run, besides the first */
};

/* job_signals.c: Ctrl-Z. */
struct job_suspension {
    uv_idle_t turns;   /* the last iterations of the loop before hvdrun stops itself */
    int nturns;        /* number of them */
    uint64_t since_us; /* when the ranks were told to stop for a while; 0: they were not */
    uint64_t by_ms;    /* the latest time at which hvdrun stops itself */
};

/* job_timeout.c: the time limit of the whole job. */
struct job_timeout {
    uv_timer_t timer;
    bool asking;      /* ranks are asked for their status text, before the job is given up */
    int quoted_rank;  /* whose status text the last line quotes */
    char quoted[224]; /* its first line; "": none */
};

/* job_stacks.c: one question where the ranks stand. */
struct job_stacks {
    uv_timer_t timer; /* while answers are awaited */
    bool asking;
    bool then_ask, then_give_up; /* afterwards ask for the status texts, or go on with --timeout */
    uint32_t id;                 /* of the last question */
    int waited_ms;               /* time in which this process ran */
    struct stack_groups groups;  /* the answers */
};

/* job_stop.c: from the order to stop to the verdict. */
struct job_stop {
    uint64_t since_ms;        /* when the job began to stop, by uv_now(); 0 before */
    uint64_t kill_by_ms;      /* when agents that do not stop their ranks are killed */
    uint64_t stubborn_by_ms;  /* when ranks that still run after Ctrl-C are named */
    uv_timer_t discard_timer; /* until output that nobody reads is dropped */
    uv_timer_t cleanup_timer; /* while processes of lost agents are being killed, at the end */
    bool said, over;          /* the verdict was printed; the caller knows that the job is over */
};

/* job_lost.c: the children of this process. */
struct job_processes {
    struct children *children;
    struct adopted adopted; /* children that no rank has started */
    struct cleanup cleanup; /* of processes of dead agents of this machine */
};

/* job_elastic.c: the workers of an elastic job. */
struct job_growth {
    struct rank_plan plan;    /* of all batches: by worker, and by host */
    uv_timer_t cleanup_timer; /* while processes of lost agents are being killed */
    bool cleans;              /* agents of this machine were lost */
    int nclosing;             /* hosts whose memory libuv still uses */
};

/* job_tree.c: agents that start agents. */
struct job_tree {
    struct host_tree shape;
    enum host_cast *casts; /* by host of `shape` */
    bool fell_back;        /* hvdrun connects to all hosts that are not connected yet */
    uint64_t asked_us;     /* when job_tree_ask() was called last: uv_hrtime() */
};

struct job {
    uv_loop_t *loop;
    const struct job_options *options;
    const struct rank_plan *plan; /* that of the options, or of `growth` */
    struct job_rendezvous_interface rendezvous;
    struct job_callbacks callbacks;
    void *context;
    uint64_t created_ms;
    struct job_state state;
    struct job_report report; /* of ranks as they start and end; the rest is filled in at the end */
    struct job_host **hosts;  /* owned; NULL: of an elastic job, closed */
    struct connect_queue *pool;
    struct job_output *output;
    struct stderr_reader *stderr_readers; /* of each rank */
    struct stdin_reader *stdin_reader;
    bool stdin_unread; /* there is no reader, because no thread could be created */
    struct job_check check;
    struct job_start start;
    struct job_suspension suspension;
    struct job_timeout timeout;
    struct job_stacks stacks;
    struct job_stop stop;
    struct job_growth growth;
    struct job_processes processes;
    struct job_tree tree;
    int open_parts; /* handles and hosts whose memory libuv still uses */
    bool destroyed;
};

/* job.c: carries out the action. */
void job_act(struct job *job, enum job_action action);

/* Closes a handle whose data is the job; when all are closed the job is freed. Only from
 * job_destroy(). */
void job_close_handle(struct job *job, uv_handle_t *handle);
const char *job_host_name(const struct job *job, int host);
uint64_t job_now_ms(void);

/* job.c: a host is closed, by job_destroy() or before. */
void job_on_host_closed(void *host);

/* job_events.c */
void job_open_hosts(struct job *job);
void job_open_host(struct job *job, int index, const char *interfaces);

/* job_check.c */
void job_check_start(struct job *job);
void job_check_close(struct job *job);

/* job_signals.c */
void job_suspension_init(struct job *job);
void job_suspension_close(struct job *job);
void job_on_alive(void *context, int host);
void job_suspension_check(struct job *job); /* every HEARTBEAT_CHECK_MS */

/* job_start.c */
void job_start_init(struct job *job); /* shows the status line, if it is wanted */
void job_start_close(struct job *job);
void job_start_ranks(struct job *job); /* every host is ready */
void job_end_status_line(struct job *job);
void job_on_rank_started(void *context, int rank, pid_t pid);
void job_start_check(struct job *job); /* every HEARTBEAT_CHECK_MS */

/* Reports that a host is about to count as failed. */
void job_tell_failure(struct job *job, int host, const char *text);

/* job_stop.c */
void job_stop_init(struct job *job);
void job_stop_close(struct job *job);
void job_stop_hosts(struct job *job);
void job_stop_check(struct job *job);  /* every HEARTBEAT_CHECK_MS */
void job_stop_finish(struct job *job); /* every host is done */
void job_stop_watch(struct job *job);  /* the state has changed */
void job_stop_discard(struct job *job);
void job_on_output_finished(void *context);

/* job_lost.c */
void job_processes_init(struct job *job);
void job_processes_fini(struct job *job);
void job_on_host_lost(void *context, int host);
void job_on_host_done(void *context, int host, int left);

/* Nothing more comes from the host. */
void job_host_over(struct job *job, struct job_host *host);

/* Was the connection to the host cut before the job began to stop, in one direction or both? */
bool job_host_was_away(const struct job *job, const struct job_host *host);
void job_on_agent_end(void *context, int host);
void job_ends_check(struct job *job); /* every HEARTBEAT_CHECK_MS */

/* Kills the agents of hosts in these phases. True: some were left out, because others come first
 * (job_tree_comes_later()); call it again when an agent has had time to answer. */
bool job_kill_agents(struct job *job, enum host_phase least, enum host_phase most);

/* job_progress.c. Each text is one line, cut if need be; `size` is at least 300. */
int job_missing_hosts(const struct job *job, char *text, size_t size); /* names, and their steps */
int job_running_ranks(const struct job *job, char *text, size_t size); /* number, and names */
void job_progress_text(const struct job *job, char *text, size_t size);
void job_interrupted_text(const struct job *job, char *text, size_t size); /* "": all is well */

/* job_elastic.c and job_losses.c */
void job_elastic_init(struct job *job);
void job_elastic_close(struct job *job);
void job_elastic_fini(struct job *job);
void job_elastic_check(struct job *job); /* every HEARTBEAT_CHECK_MS */

/* A host is to be left; see job_host_events. */
void job_on_drain(void *context, int host);

/* An agent of this machine was lost: processes that it has left behind are being ended. */
void job_elastic_clean(struct job *job);

/* A worker has ended, or will never run: reports it, once. May call the owner of the job. */
void job_worker_ended(struct job *job, int worker, enum job_worker_end end);

/* All workers of a host that have not ended before, in the same way. */
void job_workers_ended(struct job *job, const struct job_host *host, enum job_worker_end end);

/* The ranks of the present world; of a job that is not elastic, all. */
int job_world_size(const struct job *job);
int job_world_worker(const struct job *job, int rank);

/* ", rank 3 before" if a worker of an elastic job had another rank before its last world, else "".
 * Returns `text`. */
enum { WORKER_BEFORE_SIZE = 32 };
const char *job_worker_before(const struct job *job, int worker, char text[WORKER_BEFORE_SIZE]);

/* Writes "rank 2 on node1", and "(worker 5, rank 3 before)" behind it in an elastic job. */
void job_worker_name(const struct job *job, int worker, char *text, size_t size);

/* Prints "rank 2 WHAT" under --verbose, or "rank 2 on node1 (worker 5) WHAT" in an elastic job. */
void job_note_rank(struct job *job, int rank, const char *what);

/* job_losses.c: a worker of an elastic job is lost; prints it, unless it was printed with its
 * host. */
void job_lose_worker(struct job *job, int worker, int exit_status, const char *why);
void job_say_losses(struct job *job); /* at the end: all of them */

/* job_tree.c: init once there is a queue, and before hosts are opened. */
void job_tree_init(struct job *job);
void job_tree_fini(struct job *job);

/* The host above, or HOST_TREE_ROOT. */
int job_tree_parent(const struct job *job, int host);

/* The agent of the host is ready to connect to those below. */
void job_tree_on_ready(struct job *job, struct job_host *host);

/* See job_host_events. */
void job_tree_on_fall_back(void *context, int host, const char *text);

/* The loss of the host was reported: those below it follow. */
void job_tree_on_lost(struct job *job, struct job_host *host);

/* Asks agents that have others below them for a sign of life. */
void job_tree_ask(struct job *job);

/* Of agents that have not ended in time: must another one be killed before this one? An agent that
 * has not answered job_tree_ask() comes before those below it, of which nothing can be known. One
 * that has answered waits for those below it, and comes after them. */
bool job_tree_comes_later(const struct job *job, const struct job_host *host);

/* How a START, SIGNAL or STOP for all hosts gets to each of them. The first function decides it for
 * one such frame, the other tells it for each host. */
void job_tree_plan_casts(struct job *job);
enum host_cast job_tree_cast(const struct job *job, int host);

/* Does a host above this one explain that nothing comes from it? */
bool job_tree_hides(const struct job *job, const struct job_host *host);

/* job_timeout.c */
void job_timeout_start(struct job *job);
void job_timeout_close(struct job *job);

/* job_timeout.c: goes on with the limit, when the stacks were told. */
void job_timeout_passed(struct job *job);

/* job_stacks.c */
void job_stacks_init(struct job *job);
void job_stacks_close(struct job *job);
void job_stacks_before_timeout(struct job *job); /* tells the stacks, then job_timeout_passed() */
void job_on_stack(void *context, int worker, const char *where);
void job_on_stacks_done(void *context, int host, uint32_t id);

/* job_record.c: the data of the report. Data of ranks as they arrive, the rest when the verdict is
 * final. */
void job_record_started(struct job *job, int rank, pid_t pid);
void job_record_exited(struct job *job, const struct agent_exited *exited);

/* Bytes that a rank wrote to stderr, and when the agent read them, by its clock; the end of
 * stderr. */
void job_record_wrote(struct job *job, int rank, uint64_t read_us, const char *data, size_t length);
void job_record_wrote_end(struct job *job, int rank);
void job_record_lost(struct job *job, int rank);
void job_record_verdict(struct job *job, const char *text);
void job_record_finish(struct job *job);

/* A host that is about to be closed; the last lines of a rank whose output has ended. */
void job_record_host(struct job *job, const struct job_host *host);
void job_record_said(struct job *job, int rank);

/* One check for processes of dead agents of this machine. False: the cleanup is over. */
bool job_check_orphans(struct job *job);

#endif
