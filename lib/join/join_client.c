/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's side of the join protocol; see join_client.h. */
#include "lib/join/join_client.h"

#include "lib/base/clock.h"
#include "lib/base/descriptor.h"
#include "lib/base/rank_end_text.h"
#include "lib/base/tcp_attempts.h"
#include "lib/link/socket.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ADDRESS_TIMEOUT_MS = 3000, HELLO_TIMEOUT_MS = 30000, SEND_TIMEOUT_MS = 1000 };
enum { FRAME_TIMEOUT_MS = 10000 }; /* between the first byte of a frame and the last */
/* A stop of the process costs a waiting rank at most so much of its time. */
enum { WAIT_PART_MS = 1000 };

static int wait_ready(int fd, short events, uint64_t deadline, struct err *err)
{
    for (;;) {
        uint64_t now = monotonic_ms();
        if (now >= deadline)
            return fail(err, HVD_ERR_TIMEOUT, "no answer");
        struct pollfd ready = { .fd = fd, .events = events };
        int count = poll(&ready, 1, (int)(deadline - now));
        if (count > 0)
            return HVD_OK;
        if (count < 0 && errno != EINTR)
            return fail_errno(err, HVD_ERR_SYSTEM, errno, "poll");
    }
}

static int send_all(int fd, const struct wire_writer *writer, uint64_t deadline, struct err *err)
{
    if (writer->failed)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    size_t sent = 0;
    while (sent < writer->length) {
        ssize_t nbytes = socket_send(fd, writer->data + sent, writer->length - sent, err);
        if (nbytes < 0)
            return (int)nbytes;
        sent += (size_t)nbytes;
        int rc = nbytes == 0 ? wait_ready(fd, POLLOUT, deadline, err) : HVD_OK;
        if (rc < 0)
            return rc;
    }
    return HVD_OK;
}

/* Returns 1 and a frame; 0 while none has arrived. */
static int receive_frame(struct join_connection *connection, struct frame *frame, struct err *err)
{
    int rc = frame_reader_next(&connection->reader, frame, err);
    if (rc != 0)
        return rc;
    size_t size;
    void *space = frame_reader_space(&connection->reader, &size);
    if (!space)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    ssize_t nbytes = socket_receive(connection->fd, space, size, err);
    if (nbytes <= 0)
        return (int)nbytes;
    frame_reader_commit(&connection->reader, (size_t)nbytes);
    return frame_reader_next(&connection->reader, frame, err);
}

static int wait_frame(struct join_connection *connection, struct frame *frame, uint64_t deadline,
                      struct err *err)
{
    for (;;) {
        int rc = receive_frame(connection, frame, err);
        if (rc != 0)
            return rc < 0 ? rc : HVD_OK;
        rc = wait_ready(connection->fd, POLLIN, deadline, err);
        if (rc < 0)
            return rc;
    }
}

static int unexpected(const struct frame *frame, struct err *err)
{
    return fail(err, HVD_ERR_PROTOCOL, "a frame of type %u where none belongs", frame->type);
}

/* An address that leads nowhere must leave time for the next one. */
static int dial_one(const struct addrinfo *info, uint64_t deadline, struct err *err)
{
    uint64_t enough = monotonic_ms() + ADDRESS_TIMEOUT_MS;
    if (enough < deadline)
        deadline = enough;
    struct socket_address address = { .length = info->ai_addrlen };
    memcpy(&address.storage, info->ai_addr, info->ai_addrlen);
    int fd = socket_connect(&address, err);
    if (fd < 0)
        return fd;
    int rc = wait_ready(fd, POLLOUT, deadline, err);
    if (rc == HVD_OK)
        rc = socket_connect_result(fd, err);
    if (rc == HVD_OK)
        return fd;
    descriptor_close(fd);
    return rc;
}

static int dial(const char *host, int port, uint64_t deadline, struct err *err)
{
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list;
    int error = getaddrinfo(host, service, &hints, &list);
    if (error)
        return fail(err, HVD_ERR_PEER_LOST, "%s", gai_strerror(error));
    int fd = fail(err, HVD_ERR_PEER_LOST, "the name has no address");
    for (struct addrinfo *info = list; info && fd < 0; info = info->ai_next)
        fd = dial_one(info, deadline, err);
    freeaddrinfo(list);
    if (fd >= 0)
        socket_tune(fd, JOIN_IDLE_S, TCP_ATTEMPTS);
    return fd;
}

static int send_open(int fd, const struct join_open *open, uint64_t deadline, struct err *err)
{
    struct wire_writer body = { 0 }, frame = { 0 };
    join_open_encode(&body, open);
    frame_put(&frame, JOIN_OPEN, body.data, body.length);
    frame.failed |= body.failed;
    int rc = send_all(fd, &frame, deadline, err);
    wire_writer_fini(&body);
    wire_writer_fini(&frame);
    return rc;
}

static int exchange_nonces(struct join_connection *connection, const struct join_target *target,
                           uint64_t deadline, struct err *err)
{
    struct join_open open = { .version = JOIN_VERSION };
    nonce_generate(open.nonce);
    key_owner_format(open.owner, target->job, target->key_of);
    int rc = send_open(connection->fd, &open, deadline, err);
    struct frame frame;
    if (rc < 0 || (rc = wait_frame(connection, &frame, deadline, err)) < 0)
        return rc;
    if (frame.type != JOIN_CHALLENGE)
        return unexpected(&frame, err);
    struct wire_reader body;
    struct join_challenge challenge;
    wire_reader_init(&body, frame.body, frame.length);
    if ((rc = join_challenge_decode(&challenge, &body, err)) < 0)
        return rc;
    seal_init(&connection->seal, SEAL_CLIENT, target->key, open.nonce, challenge.nonce);
    connection->reader.body_max = JOIN_RENDEZVOUS_MAX;
    return HVD_OK;
}

static int dial_and_challenge(struct join_connection *connection, const struct join_target *target,
                              uint64_t deadline_ms, struct err *err)
{
    int fd = dial(target->host, target->port, deadline_ms, err);
    if (fd < 0)
        return fd;
    connection->fd = fd;
    connection->stage = JOIN_CONNECTED;
    return exchange_nonces(connection, target, deadline_ms, err);
}

int join_open(struct join_connection *connection, const struct join_target *target,
              uint64_t deadline_ms, struct err *err)
{
    *connection = (struct join_connection){
        .fd = -1,
        .server_name = target->server_name,
        .sending = PTHREAD_MUTEX_INITIALIZER,
    };
    if (target->server) {
        connection->served_by_rank = true;
        connection->server_rank = target->server->rank;
        memcpy(connection->server_host, target->server->host, sizeof connection->server_host);
    }
    frame_reader_init(&connection->reader, JOIN_UNPROVEN_MAX);
    int rc = dial_and_challenge(connection, target, deadline_ms, err);
    if (rc < 0)
        join_close(connection);
    return rc;
}

/* After a frame that was sent only in part every call fails, because nothing can follow such a
 * frame. */
static int send_sealed(struct join_connection *connection, uint16_t type,
                       const struct wire_writer *body, uint64_t deadline, struct err *err)
{
    struct wire_writer frame = { .failed = body->failed };
    pthread_mutex_lock(&connection->sending);
    seal_put(&connection->seal, &frame, type, body->data, body->length);
    int rc = connection->cut_off ? fail(err, HVD_ERR_PEER_LOST, "nothing can be sent any more")
                                 : send_all(connection->fd, &frame, deadline, err);
    connection->cut_off = rc < 0;
    pthread_mutex_unlock(&connection->sending);
    wire_writer_fini(&frame);
    return rc;
}

int join_hello(struct join_connection *connection, const struct join_hello *hello, struct err *err)
{
    struct wire_writer body = { 0 };
    join_hello_encode(&body, hello);
    int rc = send_sealed(connection, JOIN_HELLO, &body, monotonic_ms() + HELLO_TIMEOUT_MS, err);
    if (rc == HVD_OK)
        connection->stage = JOIN_SAID_HELLO;
    wire_writer_fini(&body);
    return rc;
}

static int on_refused(struct wire_reader *body, struct err *err)
{
    struct join_refused refused;
    int rc = join_refused_decode(&refused, body, err);
    return rc < 0 ? rc : fail(err, refused.status, "%s", refused.text);
}

static int on_early_news(struct wire_reader *body, struct err *err)
{
    struct rank_end news;
    int rc = join_news_decode(&news, body, err);
    return rc < 0 ? rc : rank_end_fail(err, &news);
}

/* Waits for a part of `*left_ms`, and subtracts that part. A wait that took longer subtracts no
 * more: this process was stopped. */
static int wait_a_while(int fd, uint64_t *left_ms, struct err *err)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    uint64_t part = *left_ms < WAIT_PART_MS ? *left_ms : WAIT_PART_MS, since_ms = monotonic_ms();
    if (part == 0)
        return fail(err, HVD_ERR_TIMEOUT, "no answer");
    int count = poll(&ready, 1, (int)part);
    if (count < 0 && errno != EINTR)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "poll");
    uint64_t passed_ms = monotonic_ms() - since_ms;
    *left_ms -= count == 0 || passed_ms > part ? part : passed_ms;
    return HVD_OK;
}

static bool has_begun(const struct join_connection *connection)
{
    return connection->reader.end > connection->reader.start;
}

/* The rest of a message that has begun has a shorter limit than the next message: its header may
 * have been corrupted on the way, so that no more bytes come. */
static int wait_answer(struct join_connection *connection, struct frame *frame, uint64_t left_ms,
                       struct err *err)
{
    for (;;) {
        int rc = receive_frame(connection, frame, err);
        if (rc != 0)
            return rc < 0 ? rc : HVD_OK;
        if (has_begun(connection) && left_ms > FRAME_TIMEOUT_MS)
            left_ms = FRAME_TIMEOUT_MS;
        if ((rc = wait_a_while(connection->fd, &left_ms, err)) < 0)
            return rc;
    }
}

/* WAITING has named the missing ranks as of the time when this rank came. */
static int fell_silent(const struct join_connection *connection, const struct join_waiting *waiting,
                       uint32_t answer_ms, struct err *err)
{
    double waited_s = (double)((uint64_t)waiting->most_ms + answer_ms) / 1000;
    if (connection->stage == JOIN_SAID_HELLO)
        return fail(err, HVD_ERR_TIMEOUT, "%s has not answered HELLO for %.3g s",
                    connection->server_name, waited_s);
    return fail(err, HVD_ERR_TIMEOUT,
                "%s has said nothing for %.3g s, longer than it may wait; it waited for %s",
                connection->server_name, waited_s, waiting->text);
}

static int take_answer(const struct frame *frame, struct join_welcome *welcome,
                       struct wire_reader *body, struct err *err)
{
    switch (frame->type) {
    case JOIN_WELCOME:
        return join_welcome_decode(welcome, body, err);
    case JOIN_REFUSED:
        return on_refused(body, err);
    case JOIN_NEWS:
        return on_early_news(body, err);
    default:
        return unexpected(frame, err);
    }
}

int join_wait(struct join_connection *connection, uint32_t answer_ms, struct join_welcome *welcome,
              struct err *err)
{
    struct frame frame;
    struct wire_reader body;
    struct join_waiting waiting = { .text = "" };
    for (;;) {
        uint64_t left_ms = waiting.most_ms == JOIN_WAITING_NO_LIMIT
                               ? UINT64_MAX
                               : waiting.most_ms + (uint64_t)answer_ms;
        int rc = wait_answer(connection, &frame, left_ms, err);
        if (rc == HVD_ERR_TIMEOUT && !has_begun(connection))
            return fell_silent(connection, &waiting, answer_ms, err);
        if (rc < 0)
            return rc;
        bool assigned = connection->stage == JOIN_ASSIGNED;
        connection->stage = JOIN_ANSWERED;
        if ((rc = seal_check(&connection->seal, &frame, &body, err)) < 0)
            return rc;
        if (frame.type != JOIN_WAITING || assigned)
            return take_answer(&frame, welcome, &body, err);
        if ((rc = join_waiting_decode(&waiting, &body, err)) < 0)
            return rc;
        connection->stage = JOIN_ASSIGNED;
    }
}

static int decode_message(struct join_message *message, const struct frame *frame,
                          struct wire_reader *body, struct err *err)
{
    message->type = (enum join_type)frame->type;
    switch (frame->type) {
    case JOIN_NEWS:
        return join_news_decode(&message->news, body, err);
    case JOIN_ASK:
        return join_ask_decode(&message->ask, body, err);
    case JOIN_UPDATE:
        return join_update_decode(&message->update, body, err);
    default:
        return unexpected(frame, err);
    }
}

static int receive_message(struct join_connection *connection, struct join_message *message,
                           struct err *err)
{
    struct frame frame;
    struct wire_reader body;
    int rc = receive_frame(connection, &frame, err);
    if (rc <= 0)
        return rc;
    if ((rc = seal_check(&connection->seal, &frame, &body, err)) < 0)
        return rc;
    rc = decode_message(message, &frame, &body, err);
    return rc < 0 ? rc : 1;
}

int join_receive(struct join_connection *connection, struct join_message *message, struct err *err)
{
    int rc = receive_message(connection, message, err);
    if (rc < 0)
        fail_context(err, "%s%s", connection->server_name,
                     rc == HVD_ERR_PEER_LOST ? " is gone" : "");
    return rc;
}

static void send_soon(struct join_connection *connection, enum join_type type,
                      struct wire_writer *body)
{
    (void)send_sealed(connection, (uint16_t)type, body, monotonic_ms() + SEND_TIMEOUT_MS, NULL);
    wire_writer_fini(body);
}

void join_report(struct join_connection *connection, const struct join_report *report)
{
    struct wire_writer body = { 0 };
    join_report_encode(&body, report);
    send_soon(connection, JOIN_REPORT, &body);
}

static void join_client_say_end(struct join_connection *connection, enum join_type type,
                                const struct rank_end *end)
{
    struct wire_writer body = { 0 };
    rank_end_encode(&body, end);
    send_soon(connection, type, &body);
}

void join_broken(struct join_connection *connection, const struct rank_end *end)
{
    join_client_say_end(connection, JOIN_BROKEN, end);
}

void join_goodbye(struct join_connection *connection, const struct rank_end *end)
{
    join_client_say_end(connection, JOIN_GOODBYE, end);
}

void join_close(struct join_connection *connection)
{
    socket_close_gently(connection->fd);
    connection->fd = -1;
    frame_reader_fini(&connection->reader);
    seal_wipe(&connection->seal);
}
