/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a script that prints the hosts of a job (host_lines.h). */
#ifndef LAUNCHER_ELASTIC_DISCOVERY_RUN_H
#define LAUNCHER_ELASTIC_DISCOVERY_RUN_H

#include "launcher/hosts/host_list.h"
#include "launcher/process/children.h"

#include <sys/resource.h>
#include <uv.h>

enum {
    DISCOVERY_LIMIT_MS = 10000, /* for a run; a cloud's API answers in a second or two */
    DISCOVERY_KILL_MS = 2000,   /* in which a script that was killed is to end */
    DISCOVERY_OUTPUT_MAX = 4 << 20
};

struct discovery_settings {
    const char *command;         /* for /bin/sh */
    const char *job_id;          /* the command gets it as ENV_COMMAND_OF; or NULL */
    const char *source;          /* the option that named it, for messages */
    int slots;                   /* of a host that is printed without a number */
    unsigned limit_ms;           /* 0: DISCOVERY_LIMIT_MS */
    const struct rlimit *nofile; /* limit on descriptors that the command gets, or NULL */
};

struct discovery_run;

/* The run has ended. HVD_OK and the hosts, which the receiver takes; or one line that begins with
 * the source and HVD_ERR_SYSTEM, if the run has failed, or HVD_ERR_INVALID, if it has printed no
 * list of hosts. Called once, and never from inside discovery_run_start(). */
typedef void discovery_run_fn(void *context, int rc, struct host_list *hosts, struct err *err);

/* The script was killed DISCOVERY_KILL_MS ago and has not ended. `err` is HVD_ERR_INVALID and one
 * line that begins with the source. Called at most once, before discovery_run_fn. */
typedef void discovery_run_stuck_fn(void *context, struct err *err);

/* The settings are borrowed until the end. Never blocks. */
struct discovery_run *discovery_run_start(uv_loop_t *loop, struct children *children,
                                          const struct discovery_settings *settings,
                                          discovery_run_fn *on_end,
                                          discovery_run_stuck_fn *on_stuck, void *context);

/* Kills what runs; `on_end` is not called. Allowed only before `on_end`. NULL is fine. */
void discovery_run_cancel(struct discovery_run *run);

/* A run on a loop of its own, for the start of a job. Returns what discovery_run_fn() gets. When
 * SIGINT, SIGTERM or SIGHUP arrives, the script is killed with its process group, `*stopped_by` is
 * the signal, and `err` says so; otherwise `*stopped_by` is 0. */
int discovery_run_now(const struct discovery_settings *settings, struct host_list *hosts,
                      int *stopped_by, struct err *err);

#endif
