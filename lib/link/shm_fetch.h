/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the private memory of another process with process_vm_readv(), where the kernel permits
 * that: the same user, no stricter ptrace rule, no filter, and a pid that means the same process on
 * both sides. Only a try shows whether all this holds.
 *
 * Each process has a token, random bytes at an address that it sends to the peer. A peer that can
 * read the token can read the other memory.
 *
 * Fails with HVD_ERR_PEER_LOST when the process has ended, and with HVD_ERR_SYSTEM when it cannot
 * be read, or no longer can, or when an address is not mapped on either side; HVD_ERR_SYSTEM does
 * not harm a link (link_shm_fill.c). */
#ifndef LIB_LINK_SHM_FETCH_H
#define LIB_LINK_SHM_FETCH_H

#include "lib/base/status.h"
#include "lib/link/link_shm.h"
#include "lib/link/parts.h"

#include <stdbool.h>

/* True if the memory of `peer` can be read. One system call. */
bool shm_fetch_probe(const struct shm_peer *peer);

/* Reads at most `nbytes` from `address` in process `pid` into the parts, which advance. Returns how
 * many, at least 1. The caller must check afterwards that it was the right process: by now the pid
 * may belong to another one. */
ssize_t shm_fetch(pid_t pid, uint64_t address, struct parts *parts, size_t nbytes, struct err *err);

#endif
