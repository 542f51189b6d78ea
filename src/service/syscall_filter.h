/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls that hvdrendezvousd may make once it listens: those that serve connections that
 * come, log, tell systemd and remove the file with the port. Every other one fails with EPERM, such
 * as executing a program, starting a process, making a socket for a network, opening a file for
 * writing, or making memory executable. */
#ifndef SRC_SERVICE_SYSCALL_FILTER_H
#define SRC_SERVICE_SYSCALL_FILTER_H

#include "lib/base/status.h"

#include <stdbool.h>

/* Built with libseccomp, and without a sanitizer, whose checks at the end need other calls. */
bool syscall_filter_exists(void);

/* Before uv_loop_init(): refuses io_uring_setup() with ENOSYS, so that libuv makes no ring. A ring
 * does what the filter refuses, and without io_uring_enter() a libuv that has one aborts.
 * HVD_ERR_SYSTEM as below. */
int syscall_filter_prepare(struct err *err);

/* From now on, for ever. HVD_ERR_SYSTEM if the kernel refuses the filter, or there is none. */
int syscall_filter_apply(struct err *err);

#endif
