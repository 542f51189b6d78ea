/* SPDX-License-Identifier: Apache-2.0 */
/* A libuv of the simulator's own (uv*.c have those of its functions that hvdrun and hvdagent call):
 * on virtual time and simulated streams. This is the side of it that the simulator sees. */
#ifndef TESTS_SIMULATOR_UV_H
#define TESTS_SIMULATOR_UV_H

#include "tests/simulator/process.h"
#include "tests/simulator/stream.h"

/* A descriptor for `process`, which holds the end from now on; closing it lets go. */
int sim_descriptor(struct sim_process *process, struct sim_end *end);
struct sim_end *sim_descriptor_end(int fd); /* NULL: of nothing, as /dev/null */
bool sim_is_descriptor(int fd);
int sim_descriptor_copy(int fd);
void sim_descriptor_close(int fd);
void sim_descriptors_reset(void);

/* Dials a port on 127.0.0.1 of the process's host: an end that it holds, or NULL: refused. */
struct sim_end *sim_dial(struct sim_process *process, int port);

/* What a process with a loop does on signals: its uv_signal handles. */
bool sim_uv_on_signal(struct sim_process *process, int signum);
void sim_uv_on_child_end(struct sim_process *process, struct sim_process *child);

/* How far the clock of the process's machine is ahead of the simulator's. */
uint64_t sim_clock_ahead_us(const struct sim_process *process);

/* Handles of the process that are not closed. */
int sim_uv_open_handles(const struct sim_process *process);

#endif
