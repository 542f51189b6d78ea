/* SPDX-License-Identifier: Apache-2.0 */
/* --check-hosts: checks every host and prints a table. */
#ifndef SRC_HVDRUN_CHECK_HOSTS_H
#define SRC_HVDRUN_CHECK_HOSTS_H

#include "launcher/job/job.h"

/* Returns the table, which the caller frees, and sets `exit_status` to that of hvdrun. Notes go to
 * stderr meanwhile. */
char *check_hosts(const struct job_options *options, int *exit_status);

#endif
