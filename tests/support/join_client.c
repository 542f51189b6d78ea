/* SPDX-License-Identifier: Apache-2.0 */
/* A worker in memory; see join_client.h. */
#include "tests/support/join_client.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static void on_send(struct rendezvous_stream *stream, const void *data, size_t length)
{
    struct join_client *client = (struct join_client *)stream;
    ck_assert(!client->closed);
    wire_put_bytes(&client->received, data, length);
    client->sends++;
}

static void on_close(struct rendezvous_stream *stream)
{
    struct join_client *client = (struct join_client *)stream;
    ck_assert(!client->closed);
    client->closed = true;
    client->connection = NULL;
}

void join_client_init(struct join_client *client, const struct job_key *key,
                      void (*deliver)(struct join_client *, const void *, size_t))
{
    *client = (struct join_client){ .stream = { .send = on_send, .close = on_close },
                                    .deliver = deliver,
                                    .key = *key };
    nonce_generate(client->nonce);
}

void join_client_fini(struct join_client *client)
{
    wire_writer_fini(&client->received);
}

void join_client_send(struct join_client *client, const void *data, size_t length)
{
    if (!client->closed)
        client->deliver(client, data, length);
}

void join_client_put_open(struct join_client *client, struct wire_writer *out)
{
    struct join_open open = { .version = JOIN_VERSION };
    memcpy(open.nonce, client->nonce, NONCE_SIZE);
    memcpy(open.owner, client->owner, sizeof open.owner);
    struct wire_writer body = { 0 };
    join_open_encode(&body, &open);
    frame_put(out, JOIN_OPEN, body.data, body.length);
    wire_writer_fini(&body);
}

static void put_sealed(struct join_client *client, struct wire_writer *out, uint16_t type,
                       struct wire_writer *payload)
{
    seal_put(&client->seal, out, type, payload->data, payload->length);
    wire_writer_fini(payload);
}

void join_client_address(char address[JOIN_ADDRESS_MAX], int rank)
{
    snprintf(address, JOIN_ADDRESS_MAX, "127.0.0.1:%d", 10000 + rank % 50000);
}

void join_client_put_hello(struct join_client *client, struct wire_writer *out, int rank, int size)
{
    struct join_hello hello = { .rank = size > 0 ? rank : -1,
                                .size = size,
                                .worker = rank,
                                .epoch = client->epoch,
                                .pid = -1,
                                .addresses.count = 1 };
    snprintf(hello.host, sizeof hello.host, "%s",
             client->host ? client->host : "what the worker calls itself");
    join_client_address(hello.addresses.text[0], rank);
    struct wire_writer payload = { 0 };
    join_hello_encode(&payload, &hello);
    put_sealed(client, out, JOIN_HELLO, &payload);
}

void join_client_put_report(struct join_client *client, struct wire_writer *out, const char *text)
{
    struct wire_writer payload = { 0 };
    wire_put_string(&payload, text); /* may be longer than it should be */
    rank_stats_encode(&payload, &client->stats);
    rank_waits_encode(&payload, &client->waits);
    put_sealed(client, out, JOIN_REPORT, &payload);
}

void join_client_put_goodbye(struct join_client *client, struct wire_writer *out, int status)
{
    struct wire_writer payload = { 0 };
    struct rank_end goodbye = rank_end_none();
    if (status != HVD_OK) {
        goodbye.how.kind = RANK_END_FAILED;
        goodbye.status = status;
        strcpy(goodbye.words, "its own failure");
    }
    rank_end_encode(&payload, &goodbye);
    put_sealed(client, out, JOIN_GOODBYE, &payload);
}

static void send_out(struct join_client *client, struct wire_writer *out)
{
    join_client_send(client, out->data, out->length);
    wire_writer_fini(out);
}

/* The next whole frame that has come; checks its header. */
static bool next_frame(struct join_client *client, struct frame *frame)
{
    struct wire_reader header;
    size_t unread = client->received.length - client->read;
    if (unread < FRAME_HEADER_SIZE)
        return false;
    const unsigned char *at = client->received.data + client->read;
    ck_assert_mem_eq(at, "HVD1", 4);
    wire_reader_init(&header, at + 4, FRAME_HEADER_SIZE - 4);
    frame->type = wire_get_u16(&header);
    ck_assert_uint_eq(wire_get_u16(&header), 0);
    frame->length = wire_get_u32(&header);
    frame->body = at + FRAME_HEADER_SIZE;
    ck_assert_uint_ge(unread, FRAME_HEADER_SIZE + frame->length);
    client->read += FRAME_HEADER_SIZE + frame->length;
    return true;
}

bool join_client_open(struct join_client *client)
{
    struct wire_writer out = { 0 };
    join_client_put_open(client, &out);
    send_out(client, &out);
    struct frame frame;
    if (!next_frame(client, &frame))
        return false;
    ck_assert_uint_eq(frame.type, JOIN_CHALLENGE);
    struct wire_reader body;
    wire_reader_init(&body, frame.body, frame.length);
    struct join_challenge challenge;
    ck_assert_int_eq(join_challenge_decode(&challenge, &body, NULL), HVD_OK);
    seal_init(&client->seal, SEAL_CLIENT, &client->key, client->nonce, challenge.nonce);
    return true;
}

void join_client_join(struct join_client *client, int rank, int size)
{
    ck_assert(join_client_open(client));
    struct wire_writer out = { 0 };
    join_client_put_hello(client, &out, rank, size);
    send_out(client, &out);
}

void join_client_report(struct join_client *client, const char *text)
{
    struct wire_writer out = { 0 };
    join_client_put_report(client, &out, text);
    send_out(client, &out);
}

void join_client_leave_with(struct join_client *client, int status)
{
    struct wire_writer out = { 0 };
    join_client_put_goodbye(client, &out, status);
    send_out(client, &out);
}

void join_client_leave(struct join_client *client)
{
    join_client_leave_with(client, HVD_OK);
}

bool join_client_next(struct join_client *client, struct join_reply *reply)
{
    struct frame frame;
    if (!next_frame(client, &frame))
        return false;
    struct err err = { 0 };
    struct wire_reader payload;
    ck_assert_msg(seal_check(&client->seal, &frame, &payload, &err) == HVD_OK, "%s", err.text);
    if (frame.type == JOIN_WAITING) {
        ck_assert_int_eq(join_waiting_decode(&client->waiting, &payload, &err), HVD_OK);
        return join_client_next(client, reply);
    }
    *reply = (struct join_reply){ .type = frame.type };
    if (frame.type == JOIN_WELCOME)
        ck_assert_int_eq(join_welcome_decode(&reply->welcome, &payload, &err), HVD_OK);
    else if (frame.type == JOIN_REFUSED)
        ck_assert_int_eq(join_refused_decode(&reply->refused, &payload, &err), HVD_OK);
    else if (frame.type == JOIN_NEWS)
        ck_assert_int_eq(join_news_decode(&reply->news, &payload, &err), HVD_OK);
    else if (frame.type == JOIN_UPDATE)
        ck_assert_int_eq(join_update_decode(&reply->update, &payload, &err), HVD_OK);
    else if (frame.type == JOIN_ASK)
        ck_assert_int_eq(join_ask_decode(&reply->ask, &payload, &err), HVD_OK);
    else
        ck_abort_msg("a frame of type %u", frame.type);
    return true;
}
