/* SPDX-License-Identifier: Apache-2.0 */
/* Waking, and being woken; see shm_bell.h.
 *
 * What goes over the socket is a byte: to wake, or beside a descriptor, which is always the last
 * byte of what recvmsg() gives out at once. A full socket has bytes that will wake the other side
 * anyway. A descriptor that cannot be passed (the socket is full, too many are under way) is none of
 * the bell's failures; a side that passes more than it may, or whose socket fails, counts as gone, and
 * the first reason is kept. */
#include "lib/link/shm_bell.h"

#include "lib/link/socket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WAKE_UP = 'w', DESCRIPTOR = 'd' };

void shm_bell_init(struct shm_bell *bell, int fd, struct shm_side *own, struct shm_side *other)
{
    *bell = (struct shm_bell){ .fd = fd, .own = own, .other = other };
}

void shm_bell_fini(struct shm_bell *bell)
{
    while (bell->passed_count > 0)
        close(shm_bell_take(bell));
    socket_close_gently(bell->fd);
}

static void give_up(struct shm_bell *bell, const char *what, const char *why)
{
    if (!bell->dead)
        snprintf(bell->why, sizeof bell->why, "%s: %s", what, why);
    bell->dead = true;
}

/* A call on the socket has failed with `error`, or 0: the end of what comes. */
static void on_failure(struct shm_bell *bell, int error, const char *what)
{
    char why[64];
    if (error == 0 || error == EPIPE || error == ECONNRESET)
        bell->dead = true;
    else
        give_up(bell, what, strerror_r(error, why, sizeof why));
}

int shm_bell_lost(const struct shm_bell *bell, struct err *err)
{
    return fail(err, HVD_ERR_PEER_LOST, "%s", *bell->why ? bell->why : "closed by the other side");
}

static void wake_other(struct shm_bell *bell)
{
    unsigned char byte = WAKE_UP;
    if (atomic_exchange(&bell->other->waits, 0) != 0 && socket_send(bell->fd, &byte, 1, NULL) < 0)
        on_failure(bell, errno, "wake the other side");
}

void shm_bell_ring(struct shm_bell *bell, uint32_t what)
{
    if (atomic_load(&bell->other->waits) & what)
        wake_other(bell);
}

void shm_bell_sleep(struct shm_bell *bell, uint32_t waits)
{
    bell->asleep = true;
    atomic_store(&bell->own->waits, waits);
}

static void keep(struct shm_bell *bell, int passed)
{
    if (bell->passed_count < SHM_PASSED_MAX) {
        bell->passed[(bell->first_passed + bell->passed_count++) % SHM_PASSED_MAX] = passed;
        return;
    }
    if (passed >= 0)
        close(passed);
    give_up(bell, "the other side", "passes more descriptors than it may");
}

/* Reads everything that has come, also from a side that is gone; one that never stops sending is
 * heard again later. */
static void hear(struct shm_bell *bell)
{
    enum { ROUNDS = 2 * SHM_PASSED_MAX };
    unsigned char bytes[64];
    for (int i = 0; i < ROUNDS; i++) {
        int passed;
        errno = 0;
        ssize_t nbytes = socket_receive_descriptor(bell->fd, bytes, sizeof bytes, &passed, NULL);
        if (nbytes < 0)
            on_failure(bell, errno, "hear the other side");
        if (nbytes <= 0)
            return;
        if (bytes[nbytes - 1] == DESCRIPTOR)
            keep(bell, passed);
        else if (passed >= 0)
            close(passed);
    }
}

void shm_bell_wake(struct shm_bell *bell)
{
    atomic_store(&bell->own->waits, 0);
    bell->asleep = false;
    hear(bell);
}

bool shm_bell_look(struct shm_bell *bell)
{
    struct pollfd fd = { .fd = bell->fd, .events = POLLRDHUP };
    if (!bell->dead && poll(&fd, 1, 0) > 0)
        bell->dead = true;
    return bell->dead;
}

bool shm_bell_pass(struct shm_bell *bell, int fd)
{
    struct err err = { .code = HVD_OK };
    unsigned char byte = DESCRIPTOR;
    ssize_t nbytes = socket_send_descriptor(bell->fd, &byte, 1, fd, &err);
    if (nbytes == HVD_ERR_PEER_LOST)
        on_failure(bell, errno, "pass a descriptor");
    return nbytes == 1;
}

int shm_bell_take(struct shm_bell *bell)
{
    if (bell->passed_count == 0)
        hear(bell);
    if (bell->passed_count == 0)
        return -1;
    int passed = bell->passed[bell->first_passed++ % SHM_PASSED_MAX];
    bell->passed_count--;
    return passed;
}
