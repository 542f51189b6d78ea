/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/engine/home_processor.h"

#include "tests/support/unit.h"

static cpu_set_t processors_of(unsigned bits)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t i = 0; i < 32; i++)
        if (bits >> i & 1)
            CPU_SET(i, &set);
    return set;
}

/* ---- the choice ---- */

static const struct {
    unsigned allowed; /* a bit for each processor */
    int processors, local_rank, local_size, home;
} choices[] = {
    { 0x3, 2, 0, 4, 0 },   { 0x3, 2, 1, 4, 0 }, { 0x3, 2, 2, 4, 1 },  { 0x3, 2, 3, 4, 1 },
    { 0x3, 2, 1, 3, 0 },   { 0x3, 2, 2, 3, 1 }, { 0x22, 2, 0, 8, 1 }, /* not from 0 on */
    { 0x22, 2, 7, 8, 5 },  { 0x7, 3, 2, 4, 1 }, { 0x7, 3, 3, 4, 2 },  { 0xff, 8, 31, 32, 7 },
    { 0x3, 2, 0, 2, -1 },  /* a processor for each rank */
    { 0x1, 1, 3, 4, -1 },  /* only one */
    { 0x2, 2, 0, 4, -1 },  /* the rank is bound */
    { 0xff, 2, 0, 4, -1 }, /* a quota */
};

START_TEST(a_rank_of_a_crowded_host_has_a_home)
{
    cpu_set_t allowed = processors_of(choices[_i].allowed);
    ck_assert_int_eq(home_processor_choose(&allowed, choices[_i].processors, choices[_i].local_rank,
                                           choices[_i].local_size),
                     choices[_i].home);
}
END_TEST

START_TEST(homes_differ_by_one_rank_at_most)
{
    for (int processors = 2; processors <= 16; processors++)
        for (int size = processors + 1; size <= 100; size++) {
            cpu_set_t allowed = processors_of((1u << processors) - 1);
            int ranks[16] = { 0 };
            for (int rank = 0; rank < size; rank++) {
                int home = home_processor_choose(&allowed, processors, rank, size);
                ck_assert(home >= 0 && home < processors);
                ranks[home]++;
            }
            for (int i = 0; i < processors; i++)
                ck_assert(ranks[i] == size / processors || ranks[i] == size / processors + 1);
        }
}
END_TEST

START_TEST(a_host_with_several_memory_nodes_is_told_by_its_text)
{
    ck_assert(home_processor_is_one_node("0\n"));
    ck_assert(home_processor_is_one_node(""));
    ck_assert(!home_processor_is_one_node("0-1\n"));
    ck_assert(!home_processor_is_one_node("0,2\n"));
}
END_TEST

/* ---- moving ---- */

static cpu_set_t own_affinity(void)
{
    cpu_set_t set;
    ck_assert_int_eq(sched_getaffinity(0, sizeof set, &set), 0);
    return set;
}

static size_t last_of(const cpu_set_t *set)
{
    size_t last = 0;
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        last = CPU_ISSET(i, set) ? i : last;
    return last;
}

static void bind_to(size_t processor)
{
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(processor, &only);
    ck_assert_int_eq(sched_setaffinity(0, sizeof only, &only), 0);
}

/* The first rank's home among the processors of this test. */
static struct home_processor first_home(const cpu_set_t *allowed)
{
    struct home_processor home = { .allowed = CPU_COUNT(allowed) };
    home.processor = home_processor_choose(allowed, home.allowed, 0, home.allowed + 1);
    return home;
}

START_TEST(a_thread_that_is_away_goes_home_and_stays_free)
{
    cpu_set_t allowed = own_affinity();
    struct home_processor home = first_home(&allowed);
    if (home.processor < 0)
        return; /* this machine has one processor */
    do {
        bind_to(last_of(&allowed));
        ck_assert_int_eq(sched_setaffinity(0, sizeof allowed, &allowed), 0);
        home.moved_ns = 0;
        home_processor_return(&home);
        cpu_set_t after = own_affinity();
        ck_assert(CPU_EQUAL(&after, &allowed));
        ck_assert_int_ge(home.processor, 0);
    } while (sched_getcpu() != home.processor); /* the kernel may have moved it since */
}
END_TEST

START_TEST(a_thread_moves_seldom)
{
    cpu_set_t allowed = own_affinity();
    struct home_processor home = first_home(&allowed);
    if (home.processor < 0)
        return;
    home_processor_move(&home, 1000);
    ck_assert_uint_eq(home.moved_ns, 1000);
    home_processor_move(&home, 999 + HOME_AGAIN_NS);
    ck_assert_uint_eq(home.moved_ns, 1000);
    home_processor_move(&home, 1000 + HOME_AGAIN_NS);
    ck_assert_uint_eq(home.moved_ns, 1000 + HOME_AGAIN_NS);
}
END_TEST

START_TEST(a_thread_that_was_bound_since_stays_where_it_is)
{
    cpu_set_t allowed = own_affinity();
    struct home_processor home = first_home(&allowed);
    if (home.processor < 0)
        return;
    size_t chosen = last_of(&allowed);
    bind_to(chosen);
    home_processor_return(&home);
    cpu_set_t after = own_affinity();
    ck_assert_int_eq(CPU_COUNT(&after), 1);
    ck_assert(CPU_ISSET(chosen, &after));
    ck_assert_int_eq(home.processor, -1);
}
END_TEST

START_TEST(a_rank_that_may_not_move_gives_up)
{
    cpu_set_t allowed = own_affinity();
    struct home_processor home = { .processor = CPU_SETSIZE - 1, .allowed = CPU_COUNT(&allowed) };
    if (CPU_ISSET(CPU_SETSIZE - 1, &allowed))
        return;
    home_processor_move(&home, 1);
    ck_assert_int_eq(home.processor, -1);
    cpu_set_t after = own_affinity();
    ck_assert(CPU_EQUAL(&after, &allowed));
}
END_TEST

START_TEST(ranks_with_a_processor_each_have_no_home)
{
    cpu_set_t allowed = own_affinity();
    int count = CPU_COUNT(&allowed);
    struct home_processor home;
    home_processor_init(&home, count, 0, count);
    ck_assert_int_eq(home.processor, -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("home processor");
    TCase *tcase = tcase_create("home processor");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, a_rank_of_a_crowded_host_has_a_home, 0,
                        sizeof choices / sizeof *choices);
    tcase_add_test(tcase, homes_differ_by_one_rank_at_most);
    tcase_add_test(tcase, a_host_with_several_memory_nodes_is_told_by_its_text);
    tcase_add_test(tcase, a_thread_that_is_away_goes_home_and_stays_free);
    tcase_add_test(tcase, a_thread_moves_seldom);
    tcase_add_test(tcase, a_thread_that_was_bound_since_stays_where_it_is);
    tcase_add_test(tcase, a_rank_that_may_not_move_gives_up);
    tcase_add_test(tcase, ranks_with_a_processor_each_have_no_home);
    return unit_run(suite);
}
