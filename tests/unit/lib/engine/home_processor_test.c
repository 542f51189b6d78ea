/* SPDX-License-Identifier: Apache-2.0 */
/* The processor that a rank goes back to. Linked with -Wl,--wrap, to count changes of the affinity
 * and to let them fail. */
#include "lib/engine/home_processor.h"

#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <errno.h>

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
    unsigned own, all; /* a bit for each processor */
    int processors, local_rank, local_size, home;
} choices[] = {
    { 0x3, 0x3, 2, 0, 4, 0 },     { 0x3, 0x3, 2, 1, 4, 0 }, { 0x3, 0x3, 2, 2, 4, 1 },
    { 0x3, 0x3, 2, 3, 4, 1 },     { 0x3, 0x3, 2, 1, 3, 0 }, { 0x3, 0x3, 2, 2, 3, 1 },
    { 0x22, 0x22, 2, 0, 8, 1 }, /* not from 0 on */
    { 0x22, 0x22, 2, 7, 8, 5 },   { 0x7, 0x7, 3, 2, 4, 1 }, { 0x7, 0x7, 3, 3, 4, 2 },
    { 0xff, 0xff, 8, 31, 32, 7 },
};

START_TEST(a_rank_of_a_crowded_host_has_a_home)
{
    cpu_set_t own = processors_of(choices[_i].own), all = processors_of(choices[_i].all);
    ck_assert_int_eq(home_processor_choose(&own, &all, choices[_i].processors,
                                           choices[_i].local_rank, choices[_i].local_size),
                     choices[_i].home);
}
END_TEST

static const struct {
    unsigned own, all;
    int processors, local_size;
} homeless[] = {
    { 0x3, 0x3, 2, 2 },   /* a processor for each rank */
    { 0x1, 0x1, 1, 4 },   /* only one */
    { 0xff, 0xff, 2, 4 }, /* a quota */
    { 0x2, 0x3, 2, 4 },   /* bound to one, and HVD_PROCESSORS tells how many there are */
    { 0xf, 0xff, 8, 16 }, /* bound to some, and it tells */
    { 0xf, 0xff, 4, 8 },  /* bound to some, and nobody tells */
    { 0xf0, 0xff, 4, 8 }, /* to the others */
    { 0x3, 0x30, 2, 4 },  /* as many as all, but others */
};

START_TEST(other_ranks_have_none)
{
    cpu_set_t own = processors_of(homeless[_i].own), all = processors_of(homeless[_i].all);
    for (int rank = 0; rank < homeless[_i].local_size; rank++)
        ck_assert_int_eq(home_processor_choose(&own, &all, homeless[_i].processors, rank,
                                               homeless[_i].local_size),
                         -1);
}
END_TEST

START_TEST(homes_differ_by_one_rank_at_most)
{
    for (int processors = 2; processors <= 16; processors++)
        for (int size = processors + 1; size <= 100; size++) {
            cpu_set_t allowed = processors_of((1u << processors) - 1);
            int ranks[16] = { 0 };
            for (int rank = 0; rank < size; rank++) {
                int home = home_processor_choose(&allowed, &allowed, processors, rank, size);
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

static int tries;        /* to set the affinity */
static unsigned failing; /* which of them fail, a bit each */

int __real_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);
int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);

int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
    bool fails = failing >> tries++ & 1;
    errno = ENOMEM;
    return fails ? -1 : __real_sched_setaffinity(pid, size, set);
}

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
    ck_assert_int_eq(__real_sched_setaffinity(0, sizeof only, &only), 0);
}

/* The first rank's home among the processors of this test. */
static void first_home(struct home_processor *home, const cpu_set_t *allowed)
{
    int count = CPU_COUNT(allowed);
    *home = (struct home_processor){ .allowed = *allowed };
    atomic_init(&home->processor, home_processor_choose(allowed, allowed, count, 0, count + 1));
}

/* To the last processor; the kernel may move the thread from there. */
static void go_away(const cpu_set_t *allowed)
{
    bind_to(last_of(allowed));
    ck_assert_int_eq(__real_sched_setaffinity(0, sizeof *allowed, allowed), 0);
}

static void check_affinity(const cpu_set_t *expected)
{
    cpu_set_t after = own_affinity();
    ck_assert(CPU_EQUAL(&after, expected));
}

START_TEST(a_thread_that_is_away_goes_home_and_stays_free)
{
    cpu_set_t allowed = own_affinity();
    struct home_processor home;
    first_home(&home, &allowed);
    if (home.processor < 0)
        return; /* this machine has one processor */
    do {
        go_away(&allowed);
        home.looked_ns = 0;
        home_processor_return(&home);
        check_affinity(&allowed);
        ck_assert_int_ge(home.processor, 0);
    } while (sched_getcpu() != home.processor); /* the kernel may have moved it since */
}
END_TEST

START_TEST(a_thread_moves_seldom)
{
    cpu_set_t allowed = own_affinity();
    struct home_processor home;
    first_home(&home, &allowed);
    if (home.processor < 0)
        return;
    home_processor_move(&home, 1000);
    ck_assert_uint_eq(home.looked_ns, 1000);
    home_processor_move(&home, 999 + HOME_AGAIN_NS);
    ck_assert_uint_eq(home.looked_ns, 1000);
    home_processor_move(&home, 1000 + HOME_AGAIN_NS);
    ck_assert_uint_eq(home.looked_ns, 1000 + HOME_AGAIN_NS);
    home_processor_move(&home, 999 + HOME_AGAIN_NS); /* of a thread that was slower */
    ck_assert_uint_eq(home.looked_ns, 1000 + HOME_AGAIN_NS);
}
END_TEST

START_TEST(a_thread_that_is_bound_stays_and_does_not_count_for_others)
{
    cpu_set_t allowed = own_affinity(), bound;
    struct home_processor home;
    first_home(&home, &allowed);
    int processor = home.processor;
    if (processor < 0)
        return;
    bind_to(last_of(&allowed));
    bound = own_affinity();
    home_processor_move(&home, 1);
    check_affinity(&bound);
    ck_assert_int_eq(home.processor, processor);
    ck_assert_int_eq(__real_sched_setaffinity(0, sizeof allowed, &allowed), 0);
    home_processor_move(&home, 1 + HOME_AGAIN_NS);
    check_affinity(&allowed);
    ck_assert_int_eq(home.processor, processor);
    ck_assert_int_eq(tries, 2); /* of the free thread */
}
END_TEST

/* As if the first process were bound to the last processor, and so were all others. */
START_TEST(what_was_bound_with_the_first_process_stays_bound)
{
    cpu_set_t allowed = own_affinity(), bound;
    struct home_processor home = { .processor = (int)last_of(&allowed) };
    if (CPU_COUNT(&allowed) < 2)
        return;
    bind_to(last_of(&allowed));
    home.allowed = bound = own_affinity();
    home_processor_move(&home, 1);
    check_affinity(&bound);
    ck_assert_int_eq(home.processor, -1);
}
END_TEST

START_TEST(a_rank_that_may_not_move_gives_up)
{
    cpu_set_t allowed = own_affinity();
    struct home_processor home = { .processor = (int)last_of(&allowed), .allowed = allowed };
    failing = 1;
    home_processor_move(&home, 1);
    ck_assert_int_eq(tries, 1);
    ck_assert_int_eq(home.processor, -1);
    check_affinity(&allowed);
    home_processor_move(&home, 1 + HOME_AGAIN_NS);
    ck_assert_int_eq(tries, 1);
}
END_TEST

/* Bits of `failing`: the second call frees the thread, the third tries again, the fourth asks for
 * the processors of the beginning. */
static const struct {
    unsigned failing;
    int tries;
    bool keeps;
} failures[] = { { 0x0, 2, true }, { 0x2, 3, true }, { 0x6, 4, false } };

START_TEST(freeing_a_thread_is_tried_again)
{
    cpu_set_t allowed = own_affinity();
    int last = (int)last_of(&allowed);
    struct home_processor home = { .processor = last, .allowed = allowed };
    failing = failures[_i].failing;
    home_processor_move(&home, 1);
    ck_assert_int_eq(tries, failures[_i].tries);
    ck_assert_int_eq(home.processor, failures[_i].keeps ? last : -1);
    check_affinity(&allowed);
}
END_TEST

START_TEST(a_process_that_is_bound_has_no_home)
{
    cpu_set_t allowed = own_affinity();
    struct home_processor home;
    bind_to(last_of(&allowed));
    home_processor_init(&home, CPU_COUNT(&allowed), 0, CPU_COUNT(&allowed) + 1);
    ck_assert_int_eq(home.processor, -1);
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
    descriptors_watch(tcase);
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, a_rank_of_a_crowded_host_has_a_home, 0,
                        sizeof choices / sizeof *choices);
    tcase_add_loop_test(tcase, other_ranks_have_none, 0, sizeof homeless / sizeof *homeless);
    tcase_add_test(tcase, homes_differ_by_one_rank_at_most);
    tcase_add_test(tcase, a_host_with_several_memory_nodes_is_told_by_its_text);
    tcase_add_test(tcase, a_thread_that_is_away_goes_home_and_stays_free);
    tcase_add_test(tcase, a_thread_moves_seldom);
    tcase_add_test(tcase, a_thread_that_is_bound_stays_and_does_not_count_for_others);
    tcase_add_test(tcase, what_was_bound_with_the_first_process_stays_bound);
    tcase_add_test(tcase, a_rank_that_may_not_move_gives_up);
    tcase_add_loop_test(tcase, freeing_a_thread_is_tried_again, 0,
                        sizeof failures / sizeof *failures);
    tcase_add_test(tcase, a_process_that_is_bound_has_no_home);
    tcase_add_test(tcase, ranks_with_a_processor_each_have_no_home);
    return unit_run(suite);
}
