/* SPDX-License-Identifier: Apache-2.0 */
/* One job with one fault on one of its connections, and what is to be said of how it has ended.
 * Real programs; the relay (relay.h) is in the trial's own process, or the program "proxy" on an
 * agent's link. */
#ifndef TESTS_PROXY_TRIAL_H
#define TESTS_PROXY_TRIAL_H

#include "tests/proxy/relay.h"

#include <stdbool.h>
#include <sys/types.h>

/* Which connection, of a job of two ranks:
 *   agent       between hvdrun and hvdagent; there is from hvdrun
 *   rendezvous  between rank 1 and hvdrendezvousd; there is from the rank
 *   data        the link over which the ranks move data; there is from rank 0, which dials
 *   tree        the link over which they agree */
enum trial_kind { TRIAL_AGENT, TRIAL_RENDEZVOUS, TRIAL_DATA, TRIAL_TREE, TRIAL_KINDS };

struct trial {
    enum trial_kind kind;
    int way;
    struct wire_fault fault;
    bool single;    /* and one byte at a time */
    bool encrypted; /* the links between ranks */
    unsigned delay_ms, jitter_ms;
};

enum trial_end {
    TRIAL_WELL,  /* every result was right */
    TRIAL_ENDED, /* with an error, in time, that says who and why */
    TRIAL_FALSE, /* a result or output was wrong, and there was no error before */
    TRIAL_BAD    /* it hung, crashed, said nothing, or left something */
};

struct trial_result {
    enum trial_end end;
    uint64_t moved[RELAY_WAYS]; /* bytes on the connection */
    unsigned elapsed_ms;
    char said[400]; /* of what was said the first line; or why it is bad */
};

struct trial_programs {
    const char *hvdrun, *rendezvousd, *proxy, *worker;
    const char *folder; /* for files */
    /* The service that all trials of the rendezvous use. */
    const char *key_file;
    int port;
};

/* Runs it, in a process of its own. */
void trial_run(const struct trial *trial, const struct trial_programs *programs,
               struct trial_result *result);

/* trial_jobs.c: starts the processes. */
enum { TRIAL_PROCESSES_MAX = 4, TRIAL_TEXT = 4096 };

struct trial_process {
    pid_t pid;  /* 0: it has ended */
    int output; /* what it says; -1 at its end */
    int status; /* of wait() */
    char text[TRIAL_TEXT];
    size_t length;
    bool may_end_any_how; /* nobody asks how */
};

struct trial_job {
    struct trial_process processes[TRIAL_PROCESSES_MAX];
    int count;
    struct relay relay; /* none on an agent's link */
};

bool trial_start(struct trial_job *job, const struct trial *trial,
                 const struct trial_programs *programs);
/* Undoes what is not a process. */
void trial_finish(struct trial_job *job);

#endif
