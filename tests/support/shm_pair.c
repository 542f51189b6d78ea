/* SPDX-License-Identifier: Apache-2.0 */
/* Links over shared memory, for tests; see shm_pair.h. */
#include "tests/support/shm_pair.h"

#include "lib/base/descriptor.h"
#include "lib/link/link_shm_impl.h"
#include "lib/memory/copy.h"
#include "lib/memory/shared_heap.h"

#include <check.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAP_MAX = 200, PATIENCE_MS = 20000 };

static struct segment heap[HEAP_MAX];
static int nheap;

struct link *ends[2];
static struct err err;
unsigned char *vector, *space;

static struct shm_peer own_address(bool readable)
{
    struct shm_peer own = { .pid = readable ? getpid() : 0,
                            .token = (uintptr_t)link_shm_own_token() };
    memcpy(own.token_bytes, link_shm_own_token(), SHM_TOKEN_SIZE);
    return own;
}

static void open_sockets(int fds[2])
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
}

bool shm_pair_streams;

static struct link *shm_pair_far(struct link *link)
{
    if (!link)
        return NULL;
    link_shm_of(link)->streams = shm_pair_streams && copy_can_stream();
    atomic_store(&link_shm_of(link)->distance.pair->place, SHM_PLACE_FAR);
    link_shm_of(link)->distance.asks = false;
    return link;
}

void shm_pair_open(bool readable)
{
    int fds[2];
    struct segment segments[2];
    struct shm_peer own = own_address(readable);
    open_sockets(fds);
    ck_assert_int_eq(segment_create(&segments[0], link_shm_size(), &err), HVD_OK);
    int passed = dup(segments[0].fd);
    ck_assert_int_eq(segment_adopt(&segments[1], passed, link_shm_size(), SIZE_MAX, &err), HVD_OK);
    for (int i = 0; i < 2; i++)
        ck_assert_ptr_nonnull(
            ends[i] = shm_pair_far(link_shm_create(fds[i], &segments[i], i == 0, &own, &err)));
}

/* Each tells the other where its token is. */
static struct link *link_up(int fd, struct segment *segment, bool first)
{
    struct shm_peer own = own_address(true), peer;
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    ck_assert_int_eq(send(fd, &own, sizeof own, 0), sizeof own);
    ck_assert_int_eq(poll(&ready, 1, PATIENCE_MS), 1);
    ck_assert_int_eq(recv(fd, &peer, sizeof peer, 0), sizeof peer);
    return shm_pair_far(link_shm_create(fd, segment, first, &peer, &err));
}

pid_t shm_pair_fork(struct link **link, shm_child_fn *child, void *context)
{
    int fds[2];
    struct segment segment;
    open_sockets(fds);
    ck_assert_int_eq(segment_create(&segment, link_shm_size(), &err), HVD_OK);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    close(fds[pid ? 1 : 0]);
    *link = link_up(fds[pid ? 0 : 1], &segment, pid != 0);
    if (pid)
        return pid;
    child(*link, context);
    _exit(0);
}

unsigned char *shm_heap_alloc(size_t size)
{
    ck_assert_int_lt(nheap, HEAP_MAX);
    ck_assert_int_eq(segment_create(&heap[nheap], size, &err), HVD_OK);
    return heap[nheap++].memory;
}

bool __wrap_shared_heap_find(const void *data, size_t nbytes, struct shared_place *place);

bool __wrap_shared_heap_find(const void *data, size_t nbytes, struct shared_place *place)
{
    uintptr_t at = (uintptr_t)data;
    for (int i = 0; i < nheap; i++) {
        uintptr_t start = (uintptr_t)heap[i].memory;
        if (at < start || at + nbytes > start + heap[i].size)
            continue;
        *place = (struct shared_place){ (uint64_t)i + 1, heap[i].fd, heap[i].size, at - start };
        return true;
    }
    return false;
}

void shm_wait(struct link *link, short wanted)
{
    struct pollfd ready = { .fd = link_pollable(link) };
    if (link_sleep(link, wanted, &ready.events))
        ck_assert_msg(poll(&ready, 1, PATIENCE_MS) == 1, "nobody rings");
}

int shm_send_all(struct link *link, const void *data, size_t size, struct err *why)
{
    for (size_t sent = 0; sent < size;) {
        struct iovec part = { (char *)(uintptr_t)data + sent, size - sent };
        ssize_t nbytes = link_try_send(link, &part, 1, why);
        if (nbytes < 0)
            return (int)nbytes;
        if (nbytes == 0)
            shm_wait(link, POLLOUT);
        sent += (size_t)nbytes;
    }
    return HVD_OK;
}

int shm_receive_all(struct link *link, void *data, size_t size, struct err *why)
{
    for (size_t received = 0; received < size;) {
        ssize_t nbytes = link_try_receive(link, (char *)data + received, size - received, why);
        if (nbytes < 0)
            return (int)nbytes;
        if (nbytes == 0)
            shm_wait(link, POLLIN);
        received += (size_t)nbytes;
    }
    return HVD_OK;
}

void shm_setup(void)
{
    shm_pair_open(true);
    vector = malloc(VECTOR);
    space = malloc(VECTOR);
    for (size_t i = 0; i < VECTOR; i++)
        vector[i] = (unsigned char)(i * 2654435761u >> 24);
}

void shm_teardown(void)
{
    link_close(ends[0]);
    link_close(ends[1]);
    free(vector);
    free(space);
}

ssize_t shm_send_some(struct link *link, const void *data, size_t size)
{
    struct iovec part = { (void *)(uintptr_t)data, size };
    return link_try_send(link, &part, 1, &err);
}

bool shm_may_sleep(struct link *link, short wanted)
{
    short events;
    bool may = link_sleep(link, wanted, &events);
    ck_assert_int_eq(events, POLLIN);
    return may;
}

bool shm_is_readable(struct link *link)
{
    struct pollfd ready = { .fd = link_pollable(link), .events = POLLIN };
    return poll(&ready, 1, 0) == 1;
}

unsigned char *shm_heap_vector(size_t size)
{
    unsigned char *memory = shm_heap_alloc(size);
    memcpy(memory, vector, size);
    return memory;
}

void shm_export(const unsigned char *data, size_t size)
{
    size_t nbytes;
    ck_assert_int_eq(link_offer(ends[0], data, size, &err), 0);
    ck_assert_ptr_null(link_peek(ends[1], &nbytes));
}

unsigned char *shm_exported_vector(size_t size)
{
    unsigned char *memory = shm_heap_vector(size);
    shm_export(memory, size);
    return memory;
}
