/* SPDX-License-Identifier: Apache-2.0 */
/* Several clients at one rendezvous, workers and others, and a launcher.
 *
 *   u8: bit 0 a service instead of a launcher's job; then operations, each u8 what, u8 which client, and
 *   what else it takes
 *
 * Whatever they do: every frame that a worker receives has its proof, decodes and fits what came
 * before; no two workers have one rank; HTTP answers are answers; who is connected is counted;
 * everything ends. */
#include "tests/fuzz/answers.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/world.h"
#include "tests/support/rank_ends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLIENTS = 6 };

static struct client clients[CLIENTS];
static bool service;
static bool http[CLIENTS]; /* it has sent nothing but HTTP */

static void on_dial(struct client *client, struct fuzz_input *input)
{
    int from = fuzz_u8(input) % 2;
    client_dial(client, from ? RENDEZVOUS_OWN_UID : RENDEZVOUS_ELSEWHERE);
    http[client - clients] = true;
}

static void on_open(struct client *client, struct fuzz_input *input)
{
    static const char *const jobs[] = { WORLD_JOB, WORLD_JOB, WORLD_JOB, "", "other" };
    const char *job = jobs[fuzz_u8(input) % 5];
    struct job_key key = job_key;
    if (service)
        job_key_derive(&key, &world_key, job);
    client_open(client, job, &key);
    http[client - clients] = false;
}

static void on_hello(struct client *client, struct fuzz_input *input)
{
    struct join_hello hello = { .rank = (int8_t)(fuzz_u8(input) % 5) - 1,
                                .size = 1 + fuzz_u8(input) % 4,
                                .pid = fuzz_u16(input),
                                .addresses = { 1, { "127.0.0.1:4000" } } };
    struct wire_writer payload = { 0 };
    if (hello.pid >> 12 == 15) /* it comes again */
        hello.epoch = (uint32_t)hello.pid >> 10 & 3;
    hello.worker = hello.rank;
    if (hello.size == 2) /* what the launcher has planned, more often */
        hello.size = WORLD_SIZE;
    fuzz_text(input, hello.host, 8);
    join_hello_encode(&payload, &hello);
    client_send_sealed(client, JOIN_HELLO, payload.data, payload.length);
    wire_writer_fini(&payload);
}

static void on_report(struct client *client, struct fuzz_input *input)
{
    struct join_report report = { .text = "" };
    struct wire_writer payload = { 0 };
    fuzz_text(input, report.text, 256);
    int length = (int)strlen(report.text);
    report.stats.uptime_ns = (uint64_t)length;
    report.stats.operations[length % STATS_OPERATIONS].count = (uint64_t)length;
    report.waits.for_whom = (unsigned char)*report.text % WAITS_FOR_KINDS;
    report.waits.count = length % 3;
    report.waits.keys[0] = (uint64_t)length % 7;
    report.waits.age_ms = (uint32_t)length * 1000;
    report.waits.nmembers = length % 2;
    report.waits.members[0].end = 1 + (uint32_t)length;
    join_report_encode(&payload, &report);
    client_send_sealed(client, JOIN_REPORT, payload.data, payload.length);
    wire_writer_fini(&payload);
}

/* From 128 on it is BROKEN. */
static void on_goodbye(struct client *client, struct fuzz_input *input)
{
    uint8_t what = fuzz_u8(input);
    struct rank_end goodbye = rank_end_none();
    goodbye.status = -(what % 12);
    goodbye.because_of = what / 12 % 5 - 1;
    goodbye.how.kind = goodbye.status == HVD_OK              ? RANK_END_NONE
                       : goodbye.status == HVD_ERR_PEER_LEFT ? RANK_END_LEFT
                                                             : RANK_END_FAILED;
    goodbye.rank = goodbye.status == HVD_OK ? RANK_NONE : goodbye.because_of;
    struct wire_writer payload = { 0 };
    fuzz_text(input, goodbye.words, 64);
    rank_end_encode(&payload, &goodbye);
    client_send_sealed(client, what < 128 ? JOIN_GOODBYE : JOIN_BROKEN, payload.data,
                       payload.length);
    wire_writer_fini(&payload);
}

static void on_sealed(struct client *client, struct fuzz_input *input)
{
    size_t length;
    uint16_t type = fuzz_u8(input) % 16;
    uint8_t *payload = fuzz_bytes(input, &length);
    client_send_sealed(client, type, payload, length);
    free(payload);
}

static void on_bytes(struct client *client, struct fuzz_input *input)
{
    size_t length;
    uint8_t *bytes = fuzz_bytes(input, &length);
    client_send(client, bytes, length, 1 + fuzz_u8(input) % 64U);
    http[client - clients] = false;
    free(bytes);
}

static void on_request(struct client *client, struct fuzz_input *input)
{
    static const char *const requests[] = {
        "GET /global/0",
        "PUT /global/0",
        "PUT /global/1",
        "GET /global/1?wait=5",
        "GET /s/k?wait=60",
        "PUT /s/k",
        "DELETE /global/0",
        "POST /s/n",
        "GET /v1/jobs",
        "GET /v1/jobs/" WORLD_JOB,
        "GET /metrics",
        "GET /v1/jobs/" WORLD_JOB "?ask",
        "PUT /v1/jobs/" WORLD_JOB,
        "DELETE /v1/jobs/" WORLD_JOB,
        "GET /rank_and_size/a:1",
        "PUT /v1/jobs/other",
    };
    static const char *const bodies[] = { "{\"size\": 3}", "{\"add\": 1}", "" };
    char text[512], hex[JOB_KEY_HEX_SIZE];
    uint8_t what = fuzz_u8(input), how = fuzz_u8(input);
    const char *body = bodies[how / 4 % 3];
    const char *request = requests[what % (sizeof requests / sizeof *requests)];
    bool is_get = *request == 'G';
    job_key_format(how & 1 ? &world_key : &job_key, hex);
    int length =
        snprintf(text, sizeof text,
                 "%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n"
                 "%s%s%s%s\r\n%s",
                 request, is_get ? 0 : strlen(body), how & 2 ? "" : "Authorization: Bearer ",
                 how & 2 || !service || how & 1 ? "" : WORLD_JOB ":", how & 2 ? "" : hex,
                 how & 2 ? "" : "\r\n", is_get ? "" : body);
    client_send(client, text, (size_t)length, (size_t)length);
}

static void on_hang_up(struct client *client, struct fuzz_input *input)
{
    (void)input;
    client_hang_up(client);
}

static void on_time(struct client *client, struct fuzz_input *input)
{
    static const uint64_t steps[] = { 1, 99, 101, 1000, 2500, 6000, 31000, 61000 };
    (void)client;
    world_pass(steps[fuzz_u8(input) % 8]);
}

static void on_ended(struct client *client, struct fuzz_input *input)
{
    (void)client;
    int rank = fuzz_u8(input) % WORLD_SIZE;
    if (!service)
        server_rank_ended(&world, rank, EXITED_WITH(1), world_ms);
}

static void on_ask(struct client *client, struct fuzz_input *input)
{
    (void)client;
    (void)input;
    if (!service)
        PROMISE(server_ask(&world, world_ms, NULL) == HVD_OK);
}

static void (*const operations[])(struct client *client, struct fuzz_input *input) = {
    on_dial,  on_open,    on_hello,   on_report, on_goodbye, on_sealed,
    on_bytes, on_request, on_hang_up, on_time,   on_ended,   on_ask,
};

/* ---- what must be so at any time ---- */

static void check_counts(void)
{
    int connected = 0;
    for (int i = 0; i < CLIENTS; i++)
        connected += clients[i].connection != NULL;
    PROMISE(world.count[SERVER_DEAD] == 0);
    PROMISE(connected == world.count[SERVER_UNAUTHENTICATED] + world.count[SERVER_CLIENT] +
                             world.count[SERVER_WORKER]);
    PROMISE(world.job_table.count <= (service ? WORLD_MAX_JOBS : 1));
}

static void check_ranks(void)
{
    for (int i = 0; i < CLIENTS; i++)
        for (int other = 0; other < i; other++)
            PROMISE(!clients[i].connection || !clients[other].connection || clients[i].rank < 0 ||
                    clients[i].connection->job != clients[other].connection->job ||
                    clients[i].epoch != clients[other].epoch ||
                    clients[i].rank != clients[other].rank);
}

static void check(struct client *client)
{
    int status;
    for (int i = 0; i < CLIENTS; i++)
        client_listen(&clients[i]);
    if (http[client - clients] && !client->sealed)
        answers_check((const char *)client->received.data, client->received.length, &status);
    check_counts();
    check_ranks();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    service = fuzz_u8(&input) & 1;
    world_begin(service);
    while (input.left > 0) {
        uint8_t what = fuzz_u8(&input) % (sizeof operations / sizeof *operations);
        struct client *client = &clients[fuzz_u8(&input) % CLIENTS];
        operations[what](client, &input);
        check(client);
    }
    server_close(&world);
    for (int i = 0; i < CLIENTS; i++)
        client_forget(&clients[i]);
    world_end();
    return 0;
}
