/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a job (--report): the end of each rank, the link to each host, and the verdict.
 * Data only: the job that runs fills it in. Times are those of one clock; 0 is never. */
#ifndef LAUNCHER_VERDICT_JOB_REPORT_H
#define LAUNCHER_VERDICT_JOB_REPORT_H

#include "launcher/placement/rank_plan.h"
#include "launcher/verdict/job_state.h"
#include "launcher/verdict/link_history.h"
#include "lib/base/rank_end.h"

#include <stdbool.h>
#include <stdint.h>

enum report_end {
    END_NOT_STARTED,
    END_BY_ITSELF,  /* also by a signal that is none of hvdrun's */
    END_TERMINATED, /* after hvdrun had told it to stop */
    END_LOST,       /* with its host: nobody knows how */
    END_LEFT,       /* it could not be killed */
    REPORT_ENDS
};

struct report_rank {
    int host;
    enum report_end end;
    int pid;                       /* 0: not started */
    int wait_status;               /* of BY_ITSELF and TERMINATED */
    uint64_t started_ms, ended_ms; /* ended: 0 if nobody knows */
    uint64_t after_ms;             /* it ended so long after it was started */
    uint64_t ended_us, slack_us;   /* ended_ms in finer steps, and by how much it may be wrong */
    bool terminated;               /* it ended, or was lost, when there was a verdict already */
    bool met;                      /* it has come to meet the others */
    bool waits;                    /* for others, in a collective, as it has said itself */
    struct rank_end *left_because; /* owned; why its world was broken, or it left; NULL */
    uint64_t left_ms;              /* and when */
    bool disconnected;             /* from the rendezvous, without a word, before it had ended, or
                                      any rank in failure */
    bool oom;                      /* killed, and the kernel has killed for want of memory */
    char *said;                    /* owned; last_lines_text(), or NULL */
    bool said_on_stdout;           /* it said nothing on stderr */
};

/* How a host is reached. */
enum report_transport {
    HOST_TRANSPORT_NONE,
    HOST_TRANSPORT_LOCAL,
    HOST_TRANSPORT_SSH,
    HOST_TRANSPORT_COMMAND,
    REPORT_TRANSPORTS
};

struct report_host {
    const char *name; /* borrowed */
    enum report_transport transport;
    int agent;         /* the local process that stands for it; 0: none */
    char reason[600];  /* why it was not reached, or lost; "" */
    bool unresponsive; /* it has answered nothing for a while, from before the job began to stop */
    bool lost;         /* it was lost, the first to be so, when the job had begun to stop */
    struct link_history history;
};

struct job_report {
    const char *job; /* borrowed; its id */
    uint64_t began_ms, ended_ms;
    uint64_t epoch_ms; /* began_ms on the wall: since 1970 */
    int exit_status;
    enum job_cause cause;
    int rank, host, pid;    /* whose failure it was: -1, -1 and 0 if nobody's */
    char text[1024];        /* the last line, without "hvdrun: "; "" if all is well */
    struct rank_end origin; /* the first failure, of the rank `because_of`, which has ended the
                               ranks' world; status HVD_OK: none */
    uint64_t origin_us;     /* when that became known */
    bool origin_ran_on;     /* and then no rank had ended in failure, nor that one at all */
    bool amid_line;         /* it goes to where the last line has no end yet */
    struct report_rank *ranks;
    struct report_host *hosts;
    int nranks, nhosts;
};

/* Of a job in which nothing has happened yet; it begins now. `id` and `plan` are borrowed. */
void job_report_init(struct job_report *report, const struct rank_plan *plan, const char *id,
                     uint64_t epoch_ms, uint64_t now_ms);
void job_report_fini(struct job_report *report);

/* The words for them. */
const char *report_end_name(enum report_end end);
const char *
report_transport_name(enum report_transport transport); /* NULL for HOST_TRANSPORT_NONE */

#endif
