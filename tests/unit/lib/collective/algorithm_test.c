/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/collective/algorithm.h"

#include "tests/support/unit.h"

#include <string.h>

enum { KI = 1 << 10, MI = 1 << 20 };

static const struct algorithm_thresholds thresholds = {
    .small = 32 * KI, .large = 64 * KI, .tree = 16 * KI, .few = 16
};

/* By kind, bytes, ranks, hosts, the most ranks on one. */
static const struct row {
    enum operation_kind kind;
    size_t nbytes;
    int size, hosts, slots;
    enum algorithm chosen;
} rows[] = {
    { OPERATION_ALLREDUCE, 8 * KI, 2, 1, 2, ALGORITHM_RECURSIVE_DOUBLING },
    { OPERATION_ALLREDUCE, 32 * KI, 4, 1, 4, ALGORITHM_RECURSIVE_DOUBLING },
    { OPERATION_ALLREDUCE, 8 * KI, 3, 1, 3, ALGORITHM_DIRECT },
    { OPERATION_ALLREDUCE, 32 * KI + 1, 2, 1, 2, ALGORITHM_DIRECT },
    { OPERATION_ALLREDUCE, 64 * MI, 16, 1, 16, ALGORITHM_DIRECT },
    { OPERATION_ALLREDUCE, 8 * KI, 17, 1, 17, ALGORITHM_RECURSIVE_DOUBLING },
    { OPERATION_ALLREDUCE, 1 * MI, 17, 1, 17, ALGORITHM_HALVING_DOUBLING },
    { OPERATION_ALLREDUCE, 64 * MI, 17, 1, 17, ALGORITHM_RING },
    { OPERATION_ALLREDUCE, 0, 5, 2, 3, ALGORITHM_RECURSIVE_DOUBLING },
    { OPERATION_ALLREDUCE, 64 * KI, 5, 2, 3, ALGORITHM_HALVING_DOUBLING },
    { OPERATION_ALLREDUCE, 64 * MI, 64, 8, 8, ALGORITHM_RING },
    { OPERATION_ALLREDUCE, 64 * MI, 64, 2, 32, ALGORITHM_RING },
    { OPERATION_ALLREDUCE, 1 * MI, 64, 2, 32, ALGORITHM_HALVING_DOUBLING },
    { OPERATION_ALLREDUCE, 8 * KI, 4, 4, 1, ALGORITHM_RECURSIVE_DOUBLING },
    { OPERATION_ALLREDUCE, 256 * KI - 1, 4, 4, 1, ALGORITHM_HALVING_DOUBLING },
    { OPERATION_ALLREDUCE, 256 * KI, 4, 4, 1, ALGORITHM_RING },
    { OPERATION_BROADCAST, 32 * KI, 2, 1, 2, ALGORITHM_TREE },
    { OPERATION_BROADCAST, 1 * MI, 2, 1, 2, ALGORITHM_RING },
    { OPERATION_BROADCAST, 1 * MI, 64, 8, 8, ALGORITHM_TREE },
    { OPERATION_BROADCAST, 64 * MI, 64, 8, 8, ALGORITHM_RING },
    { OPERATION_ALLGATHER, 8 * KI, 4, 1, 4, ALGORITHM_DIRECT },
    { OPERATION_ALLGATHER, 64 * MI, 17, 1, 17, ALGORITHM_RING },
    { OPERATION_ALLGATHER, 8 * KI, 4, 2, 2, ALGORITHM_RING },
    { OPERATION_REDUCESCATTER, 64 * MI, 4, 1, 4, ALGORITHM_DIRECT },
    { OPERATION_REDUCESCATTER, 8 * KI, 4, 2, 2, ALGORITHM_RING },
    { OPERATION_ALLTOALL, 0, 4, 1, 4, ALGORITHM_PAIRWISE },
    { OPERATION_ADASUM, 64 * MI, 4, 2, 3, ALGORITHM_ADASUM },
};

/* Processors and transport are not known. */
static struct algorithm_case case_of(const struct row *row)
{
    return (struct algorithm_case){ .kind = row->kind,
                                    .nbytes = row->nbytes,
                                    .size = row->size,
                                    .hosts = row->hosts,
                                    .slots = row->slots,
                                    .anywhere = true };
}

/* An allreduce of ranks of one host, which share the processors. */
static struct algorithm_case allreduce_on_one_host(size_t nbytes, int size, int processors,
                                                   bool tcp)
{
    return (struct algorithm_case){ .kind = OPERATION_ALLREDUCE,
                                    .nbytes = nbytes,
                                    .size = size,
                                    .hosts = 1,
                                    .slots = size,
                                    .anywhere = true,
                                    .processors = processors,
                                    .tcp = tcp };
}

START_TEST(the_table_chooses)
{
    const struct row *row = &rows[_i];
    const struct algorithm_case what = case_of(row);
    ck_assert_str_eq(algorithm_name(algorithm_choose(&what, &thresholds, -1)),
                     algorithm_name(row->chosen));
}
END_TEST

/* Ranks and processors of one host, bytes. */
static const struct crowded_row {
    int size, processors;
    size_t nbytes;
    enum algorithm chosen;
} crowded_rows[] = {
    { 8, 2, 64 * KI, ALGORITHM_TREE },     { 32, 2, 8 * KI, ALGORITHM_TREE },
    { 32, 2, 256 * KI, ALGORITHM_TREE },   { 32, 2, 256 * KI + 1, ALGORITHM_HALVING_DOUBLING },
    { 6, 2, 64 * KI, ALGORITHM_TREE },     { 5, 2, 64 * KI, ALGORITHM_DIRECT },
    { 4, 2, 64 * KI, ALGORITHM_DIRECT },   { 3, 1, 64 * KI, ALGORITHM_TREE },
    { 16, 16, 64 * KI, ALGORITHM_DIRECT }, { 16, 0, 64 * KI, ALGORITHM_DIRECT },
};

START_TEST(ranks_that_crowd_the_processors_use_the_tree)
{
    const struct crowded_row *row = &crowded_rows[_i];
    const struct algorithm_case what =
        allreduce_on_one_host(row->nbytes, row->size, row->processors, false);
    ck_assert_str_eq(algorithm_name(algorithm_choose(&what, &thresholds, -1)),
                     algorithm_name(row->chosen));
}
END_TEST

/* Ranks and processors of one host, TCP or not, bytes. */
static const struct outnumbered_row {
    int size, processors;
    bool tcp;
    size_t nbytes;
    enum algorithm chosen;
} outnumbered_rows[] = {
    { 4, 2, true, 256 * KI + 1, ALGORITHM_RING },
    { 4, 2, true, 256 * KI, ALGORITHM_DIRECT },
    { 4, 2, true, 32 * KI, ALGORITHM_RECURSIVE_DOUBLING },
    { 4, 2, true, 64 * MI, ALGORITHM_RING },
    { 3, 2, true, 1 * MI, ALGORITHM_RING },
    { 2, 1, true, 1 * MI, ALGORITHM_RING },
    { 8, 2, true, 256 * KI, ALGORITHM_TREE },
    { 8, 2, true, 512 * KI, ALGORITHM_RING },
    { 8, 4, true, 512 * KI - 1, ALGORITHM_DIRECT },
    { 4, 2, false, 1 * MI, ALGORITHM_DIRECT },
    { 4, 4, true, 1 * MI, ALGORITHM_DIRECT },
    { 4, 0, true, 1 * MI, ALGORITHM_DIRECT },
    { 2, 2, true, 64 * MI, ALGORITHM_DIRECT },
};

START_TEST(ranks_that_outnumber_the_processors_use_the_ring_over_tcp)
{
    const struct outnumbered_row *row = &outnumbered_rows[_i];
    const struct algorithm_case what =
        allreduce_on_one_host(row->nbytes, row->size, row->processors, row->tcp);
    ck_assert_str_eq(algorithm_name(algorithm_choose(&what, &thresholds, -1)),
                     algorithm_name(row->chosen));
}
END_TEST

START_TEST(other_operations_of_ranks_that_outnumber_the_processors_stay_direct)
{
    struct algorithm_case what = allreduce_on_one_host(16 * MI, 4, 2, true);
    what.kind = OPERATION_ALLGATHER;
    ck_assert_int_eq(algorithm_choose(&what, &thresholds, -1), ALGORITHM_DIRECT);
    what.kind = OPERATION_REDUCESCATTER;
    ck_assert_int_eq(algorithm_choose(&what, &thresholds, -1), ALGORITHM_DIRECT);
}
END_TEST

/* Ranks and processors of one host, TCP or not, bytes. */
static const struct outnumbered_row broadcast_rows[] = {
    { 4, 2, true, 64 * KI + 4, ALGORITHM_TREE }, { 4, 2, true, 64 * MI, ALGORITHM_TREE },
    { 8, 2, true, 1 * MI, ALGORITHM_TREE },      { 3, 2, true, 1 * MI, ALGORITHM_TREE },
    { 4, 2, false, 1 * MI, ALGORITHM_RING },     { 4, 4, true, 1 * MI, ALGORITHM_RING },
    { 4, 0, true, 1 * MI, ALGORITHM_RING },      { 2, 2, true, 1 * MI, ALGORITHM_RING },
};

START_TEST(ranks_that_outnumber_the_processors_broadcast_along_the_tree_over_tcp)
{
    const struct outnumbered_row *row = &broadcast_rows[_i];
    struct algorithm_case what =
        allreduce_on_one_host(row->nbytes, row->size, row->processors, row->tcp);
    what.kind = OPERATION_BROADCAST;
    ck_assert_str_eq(algorithm_name(algorithm_choose(&what, &thresholds, -1)),
                     algorithm_name(row->chosen));
    what.hosts = 2;
    what.nbytes = 64 * MI;
    ck_assert_int_eq(algorithm_choose(&what, &thresholds, -1), ALGORITHM_RING);
}
END_TEST

/* Broadcasts of ranks that share memory with those of their host. */
static const struct row shared_rows[] = {
    { OPERATION_BROADCAST, 64 * KI, 3, 1, 3, ALGORITHM_LINEAR },
    { OPERATION_BROADCAST, 64 * KI, 32, 1, 32, ALGORITHM_LINEAR },
    { OPERATION_BROADCAST, 64 * MI, 4, 1, 4, ALGORITHM_LINEAR },
    { OPERATION_BROADCAST, 64 * KI - 1, 4, 1, 4, ALGORITHM_TREE },
    { OPERATION_BROADCAST, 64 * KI - 1, 3, 1, 3, ALGORITHM_RING },
    { OPERATION_BROADCAST, 1 * MI, 2, 1, 2, ALGORITHM_RING },
    { OPERATION_BROADCAST, 64 * KI, 33, 1, 33, ALGORITHM_TREE },
    { OPERATION_BROADCAST, 1 * MI, 4, 2, 2, ALGORITHM_RING },
    { OPERATION_BROADCAST, 1 * MI, 4, 2, 3, ALGORITHM_RING },
    { OPERATION_ALLREDUCE, 1 * MI, 4, 1, 4, ALGORITHM_DIRECT },
    { OPERATION_ALLGATHER, 1 * MI, 4, 1, 4, ALGORITHM_DIRECT },
};

START_TEST(ranks_that_share_memory_read_what_is_broadcast)
{
    const struct row *row = &shared_rows[_i];
    struct algorithm_case what = case_of(row);
    what.shared = true;
    ck_assert_str_eq(algorithm_name(algorithm_choose(&what, &thresholds, -1)),
                     algorithm_name(row->chosen));
    what.shared = false;
    ck_assert_int_ne(algorithm_choose(&what, &thresholds, -1), ALGORITHM_LINEAR);
}
END_TEST

START_TEST(the_peers_of_two_algorithms_depend_on_the_root)
{
    for (int i = 0; i < ALGORITHMS; i++)
        ck_assert(algorithm_has_fixed_peers((enum algorithm)i) !=
                  (i == ALGORITHM_TREE || i == ALGORITHM_LINEAR));
}
END_TEST

START_TEST(several_hosts_are_not_judged_by_the_processors_of_one)
{
    struct algorithm_case what = allreduce_on_one_host(64 * KI, 32, 2, true);
    what.hosts = 2;
    what.slots = 16;
    what.shared = true;
    ck_assert_int_eq(algorithm_choose(&what, &thresholds, -1), ALGORITHM_HALVING_DOUBLING);
}
END_TEST

START_TEST(only_neighbours_are_wanted_where_nobody_knows_the_others)
{
    const struct row *row = &rows[_i];
    struct algorithm_case what = case_of(row);
    what.hosts = what.slots = 0;
    what.shared = true;
    bool only = row->kind == OPERATION_ALLTOALL || row->kind == OPERATION_ADASUM;
    enum algorithm expected = only ? row->chosen : ALGORITHM_RING;
    ck_assert_int_eq(algorithm_choose(&what, &thresholds, -1), expected);
    ck_assert_int_eq(algorithm_choose(&what, &thresholds, ALGORITHM_DIRECT), expected);
    what.hosts = row->hosts;
    what.slots = row->slots;
    what.anywhere = false;
    ck_assert_int_eq(algorithm_choose(&what, &thresholds, -1), expected);
    ck_assert_int_eq(algorithm_choose(&what, &thresholds, ALGORITHM_DIRECT), expected);
}
END_TEST

START_TEST(what_is_forced_is_done_wherever_it_can_be)
{
    const struct row *row = &rows[_i];
    const struct algorithm_case what = case_of(row);
    for (int forced = 0; forced < ALGORITHMS; forced++)
        ck_assert_int_eq(algorithm_choose(&what, &thresholds, forced),
                         algorithm_can(forced, row->kind) ? forced : (int)row->chosen);
}
END_TEST

START_TEST(every_choice_can_do_what_is_asked_for)
{
    for (int kind = OPERATION_ALLREDUCE; kind <= OPERATION_ADASUM; kind++)
        for (int size = 1; size <= 40; size++)
            for (int hosts = 0; hosts <= size; hosts++)
                for (size_t nbytes = 0; nbytes < 1u << 30; nbytes = 3 * nbytes + 1) {
                    int slots = hosts ? size - hosts + 1 : 0;
                    const struct algorithm_case what = { .kind = (enum operation_kind)kind,
                                                         .nbytes = nbytes,
                                                         .size = size,
                                                         .hosts = hosts,
                                                         .slots = slots,
                                                         .anywhere = hosts > 0,
                                                         .shared = nbytes % 2 };
                    enum algorithm chosen = algorithm_choose(&what, &algorithm_defaults, -1);
                    ck_assert(algorithm_can((int)chosen, what.kind));
                }
}
END_TEST

START_TEST(a_few_ranks_exchange_whole_vectors_of_twice_as_many_bytes)
{
    static const struct {
        int size;
        size_t small;
    } worlds[] = {
        { 1, 64 * KI }, { 2, 64 * KI }, { 4, 64 * KI }, { 5, 32 * KI }, { 64, 32 * KI }
    };
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        struct algorithm_thresholds own = algorithm_defaults_for(worlds[i].size);
        ck_assert_uint_eq(own.small, worlds[i].small);
        ck_assert_uint_eq(own.large, algorithm_defaults.large);
        ck_assert_uint_eq(own.tree, algorithm_defaults.tree);
        ck_assert_int_eq(own.few, algorithm_defaults.few);
    }
}
END_TEST

START_TEST(names_are_read_back_and_listed)
{
    for (int i = 0; i < ALGORITHMS; i++) {
        const char *name = algorithm_name((enum algorithm)i);
        ck_assert_int_eq(algorithm_parse(name), i);
        ck_assert_ptr_nonnull(strstr(ALGORITHM_NAMES, name));
    }
    ck_assert_ptr_null(algorithm_name(ALGORITHMS));
}
END_TEST

START_TEST(other_names_are_none)
{
    static const char *const others[] = {
        "", "Ring", "ring ", "rin", "recursive doubling", "auto"
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_int_eq(algorithm_parse(others[i]), -1);
}
END_TEST

START_TEST(what_does_not_exist_can_do_nothing)
{
    static const int numbers[] = { -1, ALGORITHMS, 255 };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (int kind = OPERATION_ALLREDUCE; kind <= OPERATION_ADASUM; kind++)
            ck_assert(!algorithm_can(numbers[i], (enum operation_kind)kind));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("algorithm");
    TCase *tests = tcase_create("algorithm");
    int nrows = sizeof rows / sizeof *rows;
    tcase_add_loop_test(tests, the_table_chooses, 0, nrows);
    tcase_add_loop_test(tests, ranks_that_crowd_the_processors_use_the_tree, 0,
                        sizeof crowded_rows / sizeof *crowded_rows);
    tcase_add_loop_test(tests,
                        ranks_that_outnumber_the_processors_broadcast_along_the_tree_over_tcp, 0,
                        sizeof broadcast_rows / sizeof *broadcast_rows);
    tcase_add_loop_test(tests, ranks_that_outnumber_the_processors_use_the_ring_over_tcp, 0,
                        sizeof outnumbered_rows / sizeof *outnumbered_rows);
    tcase_add_test(tests, other_operations_of_ranks_that_outnumber_the_processors_stay_direct);
    tcase_add_loop_test(tests, ranks_that_share_memory_read_what_is_broadcast, 0,
                        sizeof shared_rows / sizeof *shared_rows);
    tcase_add_test(tests, the_peers_of_two_algorithms_depend_on_the_root);
    tcase_add_test(tests, several_hosts_are_not_judged_by_the_processors_of_one);
    tcase_add_loop_test(tests, only_neighbours_are_wanted_where_nobody_knows_the_others, 0, nrows);
    tcase_add_loop_test(tests, what_is_forced_is_done_wherever_it_can_be, 0, nrows);
    tcase_add_test(tests, every_choice_can_do_what_is_asked_for);
    tcase_add_test(tests, a_few_ranks_exchange_whole_vectors_of_twice_as_many_bytes);
    tcase_add_test(tests, names_are_read_back_and_listed);
    tcase_add_test(tests, other_names_are_none);
    tcase_add_test(tests, what_does_not_exist_can_do_nothing);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
