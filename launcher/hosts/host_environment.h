/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts that a batch system has given to this job, according to its variables:
 *
 *   Slurm   SLURM_JOB_NODELIST or SLURM_NODELIST, in Slurm's short form (slurm_list.h); slots from
 *           SLURM_TASKS_PER_NODE, else SLURM_JOB_CPUS_PER_NODE, else one per host
 *   LSF     LSB_DJOB_HOSTFILE, a file with a host per slot; LSB_MCPU_HOSTS, "a 4 b 2"; LSB_HOSTS,
 *           "a a b"
 *   PBS     PBS_NODEFILE, a file with a host per slot
 *   SGE     PE_HOSTFILE, a file with lines "HOST SLOTS QUEUE PROCESSORS"
 *
 * The first of these variables, in this order, that is set and not empty counts. Hosts keep the
 * batch system's order; a host that appears several times has the sum of its slots. */
#ifndef LAUNCHER_HOSTS_HOST_ENVIRONMENT_H
#define LAUNCHER_HOSTS_HOST_ENVIRONMENT_H

#include "launcher/hosts/host_list.h"

/* The value of a variable, borrowed, or NULL: getenv(3), or a test's table. */
typedef char *host_environment_get_fn(const char *name);

/* The variable that counts, "$SLURM_JOB_NODELIST", or NULL; borrowed for ever. */
const char *host_environment_variable(host_environment_get_fn *get);

/* Returns 1 and the hosts, with `source` naming their origin for messages ("$SLURM_JOB_NODELIST",
 * borrowed for ever); 0 if no variable of a batch system is set; or HVD_ERR_INVALID and one line
 * that names the variable, quotes the bad text and names the expected form. The list is empty
 * unless 1 is returned. Reads a file where the variable names one, within HOSTFILE_WAIT_MS. */
int host_list_from_environment(struct host_list *list, host_environment_get_fn *get,
                               const char **source, struct err *err);

#endif
