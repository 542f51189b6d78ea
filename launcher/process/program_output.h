/* SPDX-License-Identifier: Apache-2.0 */
/* Running a program for what it prints. */
#ifndef LAUNCHER_PROCESS_PROGRAM_OUTPUT_H
#define LAUNCHER_PROCESS_PROGRAM_OUTPUT_H

#include "launcher/base/text_buffer.h"

#include <stdbool.h>
#include <stdint.h>

/* The most bytes that are read. */
enum { PROGRAM_OUTPUT_MAX = 256 * 1024 };

/* Runs the program `path`, whose stdin and stderr are empty, and appends what it prints to
 * `output`. Blocks for at most `timeout_ms`. True when it has ended, however: `*wait_status` says
 * how, unless the pointer is NULL. False when it cannot be started, or does not end in time: then
 * it is killed, the child may be left for the caller's waitpid(-1), and `output` has what was
 * printed. */
bool program_output_read(const char *path, char *const *argv, char *const *envp,
                         uint32_t timeout_ms, struct text_buffer *output, int *wait_status);

#endif
