/* SPDX-License-Identifier: Apache-2.0 */
/* From a unix socket to shared memory; see link_upgrade.h.
 *
 *   initiator: make a segment, say so and pass it, hear the answer
 *   acceptor:  hear the offer, map the segment, say so
 * Any failure on the way is a reason to say no, and the segment is released. */
#include "lib/link/link_upgrade.h"

#include "lib/base/wire.h"
#include "lib/link/link_tcp.h"
#include "lib/link/socket.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The text here for the peer's reasons. */
static const char *const reasons[] = {
    [UPGRADE_NO_REASON] = "it says no",
    [UPGRADE_TRANSPORT] = "its HVD_TRANSPORT wants none",
    [UPGRADE_NO_SEGMENT] = "it cannot create any",
    [UPGRADE_NOT_PASSED] = "it could not pass or get the descriptor",
    [UPGRADE_NOT_MAPPED] = "it cannot map it",
    [UPGRADE_OTHER_VERSION] = "it has another version",
};

/* ---- sending ---- */

/* Writes the message: yes, or no because of `reason`. */
static void encode(struct link_upgrade *upgrade, enum upgrade_reason reason)
{
    struct wire_writer writer = { .data = upgrade->message, .capacity = UPGRADE_SIZE };
    const unsigned char *token = upgrade->shares ? link_shm_own_token() : NULL;
    memset(upgrade->message, 0, UPGRADE_SIZE);
    wire_put_bytes(&writer, "HVDS", 4);
    wire_put_u16(&writer, UPGRADE_VERSION);
    wire_put_u16(&writer, upgrade->shares);
    if (upgrade->shares) {
        wire_put_u64(&writer, upgrade->segment.size);
        wire_put_u64(&writer, (uint64_t)(uintptr_t)token);
        wire_put_bytes(&writer, token, SHM_TOKEN_SIZE);
    } else {
        writer.length += 8 + 8 + SHM_TOKEN_SIZE;
        wire_put_u32(&writer, reason);
    }
    upgrade->state = UPGRADE_SAYS;
    upgrade->moved = 0;
}

static void say_no(struct link_upgrade *upgrade, enum upgrade_reason reason, const char *why)
{
    snprintf(upgrade->why, sizeof upgrade->why, "%.*s", UPGRADE_WHY_SIZE - 1, why);
    segment_close(&upgrade->segment);
    upgrade->shares = false;
    encode(upgrade, reason);
}

static void link_upgrade_begin(struct link_upgrade *upgrade, int fd, bool initiates)
{
    uid_t uid;
    *upgrade = (struct link_upgrade){ .initiates = initiates, .segment.fd = -1, .passed = -1 };
    socket_peer(fd, &upgrade->peer.pid, &uid);
}

static bool may_share(enum transport own)
{
    return own == TRANSPORT_AUTO || own == TRANSPORT_SHM;
}

void link_upgrade_initiate(struct link_upgrade *upgrade, int fd, enum transport own)
{
    struct err err;
    link_upgrade_begin(upgrade, fd, true);
    if (!may_share(own)) {
        say_no(upgrade, UPGRADE_TRANSPORT, "HVD_TRANSPORT wants none");
    } else if (segment_create(&upgrade->segment, link_shm_size(), &err) < 0 ||
               link_shm_populate(&upgrade->segment, &err) < 0) {
        say_no(upgrade, UPGRADE_NO_SEGMENT, err.text);
    } else {
        upgrade->shares = true;
        encode(upgrade, UPGRADE_NO_REASON);
    }
}

void link_upgrade_accept(struct link_upgrade *upgrade, int fd, enum transport own)
{
    link_upgrade_begin(upgrade, fd, false);
    upgrade->shares = may_share(own);
}

void link_upgrade_fini(struct link_upgrade *upgrade)
{
    segment_close(&upgrade->segment);
    if (upgrade->passed >= 0)
        close(upgrade->passed);
    upgrade->passed = -1;
}

/* ---- receiving ---- */

struct message {
    uint16_t version, yes;
    uint64_t size;
    struct shm_peer peer;
    uint32_t reason;
};

static int link_upgrade_decode(struct message *message, const unsigned char *bytes, struct err *err)
{
    struct wire_reader reader;
    wire_reader_init(&reader, bytes, UPGRADE_SIZE);
    if (memcmp(wire_get_bytes(&reader, 4), "HVDS", 4) != 0)
        return fail(err, HVD_ERR_PROTOCOL, "not an offer of shared memory");
    message->version = wire_get_u16(&reader);
    message->yes = wire_get_u16(&reader);
    message->size = wire_get_u64(&reader);
    message->peer.token = wire_get_u64(&reader);
    memcpy(message->peer.token_bytes, wire_get_bytes(&reader, SHM_TOKEN_SIZE), SHM_TOKEN_SIZE);
    message->reason = wire_get_u32(&reader);
    uint64_t zero = wire_get_u32(&reader) | wire_get_u64(&reader) | wire_get_u64(&reader);
    if (message->version == UPGRADE_VERSION && (message->yes > 1 || zero != 0))
        return fail(err, HVD_ERR_PROTOCOL, "an offer of shared memory that cannot be");
    return HVD_OK;
}

static const char *reason_text(uint32_t reason)
{
    return reasons[reason < sizeof reasons / sizeof *reasons ? reason : UPGRADE_NO_REASON];
}

/* Maps the received segment, which must have exactly the size in the offer: whole pages. */
static int adopt(struct link_upgrade *upgrade, uint64_t size, struct err *err)
{
    if (size < link_shm_size() || size - link_shm_size() >= (size_t)sysconf(_SC_PAGESIZE))
        return fail(err, HVD_ERR_PROTOCOL, "shared memory of %" PRIu64 " bytes", size);
    int rc = segment_adopt(&upgrade->segment, upgrade->passed, (size_t)size, (size_t)size, err);
    if (rc == HVD_OK)
        upgrade->passed = -1;
    return rc;
}

/* Decides on the answer. */
static int on_offer(struct link_upgrade *upgrade, struct err *err)
{
    struct message offer = { 0 };
    struct err reason;
    int rc = link_upgrade_decode(&offer, upgrade->message, err);
    if (rc < 0)
        return rc;
    upgrade->peer.token = offer.peer.token;
    memcpy(upgrade->peer.token_bytes, offer.peer.token_bytes, SHM_TOKEN_SIZE);
    if (offer.version != UPGRADE_VERSION)
        say_no(upgrade, UPGRADE_OTHER_VERSION, reasons[UPGRADE_OTHER_VERSION]);
    else if (!upgrade->shares)
        say_no(upgrade, UPGRADE_TRANSPORT, "HVD_TRANSPORT wants none");
    else if (!offer.yes)
        say_no(upgrade, UPGRADE_NO_REASON, reason_text(offer.reason));
    else if (upgrade->passed < 0)
        say_no(upgrade, UPGRADE_NOT_PASSED, "its descriptor has not come");
    else if (adopt(upgrade, offer.size, &reason) < 0)
        say_no(upgrade, UPGRADE_NOT_MAPPED, reason.text);
    else
        encode(upgrade, UPGRADE_NO_REASON);
    return HVD_OK;
}

static int on_link_upgrade_answer(struct link_upgrade *upgrade, struct err *err)
{
    struct message answer = { 0 };
    int rc = link_upgrade_decode(&answer, upgrade->message, err);
    if (rc < 0)
        return rc;
    upgrade->state = UPGRADE_DONE;
    if (!upgrade->shares)
        return HVD_OK;
    bool yes = answer.version == UPGRADE_VERSION && answer.yes;
    if (yes && answer.size != upgrade->segment.size)
        return fail(err, HVD_ERR_PROTOCOL, "an answer about other shared memory");
    upgrade->peer.token = answer.peer.token;
    memcpy(upgrade->peer.token_bytes, answer.peer.token_bytes, SHM_TOKEN_SIZE);
    if (yes)
        return HVD_OK;
    snprintf(upgrade->why, sizeof upgrade->why, "%s", reason_text(answer.reason));
    segment_close(&upgrade->segment);
    upgrade->shares = false;
    return HVD_OK;
}

/* ---- moving ---- */

static ssize_t link_upgrade_say(struct link_upgrade *upgrade, int fd, struct err *err)
{
    const unsigned char *rest = upgrade->message + upgrade->moved;
    size_t length = UPGRADE_SIZE - upgrade->moved;
    if (!upgrade->initiates || !upgrade->shares || upgrade->moved > 0)
        return socket_send(fd, rest, length, err);
    struct err reason;
    ssize_t nbytes = socket_send_descriptor(fd, rest, length, upgrade->segment.fd, &reason);
    if (nbytes == HVD_ERR_SYSTEM) {
        say_no(upgrade, UPGRADE_NOT_PASSED, reason.text);
        return socket_send(fd, upgrade->message, UPGRADE_SIZE, err);
    }
    return nbytes < 0 ? fail(err, (int)nbytes, "%s", reason.text) : nbytes;
}

/* Only an offer brings a descriptor, and only one. */
static ssize_t link_upgrade_hear(struct link_upgrade *upgrade, int fd, struct err *err)
{
    unsigned char *rest = upgrade->message + upgrade->moved;
    size_t length = UPGRADE_SIZE - upgrade->moved;
    int passed;
    if (upgrade->initiates)
        return socket_receive(fd, rest, length, err);
    ssize_t nbytes = socket_receive_descriptor(fd, rest, length, &passed, err);
    if (passed >= 0 && upgrade->passed >= 0)
        close(passed);
    else if (passed >= 0)
        upgrade->passed = passed;
    return nbytes;
}

/* The message is complete. */
static int link_upgrade_turn(struct link_upgrade *upgrade, struct err *err)
{
    bool said = upgrade->state == UPGRADE_SAYS;
    upgrade->moved = 0;
    if (!said)
        return upgrade->initiates ? on_link_upgrade_answer(upgrade, err) : on_offer(upgrade, err);
    upgrade->state = upgrade->initiates ? UPGRADE_HEARS : UPGRADE_DONE;
    return HVD_OK;
}

/* 1, 0 when the caller must wait for the socket, or a negative status. */
static int step(struct link_upgrade *upgrade, int fd, struct err *err)
{
    ssize_t nbytes = upgrade->state == UPGRADE_SAYS ? link_upgrade_say(upgrade, fd, err)
                                                    : link_upgrade_hear(upgrade, fd, err);
    if (nbytes <= 0)
        return (int)nbytes;
    upgrade->moved += (size_t)nbytes;
    int rc = upgrade->moved < UPGRADE_SIZE ? HVD_OK : link_upgrade_turn(upgrade, err);
    return rc < 0 ? rc : 1;
}

int link_upgrade_speak(struct link_upgrade *upgrade, int fd, struct err *err)
{
    int rc = 1;
    while (rc > 0 && upgrade->state == UPGRADE_SAYS)
        rc = step(upgrade, fd, err);
    return rc < 0 ? rc : HVD_OK;
}

int link_upgrade_move(struct link_upgrade *upgrade, int fd, struct err *err)
{
    int rc = 1;
    while (rc > 0 && upgrade->state != UPGRADE_DONE)
        rc = step(upgrade, fd, err);
    return rc;
}

short link_upgrade_events(const struct link_upgrade *upgrade)
{
    return upgrade->state == UPGRADE_SAYS ? POLLOUT : POLLIN;
}

struct link *link_upgrade_finish(struct link_upgrade *upgrade, int fd, struct err *err)
{
    struct link *link = upgrade->shares ? link_shm_create(fd, &upgrade->segment, upgrade->initiates,
                                                          &upgrade->peer, err)
                                        : link_unix_create(fd);
    if (!link && !upgrade->shares)
        fail(err, HVD_ERR_NOMEM, "out of memory");
    if (link)
        upgrade->segment = (struct segment){ .fd = -1 };
    link_upgrade_fini(upgrade);
    return link;
}
