/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls that hvdrendezvousd may make once it listens: those that serve connections that
 * come, log, tell systemd and remove the file with the port. Every other one is refused, such as
 * executing a program, starting a process, sending a signal to one, making a socket for a network,
 * opening a file for writing, or making memory executable. */
#ifndef SRC_SERVICE_SERVICE_SYSCALLS_H
#define SRC_SERVICE_SERVICE_SYSCALLS_H

#include "launcher/base/syscall_filter.h"

extern const struct syscall_list service_syscalls;

#endif
