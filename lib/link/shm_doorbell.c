/* SPDX-License-Identifier: Apache-2.0 */
/* The doorbell of shared memory; see shm_doorbell.h.
 *
 * The socket carries single bytes: to wake the peer, or to accompany a descriptor; such a byte is
 * always the last one that a call of recvmsg() returns. When the socket is full, the bytes in it
 * will wake the peer anyway. A descriptor that cannot be passed (the socket is full, too many are
 * under way) is not a failure of the doorbell. A peer that passes more descriptors than it may, or
 * whose socket fails, counts as gone, and the first reason is kept. */
#include "lib/link/shm_doorbell.h"

#include "lib/link/socket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WAKE_UP = 'w', DESCRIPTOR = 'd' };

void shm_doorbell_init(struct shm_doorbell *doorbell, int fd, struct shm_side *own,
                       struct shm_side *other)
{
    *doorbell = (struct shm_doorbell){ .fd = fd, .own = own, .other = other };
}

void shm_doorbell_fini(struct shm_doorbell *doorbell)
{
    while (doorbell->passed_count > 0)
        close(shm_doorbell_take(doorbell));
    socket_close_gently(doorbell->fd);
}

static void shm_doorbell_give_up(struct shm_doorbell *doorbell, const char *what, const char *why)
{
    if (!doorbell->dead)
        snprintf(doorbell->why, sizeof doorbell->why, "%s: %s", what, why);
    doorbell->dead = true;
}

/* A call on the socket has failed with `error`, or 0: the end of the stream. */
static void on_failure(struct shm_doorbell *doorbell, int error, const char *what)
{
    char why[64];
    if (error == 0 || error == EPIPE || error == ECONNRESET)
        doorbell->dead = true;
    else
        shm_doorbell_give_up(doorbell, what, strerror_r(error, why, sizeof why));
}

int shm_doorbell_lost(const struct shm_doorbell *doorbell, struct err *err)
{
    return fail(err, HVD_ERR_PEER_LOST, "%s",
                *doorbell->why ? doorbell->why : "closed by the other side");
}

static void wake_other(struct shm_doorbell *doorbell)
{
    unsigned char byte = WAKE_UP;
    if (atomic_exchange(&doorbell->other->waits, 0) != 0 &&
        socket_send(doorbell->fd, &byte, 1, NULL) < 0)
        on_failure(doorbell, errno, "wake the other side");
}

void shm_doorbell_ring(struct shm_doorbell *doorbell, uint32_t what)
{
    if (atomic_load(&doorbell->other->waits) & what)
        wake_other(doorbell);
}

void shm_doorbell_sleep(struct shm_doorbell *doorbell, uint32_t waits)
{
    doorbell->asleep = true;
    atomic_store(&doorbell->own->waits, waits);
}

static void shm_doorbell_keep(struct shm_doorbell *doorbell, int passed)
{
    if (doorbell->passed_count < SHM_PASSED_MAX) {
        doorbell->passed[(doorbell->first_passed + doorbell->passed_count++) % SHM_PASSED_MAX] =
            passed;
        return;
    }
    if (passed >= 0)
        close(passed);
    shm_doorbell_give_up(doorbell, "the other side", "passes more descriptors than it may");
}

/* Reads everything that has come, also from a peer that is gone. A peer that never stops sending is
 * read again later. */
static void shm_doorbell_hear(struct shm_doorbell *doorbell)
{
    enum { ROUNDS = 2 * SHM_PASSED_MAX };
    unsigned char bytes[64];
    for (int i = 0; i < ROUNDS; i++) {
        int passed;
        errno = 0;
        ssize_t nbytes =
            socket_receive_descriptor(doorbell->fd, bytes, sizeof bytes, &passed, NULL);
        if (nbytes < 0)
            on_failure(doorbell, errno, "hear the other side");
        if (nbytes <= 0)
            return;
        if (bytes[nbytes - 1] == DESCRIPTOR)
            shm_doorbell_keep(doorbell, passed);
        else if (passed >= 0)
            close(passed);
    }
}

void shm_doorbell_wake(struct shm_doorbell *doorbell)
{
    atomic_store(&doorbell->own->waits, 0);
    doorbell->asleep = false;
    shm_doorbell_hear(doorbell);
}

bool shm_doorbell_check(struct shm_doorbell *doorbell)
{
    struct pollfd fd = { .fd = doorbell->fd, .events = POLLRDHUP };
    if (!doorbell->dead && poll(&fd, 1, 0) > 0)
        doorbell->dead = true;
    return doorbell->dead;
}

bool shm_doorbell_pass(struct shm_doorbell *doorbell, int fd)
{
    struct err err = { .code = HVD_OK };
    unsigned char byte = DESCRIPTOR;
    ssize_t nbytes = socket_send_descriptor(doorbell->fd, &byte, 1, fd, &err);
    if (nbytes == HVD_ERR_PEER_LOST)
        on_failure(doorbell, errno, "pass a descriptor");
    return nbytes == 1;
}

int shm_doorbell_take(struct shm_doorbell *doorbell)
{
    if (doorbell->passed_count == 0)
        shm_doorbell_hear(doorbell);
    if (doorbell->passed_count == 0)
        return -1;
    int passed = doorbell->passed[doorbell->first_passed++ % SHM_PASSED_MAX];
    doorbell->passed_count--;
    return passed;
}
