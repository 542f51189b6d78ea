/* SPDX-License-Identifier: Apache-2.0 */
/* Dialling another rank; see link_dial.h. */
#include "lib/link/link_dial.h"

#include "lib/link/descriptor.h"
#include "lib/link/link_greet.h"
#include "lib/link/socket.h"

enum { TRY_MS = 3000, PAUSE_MS = 20 };

void link_dial_init(struct link_dial *dial, const struct join_peer *peer,
                    const struct link_identity *identity, const struct job_key *key)
{
    *dial = (struct link_dial){
        .state = DIAL_IDLE, .peer = peer, .identity = *identity, .key = key, .fd = -1
    };
}

void link_dial_fini(struct link_dial *dial)
{
    descriptor_close(dial->fd);
    dial->fd = -1;
}

struct pollfd link_dial_pollfd(const struct link_dial *dial)
{
    struct pollfd wanted = { .fd = dial->state == DIAL_DONE ? -1 : dial->fd, .events = POLLOUT };
    if (dial->state == DIAL_GREETING)
        wanted.events = link_greet_events(&dial->handshake);
    return wanted;
}

static int connect_next(struct link_dial *dial, struct err *err)
{
    const struct join_addresses *addresses = &dial->peer->addresses;
    if (addresses->count < 1)
        return fail(err, HVD_ERR_PROTOCOL, "it has no address");
    struct socket_address address;
    int rc = socket_address_parse(&address, addresses->text[dial->tries++ % addresses->count], err);
    return rc < 0 ? rc : socket_connect(&address, err);
}

/* From idle. */
static int begin(struct link_dial *dial, uint64_t now_ms, struct err *err)
{
    int fd = connect_next(dial, err);
    if (fd < 0)
        return fd;
    dial->fd = fd;
    dial->state = DIAL_CONNECTING;
    dial->until_ms = now_ms + TRY_MS;
    return 0;
}

/* From connecting. */
static int greet(struct link_dial *dial, struct err *err)
{
    struct pollfd ready = { .fd = dial->fd, .events = POLLOUT };
    if (poll(&ready, 1, 0) < 1)
        return 0;
    int rc = socket_connect_result(dial->fd, err);
    if (rc < 0)
        return rc;
    socket_tune(dial->fd);
    link_handshake_initiate(&dial->handshake, &dial->identity, dial->key);
    dial->state = DIAL_GREETING;
    return 0;
}

/* From greeting. Who has sent its proof waits for the answer: the other side may have taken the
 * link already. */
static int listen_on(struct link_dial *dial, struct err *err)
{
    int rc = link_greet(&dial->handshake, dial->fd, err);
    if (dial->handshake.awaits == AWAITS_READY)
        dial->until_ms = UINT64_MAX;
    if (rc > 0)
        dial->state = DIAL_DONE;
    return rc;
}

static int step(struct link_dial *dial, uint64_t now_ms, struct err *err)
{
    if (dial->state == DIAL_IDLE && now_ms < dial->until_ms)
        return 0;
    int rc = dial->state == DIAL_IDLE ? begin(dial, now_ms, err) : 0;
    if (rc == 0 && dial->state == DIAL_CONNECTING)
        rc = greet(dial, err);
    if (rc == 0 && dial->state == DIAL_GREETING)
        rc = listen_on(dial, err);
    if (rc == 0 && now_ms >= dial->until_ms)
        return fail(err, HVD_ERR_PEER_LOST, "no answer");
    return rc;
}

/* Back to idle. True if this failure is no reason to give up: somebody else may answer at another
 * address. */
static bool retry(struct link_dial *dial, uint64_t now_ms)
{
    link_dial_fini(dial);
    dial->state = DIAL_IDLE;
    dial->until_ms = now_ms + PAUSE_MS;
    return dial->last.code == HVD_ERR_PEER_LOST || dial->tries < dial->peer->addresses.count;
}

int link_dial_move(struct link_dial *dial, uint64_t now_ms, struct err *err)
{
    struct err failure;
    int rc = step(dial, now_ms, &failure);
    if (rc >= 0)
        return rc;
    dial->last = failure;
    if (retry(dial, now_ms))
        return 0;
    *err = failure;
    return rc;
}

int link_dial_take(struct link_dial *dial)
{
    int fd = dial->fd;
    dial->fd = -1;
    return fd;
}
