/* SPDX-License-Identifier: Apache-2.0 */
/* The steady state: every order of events in small worlds, and frames that cannot be. */
#include "lib/negotiation/steady.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

/* ---- every order of events ---- */

enum { RANKS = 3, OPERATIONS = 3, QUEUE = OPERATIONS + 2, EPOCHS = 2 };

/* A frame: its epoch, a number of operations, and whether it is a leave. */
struct sent {
    unsigned char epoch, number, leaves;
};

/* Ranks and what is under way between each two of them. Compared byte by byte. */
struct world {
    struct steady ranks[RANKS];
    unsigned char begun[RANKS];               /* how often */
    unsigned char gone[RANKS];                /* has ended */
    unsigned char fallen_back[EPOCHS][RANKS]; /* 1 + operations done when the epoch was over */
    unsigned char under_way[RANKS][RANKS];    /* frames, from, to */
    struct sent frames[RANKS][RANKS][QUEUE];
};

/* What a search is about. */
struct search {
    int size, operations, epochs;
    bool may_end;   /* ranks may end in no steady state */
    uint64_t *seen; /* hashes of worlds; 0: free */
    size_t count, capacity;
    size_t ends; /* worlds in which nothing is left to happen */
};

static uint64_t hash_world(const struct world *world)
{
    const unsigned char *at = (const unsigned char *)world;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < sizeof *world; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    hash ^= hash >> 29;
    return hash ? hash : 1;
}

static void put_hash(uint64_t *seen, size_t capacity, uint64_t hash)
{
    size_t at = hash % capacity;
    while (seen[at] != 0)
        at = (at + 1) % capacity;
    seen[at] = hash;
}

static void grow_seen(struct search *search)
{
    size_t capacity = search->capacity ? 2 * search->capacity : 1 << 16;
    uint64_t *seen = calloc(capacity, sizeof *seen);
    ck_assert_ptr_nonnull(seen);
    for (size_t i = 0; i < search->capacity; i++)
        if (search->seen[i] != 0)
            put_hash(seen, capacity, search->seen[i]);
    free(search->seen);
    search->seen = seen;
    search->capacity = capacity;
}

/* False if the world was seen before. */
static bool is_new(struct search *search, const struct world *world)
{
    uint64_t hash = hash_world(world);
    if (2 * search->count >= search->capacity)
        grow_seen(search);
    for (size_t at = hash % search->capacity; search->seen[at]; at = (at + 1) % search->capacity)
        if (search->seen[at] == hash)
            return false;
    put_hash(search->seen, search->capacity, hash);
    search->count++;
    return true;
}

static void send_all(const struct search *search, struct world *world, int from, struct sent frame)
{
    for (int to = 0; to < search->size; to++)
        if (to != from)
            world->frames[from][to][world->under_way[from][to]++] = frame;
}

static void leave(const struct search *search, struct world *world, int rank)
{
    struct steady *steady = &world->ranks[rank];
    steady_leave(steady);
    send_all(search, world, rank,
             (struct sent){ world->begun[rank], (unsigned char)steady->committed, 1 });
}

/* What a rank does after each event, as the engine does. */
static void advance(struct world *world, int rank)
{
    struct steady *steady = &world->ranks[rank];
    while (steady_next(steady))
        ck_assert_uint_le(steady->done, steady->committed);
    if (steady_finish(steady))
        world->fallen_back[world->begun[rank] - 1][rank] = (unsigned char)(1 + steady->done);
}

static void deliver(const struct search *search, struct world *world, int from, int to)
{
    struct err err;
    struct sent *queue = world->frames[from][to], frame = queue[0];
    uint32_t epoch = frame.epoch;
    unsigned char left = --world->under_way[from][to];
    memmove(queue, queue + 1, left * sizeof *queue);
    queue[left] = (struct sent){ 0 };
    if (world->gone[to])
        return;
    if (!frame.leaves) {
        ck_assert_int_eq(steady_receive(&world->ranks[to], from, epoch, frame.number, &err),
                         HVD_OK);
    } else {
        int rc = steady_receive_leave(&world->ranks[to], from, epoch, frame.number, &err);
        ck_assert_int_ge(rc, 0);
        if (rc > 0)
            leave(search, world, to);
    }
    advance(world, to);
}

/* The root decides only when all ranks have fallen back from the epoch before. */
static bool may_begin(const struct search *search, const struct world *world, int rank)
{
    int epoch = world->begun[rank];
    if (epoch == search->epochs)
        return false;
    for (int other = 0; epoch > 0 && other < search->size; other++)
        if (!world->fallen_back[epoch - 1][other])
            return false;
    return true;
}

static void begin(const struct search *search, struct world *world, int rank)
{
    world->begun[rank]++;
    if (steady_begin(&world->ranks[rank]))
        leave(search, world, rank);
    advance(world, rank);
}

static void commit(const struct search *search, struct world *world, int rank)
{
    uint32_t number = steady_commit(&world->ranks[rank]);
    send_all(search, world, rank, (struct sent){ world->begun[rank], (unsigned char)number, 0 });
    advance(world, rank);
}

/* A rank ends in no steady state; the root may have decided on one. */
static void end(const struct search *search, struct world *world, int rank)
{
    uint32_t epoch = steady_decline(&world->ranks[rank]);
    world->gone[rank] = 1;
    send_all(search, world, rank, (struct sent){ (unsigned char)epoch, 0, 1 });
}

/* All ranks that have fallen back agree on how many operations are done, and no other rank has done
 * more. */
static void check_agreement(const struct search *search, const struct world *world)
{
    for (int epoch = 0; epoch < search->epochs; epoch++) {
        int done = 0;
        for (int rank = 0; rank < search->size; rank++)
            if (world->fallen_back[epoch][rank])
                done = world->fallen_back[epoch][rank];
        for (int rank = 0; done && rank < search->size; rank++) {
            int own = world->fallen_back[epoch][rank];
            ck_assert(own == 0 || own == done);
            if (own == 0 && world->begun[rank] == epoch + 1)
                ck_assert_uint_le(world->ranks[rank].done, (unsigned)done - 1);
        }
    }
}

/* Nothing is under way: ranks that have committed to the same are done with it; and if one rank has
 * left, all have fallen back. */
static void check_quiet(const struct search *search, const struct world *world)
{
    uint32_t least = UINT32_MAX;
    int left = 0, begun = 0;
    for (int rank = 0; rank < search->size; rank++)
        if (world->gone[rank])
            return;
    for (int rank = 0; rank < search->size; rank++) {
        const struct steady *steady = &world->ranks[rank];
        least = steady->committed < least ? steady->committed : least;
        left += steady->phase == STEADY_LEAVING;
        begun += world->begun[rank];
    }
    ck_assert(left == 0 || begun % search->size != 0);
    for (int rank = 0; rank < search->size; rank++)
        if (world->ranks[rank].phase == STEADY_ON && begun % search->size == 0)
            ck_assert_uint_eq(world->ranks[rank].done, least);
}

static bool is_quiet(const struct search *search, const struct world *world)
{
    for (int from = 0; from < search->size; from++)
        for (int to = 0; to < search->size; to++)
            if (world->under_way[from][to])
                return false;
    return true;
}

static void explore(struct search *search, const struct world *world);

/* All that a rank's program, or the root, can do next. */
static int explore_own(struct search *search, const struct world *world, int rank)
{
    struct world next = *world;
    const struct steady *steady = &world->ranks[rank];
    int choices = 0;
    if (world->gone[rank])
        return 0;
    if (search->may_end && steady->phase == STEADY_OFF) {
        end(search, &next, rank);
        explore(search, &next);
        next = *world;
    }
    if (may_begin(search, world, rank) && steady->phase == STEADY_OFF) {
        begin(search, &next, rank);
        explore(search, &next);
        choices++;
    }
    if (steady_may_commit(steady) && steady->committed < (uint32_t)search->operations) {
        next = *world;
        commit(search, &next, rank);
        explore(search, &next);
        choices++;
    }
    if (steady->phase == STEADY_ON) {
        next = *world;
        leave(search, &next, rank);
        advance(&next, rank);
        explore(search, &next);
        choices++;
    }
    return choices;
}

static void explore(struct search *search, const struct world *world)
{
    int choices = 0;
    if (!is_new(search, world))
        return;
    check_agreement(search, world);
    if (is_quiet(search, world))
        check_quiet(search, world);
    for (int rank = 0; rank < search->size; rank++)
        choices += explore_own(search, world, rank);
    for (int from = 0; from < search->size; from++)
        for (int to = 0; to < search->size; to++)
            if (world->under_way[from][to]) {
                struct world next = *world;
                deliver(search, &next, from, to);
                explore(search, &next);
                choices++;
            }
    if (choices > 0)
        return;
    search->ends++;
    for (int rank = 0; rank < search->size; rank++) {
        const struct steady *steady = &world->ranks[rank];
        ck_assert(world->gone[rank] || steady->phase == STEADY_OFF);
        ck_assert(search->may_end || world->fallen_back[search->epochs - 1][rank]);
    }
}

static void explore_all(int size, int operations, int epochs, bool may_end)
{
    struct search search = {
        .size = size, .operations = operations, .epochs = epochs, .may_end = may_end
    };
    struct world world;
    memset(&world, 0, sizeof world);
    for (int rank = 0; rank < size; rank++) {
        world.ranks[rank].rank = rank;
        world.ranks[rank].size = size;
    }
    explore(&search, &world);
    ck_assert_uint_gt(search.ends, 0);
    free(search.seen);
}

START_TEST(two_ranks_agree_on_what_was_done_in_every_order_of_events)
{
    explore_all(2, 3, 2, false);
}
END_TEST

START_TEST(three_ranks_agree_on_what_was_done_in_every_order_of_events)
{
    explore_all(3, 2, 1, false);
}
END_TEST

START_TEST(ranks_that_end_before_they_begin_hold_up_nobody_in_any_order_of_events)
{
    explore_all(2, 2, 2, true);
    explore_all(3, 1, 1, true);
}
END_TEST

/* ---- frames that cannot be ---- */

static struct steady steady;
static struct err err;

static void set_up(void)
{
    steady_init(&steady, 0, 2);
}

START_TEST(a_rank_without_a_steady_state_keeps_frames_of_the_next_one)
{
    ck_assert_int_eq(steady_receive(&steady, 1, 1, 0, &err), HVD_OK);
    ck_assert(!steady_next(&steady));
    ck_assert(!steady_begin(&steady));
    steady_commit(&steady);
    ck_assert(steady_next(&steady));
}
END_TEST

START_TEST(a_leave_that_comes_first_makes_the_rank_leave_as_soon_as_it_begins)
{
    ck_assert_int_eq(steady_receive_leave(&steady, 1, 1, 0, &err), 0);
    ck_assert(steady_begin(&steady));
    steady_leave(&steady);
    ck_assert(steady_finish(&steady));
    ck_assert_int_eq(steady.phase, STEADY_OFF);
}
END_TEST

START_TEST(a_rank_that_has_left_and_ends_declines_the_next_epoch_once)
{
    steady_begin(&steady);
    ck_assert_int_eq(steady_receive_leave(&steady, 1, 1, 0, &err), 1);
    steady_leave(&steady);
    ck_assert_int_eq(steady_receive_leave(&steady, 1, 2, 1, &err), HVD_ERR_PROTOCOL);
    ck_assert_int_eq(steady_receive_leave(&steady, 1, 3, 0, &err), HVD_ERR_PROTOCOL);
    ck_assert_int_eq(steady_receive_leave(&steady, 1, 2, 0, &err), 0);
    ck_assert_int_eq(steady_receive_leave(&steady, 1, 2, 0, &err), HVD_ERR_PROTOCOL);
    ck_assert(steady_finish(&steady));
    ck_assert_int_eq(steady_receive(&steady, 1, 2, 0, &err), HVD_ERR_PROTOCOL);
    ck_assert(steady_begin(&steady));
    steady_leave(&steady);
    ck_assert(steady_finish(&steady));
    ck_assert(!steady_begin(&steady));
}
END_TEST

START_TEST(a_frame_of_another_epoch_is_refused)
{
    ck_assert_int_eq(steady_receive(&steady, 1, 2, 0, &err), HVD_ERR_PROTOCOL);
    steady_begin(&steady);
    ck_assert_int_eq(steady_receive(&steady, 1, 2, 0, &err), HVD_ERR_PROTOCOL);
    ck_assert_int_eq(steady_receive(&steady, 1, 0, 0, &err), HVD_ERR_PROTOCOL);
    ck_assert_int_eq(steady_receive_leave(&steady, 1, 0, 0, &err), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(an_operation_out_of_order_is_refused)
{
    steady_begin(&steady);
    ck_assert_int_eq(steady_receive(&steady, 1, 1, 1, &err), HVD_ERR_PROTOCOL);
    ck_assert_int_eq(steady_receive(&steady, 1, 1, 0, &err), HVD_OK);
    ck_assert_int_eq(steady_receive(&steady, 1, 1, 0, &err), HVD_ERR_PROTOCOL);
    ck_assert_int_eq(steady_receive_leave(&steady, 1, 1, 0, &err), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(nothing_is_accepted_behind_a_leave)
{
    steady_begin(&steady);
    ck_assert_int_eq(steady_receive_leave(&steady, 1, 1, 0, &err), 1);
    ck_assert_int_eq(steady_receive(&steady, 1, 1, 0, &err), HVD_ERR_PROTOCOL);
    ck_assert_int_eq(steady_receive_leave(&steady, 1, 1, 0, &err), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(a_rank_that_runs_farther_ahead_than_it_may_is_refused)
{
    steady_begin(&steady);
    for (uint32_t number = 0; number < STEADY_KEPT; number++)
        ck_assert_int_eq(steady_receive(&steady, 1, 1, number, &err), HVD_OK);
    ck_assert_int_eq(steady_receive(&steady, 1, 1, STEADY_KEPT, &err), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(a_rank_commits_to_a_few_operations_ahead_and_not_more)
{
    ck_assert(!steady_may_commit(&steady));
    steady_begin(&steady);
    for (int i = 0; i < STEADY_AHEAD; i++) {
        ck_assert(steady_may_commit(&steady));
        steady_commit(&steady);
    }
    ck_assert(!steady_may_commit(&steady));
    steady_receive(&steady, 1, 1, 0, &err);
    ck_assert(steady_next(&steady));
    ck_assert(steady_may_commit(&steady));
}
END_TEST

START_TEST(a_rank_that_has_used_all_numbers_commits_to_nothing_more)
{
    steady_begin(&steady);
    steady.committed = steady.done = STEADY_MOST - 1;
    ck_assert(!steady_is_exhausted(&steady));
    steady_commit(&steady);
    ck_assert(!steady_may_commit(&steady));
    ck_assert(steady_is_exhausted(&steady));
    steady_leave(&steady);
    ck_assert(!steady_is_exhausted(&steady));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("steady");
    TCase *tcase = tcase_create("steady");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, two_ranks_agree_on_what_was_done_in_every_order_of_events);
    tcase_add_test(tcase, three_ranks_agree_on_what_was_done_in_every_order_of_events);
    tcase_add_test(tcase, ranks_that_end_before_they_begin_hold_up_nobody_in_any_order_of_events);
    tcase_add_test(tcase, a_rank_that_has_left_and_ends_declines_the_next_epoch_once);
    tcase_add_test(tcase, a_rank_without_a_steady_state_keeps_frames_of_the_next_one);
    tcase_add_test(tcase, a_leave_that_comes_first_makes_the_rank_leave_as_soon_as_it_begins);
    tcase_add_test(tcase, a_frame_of_another_epoch_is_refused);
    tcase_add_test(tcase, an_operation_out_of_order_is_refused);
    tcase_add_test(tcase, nothing_is_accepted_behind_a_leave);
    tcase_add_test(tcase, a_rank_that_runs_farther_ahead_than_it_may_is_refused);
    tcase_add_test(tcase, a_rank_commits_to_a_few_operations_ahead_and_not_more);
    tcase_add_test(tcase, a_rank_that_has_used_all_numbers_commits_to_nothing_more);
    return unit_run(suite);
}
