/* SPDX-License-Identifier: Apache-2.0 */
/* The table of algorithms, and the table that chooses one; see algorithm.h. */
#include "lib/collective/algorithm.h"

enum {
    ALLREDUCE = 1 << OPERATION_ALLREDUCE,
    ALLGATHER = 1 << OPERATION_ALLGATHER,
    BROADCAST = 1 << OPERATION_BROADCAST,
    ALLTOALL = 1 << OPERATION_ALLTOALL,
    REDUCESCATTER = 1 << OPERATION_REDUCESCATTER,
    ADASUM = 1 << OPERATION_ADASUM
};

/* The operations that each algorithm can do. */
static const int kinds[ALGORITHMS] = {
    [ALGORITHM_RING] = ALLREDUCE | ALLGATHER | BROADCAST | REDUCESCATTER,
    [ALGORITHM_DIRECT] = ALLREDUCE | ALLGATHER | REDUCESCATTER,
    [ALGORITHM_RECURSIVE_DOUBLING] = ALLREDUCE,
    [ALGORITHM_HALVING_DOUBLING] = ALLREDUCE,
    [ALGORITHM_TREE] = ALLREDUCE | BROADCAST,
    [ALGORITHM_TWO_LEVEL] = ALLREDUCE,
    [ALGORITHM_PAIRWISE] = ALLTOALL,
    [ALGORITHM_ADASUM] = ADASUM,
    [ALGORITHM_LINEAR] = BROADCAST,
};

const struct algorithm_thresholds algorithm_defaults = {
    .small = 32 << 10,
    .large = 64 << 10,
    .tree = 16 << 10,
    .few = 16,
};

/* Up to so many ranks, whole vectors, which take the fewest messages, pay off for twice the bytes:
 * 64 KiB of 4 ranks on 2 processors take a quarter less over TCP, and the same over shared memory;
 * with 8 ranks shared memory takes half as long again. */
enum { FEW_STEPS = 4 };

struct algorithm_thresholds algorithm_defaults_for(int size)
{
    struct algorithm_thresholds thresholds = algorithm_defaults;
    if (size <= FEW_STEPS)
        thresholds.small *= 2;
    return thresholds;
}

bool algorithm_can(int algorithm, enum operation_kind kind)
{
    return algorithm >= 0 && algorithm < ALGORITHMS && kinds[algorithm] & 1 << kind;
}

bool algorithm_is_near(enum algorithm algorithm)
{
    return algorithm == ALGORITHM_RING;
}

bool algorithm_has_fixed_peers(enum algorithm algorithm)
{
    return algorithm != ALGORITHM_TREE && algorithm != ALGORITHM_LINEAR;
}

/* Where so many ranks share a processor, the work of all of them counts, not how much of it is done
 * at the same time: the tree has the least. With 4 to 16 ranks for each of 2 processors, 64 KiB
 * take 0.6 to 0.9 of the time of the next best algorithm, over TCP and shared memory; beyond 256
 * KiB the tree is slower over shared memory. With 2 ranks for each processor it gains nothing. */
enum { CROWDED_RANKS = 3 };
#define CROWDED_MOST ((size_t)256 << 10)

static bool is_crowded(const struct algorithm_case *what)
{
    return what->processors > 0 && what->slots / CROWDED_RANKS >= what->processors;
}

/* Where ranks outnumber the processors of their host and talk over TCP, an allreduce of large parts
 * goes around the ring. A rank then has two connections under way instead of one to each other
 * rank, and looks half as often at connections that have nothing. 4 ranks on 2 processors take 0.65
 * of the time at 1 MiB and 0.7 at 16 MiB, 8 ranks half of it. An allgather and a reduce-scatter
 * gain nothing that is clear, and 256 KiB lose over unix sockets, and over TCP with reno.
 *
 * A broadcast of any size goes along the tree there. In the chain all ranks of one processor work
 * first, and those of the next one wait; the tree's root sends to another processor first. On 2
 * processors 1 MiB takes 0.7 of the time with 4 ranks, 0.6 with 8 and 16, the same with 3. */
#define OUTNUMBERED_LEAST ((size_t)256 << 10)

static bool is_outnumbered_over_tcp(const struct algorithm_case *what)
{
    return what->tcp && what->processors > 0 && what->slots > what->processors;
}

/* Where ranks share memory, the root of a broadcast copies its data once, and all others read that
 * copy: with 4 to 32 ranks on 2 processors that takes 0.2 to 0.9 of the time of the tree and the
 * ring, the less the more ranks. 3 ranks take the same time, but a third of it with hvd_alloc(). A
 * link copies smaller pieces than SHARED_LEAST for each reader (shm_method.h). With 2 ranks nothing
 * is saved. More ranks were not measured: the root's work for each of them, a few cache lines for
 * each piece, could then cost more than a tree's steps. */
enum { SHARED_READERS_LEAST = 2, SHARED_RANKS_MOST = 32 };
#define SHARED_LEAST ((size_t)64 << 10)

static bool is_read_by_all(const struct algorithm_case *what)
{
    return what->shared && what->size > SHARED_READERS_LEAST && what->size <= SHARED_RANKS_MOST &&
           what->nbytes >= SHARED_LEAST;
}

/* The ranks' distribution over hosts. */
enum { ONE_HOST = 1, APART = 2 /* each on its own */, SHARED = 4 /* several on some */ };

static int placing(const struct algorithm_case *what)
{
    if (what->hosts == 1)
        return ONE_HOST;
    return what->slots > 1 ? SHARED : APART;
}

enum limit {
    SMALL,
    LARGE_EACH,
    TREE_EACH,
    CROWDED,
    OUTNUMBERED,
    ALL_OUTNUMBERED,
    READ_BY_ALL,
    ANY
};

static bool is_within(enum limit limit, const struct algorithm_case *what,
                      const struct algorithm_thresholds *thresholds)
{
    size_t each = what->nbytes / (size_t)what->size;
    switch (limit) {
    case SMALL:
        return what->nbytes <= thresholds->small;
    case LARGE_EACH:
        return each < thresholds->large;
    case CROWDED:
        return is_crowded(what) && what->nbytes <= CROWDED_MOST;
    case OUTNUMBERED:
        return is_outnumbered_over_tcp(what) && what->nbytes > OUTNUMBERED_LEAST &&
               each >= thresholds->large;
    case ALL_OUTNUMBERED:
        return is_outnumbered_over_tcp(what);
    case READ_BY_ALL:
        return is_read_by_all(what);
    case TREE_EACH:
        return each <= thresholds->tree;
    default:
        return true;
    }
}

/* The first row that matches decides; without a match the ring is used. Whole vectors are exchanged
 * in log2 steps if the number of ranks is a power of two, else in two more steps: then few ranks
 * are done sooner when each reduces its share. */
static const struct row {
    int kinds, placing;
    bool few, power;
    enum limit limit;
    enum algorithm algorithm;
} rows[] = {
    { ALLTOALL, ONE_HOST | APART | SHARED, false, false, ANY, ALGORITHM_PAIRWISE },
    { ADASUM, ONE_HOST | APART | SHARED, false, false, ANY, ALGORITHM_ADASUM },
    { ALLREDUCE, ONE_HOST, false, false, CROWDED, ALGORITHM_TREE },
    { ALLREDUCE, ONE_HOST, true, true, SMALL, ALGORITHM_RECURSIVE_DOUBLING },
    { ALLREDUCE, ONE_HOST, false, false, OUTNUMBERED, ALGORITHM_RING },
    { ALLREDUCE | ALLGATHER | REDUCESCATTER, ONE_HOST, true, false, ANY, ALGORITHM_DIRECT },
    { ALLREDUCE, ONE_HOST | APART | SHARED, false, false, SMALL, ALGORITHM_RECURSIVE_DOUBLING },
    { ALLREDUCE, ONE_HOST | APART | SHARED, false, false, LARGE_EACH, ALGORITHM_HALVING_DOUBLING },
    { BROADCAST, ONE_HOST, false, false, READ_BY_ALL, ALGORITHM_LINEAR },
    { BROADCAST, ONE_HOST, false, false, ALL_OUTNUMBERED, ALGORITHM_TREE },
    { BROADCAST, ONE_HOST | APART | SHARED, false, false, TREE_EACH, ALGORITHM_TREE },
};

static bool fits(const struct row *row, const struct algorithm_case *what,
                 const struct algorithm_thresholds *thresholds)
{
    bool power = (what->size & (what->size - 1)) == 0;
    return row->kinds & 1 << what->kind && row->placing & placing(what) &&
           (!row->few || what->slots <= thresholds->few) && (!row->power || power) &&
           is_within(row->limit, what, thresholds);
}

/* Alltoall and Adasum have one algorithm, even where the addresses are not known to all ranks. */
static bool has_choice(enum operation_kind kind)
{
    return algorithm_can(ALGORITHM_RING, kind);
}

enum algorithm algorithm_choose(const struct algorithm_case *what,
                                const struct algorithm_thresholds *thresholds, int forced)
{
    if (has_choice(what->kind) && !(what->anywhere && what->hosts > 0))
        return ALGORITHM_RING;
    if (algorithm_can(forced, what->kind))
        return (enum algorithm)forced;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (fits(&rows[i], what, thresholds))
            return rows[i].algorithm;
    return ALGORITHM_RING;
}
