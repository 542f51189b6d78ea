/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of one session of libssh2: blocks that libssh2 leaks are released all the same, and a
 * host cannot make the memory grow without end. */
#ifndef LAUNCHER_SSH_SSH_MEMORY_H
#define LAUNCHER_SSH_SSH_MEMORY_H

#include <stddef.h>

/* A session holds some 300 KiB while a channel is busy. */
enum { SSH_MEMORY_MAX = 8 * 1024 * 1024 };

struct ssh_memory {
    struct ssh_block *first;
    size_t held; /* bytes */
};

/* As malloc(), realloc() and free(); NULL when memory has run out, or SSH_MEMORY_MAX is reached. */
void *ssh_memory_get(struct ssh_memory *memory, size_t size);
void *ssh_memory_resize(struct ssh_memory *memory, void *data, size_t size);
void ssh_memory_put(struct ssh_memory *memory, void *data);

/* Releases everything. */
void ssh_memory_fini(struct ssh_memory *memory);

/* Makes libcrypto allocate as launcher/base/xalloc.h does: libssh2 does not check whether libcrypto
 * has got memory. Call this before any other function of the two libraries. */
void ssh_memory_serve_crypto(void);

#endif
