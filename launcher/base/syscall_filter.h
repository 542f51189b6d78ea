/* SPDX-License-Identifier: Apache-2.0 */
/* A list of the system calls that this process may still make. Every other call fails with
 * EPERM. */
#ifndef LAUNCHER_BASE_SYSCALL_FILTER_H
#define LAUNCHER_BASE_SYSCALL_FILTER_H

#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Allowed if the argument, under the mask, has the value. Several rows of one call: one of them is
 * enough. */
struct syscall_argument {
    const char *name;
    unsigned argument; /* from 0 */
    uint64_t mask, value;
};

struct syscall_list {
    const char *const *allowed; /* `count` names, with any arguments */
    size_t count;
    const struct syscall_argument *with_argument;
    size_t with_argument_count;
    const char *const *to_self; /* allowed if argument 0 is the id of this process */
    size_t to_self_count;
};

/* Built with libseccomp, and without a sanitizer, whose checks at the end need other calls. */
bool syscall_filter_exists(void);

/* Before uv_loop_init(): refuses io_uring_setup() with ENOSYS, so that libuv makes no ring. A ring
 * does what the filter refuses, and without io_uring_enter() a libuv that has one aborts.
 * HVD_ERR_SYSTEM as below. */
int syscall_filter_prepare(struct err *err);

/* From now on, for ever, also in children and programs. Does what syscall_filter_prepare() does,
 * too. HVD_ERR_SYSTEM if the kernel refuses the filter, or there is none. */
int syscall_filter_apply(const struct syscall_list *list, struct err *err);

#endif
