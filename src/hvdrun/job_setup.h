/* SPDX-License-Identifier: Apache-2.0 */
/* From the user's options to the options of a job:
 *
 *   options -> hosts -> plan -> interfaces, environment, transports -> struct job_options */
#ifndef SRC_HVDRUN_JOB_SETUP_H
#define SRC_HVDRUN_JOB_SETUP_H

#include "launcher/base/string_list.h"
#include "launcher/elastic/discovery.h"
#include "launcher/elastic/elastic_plan.h"
#include "launcher/hosts/host_list.h"
#include "launcher/job/job.h"
#include "launcher/placement/rank_plan.h"
#include "lib/base/auth.h"
#include "lib/base/job_id.h"
#include "src/hvdrun/hvdrun_options.h"
#include "src/hvdrun/launcher_choice.h"

#include <limits.h>
#include <sys/resource.h>

struct job_setup {
    const struct hvdrun_options *options; /* borrowed */
    struct host_list hosts;
    struct rank_plan plan; /* of an elastic job: of the hosts at its start, maybe empty */
    struct string_list environment, devices, interfaces;
    struct string_list warnings;     /* a line each; after job_setup_plan() */
    struct launcher_choice launcher; /* likewise */
    struct srun_settings srun;
    char id[JOB_ID_SIZE]; /* "" before job_setup_begin() */
    uint64_t epoch_ms;    /* when the job began: since 1970 */
    struct job_key key;
    char *ssh_program; /* owned; path of hvdssh; or NULL */
    char *agent;
    char *python_path; /* of --horovod libhvd, or NULL */
    char cwd[PATH_MAX];
    struct rlimit nofile; /* the limit with which hvdrun was started */
    struct connect_settings connect;
    struct job_options job;
    struct elastic_options elastic; /* of an elastic job, as is the next */
    struct job_elastic job_elastic;
    struct discovery_settings discovery; /* of --host-discovery-script */
    int stopped_by; /* the signal that has ended the first run of the script, or 0 */
};

/* The job begins here, and gets its id. HVD_ERR_SYSTEM without random numbers. */
int job_setup_begin(struct job_setup *setup, const struct hvdrun_options *options, struct err *err);

/* Places the ranks, and makes all checks that need no started process but a discovery script.
 * HVD_OK, HVD_ERR_INVALID, or HVD_ERR_SYSTEM if the script has failed. A signal may be the cause:
 * then `stopped_by` is set. */
int job_setup_plan(struct job_setup *setup, struct err *err);

/* Is some host connected by a command of the user? */
bool job_setup_needs_command(const struct job_setup *setup);

/* Is some host another machine, or may a later one be? */
bool job_setup_has_other_hosts(const struct job_setup *setup);

/* Completes the set-up; `running` is the agent that runs already, if its pid is not 0, and is
 * borrowed by the job; `closed` tells which of stdin, stdout and stderr were closed when hvdrun
 * was started. 0 or an exit status, and `err`. */
int job_setup_finish(struct job_setup *setup, struct running_agent *running, const bool closed[3],
                     struct err *err);

/* Wipes the key. */
void job_setup_fini(struct job_setup *setup);

#endif
