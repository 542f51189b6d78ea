/* SPDX-License-Identifier: Apache-2.0 */
/* Who carries what between hosts (hierarchy_plan.h): one rank of each host each share, the first
 * ranks of each host; shares and parts cover all elements once. */
#include "lib/cuda/hierarchy_plan.h"
#include "tests/support/unit.h"

#include <string.h>

enum { RANKS_MOST = 8 };

/* `hosts` has a letter for each rank; `peers` those of rank 0, and `last` those of the last. */
static const struct plan {
    const char *hosts;
    bool exists;
    int carriers;
    const char *peers, *last;
} plans[] = {
    { "a", false, 1, "0", "0" },         { "ab", false, 1, "01", "01" },
    { "aaa", false, 3, "0", "2" },       { "aabb", true, 2, "02", "13" },
    { "abab", true, 2, "01", "23" },     { "abba", true, 2, "01", "23" },
    { "aaab", true, 1, "03", "03" },     { "baaa", true, 1, "01", "" },
    { "aab", true, 1, "02", "02" },      { "aaabb", true, 2, "03", "14" },
    { "aabbcc", true, 2, "024", "135" }, { "abcaa", true, 1, "012", "" },
};
enum { PLANS = sizeof plans / sizeof *plans };

static int find_hosts(const char *hosts, int *host_of)
{
    int size = (int)strlen(hosts);
    for (int rank = 0; rank < size; rank++)
        host_of[rank] = (int)(strchr(hosts, hosts[rank]) - hosts);
    return size;
}

static void require_peers(const int *host_of, int size, int rank, const char *peers)
{
    struct hierarchy_plan plan;
    ck_assert(hierarchy_plan_make(&plan, host_of, size, rank));
    ck_assert_int_eq(hierarchy_carries(&plan), *peers != '\0');
    for (int i = 0; peers[i]; i++) {
        ck_assert_int_eq(plan.peers[i], peers[i] - '0');
        ck_assert(plan.peers[i] != rank || plan.place == i);
    }
    ck_assert(!*peers || plan.hosts == (int)strlen(peers));
    hierarchy_plan_free(&plan);
}

START_TEST(a_rank_of_each_host_carries_each_share)
{
    int host_of[RANKS_MOST];
    struct hierarchy_plan plan;
    int size = find_hosts(plans[_i].hosts, host_of);
    ck_assert_int_eq(hierarchy_exists(host_of, size), plans[_i].exists);
    ck_assert(hierarchy_plan_make(&plan, host_of, size, size - 1));
    ck_assert_int_eq(plan.carriers, plans[_i].carriers);
    ck_assert_int_eq(plan.leader, host_of[size - 1]);
    hierarchy_plan_free(&plan);
    require_peers(host_of, size, 0, plans[_i].peers);
    require_peers(host_of, size, size - 1, plans[_i].last);
}
END_TEST

START_TEST(the_peers_of_a_rank_have_it_as_theirs)
{
    int host_of[RANKS_MOST];
    int size = find_hosts(plans[_i].hosts, host_of);
    for (int rank = 0; rank < size; rank++) {
        struct hierarchy_plan plan, other;
        ck_assert(hierarchy_plan_make(&plan, host_of, size, rank));
        ck_assert(!plan.peers || plan.peers[plan.place] == rank);
        for (int i = 0; plan.peers && i < plan.hosts; i++) {
            ck_assert(hierarchy_plan_make(&other, host_of, size, plan.peers[i]));
            ck_assert_int_eq(other.host_rank, plan.host_rank);
            ck_assert_int_eq(other.place, i);
            ck_assert_mem_eq(other.peers, plan.peers, (size_t)plan.hosts * sizeof *plan.peers);
            hierarchy_plan_free(&other);
        }
        hierarchy_plan_free(&plan);
    }
}
END_TEST

START_TEST(parts_are_as_even_as_can_be)
{
    for (size_t count = 0; count < 40; count++)
        for (int parts = 1; parts < 9; parts++) {
            ck_assert_uint_eq(hierarchy_before(count, parts, 0), 0);
            ck_assert_uint_eq(hierarchy_before(count, parts, parts), count);
            for (int part = 0; part < parts; part++) {
                size_t length =
                    hierarchy_before(count, parts, part + 1) - hierarchy_before(count, parts, part);
                ck_assert_uint_ge(length, count / (size_t)parts);
                ck_assert_uint_le(length, count / (size_t)parts + 1);
            }
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hierarchy_plan");
    TCase *tcase = tcase_create("hierarchy_plan");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, a_rank_of_each_host_carries_each_share, 0, PLANS);
    tcase_add_loop_test(tcase, the_peers_of_a_rank_have_it_as_theirs, 0, PLANS);
    tcase_add_test(tcase, parts_are_as_even_as_can_be);
    return unit_run(suite);
}
