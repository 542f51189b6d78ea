/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a job (--report): the end of each rank, the link to each host, and the verdict.
 * Data only: the job that runs fills it in. Times are those of one clock; 0 is never. */
#ifndef LAUNCHER_VERDICT_JOB_REPORT_H
#define LAUNCHER_VERDICT_JOB_REPORT_H

#include "launcher/placement/rank_plan.h"
#include "launcher/verdict/job_verdict.h"
#include "launcher/verdict/link_history.h"
#include "launcher/verdict/stderr_failure.h"
#include "lib/base/rank_end.h"

#include <stdbool.h>
#include <stdint.h>

enum report_end {
    END_NOT_STARTED,
    END_BY_ITSELF,  /* also by a signal that hvdrun has not sent */
    END_TERMINATED, /* after hvdrun had told it to stop */
    END_LOST,       /* with its host: its end is unknown */
    END_LEFT,       /* it could not be killed */
    REPORT_ENDS
};

struct report_rank {
    int host;
    int rank;        /* of an elastic job's worker: its rank in the last world that it was in */
    int rank_before; /* likewise in the world before, or the one that it was started for */
    bool removed;    /* of an elastic job: it is in no next world, so its end is no loss */
    char *loss;      /* owned; of an elastic job: why the worker was lost; NULL: it was not */
    int loss_status; /* hvdrun's exit status for that */
    uint64_t loss_ms;
    bool over; /* of an elastic job: its end was reported */
    enum report_end end;
    int pid;                       /* 0: not started */
    struct rank_end_how how;       /* of BY_ITSELF and TERMINATED: EXITED or KILLED */
    uint64_t started_ms, ended_ms; /* ended: 0 if unknown */
    uint64_t after_ms;             /* time between start and end */
    uint64_t ended_us, slack_us;   /* ended_ms in microseconds, and the possible error */
    bool terminated;               /* it ended, or was lost, after the verdict */
    bool met;                      /* it has joined the rendezvous */
    bool waits;                    /* for others, in a collective, according to its own report */
    struct rank_end *left_because; /* owned; why its world was broken, or it left; NULL */
    uint64_t left_ms;              /* when that became known */
    bool disconnected;             /* from the rendezvous, without a word, before it had ended, or
                                    * any rank had failed */
    struct stderr_failure wrote;   /* its last failure according to its stderr */
    uint64_t wrote_slack_us;       /* the possible error of wrote.began_us */
    char *said;                    /* owned; from last_lines_text(), or NULL */
    bool said_on_stdout;           /* `said` is from stdout: stderr was empty */
};

/* The transport of a host. */
enum report_transport {
    HOST_TRANSPORT_NONE,
    HOST_TRANSPORT_LOCAL,
    HOST_TRANSPORT_SSH,
    HOST_TRANSPORT_COMMAND,
    HOST_TRANSPORT_AGENT, /* of another host */
    HOST_TRANSPORT_SRUN,
    REPORT_TRANSPORTS
};

/* How hvdrun's link to an agent ended. */
enum report_host_end {
    HOST_END_NONE,
    HOST_END_DONE, /* in order: the agent and its ranks have ended, and it said so */
    HOST_END_LOST, /* the connection, or the agent, ended without that, or nothing came */
};

struct report_host {
    const char *name; /* borrowed */
    enum report_transport transport;
    enum report_host_end end;
    int agent;        /* the local process that stands for it; 0: none */
    int status;       /* of an elastic job: hvdrun's exit status for that */
    char reason[600]; /* why it could not be connected, or was lost; "" */
    bool drained;     /* of an elastic job: it was to be left */
    int unanswered; /* heartbeats in a row that it had not answered when it ended; 0 if the first of
                     * them was sent after the job began to stop */
    uint64_t unanswered_us; /* when the first of them was sent */
    bool lost;              /* it was the first host to be lost after the job had begun to stop */
    uint64_t silent_ms;     /* how long it was silent before the job began to stop; 0: it was not */
    const struct report_host *above; /* through whose agent hvdrun reached it; NULL: through none */
    struct link_history history;
};

/* A world of an elastic job. */
struct report_world {
    int epoch, size;
    int *workers; /* owned; in order of rank */
    uint64_t began_ms, ended_ms;
    char why[400];    /* it has ended; "": it has not */
    bool member_lost; /* `why` names the member */
};

struct job_report {
    const char *job; /* borrowed; the job's id */
    uint64_t began_ms, ended_ms;
    uint64_t epoch_ms; /* began_ms in wall time: since 1970 */
    int exit_status;
    enum job_cause cause;
    int rank, host, pid;    /* of the verdict's failure; -1, -1 and 0 if there is none */
    char text[1024];        /* the last line, without "hvdrun: "; "" if all is well */
    struct rank_end origin; /* the first failure, of the rank `because_of`, which has ended the
                             * ranks' world; status HVD_OK: none */
    uint64_t origin_us;     /* when that became known */
    bool origin_ran_on;     /* at origin_us no rank had failed, and that rank had not ended at
                             * all */
    bool amid_line;         /* the report goes to a stream whose last line has no end yet */
    bool elastic;           /* `ranks` are by worker, and each agent has a row in `hosts` */
    struct report_rank *ranks;
    struct report_host *hosts;
    int nranks, nhosts;
    struct report_world *worlds;
    int nworlds;
};

/* An empty report of a job that begins now. `id` and `plan` are borrowed. */
void job_report_init(struct job_report *report, const struct rank_plan *plan, const char *id,
                     uint64_t epoch_ms, uint64_t now_ms);
void job_report_fini(struct job_report *report);

/* Elastic jobs: one host more, whose name is borrowed, and its ranks; another world. */
void job_report_add(struct job_report *report, const char *host, int nranks);
void job_report_add_world(struct job_report *report, int epoch, const int *workers, int size,
                          uint64_t now_ms);

/* The present world, or NULL. */
struct report_world *job_report_world(const struct job_report *report);

/* Why the present world has ended. The first reason counts, but the first loss of a member counts
 * more. */
void job_report_end_world(struct job_report *report, const char *why, uint64_t now_ms);
void job_report_lost_member(struct job_report *report, const char *why, uint64_t now_ms);

/* Why `host` was not reached, or is lost. The first reason counts. */
void job_report_reason(struct job_report *report, int host, const char *text);

/* The words for the enums. */
const char *report_end_name(enum report_end end);
const char *
report_transport_name(enum report_transport transport); /* NULL for HOST_TRANSPORT_NONE */

#endif
