/* SPDX-License-Identifier: Apache-2.0 */
/* An elastic job (rendezvous/world/elastic.h), of a launcher or of a service, whatever its workers
 * and its launcher do.
 *
 *   u8 kind: a launcher's or a service's, then operations, each u8 what, u8 whose
 *
 * Whatever comes: no two connections have the same rank, or the same worker, in one epoch; a worker
 * is welcomed once by a connection and never in an epoch before one that it has been in; a worker
 * that was not removed is refused by a service's rules only; a deadline that has passed does not
 * come back. */
#include "lib/base/join_protocol.h"
#include "rendezvous/server/server.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/world.h"
#include "tests/support/rank_ends.h"

#include <stdio.h>
#include <string.h>

enum { CLIENTS = 8, WORKERS = 6 };

static struct client clients[CLIENTS];
static uint32_t next_epoch[WORKERS]; /* of the process of a worker */
static bool service, was_removed[WORKERS];

/* A connection of worker `whose % WORKERS`, up to HELLO. */
static void fuzz_elastic_come(struct client *client, struct fuzz_input *input)
{
    int worker = fuzz_u8(input) % WORKERS, how = fuzz_u8(input);
    struct join_hello hello = { .rank = -1,
                                .worker = how & 1 ? -1 : worker,
                                .epoch = how & 2 ? 0 : next_epoch[worker],
                                .pid = 100 + (how & 4 ? worker : how >> 4),
                                .addresses = { 1, { "127.0.0.1:4000" } } };
    struct wire_writer payload = { 0 };
    snprintf(hello.host, sizeof hello.host, "%c", 'a' + how / 8 % 2);
    client_dial(client, RENDEZVOUS_ELSEWHERE);
    client_open(client, WORLD_JOB, &job_key);
    join_hello_encode(&payload, &hello);
    client_send_sealed(client, JOIN_HELLO, payload.data, payload.length);
    wire_writer_fini(&payload);
}

/* From 128 on BROKEN. */
static void fuzz_elastic_leave(struct client *client, struct fuzz_input *input)
{
    uint8_t what = fuzz_u8(input);
    struct rank_end end = rank_end_none();
    struct wire_writer payload = { 0 };
    if (what % 4 > 0) {
        end.status = HVD_ERR_PEER_LOST;
        end.how.kind = RANK_END_UNREACHABLE;
        end.rank = end.because_of = what % 4 - 1;
    }
    rank_end_encode(&payload, &end);
    client_send_sealed(client, what < 128 ? JOIN_GOODBYE : JOIN_BROKEN, payload.data,
                       payload.length);
    wire_writer_fini(&payload);
}

static void fuzz_elastic_hang_up(struct client *client, struct fuzz_input *input)
{
    (void)input;
    client_hang_up(client);
}

static void fuzz_elastic_pass(struct client *client, struct fuzz_input *input)
{
    static const uint64_t steps[] = { 1, 101, 201, 31000 };
    (void)client;
    world_pass(steps[fuzz_u8(input) % 4]);
}

static void fuzz_elastic_launch(struct client *client, struct fuzz_input *input)
{
    struct rendezvous_member members[WORKERS];
    int bits = fuzz_u8(input), count = 0;
    struct err err;
    (void)client;
    for (int i = 0; i < WORKERS; i++)
        if (bits >> i & 1)
            members[count++] = (struct rendezvous_member){ i, bits >> 7 && i % 2 ? "b" : "a" };
    if (!service)
        PROMISE(server_intend(&world, members, count, world_ms, &err) == HVD_OK ||
                err.code == HVD_ERR_INVALID);
}

static void fuzz_elastic_forget(struct client *client, struct fuzz_input *input)
{
    int worker = fuzz_u8(input);
    (void)client;
    if (service || worker % 8 > 0)
        return;
    was_removed[worker / 8 % WORKERS] = true;
    server_remove(&world, worker / 8 % WORKERS, world_ms);
}

static void fuzz_elastic_end(struct client *client, struct fuzz_input *input)
{
    int worker = fuzz_u8(input) % WORKERS;
    (void)client;
    if (!service)
        server_rank_ended(&world, worker, EXITED_WITH(1), world_ms);
}

static void fuzz_elastic_ask(struct client *client, struct fuzz_input *input)
{
    (void)client;
    (void)input;
    if (!service)
        PROMISE(server_ask(&world, world_ms, NULL) == HVD_OK);
}

/* A service's job is declared, or ended. */
static void fuzz_elastic_request(struct client *client, struct fuzz_input *input)
{
    static const char *const requests[] = { "PUT", "PUT", "PUT", "DELETE", "GET" };
    char text[512], hex[JOB_KEY_HEX_SIZE];
    const char *request = requests[fuzz_u8(input) % 5];
    const char *body = *request == 'P' ? "{\"min\": 2, \"max\": 4}" : "";
    job_key_format(&world_key, hex);
    int length = snprintf(text, sizeof text,
                          "%s /v1/jobs/" WORLD_JOB " HTTP/1.1\r\nHost: localhost\r\n"
                          "Content-Length: %zu\r\nAuthorization: Bearer %s\r\n\r\n%s",
                          request, strlen(body), hex, body);
    client_dial(client, RENDEZVOUS_ELSEWHERE);
    client_send(client, text, (size_t)length, (size_t)length);
}

static void (*const operations[])(struct client *client, struct fuzz_input *input) = {
    fuzz_elastic_come,    fuzz_elastic_leave,  fuzz_elastic_hang_up, fuzz_elastic_pass,
    fuzz_elastic_launch,  fuzz_elastic_forget, fuzz_elastic_end,     fuzz_elastic_ask,
    fuzz_elastic_request, fuzz_elastic_come,
};

/* ---- what must be so at any time ---- */

static void check_pair(const struct client *one, const struct client *other)
{
    bool same_world = one->connection && other->connection && one->rank >= 0 && other->rank >= 0 &&
                      one->connection->job == other->connection->job && one->epoch == other->epoch;
    PROMISE(!same_world || (one->rank != other->rank && one->worker != other->worker));
}

static void check_client(struct client *client)
{
    bool was_welcome = client->rank >= 0;
    client_listen(client);
    if (was_welcome || client->rank < 0 || client->worker >= WORKERS)
        return;
    PROMISE(service || !was_removed[client->worker]);
    PROMISE(service || client->epoch >= next_epoch[client->worker]);
    next_epoch[client->worker] = client->epoch + 1;
}

static void check(void)
{
    for (int i = 0; i < CLIENTS; i++)
        check_client(&clients[i]);
    for (int i = 0; i < CLIENTS; i++)
        for (int other = 0; other < i; other++)
            check_pair(&clients[i], &clients[other]);
    PROMISE(world.count[SERVER_DEAD] == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    memset(next_epoch, 0, sizeof next_epoch);
    memset(was_removed, 0, sizeof was_removed);
    service = fuzz_u8(&input) & 1;
    if (service)
        world_begin(true);
    else
        world_begin_elastic();
    while (input.left > 0) {
        uint8_t what = fuzz_u8(&input) % (sizeof operations / sizeof *operations);
        struct client *client = &clients[fuzz_u8(&input) % CLIENTS];
        operations[what](client, &input);
        check();
    }
    server_close(&world);
    for (int i = 0; i < CLIENTS; i++)
        client_forget(&clients[i]);
    world_end();
    return 0;
}
