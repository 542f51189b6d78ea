/* SPDX-License-Identifier: Apache-2.0 */
/* What memory allows when each vector lies in its own process: allreduce on one host, in two ways,
 * of which the better counts.
 *
 *     bench/bound_private RANKS NAME SAMPLES SAMPLE_MS allreduce:BYTES...
 *
 * "slots" is for small ones: everybody copies, everybody reads. "fetch" reads from the other
 * processes with process_vm_readv(), where the kernel permits it. "copy" passes pieces through
 * memory that the ranks share: each gives the others their shares, sums its own, gives it back. */
#include "bench/support/peer.h"
#include "bench/support/slots.h"
#include "bench/support/world.h"
#include "lib/reduce/reduce.h"

#include <err.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LARGE_MIN = 2048, BLOCK = 32 << 10, STAGES = 4 }; /* elements; pieces under way */
enum algorithm { SLOTS, FETCH, COPY };

static const char *const algorithms[] = {
    [SLOTS] = "slots", [FETCH] = "fetch", [COPY] = "copy", NULL
};

/* What the ranks know of each other. */
struct outbox {
    _Alignas(128) atomic_uint given; /* pieces of which all shares were given */
    _Alignas(128) atomic_uint summed;
    _Alignas(128) atomic_uint taken;
    pid_t pid;
    float *data; /* in that process */
    _Alignas(4096) float stages[STAGES][SLOTS_RANKS_MAX][BLOCK];
};

static struct world world;
static struct outbox *outboxes;
static reduce_fn *add;
static bool may_fetch;

/* ---- fetch ---- */

static bool fetch(void *to, int rank, const void *from, size_t nbytes)
{
    struct iovec local = { to, nbytes }, remote = { (void *)(size_t)from, nbytes };
    return process_vm_readv(outboxes[rank].pid, &local, 1, &remote, 1, 0) == (ssize_t)nbytes;
}

static void must_fetch(void *to, int rank, const void *from, size_t nbytes)
{
    if (!fetch(to, rank, from, nbytes))
        err(1, "process_vm_readv");
}

static bool try_fetch(void)
{
    pid_t pid = -1;
    struct outbox *mine = &outboxes[world.rank];
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    mine->pid = getpid();
    world_barrier();
    bool works = fetch(&pid, (world.rank + 1) % world.size, &mine->pid, sizeof pid);
    return world_slowest(!works) < 0.5;
}

static size_t share_begin(size_t count, int rank)
{
    return count * (size_t)rank / (size_t)world.size;
}

static void fetch_and_add(float *data, size_t begin, size_t count)
{
    static float incoming[BLOCK];
    for (int i = 1; i < world.size; i++) {
        int rank = (world.rank + i) % world.size;
        must_fetch(incoming, rank, outboxes[rank].data + begin, count * sizeof *data);
        add(data + begin, data + begin, incoming, count);
    }
}

static void allreduce_fetch(float *data, size_t count)
{
    size_t begin = share_begin(count, world.rank), end = share_begin(count, world.rank + 1);
    outboxes[world.rank].data = data;
    slots_meet(&world);
    for (size_t at = begin; at < end; at += BLOCK)
        fetch_and_add(data, at, end - at < BLOCK ? end - at : BLOCK);
    slots_meet(&world);
    for (int i = 1; i < world.size; i++) {
        int rank = (world.rank + i) % world.size;
        size_t other = share_begin(count, rank);
        must_fetch(data + other, rank, outboxes[rank].data + other,
                   (share_begin(count, rank + 1) - other) * sizeof *data);
    }
    slots_meet(&world);
}

/* ---- copy ---- */

/* A piece is a block for each rank; the last one may be short. Pieces are numbered through all
 * calls, so that counters only grow. */
struct piece {
    unsigned number;
    float *data;
    size_t count;
};

static float *block(const struct piece *piece, int rank, size_t *count)
{
    size_t begin = share_begin(piece->count, rank);
    *count = share_begin(piece->count, rank + 1) - begin;
    return piece->data + begin;
}

static void wait_for_all(size_t counter, unsigned value)
{
    for (int i = 0; i < world.size; i++)
        slots_wait(&world, (atomic_uint *)((char *)&outboxes[i] + counter), value);
}

static void give(const struct piece *piece)
{
    struct outbox *mine = &outboxes[world.rank];
    wait_for_all(offsetof(struct outbox, taken), piece->number - STAGES);
    for (int i = 1; i < world.size; i++) {
        size_t count;
        int rank = (world.rank + i) % world.size;
        float *from = block(piece, rank, &count);
        memcpy(mine->stages[piece->number % STAGES][rank], from, count * sizeof *from);
    }
    atomic_store_explicit(&mine->given, piece->number, memory_order_release);
}

static void sum(const struct piece *piece)
{
    size_t count;
    struct outbox *mine = &outboxes[world.rank];
    float *own = block(piece, world.rank, &count);
    for (int i = 1; i < world.size; i++) {
        struct outbox *other = &outboxes[(world.rank + i) % world.size];
        slots_wait(&world, &other->given, piece->number);
        add(own, own, other->stages[piece->number % STAGES][world.rank], count);
    }
    memcpy(mine->stages[piece->number % STAGES][world.rank], own, count * sizeof *own);
    atomic_store_explicit(&mine->summed, piece->number, memory_order_release);
}

static void take(const struct piece *piece)
{
    for (int i = 1; i < world.size; i++) {
        size_t count;
        int rank = (world.rank + i) % world.size;
        float *to = block(piece, rank, &count);
        slots_wait(&world, &outboxes[rank].summed, piece->number);
        memcpy(to, outboxes[rank].stages[piece->number % STAGES][rank], count * sizeof *to);
    }
    atomic_store_explicit(&outboxes[world.rank].taken, piece->number, memory_order_release);
}

static struct piece piece_at(unsigned first, size_t index, float *data, size_t count)
{
    size_t whole = (size_t)BLOCK * (size_t)world.size, begin = index * whole;
    size_t left = count - begin;
    return (struct piece){ first + (unsigned)index, data + begin, left < whole ? left : whole };
}

/* A piece is given while the one before is summed and the one before that is taken. */
static void allreduce_copy(float *data, size_t count)
{
    static unsigned last = STAGES;
    size_t whole = (size_t)BLOCK * (size_t)world.size, pieces = (count + whole - 1) / whole;
    void (*const steps[])(const struct piece *) = { give, sum, take };
    for (size_t i = 0; i < pieces + 2; i++)
        for (size_t step = 0; step < 3; step++) {
            struct piece piece = { 0 };
            if (i < step || i - step >= pieces)
                continue;
            piece = piece_at(last + 1, i - step, data, count);
            steps[step](&piece);
        }
    last += (unsigned)pieces;
}

/* ---- the peer ---- */

static bool can(const struct peer *peer, enum peer_operation operation, size_t count)
{
    if (operation != PEER_ALLREDUCE || (peer->algorithm == FETCH && !may_fetch))
        return false;
    return peer->algorithm == SLOTS ? count <= SLOTS_ELEMENTS : count >= LARGE_MIN;
}

static void run(const struct peer *peer, enum peer_operation operation, const float *input,
                float *output, size_t count)
{
    (void)operation, (void)input;
    if (peer->algorithm == SLOTS)
        slots_allreduce(&world, output, count);
    else if (peer->algorithm == FETCH)
        allreduce_fetch(output, count);
    else
        allreduce_copy(output, count);
}

int main(int argc, char **argv)
{
    int size = world_ranks(&argc, &argv);
    if (size > SLOTS_RANKS_MAX)
        errx(2, "at most %d ranks", SLOTS_RANKS_MAX);
    peer_check_arguments(argc, argv);
    add = reduce_function(HVD_FLOAT32, HVD_SUM);
    slots_init();
    outboxes = world_memory((size_t)size * sizeof *outboxes);
    for (int i = 0; i < size; i++)
        outboxes[i].given = outboxes[i].summed = outboxes[i].taken = STAGES;
    world_fork(&world, size);
    may_fetch = try_fetch();
    struct peer peer = { .name = argv[1],
                         .rank = world.rank,
                         .size = size,
                         .algorithms = algorithms,
                         .can = can,
                         .run = run,
                         .barrier = world_barrier,
                         .slowest = world_slowest };
    peer_measure(&peer, argc - 2, argv + 2);
    return 0;
}
