/* SPDX-License-Identifier: Apache-2.0 */
/* --check-hosts: tries every host and prints a table. */
#ifndef SRC_HVDRUN_CHECK_HOSTS_H
#define SRC_HVDRUN_CHECK_HOSTS_H

#include "launcher/job/job.h"

/* The table, to be freed by the caller, and in `exit_status` what hvdrun ends with. Notes go to
 * stderr meanwhile. */
char *check_hosts(const struct job_options *options, int *exit_status);

#endif
