/* SPDX-License-Identifier: Apache-2.0 */
/* Between the decision (shim.c) and the wrappers. */
#ifndef TESTS_SHIM_SHIM_IMPL_H
#define TESTS_SHIM_SHIM_IMPL_H

#include "tests/shim/shim.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

/* The function that this one stands in front of. */
#define NEXT(name)                                                                                 \
    ({                                                                                             \
        static __typeof__(&name) next_##name;                                                      \
        if (!next_##name)                                                                          \
            next_##name = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                              \
        next_##name;                                                                               \
    })

/* Must this call fail? If so errno says how. A call that is to be short is not to fail: `*size`
 * becomes 1. `fd` is -1 where there is none; with `nonblocking`, the call does not wait whatever
 * the descriptor says. */
bool shim_fails(enum shim_call call, int fd, size_t *size, bool nonblocking);

/* As shim_fails(), for a call without a descriptor or a size. */
bool shim_refuses(enum shim_call call);

/* Between these two calls libc looks something up for this thread, in files and modules that it
 * reads itself. libc's own calls neither fail nor count: glibc 2.36 crashes, or aborts, when it has
 * no memory to read nsswitch.conf. */
void shim_libc_enters(void);
void shim_libc_returns(void);

/* This process has made a pipe. */
void shim_pipe_made(const int pair[2]);

/* This process has been forked. */
void shim_forked(void);

/* Is this what a launcher or an agent does between fork and exec? */
bool shim_is_child(void);

#endif
