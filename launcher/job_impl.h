/* SPDX-License-Identifier: Apache-2.0 */
/* A job from inside: what job.c (its life), job_events.c (what hosts say), job_start.c (until all
 * ranks run), job_stop.c (bringing it to an end), job_lost.c (agents that end too early),
 * job_signals.c (those to hvdrun) and job_standing.c (how far it is, in words) share. */
#ifndef LAUNCHER_JOB_IMPL_H
#define LAUNCHER_JOB_IMPL_H

#include "launcher/children.h"
#include "launcher/job.h"
#include "launcher/job_host.h"
#include "launcher/job_output.h"
#include "launcher/job_report.h"
#include "launcher/job_state.h"
#include "launcher/stdin_reader.h"

enum { JOB_TIMERS = 5 };

struct job {
    uv_loop_t *loop;
    const struct job_options *options;
    struct job_meeting meeting;
    struct job_callbacks callbacks;
    void *context;
    struct job_state state;
    struct job_report report; /* of ranks as they start and end; the rest is filled in at the end */
    struct job_host *hosts;
    pid_t *elder_children; /* that this process had before the job; not ours to kill */
    int nelders;
    struct job_output *output;
    struct stdin_reader *stdin_reader;
    struct children *children;
    struct reach_pool *pool;
    uv_timer_t discard_timer; /* until output that nobody reads is dropped */
    uv_timer_t sweep_timer;   /* while what lost agents left behind is being killed */
    uv_timer_t look_timer;    /* has some host been silent for too long? */
    int looks;                /* since hosts were asked for a sign of life */
    uv_timer_t status_timer;  /* while hosts are being reached, on a terminal */
    uv_timer_t timeout_timer; /* until the whole job has had its time */
    uv_idle_t suspend_turns;  /* the last turns of the loop before hvdrun stops itself */
    int open_parts;           /* handles and hosts whose memory libuv still uses */
    uint64_t created_ms, started_ms;
    uint64_t looked_ms;  /* when look_timer came last */
    uint64_t ran_ms;     /* time until then in which this process ran: not stopped, not frozen */
    uint64_t stop_by_ms; /* when agents that do not stop their ranks are killed, as ran_ms; or 0 */
    uint64_t stubborn_by_ms; /* when ranks that still run after Ctrl-C are named, as ran_ms; or 0 */
    int nstarted;            /* ranks */
    int nfailures;           /* of hosts before the ranks run, besides the first */
    uint64_t stopping_ms;    /* when it began to stop, as uv_now() says it; 0 before */
    int sweeps;
    uint64_t suspending_us; /* since when ranks are told to stop for a while, or 0 */
    uint64_t suspend_by_ms; /* when hvdrun stops itself at the latest, as ran_ms */
    bool asking;            /* the ranks what they are doing, before the time is up */
    int waiting_rank;       /* the first that has said that it waits for others */
    char waiting_for[160];  /* and for what; "" */
    int turns;              /* of suspend_turns */
    bool said, over;
};

/* job.c: does what was decided. */
void job_act(struct job *job, enum job_action action);
const char *job_host_name(const struct job *job, int host);
uint64_t job_now_ms(void);

/* job_events.c */
void job_open_hosts(struct job *job);

/* job_signals.c */
void job_on_alive(void *context, int host);
void job_look_at_suspension(struct job *job); /* every SILENCE_LOOK_MS */

/* job_start.c */
void job_look_at_start(struct job *job); /* every SILENCE_LOOK_MS */

/* A host is about to count as failed. */
void job_tell_failure(struct job *job, int host, const char *text);

/* job_stop.c */
void job_stop_hosts(struct job *job);
void job_look_at_stop(struct job *job); /* every SILENCE_LOOK_MS */
void job_stop_finish(struct job *job);  /* every host is done */
void job_stop_watch(struct job *job);   /* something has changed */
void job_stop_discard(struct job *job);
void job_on_output_finished(void *context);

/* job_lost.c */
void job_lost_init(struct job *job);
void job_on_host_lost(void *context, int host);
void job_on_host_done(void *context, int host, int left);

/* The way to it was cut before the job began to stop, in one direction or both. */
bool job_host_was_away(const struct job *job, const struct job_host *host);
void job_on_agent_end(void *context, int host);
void job_look_at_ends(struct job *job); /* every SILENCE_LOOK_MS */
void job_kill_agents(struct job *job, enum host_phase least, enum host_phase most);

/* job_standing.c. Each in one line, cut if need be; `size` is at least 300. */
int job_missing_hosts(const struct job *job, char *text, size_t size); /* which, and their steps */
int job_running_ranks(const struct job *job, char *text, size_t size); /* how many, and which */
void job_standing_text(const struct job *job, char *text, size_t size);
void job_interrupted_text(const struct job *job, char *text, size_t size); /* "": all is well */

/* job_timeout.c */
void job_timeout_start(struct job *job);

/* job_record.c: what the report says. Of a rank as it comes, the rest when the verdict stands. */
void job_record_started(struct job *job, int rank, pid_t pid);
void job_record_exited(struct job *job, const struct agent_exited *exited);
void job_record_lost(struct job *job, int rank);
void job_record_reason(struct job *job, int host, const char *text); /* why it failed */
void job_record_parted(struct job *job, int rank, int status, int origin, const char *text);
void job_record_origin(struct job *job, int rank, int status, const char *text);
void job_record_broke_off(struct job *job, int rank);
void job_record_blame(struct job *job); /* all is known: whose failure was it? */
void job_record_verdict(struct job *job, const char *verdict);
void job_record_finish(struct job *job);

/* Kills what lost agents left behind; how many processes there were. */
int job_sweep_orphans(struct job *job);

#endif
