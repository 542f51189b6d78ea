/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a job: decides, does nothing. Events come in, the action that the caller must take
 * now comes out.
 *
 *   preparing -> running -> stopping -> finished
 *   preparing -> stopping;  running -> finished
 *
 * preparing: hvdrun connects to agents, which check their hosts; nothing runs. running: the ranks
 * run. stopping: the first failure, or a signal to hvdrun, has been recorded and everything is
 * being brought to an end. finished: every host is done.
 *
 * The first failure is the job's verdict. Later failures do not change it, except a host that was
 * lost before.
 *
 * In an elastic job hosts are added while it runs, each host's ranks start when it is ready, and
 * the ends of ranks and hosts stop nothing. The job ends when its owner says so
 * (job_state_on_end(), job_state_on_failed()), by a signal, or by time. */
#ifndef LAUNCHER_VERDICT_JOB_STATE_H
#define LAUNCHER_VERDICT_JOB_STATE_H

#include "launcher/verdict/job_verdict.h"

#include <stdbool.h>
#include <stdint.h>

enum job_phase { JOB_PREPARING, JOB_RUNNING, JOB_STOPPING, JOB_FINISHED };

enum job_action {
    JOB_WAIT,   /* nothing to do now */
    JOB_START,  /* tell every agent that is ready to start its ranks */
    JOB_STOP,   /* tell every agent to stop its ranks, with state->stop_signal */
    JOB_FINISH, /* deliver the rest of the output and end */
};

struct job_state {
    enum job_phase phase;
    bool elastic;
    int nhosts, hosts_ready, hosts_done;
    int nranks, ranks_running;
    bool told_to_stop; /* by a signal to hvdrun or by time, whatever the cause is */
    struct job_verdict verdict;
    int lost_host; /* the first host that was lost after the verdict; -1 */
    int lost_status;
    char lost_text[512];
    int stop_signal;
    int terminated; /* ranks that ended after the verdict */
    int left;       /* processes that could not be killed */
};

void job_state_init(struct job_state *state, int nhosts, int nranks);

/* An elastic job, which has no host yet; a host with so many ranks is added to it. */
void job_state_init_elastic(struct job_state *state);
void job_state_on_host_added(struct job_state *state, int nranks);

/* The owner of an elastic job has ended it: it went well. */
enum job_action job_state_on_end(struct job_state *state);

enum job_action job_state_on_host_ready(struct job_state *state);
enum job_action job_state_on_rank_started(struct job_state *state);

/* A rank has ended by itself or by a signal; `after_ms` since it was started. */
enum job_action job_state_on_rank_exited(struct job_state *state, int host, int rank,
                                         const struct rank_end_how *how, uint64_t after_ms);

/* A signal has stopped a rank, and that is a failure. */
enum job_action job_state_on_rank_stopped(struct job_state *state, int host, int rank,
                                          const struct rank_end_how *how, uint64_t after_ms);

/* A rank cannot be watched any more, because its host is lost. */
enum job_action job_state_on_rank_lost(struct job_state *state);

/* A failure on `host` (rank -1), or of a rank there; `exit_status` is hvdrun's for it. */
enum job_action job_state_on_host_failed(struct job_state *state, int host, int rank,
                                         int exit_status, const char *text);

/* A host is lost. `silent`: nothing has come from it since before the job began to stop. A rank of
 * another host that gave up meanwhile did so because of this host, and only noticed sooner: the
 * host becomes the verdict. */
enum job_action job_state_on_host_lost(struct job_state *state, int host, int exit_status,
                                       const char *text, bool silent);

/* A host and its agent have ended and send nothing more. */
enum job_action job_state_on_host_done(struct job_state *state);

/* Adds processes that could not be killed; `left` is >= 0 and an agent may invent it. */
void job_state_on_left(struct job_state *state, int left);

/* hvdrun got a signal that asks it to stop; `text` is the reason for waiting, or "". If the job is
 * stopping already, SIGINT kills at once, any other signal becomes SIGTERM. */
enum job_action job_state_on_told_to_stop(struct job_state *state, int signum, const char *text);

/* The job cannot go on: it did not start in time, or nobody reads its output (CAUSE_OUTPUT). */
enum job_action job_state_on_failed(struct job_state *state, enum job_cause cause, int exit_status,
                                    const char *text);

/* The time limit of the job has passed; `exit_status` and `text` describe it, unless the job has a
 * cause already. Also called when only output is still on its way; the caller must drop the output
 * then. */
enum job_action job_state_on_timeout(struct job_state *state, int exit_status, const char *text);

/* For jobs whose cause is a rank: now that everything is known, this rank is to blame, which may be
 * another than the first known, or the same. `text` is its failure, or "". A rank that was stopped
 * stays the cause. */
void job_state_blame(struct job_state *state, int host, int rank, const struct rank_end_how *how,
                     uint64_t after_ms, const char *text);

/* As job_state_blame(), when no rank would have failed if `rank` had not left, or failed without
 * ending: `reporter` has failed. `terminated`: `rank` has ended, or was lost, after the verdict. */
void job_state_blame_left(struct job_state *state, int host, int rank, int reporter,
                          bool terminated, int exit_status, const char *text);

/* As job_state_blame_left(), when `rank` has written to stderr that it failed, and was told to end
 * before it did. */
void job_state_blame_wrote(struct job_state *state, int host, int rank, int reporter,
                           bool terminated, int exit_status, const char *text);

/* As job_state_blame(), when no rank would have failed, or no other host been lost, if `host` had
 * heard the others. */
void job_state_blame_host(struct job_state *state, int host, int exit_status, const char *text);

#endif
