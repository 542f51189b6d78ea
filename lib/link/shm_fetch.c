/* SPDX-License-Identifier: Apache-2.0 */
/* process_vm_readv(), its probe and the token; see shm_fetch.h. */
#include "lib/link/shm_fetch.h"

#include <errno.h>
#include <pthread.h>
#include <sodium.h>

enum { PARTS_MAX = 8 };

static unsigned char own_token[SHM_TOKEN_SIZE];

static void make_token(void)
{
    randombytes_buf(own_token, sizeof own_token);
}

static void begin_token(void)
{
    make_token();
    pthread_atfork(NULL, NULL, make_token);
}

const unsigned char *link_shm_own_token(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin_token);
    return own_token;
}

bool shm_fetch_probe(const struct shm_peer *peer)
{
    unsigned char token[SHM_TOKEN_SIZE];
    struct iovec here = { token, sizeof token };
    struct iovec there = { (void *)(uintptr_t)peer->token, sizeof token };
    return peer->pid > 0 &&
           process_vm_readv(peer->pid, &here, 1, &there, 1, 0) == (ssize_t)sizeof token &&
           memcmp(token, peer->token_bytes, sizeof token) == 0;
}

static ssize_t failed(int error, struct err *err)
{
    if (error == ESRCH)
        return fail(err, HVD_ERR_PEER_LOST, "closed by the other side");
    return fail_errno(err, HVD_ERR_SYSTEM, error, "read the memory of the other side");
}

ssize_t shm_fetch(pid_t pid, uint64_t address, struct parts *parts, size_t nbytes, struct err *err)
{
    struct iovec here[PARTS_MAX], there = { (void *)(uintptr_t)address, 0 };
    struct parts rest = *parts;
    unsigned long count = 0;
    for (; count < PARTS_MAX && rest.count > 0 && there.iov_len < nbytes; count++) {
        size_t size, left = nbytes - there.iov_len;
        here[count].iov_base = parts_piece(&rest, &size);
        here[count].iov_len = size < left ? size : left;
        there.iov_len += here[count].iov_len;
        parts_skip(&rest, here[count].iov_len);
    }
    ssize_t got = process_vm_readv(pid, here, count, &there, 1, 0);
    if (got <= 0)
        return failed(got < 0 ? errno : EFAULT, err);
    parts_skip(parts, (size_t)got);
    return got;
}
