/* SPDX-License-Identifier: Apache-2.0 */
/* Operations, and pipes between them; see operation_world.h. */
#include "tests/support/operation_world.h"

#include "lib/base/min.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PIPE_MAX = 300000 };

struct pipe {
    unsigned char *data;
    size_t start, length;
};

const int world_sizes[WORLD_SIZES] = { 2, 3, 4, 5, 8 };
const size_t world_counts[WORLD_COUNTS] = { 0, 1, 2, 3, 17, 289, 100003 };
int world_size;
struct operation_store *world_stores[WORLD_RANKS_MAX];
struct operation_task world_tasks[WORLD_RANKS_MAX];
struct operation *world_operations[WORLD_RANKS_MAX];
static struct pipe pipes[WORLD_RANKS_MAX * WORLD_RANKS_MAX]; /* by from, then to */
static size_t pipe_capacity, step_max;
static uint64_t seed, random_state;

static uint32_t next_random(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33);
}

static size_t random_less_than(size_t bound)
{
    return next_random() % bound;
}

void world_set_up(void)
{
    random_state = seed;
    for (int rank = 0; rank < WORLD_RANKS_MAX; rank++)
        world_stores[rank] = operation_store_create();
}

void world_tear_down(void)
{
    for (int rank = 0; rank < WORLD_RANKS_MAX; rank++)
        operation_store_destroy(world_stores[rank]);
    for (int i = 0; i < WORLD_RANKS_MAX * WORLD_RANKS_MAX; i++) {
        free(pipes[i].data);
        pipes[i] = (struct pipe){ 0 };
    }
}

void world_choose_pace(size_t nbytes)
{
    static const struct {
        size_t capacity, step;
    } paces[] = { { 1, 1 }, { 7, 5 }, { 64, 64 }, { 5000, 3000 }, { PIPE_MAX, PIPE_MAX } };
    size_t first = nbytes > 100000 ? 3 : nbytes > 1000 ? 1 : 0;
    size_t pace = first + random_less_than(sizeof paces / sizeof *paces - first);
    pipe_capacity = paces[pace].capacity;
    step_max = paces[pace].step;
}

static bool push(int from, int to)
{
    struct pipe *pipe = &pipes[from * WORLD_RANKS_MAX + to];
    size_t nbytes = 0, room = pipe_capacity - pipe->length;
    const unsigned char *data =
        world_operations[from]->type->output(world_operations[from], to, 0, &nbytes);
    nbytes = size_min(size_min(nbytes, room), 1 + random_less_than(step_max));
    if (nbytes == 0)
        return false;
    if (!pipe->data)
        pipe->data = malloc(PIPE_MAX);
    memmove(pipe->data, pipe->data + pipe->start, pipe->length);
    pipe->start = 0;
    memcpy(pipe->data + pipe->length, data, nbytes);
    pipe->length += nbytes;
    world_operations[from]->type->sent(world_operations[from], to, nbytes);
    return true;
}

/* 1, 0 if nothing can be taken, or a negative status. */
static int pull(int from, int to, struct err *err)
{
    struct pipe *pipe = &pipes[from * WORLD_RANKS_MAX + to];
    size_t room = 0;
    if (pipe->length == 0)
        return 0;
    unsigned char *space = world_operations[to]->type->space(world_operations[to], from, &room);
    size_t nbytes = size_min(size_min(room, pipe->length), 1 + random_less_than(step_max));
    if (nbytes == 0)
        return 0;
    memcpy(space, pipe->data + pipe->start, nbytes);
    pipe->start += nbytes;
    pipe->length -= nbytes;
    int rc = world_operations[to]->type->received(world_operations[to], from, nbytes, err);
    return rc < 0 ? rc : 1;
}

/* One round over all pairs, beginning anywhere; likewise. */
static int move_all(struct err *err)
{
    int pairs = world_size * world_size, start = (int)random_less_than((size_t)pairs), moved = 0;
    for (int i = 0; i < pairs; i++) {
        int from = (start + i) % pairs / world_size, to = (start + i) % pairs % world_size;
        if (from == to)
            continue;
        moved |= push(from, to);
        if (next_random() % 4 == 0)
            continue;
        int rc = pull(from, to, err);
        if (rc < 0)
            return rc;
        moved |= rc;
    }
    return moved;
}

void world_start(void)
{
    struct err err;
    static _Alignas(64) unsigned char staging[WORLD_RANKS_MAX][OPERATION_STAGING];
    for (int rank = 0; rank < world_size; rank++) {
        world_tasks[rank].rank = rank;
        world_tasks[rank].size = world_size;
        world_tasks[rank].staging = staging[rank];
        world_operations[rank] = operation_start(world_stores[rank], &world_tasks[rank], &err);
        ck_assert_msg(world_operations[rank], "%s", err.text);
    }
}

void world_end(void)
{
    for (int rank = 0; rank < world_size; rank++)
        operation_fini(world_stores[rank], world_operations[rank]);
}

/* A round in which luck moved nothing is not the end. */
int world_run(struct err *err)
{
    int rc = HVD_OK;
    world_start();
    for (int idle = 0; rc >= 0 && idle < 64;) {
        rc = move_all(err);
        idle = rc == 0 ? idle + 1 : 0;
    }
    for (int rank = 0; rank < world_size && rc >= 0; rank++)
        ck_assert_msg(world_operations[rank]->type->done(world_operations[rank]),
                      "rank %d of %d is stuck", rank, world_size);
    for (int i = 0; i < WORLD_RANKS_MAX * WORLD_RANKS_MAX && rc >= 0; i++)
        ck_assert_uint_eq(pipes[i].length, 0);
    world_end();
    return rc;
}

void world_check(void)
{
    struct err err;
    ck_assert_msg(world_run(&err) == HVD_OK, "%s", err.text);
}

unsigned char *world_bytes(size_t nbytes)
{
    return malloc(nbytes);
}

unsigned char *world_random_bytes(size_t nbytes)
{
    unsigned char *data = world_bytes(nbytes);
    for (size_t i = 0; i < nbytes; i++)
        data[i] = (unsigned char)next_random();
    return data;
}

void world_check_bytes(const void *data, const void *expected, size_t nbytes, const char *what,
                       int rank)
{
    if (nbytes > 0 && memcmp(data, expected, nbytes) != 0)
        ck_abort_msg("%s: %s of rank %d of %d is wrong", what, "output", rank, world_size);
}

void world_choose_seed(void)
{
    const char *given = getenv("OPERATION_TEST_SEED");
    seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    printf("# OPERATION_TEST_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
}
