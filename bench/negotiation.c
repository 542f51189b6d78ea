/* SPDX-License-Identifier: Apache-2.0 */
/* What agreement costs without links: the two ranks of a set in one process, whose messages are
 * handed over in memory, agree on allreduces of float32 that they have agreed on before.
 *
 *     bench/negotiation ROUNDS [TENSORS[xBYTES]...]
 *
 * A step is that many tensors, submitted on both ranks, agreed on together and taken by both; the
 * data of those of 4096 bytes at most goes along. Printed are microseconds per tensor, both ranks
 * together, median and least of the rounds. Sums are checked after each round. Fails when a
 * call fails or a result is wrong. */
#include "bench/support/sample.h"

#include "lib/negotiation/negotiation.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 2, TENSORS_MAX = 4096, INLINE_MAX = 4096, ROUND_US = 50000 };

static struct negotiation *ranks[RANKS];
static struct wire_writer message; /* up, then down */
static char names[TENSORS_MAX][32];
static struct offer offers[TENSORS_MAX];
static float *data;
static int taken; /* by one rank, in this step */
static bool wrong;

static void must(int rc, const struct err *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "negotiation: %s\n", err->text);
    exit(1);
}

static void create(void)
{
    static const int world[RANKS] = { 0, 1 };
    const struct negotiation_settings settings = { .fusion = { 64 << 20, 64 << 10 },
                                                   .inline_max = INLINE_MAX,
                                                   .cache_capacity = TENSORS_MAX,
                                                   .group_fusion = true };
    struct err err;
    for (int rank = 0; rank < RANKS; rank++)
        if (!(ranks[rank] = negotiation_create(rank, RANKS, world, &settings, &err)))
            must(err.code, &err);
}

static void prepare(int tensors, size_t nbytes)
{
    for (int i = 0; i < tensors; i++) {
        snprintf(names[i], sizeof names[i], "layer%d.weight.gradient", i);
        offers[i] = (struct offer){
            .name = names[i],
            .description = { .kind = COLLECTIVE_ALLREDUCE,
                             .dtype = HVD_FLOAT32,
                             .op = HVD_SUM,
                             .prescale = 1,
                             .postscale = 1,
                             .shape = { 1, { (int64_t)(nbytes / sizeof(float)) } } },
            .data = data,
            .nbytes = nbytes,
            .complete = nbytes <= INLINE_MAX,
        };
    }
}

static void submit(int rank, int tensors)
{
    struct err err;
    for (int i = 0; i < tensors; i++)
        must(negotiation_submit(ranks[rank], &offers[i], 1, &err), &err);
}

static void take(int rank, const struct wire_writer *body)
{
    struct err err;
    struct decision decision;
    int rc = negotiation_apply(ranks[rank], body->data, body->length, &err);
    while (rc >= 0 && (rc = negotiation_next(ranks[rank], &decision, &err)) > 0) {
        taken += decision.count;
        float last = 2;
        if (decision.kind == DECISION_DONE && decision.tensors->nbytes >= sizeof last)
            memcpy(&last, decision.tensors->data + decision.tensors->nbytes - sizeof last,
                   sizeof last);
        wrong |= decision.kind == DECISION_FAILED || last != 2;
    }
    must(rc, &err);
}

static void step(int tensors)
{
    struct err err;
    submit(1, tensors);
    submit(0, tensors);
    for (; negotiation_report(ranks[1], &message); message.length = 0)
        must(negotiation_receive(ranks[0], 0, message.data, message.length, 1, &err), &err);
    taken = 0;
    for (; negotiation_decide(ranks[0], true, &message); message.length = 0)
        for (int rank = 0; rank < RANKS; rank++)
            take(rank, &message);
    wrong |= taken != RANKS * tensors;
}

/* Microseconds per tensor. */
static double time_steps(int steps, int tensors)
{
    double start_us = now_us();
    for (int i = 0; i < steps; i++)
        step(tensors);
    return (now_us() - start_us) / steps / tensors;
}

static void measure(int rounds, int tensors, size_t nbytes)
{
    char operation[32];
    double round_us[ROUNDS_MAX];
    create();
    prepare(tensors, nbytes);
    time_steps(3, tensors);
    int steps = calls_per_round(time_steps(10, tensors) * tensors, ROUND_US);
    for (int round = 0; round < rounds; round++)
        round_us[round] = time_steps(steps, tensors);
    for (int rank = 0; rank < RANKS; rank++)
        negotiation_destroy(ranks[rank]);
    snprintf(operation, sizeof operation, "agree x %d", tensors);
    print_sample("hvdrun", operation, RANKS, (long)nbytes, round_us, rounds);
}

/* "161x8": that many tensors, that many bytes. */
static void measure_row(int rounds, const char *row)
{
    char count[32];
    const char *x = strchr(row, 'x');
    snprintf(count, sizeof count, "%.*s", x ? (int)(x - row) : (int)strlen(row), row);
    long nbytes = x ? number_argument("BYTES", x + 1, 0, 1L << 32) : 8;
    measure(rounds, (int)number_argument("TENSORS", count, 1, TENSORS_MAX), (size_t)nbytes);
}

int main(int argc, char **argv)
{
    static const char *const usual[] = { "1x8", "1x4096", "16x8", "161x8", "161x65536" };
    int rounds = argc > 1 ? (int)number_argument("ROUNDS", argv[1], 1, ROUNDS_MAX) : 5;
    data = malloc(INLINE_MAX);
    if (!data)
        return fprintf(stderr, "negotiation: no memory\n"), 1;
    for (size_t i = 0; i < INLINE_MAX / sizeof *data; i++)
        data[i] = 1;
    print_header();
    for (int i = 2; i < argc; i++)
        measure_row(rounds, argv[i]);
    for (size_t i = 0; argc <= 2 && i < sizeof usual / sizeof *usual; i++)
        measure_row(rounds, usual[i]);
    wire_writer_fini(&message);
    free(data);
    return wrong ? fprintf(stderr, "negotiation: a wrong result\n"), 1 : 0;
}
