/* SPDX-License-Identifier: Apache-2.0 */
/* System calls and the files of hvdrun that make them, as the simulator answers them. The build
 * wraps the calls (local.mk); outside of simulated processes they are themselves. */
#ifndef TESTS_SIMULATOR_SYSTEM_H
#define TESTS_SIMULATOR_SYSTEM_H

#include "tests/simulator/process.h"

/* What spawn_start() was asked for begins; `fds` are its descriptors 0, 1 and 2, to be copied. */
void sim_worker_begin(struct sim_process *process, char *const *envp, const int fds[3]);

/* What a look at a host finds: 0, or an exit status as program_find() gives it. */
int sim_host_program_status(int host);

/* Has the kernel killed there for want of memory? */
bool sim_host_is_short_of_memory(int host);

#endif
