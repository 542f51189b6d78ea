/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting to hvdrun, once, before the agent has a loop; see agent_dial.h:
 *   read the invitation, try each address until hvdrun has proved itself there, prove ourselves.
 * The address from which srun has started this process comes first (SLURM_LAUNCH_NODE_IPADDR):
 * Slurm's own streams lead there. Fails on an invitation that is malformed or does not come, and
 * when no address leads to a process that knows the key. */
#include "launcher/agent/agent_dial.h"

#include "launcher/base/number.h"
#include "launcher/base/text_buffer.h"
#include "launcher/protocol/agent_dial.h"
#include "lib/base/clock.h"
#include "lib/base/frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Waits until something can be done with `fd`, or until the time has come. */
static bool agent_dial_wait(int fd, short events, uint64_t until_ms)
{
    for (;;) {
        uint64_t now_ms = monotonic_ms();
        struct pollfd watched = { .fd = fd, .events = events };
        int n = poll(&watched, 1, now_ms < until_ms ? (int)(until_ms - now_ms) : 0);
        if (n > 0)
            return true;
        if (n == 0 || errno != EINTR)
            return false;
    }
}

/* Reads exactly one frame of that type, and no byte behind it, which would be another reader's. */
static int agent_dial_read(int fd, uint16_t type, unsigned char *body, size_t *length,
                           struct err *err)
{
    unsigned char header[FRAME_HEADER_SIZE], expected[FRAME_HEADER_SIZE];
    uint64_t until_ms = monotonic_ms() + DIAL_ANSWER_MS;
    size_t have = 0, need = sizeof header;
    while (have < need) {
        void *at = have < sizeof header ? header + have : body + (have - sizeof header);
        if (!agent_dial_wait(fd, POLLIN, until_ms))
            return fail(err, HVD_ERR_SYSTEM, "no answer within %d s", DIAL_ANSWER_MS / 1000);
        ssize_t n = read(fd, at, (have < sizeof header ? sizeof header : need) - have);
        if (n == 0)
            return fail(err, HVD_ERR_SYSTEM, "the connection was closed");
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return fail_errno(err, HVD_ERR_SYSTEM, errno, "read");
        have += n > 0 ? (size_t)n : 0;
        if (have != sizeof header || need != sizeof header)
            continue;
        struct wire_reader reader;
        wire_reader_init(&reader, header + FRAME_HEADER_SIZE - 4, 4);
        uint32_t size = wire_get_u32(&reader);
        frame_header_encode(expected, type, size);
        if (size > DIAL_BODY_MAX || memcmp(header, expected, sizeof header) != 0)
            return fail(err, HVD_ERR_PROTOCOL, "something else answers than hvdrun");
        need += size;
        *length = size;
    }
    return HVD_OK;
}

static int agent_dial_write(int fd, const struct wire_writer *frame, struct err *err)
{
    size_t done = 0;
    if (frame->failed)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    while (done < frame->length) {
        ssize_t n = send(fd, frame->data + done, frame->length - done, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return fail_errno(err, HVD_ERR_SYSTEM, errno, "write");
        done += n > 0 ? (size_t)n : 0;
    }
    return HVD_OK;
}

/* ---- the connection ---- */

/* The size of the address, or 0 if it is none. */
static socklen_t parse_address(struct sockaddr_storage *storage, const char *text, uint16_t port)
{
    struct sockaddr_in *ip4 = (struct sockaddr_in *)storage;
    struct sockaddr_in6 *ip6 = (struct sockaddr_in6 *)storage;
    *storage = (struct sockaddr_storage){ 0 };
    if (inet_pton(AF_INET, text, &ip4->sin_addr) == 1) {
        ip4->sin_family = AF_INET;
        ip4->sin_port = htons(port);
        return sizeof *ip4;
    }
    if (inet_pton(AF_INET6, text, &ip6->sin6_addr) == 1) {
        ip6->sin6_family = AF_INET6;
        ip6->sin6_port = htons(port);
        return sizeof *ip6;
    }
    return 0;
}

static int agent_dial_connect(const char *text, uint16_t port, struct err *err)
{
    struct sockaddr_storage address;
    socklen_t length = parse_address(&address, text, port);
    if (length == 0)
        return fail(err, HVD_ERR_PROTOCOL, "no address");
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int errnum = fd < 0 || connect(fd, (struct sockaddr *)&address, length) < 0 ? errno : 0;
    if (fd >= 0 && errnum == EINPROGRESS) {
        socklen_t size = sizeof errnum;
        if (!agent_dial_wait(fd, POLLOUT, monotonic_ms() + DIAL_CONNECT_MS))
            errnum = ETIMEDOUT;
        else
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &size);
    }
    if (errnum != 0) {
        if (fd >= 0)
            close(fd);
        return fail_errno(err, HVD_ERR_SYSTEM, errnum, "connect");
    }
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(fd, F_SETFL, O_RDWR);
    return fd;
}

static void make_hello(struct dial_hello *hello)
{
    const char *task = getenv("SLURM_PROCID"), *node = getenv("SLURMD_NODENAME");
    int number = 0;
    if (task)
        number_parse(&number, task, strlen(task), 0, 1 << 24);
    *hello = (struct dial_hello){ .version = DIAL_VERSION, .task = (uint32_t)number };
    snprintf(hello->node, sizeof hello->node, "%s", node ? node : "");
    nonce_generate(hello->nonce);
}

static int agent_dial_exchange(int fd, const struct job_key *key, struct err *err)
{
    unsigned char body[DIAL_BODY_MAX], expected[PROOF_SIZE], proof[PROOF_SIZE];
    size_t length = 0;
    struct dial_hello hello;
    struct dial_challenge challenge;
    struct wire_writer frame = { 0 };
    make_hello(&hello);
    size_t begin = frame_begin(&frame, DIAL_HELLO);
    dial_hello_encode(&frame, &hello);
    frame_end(&frame, begin);
    int rc = agent_dial_write(fd, &frame, err);
    wire_writer_fini(&frame);
    if (rc < 0 || (rc = agent_dial_read(fd, DIAL_CHALLENGE, body, &length, err)) < 0)
        return rc;
    struct wire_reader reader;
    wire_reader_init(&reader, body, length);
    if ((rc = dial_challenge_decode(&challenge, &reader, err)) < 0)
        return rc;
    dial_prove(expected, DIAL_HVDRUN, key, &hello, challenge.nonce);
    if (!auth_equal(expected, challenge.proof))
        return fail(err, HVD_ERR_AUTH, "the process there does not know the key");
    dial_prove(proof, DIAL_AGENT, key, &hello, challenge.nonce);
    frame_put(&frame, DIAL_PROOF, proof, sizeof proof);
    rc = agent_dial_write(fd, &frame, err);
    wire_writer_fini(&frame);
    return rc;
}

/* A connected descriptor, or a negative status; then `tried` names the address and the cause. */
static int try_address(const char *address, const struct dial_invitation *invitation,
                       struct text_buffer *tried)
{
    struct err err = { 0 };
    int fd = agent_dial_connect(address, invitation->port, &err);
    if (fd >= 0 && agent_dial_exchange(fd, &invitation->key, &err) == HVD_OK)
        return fd;
    if (fd >= 0)
        close(fd);
    text_buffer_printf(tried, "%s%s: %s", tried->length > 0 ? "; " : "", address, err.text);
    return HVD_ERR_SYSTEM;
}

static int agent_dial_try_all(const struct dial_invitation *invitation, struct err *err)
{
    struct text_buffer tried = { 0 };
    const char *launch = getenv("SLURM_LAUNCH_NODE_IPADDR");
    int fd = launch ? try_address(launch, invitation, &tried) : HVD_ERR_SYSTEM;
    for (int i = 0; fd < 0 && i < invitation->naddresses; i++)
        if (!launch || strcmp(launch, invitation->addresses[i]) != 0)
            fd = try_address(invitation->addresses[i], invitation, &tried);
    char *text = text_buffer_take(&tried);
    if (fd < 0)
        fail(err, HVD_ERR_SYSTEM, "hvdrun is not reached at port %u: %s", invitation->port,
             *text ? text : "no address");
    free(text);
    return fd;
}

int agent_dial_hvdrun(int input, struct err *err)
{
    unsigned char body[DIAL_BODY_MAX];
    struct dial_invitation invitation;
    struct wire_reader reader;
    size_t length = 0;
    int rc = auth_init(err);
    if (rc < 0 || (rc = agent_dial_read(input, DIAL_INVITATION, body, &length, err)) < 0)
        return fail_context(err, "invitation");
    wire_reader_init(&reader, body, length);
    rc = dial_invitation_decode(&invitation, &reader, err);
    explicit_bzero(body, sizeof body);
    int fd = rc < 0 ? rc : agent_dial_try_all(&invitation, err);
    job_key_wipe(&invitation.key);
    return fd;
}
