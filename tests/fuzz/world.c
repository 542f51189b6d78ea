/* SPDX-License-Identifier: Apache-2.0 */
/* A rendezvous in memory; see world.h. */
#include "tests/fuzz/world.h"

#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

struct server world;
struct job_key world_key, job_key;
uint64_t world_ms;

static void on_complete(void *context)
{
    PROMISE(context == &world);
}

static void on_timed_out(void *context, const char *text)
{
    PROMISE(context == &world && strlen(text) < JOIN_TEXT_MAX);
}

static void on_report(void *context, int rank, enum rank_waits_for waits_for, const char *text)
{
    PROMISE(context == &world && 0 <= rank && rank < WORLD_SIZE && text);
    PROMISE(waits_for < WAITS_FOR_KINDS);
}

static void on_said(void *context, const char *job, const char *text)
{
    PROMISE(context == &world && job_id_valid(job, strlen(job)) && !strchr(text, '\n'));
}

static void begin_planned(void)
{
    static const struct rendezvous_slot slots[WORLD_SIZE] = {
        { { 0, WORLD_SIZE, 0, 2, 0, 2 }, "a" },
        { { 1, WORLD_SIZE, 1, 2, 0, 1 }, "a" },
        { { 2, WORLD_SIZE, 0, 1, 1, 2 }, "b" },
    };
    struct rendezvous_options options = { .id = WORLD_JOB,
                                          .slots = slots,
                                          .size = WORLD_SIZE,
                                          .key = &world_key,
                                          .start_timeout_ms = 30000,
                                          .events = { on_complete, on_timed_out, NULL, on_report },
                                          .context = &world };
    PROMISE(server_init(&world, &options, 1000000, world_ms, NULL) == HVD_OK);
    job_key = world_key;
}

static void on_report_of_worker(void *context, int worker, enum rank_waits_for waits_for,
                                const char *text)
{
    PROMISE(context == &world && worker >= 0 && text && waits_for < WAITS_FOR_KINDS);
}

static void on_world(void *context, int epoch, const int *workers, int size)
{
    static int last;
    PROMISE(context == &world && size > 0 && workers);
    PROMISE(epoch == 0 || epoch > last);
    last = epoch;
}

void world_begin_elastic(void)
{
    world_ms = 1000;
    job_key_generate(&world_key);
    struct rendezvous_options options = { .id = WORLD_JOB,
                                          .elastic = true,
                                          .key = &world_key,
                                          .events = { on_complete, on_timed_out, NULL,
                                                      on_report_of_worker, .world = on_world },
                                          .context = &world };
    PROMISE(server_init(&world, &options, 1000000, world_ms, NULL) == HVD_OK);
    job_key = world_key;
}

static void begin_service(void)
{
    struct rendezvous_service_options options = { .key = &world_key,
                                                  .max_jobs = WORLD_MAX_JOBS,
                                                  .memory_max = 4096,
                                                  .start_timeout_ms = 30000,
                                                  .say = on_said,
                                                  .context = &world };
    server_init_service(&world, &options, 1000000, world_ms);
    job_key_derive(&job_key, &world_key, WORLD_JOB);
}

void world_begin(bool service)
{
    world_ms = 1000;
    job_key_generate(&world_key);
    if (service)
        begin_service();
    else
        begin_planned();
}

void world_end(void)
{
    server_close(&world);
    PROMISE(world.count[SERVER_UNAUTHENTICATED] == 0 && world.count[SERVER_CLIENT] == 0);
    PROMISE(world.count[SERVER_WORKER] == 0 && world.count[SERVER_DEAD] == 0);
    server_fini(&world);
}

void world_pass(uint64_t ms)
{
    uint64_t end_ms = world_ms + ms;
    for (int turns = 0; server_deadline(&world) <= end_ms; turns++) {
        PROMISE(turns < 10000); /* a deadline that has passed does not come back */
        if (server_deadline(&world) > world_ms)
            world_ms = server_deadline(&world);
        server_tick(&world, world_ms);
    }
    world_ms = end_ms;
}

struct world_stock world_stock(void)
{
    struct world_stock state = { .jobs = world.job_table.count,
                                 .workers = world.count[SERVER_WORKER] };
    const struct rendezvous_job *at;
    TAILQ_FOREACH(at, &world.job_table.list, link)
    {
        state.keys += at->store ? key_value_keys(at->store) : 0;
        state.size += at->store ? key_value_size(at->store) : 0;
    }
    return state;
}

bool world_stock_equal(const struct world_stock *a, const struct world_stock *b)
{
    return a->keys == b->keys && a->size == b->size && a->jobs == b->jobs &&
           a->workers == b->workers;
}

/* ---- clients ---- */

static void on_send(struct rendezvous_stream *stream, const void *data, size_t length)
{
    struct client *client = (struct client *)stream;
    PROMISE(client->connection && length > 0);
    wire_put_bytes(&client->received, data, length);
}

static void on_close(struct rendezvous_stream *stream)
{
    struct client *client = (struct client *)stream;
    PROMISE(client->connection);
    client->connection = NULL;
}

void client_dial(struct client *client, enum rendezvous_origin origin)
{
    client_forget(client);
    client->stream = (struct rendezvous_stream){ .send = on_send, .close = on_close };
    client->rank = -1;
    client->connection = server_accept(&world, &client->stream, origin, world_ms);
    PROMISE(client->connection);
}

void client_hang_up(struct client *client)
{
    if (client->connection)
        server_hangup(client->connection, world_ms);
    client->connection = NULL;
}

void client_forget(struct client *client)
{
    client_hang_up(client);
    wire_writer_fini(&client->received);
    *client = (struct client){ .rank = -1 };
}

void client_send(struct client *client, const void *data, size_t length, size_t piece)
{
    for (size_t at = 0; at < length && client->connection; at += piece) {
        size_t size = length - at < piece ? length - at : piece;
        char *copy = malloc(size); /* so that a read beyond it is seen */
        PROMISE(copy);
        memcpy(copy, (const char *)data + at, size);
        server_receive(client->connection, copy, size, world_ms);
        free(copy);
    }
}

static bool next_frame(struct client *client, struct frame *frame)
{
    size_t left = client->received.length - client->read;
    if (left < FRAME_HEADER_SIZE)
        return false;
    const unsigned char *at = client->received.data + client->read;
    struct wire_reader header;
    wire_reader_init(&header, at, FRAME_HEADER_SIZE);
    PROMISE(memcmp(wire_get_bytes(&header, 4), "HVD1", 4) == 0);
    frame->type = wire_get_u16(&header);
    PROMISE(wire_get_u16(&header) == 0);
    frame->length = wire_get_u32(&header);
    frame->body = at + FRAME_HEADER_SIZE;
    PROMISE(frame->length <= left - FRAME_HEADER_SIZE);
    client->read += FRAME_HEADER_SIZE + frame->length;
    return true;
}

void client_open(struct client *client, const char *job, const struct job_key *key)
{
    struct join_open open = { .version = JOIN_VERSION };
    struct join_challenge challenge;
    struct wire_writer body = { 0 }, out = { 0 };
    struct frame frame;
    struct wire_reader reader;
    bool first = client->received.length == 0;
    memcpy(open.owner, job, strlen(job) + 1);
    nonce_generate(open.nonce);
    join_open_encode(&body, &open);
    frame_put(&out, JOIN_OPEN, body.data, body.length);
    client_send(client, out.data, out.length, out.length);
    wire_writer_fini(&out);
    wire_writer_fini(&body);
    if (!first || !client->connection || client->connection->language != SERVER_FRAMES ||
        !next_frame(client, &frame))
        return;
    wire_reader_init(&reader, frame.body, frame.length);
    PROMISE(frame.type == JOIN_CHALLENGE);
    PROMISE(join_challenge_decode(&challenge, &reader, NULL) == HVD_OK);
    seal_init(&client->seal, SEAL_CLIENT, key, open.nonce, challenge.nonce);
    client->sealed = true;
}

void client_send_sealed(struct client *client, uint16_t type, const void *payload, size_t length)
{
    struct wire_writer out = { 0 };
    if (!client->sealed)
        return;
    seal_put(&client->seal, &out, type, payload, length);
    client_send(client, out.data, out.length, out.length);
    wire_writer_fini(&out);
}

static void on_welcome(struct client *client, struct wire_reader *payload)
{
    static struct join_welcome welcome;
    PROMISE(join_welcome_decode(&welcome, payload, NULL) == HVD_OK);
    PROMISE(client->rank == -1); /* once */
    client->rank = welcome.rank_info.rank;
    client->worker = welcome.worker;
    client->epoch = welcome.epoch;
}

static void on_frame(struct client *client, const struct frame *frame)
{
    struct wire_reader payload;
    struct join_refused refused;
    struct rank_end news;
    struct join_ask ask;
    struct join_waiting waiting;
    struct join_update update;
    PROMISE(seal_check(&client->seal, frame, &payload, NULL) == HVD_OK);
    if (frame->type == JOIN_WELCOME)
        on_welcome(client, &payload);
    else if (frame->type == JOIN_REFUSED)
        PROMISE(client->rank == -1 && join_refused_decode(&refused, &payload, NULL) == HVD_OK);
    else if (frame->type == JOIN_WAITING)
        PROMISE(client->rank == -1 && join_waiting_decode(&waiting, &payload, NULL) == HVD_OK);
    else if (frame->type == JOIN_NEWS)
        PROMISE(client->rank >= 0 && join_news_decode(&news, &payload, NULL) == HVD_OK);
    else if (frame->type == JOIN_UPDATE)
        PROMISE(client->rank >= 0 && join_update_decode(&update, &payload, NULL) == HVD_OK);
    else
        PROMISE(frame->type == JOIN_ASK && client->rank >= 0 &&
                join_ask_decode(&ask, &payload, NULL) == HVD_OK);
}

void client_listen(struct client *client)
{
    struct frame frame;
    while (client->sealed && next_frame(client, &frame))
        on_frame(client, &frame);
}
