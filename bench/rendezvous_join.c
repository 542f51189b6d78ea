/* SPDX-License-Identifier: Apache-2.0 */
/* How long it takes until a world of N workers has met: from the first dial to the last WELCOME.
 * The workers are simulated (each dials, proves the key, says HELLO, checks the proof of its
 * WELCOME, says GOODBYE; who is sent away dials again, as libhvd does) and sit on hosts of 16. The
 * growth exponent is that of the line through the larger half of the sizes, both axes logarithmic:
 * 1 is proportional to N. */
#include "bench/rendezvous.h"
#include "bench/support/crowd.h"
#include "bench/support/sample.h"
#include "lib/base/frame.h"
#include "lib/base/join_protocol.h"
#include "lib/join/join_retry.h"

#include <err.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DIALS_PER_TURN = 64, RANKS_PER_HOST = 16, SOURCES = 100, REDIAL_TURN_MS = 5 };

struct worker {
    unsigned char nonce[NONCE_SIZE];
    struct seal seal;
    bool challenged, welcomed;
    struct join_retry retry;
    double dial_us; /* when it dials again; 0: does not */
};

struct world {
    char job[JOB_ID_SIZE];
    struct job_key key;
    struct worker *workers;
    int welcomed, left, redials;
    int away; /* that will dial again */
    int source;
    double last_us;
};

static void put_open(struct crowd *crowd, int index)
{
    struct world *world = crowd->context;
    struct join_open open = { .version = JOIN_VERSION };
    struct wire_writer body = { 0 }, frame = { 0 };
    nonce_generate(world->workers[index].nonce);
    memcpy(open.nonce, world->workers[index].nonce, NONCE_SIZE);
    key_owner_format(open.owner, world->job, -1);
    join_open_encode(&body, &open);
    frame_put(&frame, JOIN_OPEN, body.data, body.length);
    crowd_put(crowd, index, frame.data, frame.length);
    wire_writer_fini(&body);
    wire_writer_fini(&frame);
}

static void put_sealed(struct crowd *crowd, int index, uint16_t type, struct wire_writer *payload)
{
    struct world *world = crowd->context;
    struct wire_writer frame = { 0 };
    seal_put(&world->workers[index].seal, &frame, type, payload->data, payload->length);
    crowd_put(crowd, index, frame.data, frame.length);
    wire_writer_fini(payload);
    wire_writer_fini(&frame);
}

static void put_hello(struct crowd *crowd, int index)
{
    static struct join_hello hello;
    struct wire_writer payload = { 0 };
    hello = (struct join_hello){ .rank = -1, .size = crowd->size, .pid = index + 1 };
    snprintf(hello.host, sizeof hello.host, "node%d", index / RANKS_PER_HOST);
    hello.addresses.count = 1;
    snprintf(hello.addresses.text[0], JOIN_ADDRESS_MAX, "10.%d.%d.%d:4000", index >> 16,
             index >> 8 & 255, index & 255);
    join_hello_encode(&payload, &hello);
    put_sealed(crowd, index, JOIN_HELLO, &payload);
}

static void on_challenge(struct crowd *crowd, int index, const struct frame *frame)
{
    struct world *world = crowd->context;
    struct worker *worker = &world->workers[index];
    struct join_challenge challenge;
    struct wire_reader body;
    struct err err = { 0 };
    wire_reader_init(&body, frame->body, frame->length);
    if (frame->type != JOIN_CHALLENGE || join_challenge_decode(&challenge, &body, &err) < 0)
        errx(1, "worker %d: no CHALLENGE: %s", index, err.text);
    seal_init(&worker->seal, SEAL_CLIENT, &world->key, worker->nonce, challenge.nonce);
    worker->challenged = true;
    put_hello(crowd, index);
}

static void on_welcome(struct crowd *crowd, int index, const struct frame *frame)
{
    static struct join_welcome welcome;
    struct world *world = crowd->context;
    struct worker *worker = &world->workers[index];
    struct wire_reader payload;
    struct err err = { 0 };
    int rc = seal_check(&worker->seal, frame, &payload, &err);
    if (rc == HVD_OK && frame->type == JOIN_WAITING)
        return;
    if (rc < 0 || frame->type != JOIN_WELCOME || join_welcome_decode(&welcome, &payload, &err) < 0)
        errx(1, "worker %d: a frame of type %u, no WELCOME: %s", index, frame->type, err.text);
    worker->welcomed = true;
    world->welcomed++;
    world->last_us = now_us();
}

static void on_bytes(struct crowd *crowd, int index)
{
    struct world *world = crowd->context;
    struct wire_writer *in = &crowd->members[index].in;
    while (in->length >= FRAME_HEADER_SIZE) {
        struct wire_reader header;
        wire_reader_init(&header, in->data + 4, FRAME_HEADER_SIZE - 4);
        struct frame frame = { .type = wire_get_u16(&header) };
        wire_get_u16(&header);
        frame.length = wire_get_u32(&header);
        frame.body = in->data + FRAME_HEADER_SIZE;
        if (in->length - FRAME_HEADER_SIZE < frame.length)
            return;
        if (!world->workers[index].challenged)
            on_challenge(crowd, index, &frame);
        else if (!world->workers[index].welcomed)
            on_welcome(crowd, index, &frame);
        crowd_take(crowd, index, FRAME_HEADER_SIZE + frame.length);
    }
}

static void send_away(struct crowd *crowd, int index)
{
    struct world *world = crowd->context;
    struct worker *worker = &world->workers[index];
    enum join_stage stage = worker->challenged ? JOIN_SAID_HELLO : JOIN_CONNECTED;
    uint64_t pause_ms;
    if (!join_retry_next(&worker->retry, stage, HVD_ERR_PEER_LOST, 0, randombytes_random(),
                         &pause_ms))
        errx(1, "worker %d of %d was sent away, when %d had been welcomed", index, crowd->size,
             world->welcomed);
    worker->challenged = false;
    worker->dial_us = now_us() + (double)pause_ms * 1e3;
    world->away++;
    world->redials++;
}

static void on_end(struct crowd *crowd, int index)
{
    struct world *world = crowd->context;
    if (world->workers[index].welcomed)
        world->left++;
    else
        send_away(crowd, index);
}

static void dial(struct crowd *crowd, int index)
{
    const struct world *world = crowd->context;
    put_open(crowd, index);
    crowd_dial(crowd, index, world->source);
}

static void dial_again(struct crowd *crowd)
{
    struct world *world = crowd->context;
    double now = world->away > 0 ? now_us() : 0;
    for (int i = 0; i < crowd->size && world->away > 0; i++) {
        if (world->workers[i].dial_us == 0 || world->workers[i].dial_us > now)
            continue;
        world->workers[i].dial_us = 0;
        world->away--;
        dial(crowd, i);
    }
}

static void turn(struct crowd *crowd)
{
    const struct world *world = crowd->context;
    dial_again(crowd);
    if (!crowd_turn(crowd, world->away > 0 ? REDIAL_TURN_MS : BENCH_PATIENCE_MS) &&
        world->away == 0)
        errx(1, "nothing has happened for %d ms, when %d of %d had been welcomed",
             BENCH_PATIENCE_MS, world->welcomed, crowd->size);
}

static void say_goodbye(struct crowd *crowd)
{
    struct world *world = crowd->context;
    for (int i = 0; i < crowd->size; i++) {
        struct wire_writer payload = { 0 };
        struct rank_end goodbye = rank_end_none();
        rank_end_encode(&payload, &goodbye);
        put_sealed(crowd, i, JOIN_GOODBYE, &payload);
    }
    while (world->left < crowd->size)
        turn(crowd);
}

static void world_init(struct world *world, int size)
{
    static int round;
    struct job_key service;
    *world = (struct world){ .workers = calloc((size_t)size, sizeof *world->workers),
                             .source = 1 + ++round % SOURCES };
    if (!world->workers)
        errx(1, "out of memory");
    snprintf(world->job, sizeof world->job, "bench-%d-%d-%d", (int)getpid(), size, round);
    bench_service_key(&service);
    job_key_derive(&world->key, &service, world->job);
    for (int i = 0; i < size; i++)
        join_retry_init(&world->workers[i].retry, BENCH_PATIENCE_MS, false);
}

static void declare(const char *address, const struct world *world, int size)
{
    char request[128], body[64];
    snprintf(request, sizeof request, "PUT /v1/jobs/%s", world->job);
    snprintf(body, sizeof body, "{\"size\":%d}", size);
    bench_ask_service(address, request, body);
}

/* In microseconds. */
static double meet(const char *address, int size, bool declared, int *redials)
{
    struct crowd crowd;
    struct world world;
    world_init(&world, size);
    if (declared)
        declare(address, &world, size);
    crowd_init(&crowd, address, size);
    crowd.on_bytes = on_bytes;
    crowd.on_end = on_end;
    crowd.context = &world;
    double begin_us = now_us();
    for (int i = 0; i < size; i++) {
        dial(&crowd, i);
        if (i % DIALS_PER_TURN == DIALS_PER_TURN - 1)
            crowd_turn(&crowd, 0);
    }
    while (world.welcomed < size)
        turn(&crowd);
    say_goodbye(&crowd);
    crowd_fini(&crowd);
    free(world.workers);
    *redials += world.redials;
    return world.last_us - begin_us;
}

/* The slope of the line through the points, both coordinates as logarithms. */
static double slope(const int *sizes, const double *times_us, int count)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < count; i++) {
        double x = log(sizes[i]), y = log(times_us[i]);
        sx += x, sy += y, sxx += x * x, sxy += x * y;
    }
    return (count * sxy - sx * sy) / (count * sxx - sx * sx);
}

void bench_join(const char *address, bool declared, int rounds, const int *sizes, int nsizes)
{
    double *medians_us = calloc((size_t)nsizes, sizeof *medians_us);
    if (!medians_us)
        errx(1, "out of memory");
    printf("workers\tmedian_ms\tleast_ms\tus_per_worker\tredials\n");
    for (int i = 0; i < nsizes; i++) {
        double round_us[ROUNDS_MAX];
        int redials = 0;
        for (int round = 0; round < rounds; round++)
            round_us[round] = meet(address, sizes[i], declared, &redials);
        double least_us = size_min(round_us, rounds);
        medians_us[i] = median(round_us, rounds);
        printf("%d\t%.2f\t%.2f\t%.1f\t%d\n", sizes[i], medians_us[i] / 1e3, least_us / 1e3,
               medians_us[i] / sizes[i], redials);
        fflush(stdout);
    }
    int larger = nsizes / 2;
    if (nsizes - larger >= 2)
        printf("# grows with the power %.2f of N from %d to %d\n",
               slope(sizes + larger, medians_us + larger, nsizes - larger), sizes[larger],
               sizes[nsizes - 1]);
    free(medians_us);
}
