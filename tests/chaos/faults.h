/* SPDX-License-Identifier: Apache-2.0 */
/* What can be done to a job, and what must come of it: one table, a row for each fault. The numbers
 * Fn are those of tests/faults/README.md. */
#ifndef TESTS_CHAOS_FAULTS_H
#define TESTS_CHAOS_FAULTS_H

#include "tests/chaos/members.h"

/* The times that hvdrun is given in launcher.c. */
enum { FAULT_GRACE_MS = 1000 };

/* When it happens: while the job is being started, from before there is an agent on; while all
 * ranks run; when they are about to end by themselves. */
enum phase { PHASE_BEGIN, PHASE_RUNNING, PHASE_END, PHASES };

/* Something more that is done, so long after the fault. */
struct fault_next {
    int after_ms;
    enum member_role to; /* MEMBER_LAUNCHER, or else the victims */
    int signum;          /* 0: nothing, and nothing follows */
};

struct fault {
    const char *name, *rows;
    enum member_role victim; /* MEMBER_OTHER: nobody */
    enum member_role also;   /* of the same host, in the same instant; or MEMBER_OTHER */
    int signum;
    struct fault_next next[3];
    bool hosts_only, remote_only; /* remote_only: a victim on another host than the launcher's */
    bool running_only;            /* only in that phase */
    bool direct_only;             /* what workers have started may live on */
    bool slow;                    /* takes long; left out unless asked for */
    bool elastic;                 /* only in elastic jobs, which have two hosts at least */
    bool again;                   /* another process of the role `victim` is hit a moment later */
    bool comes_back;              /* the job uses the host again after a second: workers join */
    int exit_status;              /* of the launcher; 128 + n also if it died of n */
    const char *line;             /* its last line begins so; %s is the victim's host. NULL: none */
    int local_ms, hosts_ms;       /* the bound, without the grace for who ignores SIGTERM */
};

extern const struct fault faults[];
extern const int fault_count;

/* -1 if there is none of that name. */
int fault_find(const char *name);

const char *phase_name(enum phase phase);

/* Kinds of workers (worker.c): does it, or what it starts, ignore SIGTERM; does it start others? */
struct worker_kind {
    const char *name;
    bool stubborn, descends, elastic;
};

extern const struct worker_kind worker_kinds[];
extern const int worker_kind_count;

int worker_kind_find(const char *name);

#endif
