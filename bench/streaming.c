/* SPDX-License-Identifier: Apache-2.0 */
/* Stores around the caches beside ordinary ones, when two cores exchange data: two threads, each on
 * a core of its own, do what two ranks of a host do. TSV: how far the cores are from each other (a
 * flag's way there, nanoseconds), what is done, bytes per rank, median microseconds with ordinary
 * and with streaming stores, and their ratio. A machine may move its cores while one watches: only
 * lines with the same distance compare.
 *
 *   streaming [ROUNDS] */
#include "bench/support/sample.h"
#include "lib/memory/copy.h"
#include "lib/reduce/reduce.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 16 << 20, RING = 1 << 20, PIECE = 256 << 10, TURNS = 2000, BLOCK = 4096 };

static struct side {
    atomic_uint arrived __attribute__((aligned(64)));
    unsigned char *input, *output, *ring;
    double took_us;
} sides[2];

static size_t nbytes; /* of each rank's tensor */
static bool streams;
static reduce_fn *sum;

/* Both have come so far. */
static void meet(int me)
{
    unsigned int turn = atomic_fetch_add_explicit(&sides[me].arrived, 1, memory_order_release) + 1;
    while ((int)(atomic_load_explicit(&sides[!me].arrived, memory_order_acquire) - turn) < 0)
        ;
}

static void copy(void *to, const void *from, size_t size)
{
    if (streams)
        copy_streaming(to, from, size);
    else
        memcpy(to, from, size);
}

/* Made block by block in the first-level cache, and copied from there. */
static void add_streaming(unsigned char *out, const unsigned char *left, const unsigned char *right,
                          size_t size)
{
    unsigned char block[BLOCK] __attribute__((aligned(64)));
    for (size_t done = 0; done < size; done += BLOCK) {
        sum(block, left + done, right + done, BLOCK / sizeof(float));
        copy_streaming(out + done, block, BLOCK);
    }
}

static void add(void *out, const void *left, const void *right, size_t size)
{
    if (streams)
        add_streaming(out, left, right, size);
    else
        sum(out, left, right, size / sizeof(float));
}

static void flag(int me)
{
    for (int i = 0; i < TURNS; i++)
        meet(me);
}

/* Where tensors lie in memory that both see: each adds its half, then copies the other's. */
static void direct(int me)
{
    size_t half = nbytes / 2, mine = (size_t)me * half, other = half - mine;
    unsigned char *own = sides[me].input, *theirs = sides[!me].input;
    meet(me);
    add(own + mine, own + mine, theirs + mine, half);
    meet(me);
    copy(own + other, theirs + other, half);
    meet(me);
}

/* Where they do not: by way of a ring. */
static void staged(int me)
{
    meet(me);
    for (size_t at = 0; at < nbytes; at += PIECE) {
        copy(sides[me].ring + at % RING, sides[me].input + at, PIECE);
        meet(me);
        sum(sides[me].output + at, sides[me].input + at, sides[!me].ring + at % RING,
            PIECE / sizeof(float));
        meet(me);
    }
}

typedef void work_fn(int me);
static work_fn *work;

static void *run_side(void *arg)
{
    struct side *side = arg;
    int me = (int)(side - sides);
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET((size_t)me, &core);
    sched_setaffinity(0, sizeof core, &core);
    work(me);
    double start_us = now_us();
    work(me);
    side->took_us = now_us() - start_us;
    return NULL;
}

static double run(work_fn *what, bool streaming)
{
    pthread_t other;
    work = what;
    streams = streaming;
    if (pthread_create(&other, NULL, run_side, &sides[1]) != 0)
        exit(1);
    run_side(&sides[0]);
    pthread_join(other, NULL);
    return sides[0].took_us;
}

static void compare_stores(const char *name, work_fn *what, int rounds)
{
    static double ways[ROUNDS_MAX], plain[ROUNDS_MAX], streaming[ROUNDS_MAX];
    for (int i = 0; i < rounds; i++) {
        ways[i] = run(flag, false) / TURNS * 1000;
        plain[i] = run(what, false);
        streaming[i] = run(what, true);
    }
    double plain_us = median(plain, rounds), streaming_us = median(streaming, rounds);
    printf("%.0f\t%s\t%zu\t%.1f\t%.1f\t%.2f\n", median(ways, rounds), name, nbytes, plain_us,
           streaming_us, streaming_us / plain_us);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? (int)number_argument("ROUNDS", argv[1], 1, ROUNDS_MAX) : 15;
    sum = reduce_function(HVD_FLOAT32, HVD_SUM);
    for (int i = 0; i < 2; i++) {
        unsigned char *memory = aligned_alloc(4096, 2 * (size_t)LARGEST + RING);
        if (!memory)
            return fprintf(stderr, "streaming: no memory\n"), 1;
        memset(memory, 0, 2 * (size_t)LARGEST + RING);
        sides[i].input = memory;
        sides[i].output = memory + LARGEST;
        sides[i].ring = memory + 2 * (size_t)LARGEST;
    }
    printf("one_way_ns\twhat\tbytes\tplain_us\tstreaming_us\tratio\n");
    for (nbytes = 256 << 10; nbytes <= LARGEST; nbytes *= 4) {
        compare_stores("direct", direct, rounds);
        compare_stores("staged", staged, rounds);
    }
    for (int i = 0; i < 2; i++)
        free(sides[i].input);
    return 0;
}
