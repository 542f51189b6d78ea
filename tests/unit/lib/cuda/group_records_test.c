/* SPDX-License-Identifier: Apache-2.0 */
/* What the ranks of a group conclude from their records (reducer_impl.h) about two levels: they are
 * used up to a number of ranks; above it one line says that the variable has no effect; and about
 * memory pools. Records come from no device here. */
#include "lib/cuda/reducer_impl.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

enum { RANKS = HIERARCHY_MOST_RANKS + 1 };

static char line[300];

static void keep_line(const char *text)
{
    snprintf(line, sizeof line, "%s", text);
}

static const struct device_module_library library = { .log_info = keep_line };

/* The ranks are on two hosts, one with its upper half; each has a GPU of its own. */
static void judge_ranks(struct cuda_group *group, int size, bool encrypts)
{
    struct err err;
    int host_of[RANKS], ranks[RANKS];
    struct group_record records[RANKS];
    struct cuda_reducer reducer = { .library = &library };
    group->reducer = &reducer;
    group->size = size;
    group->ranks = ranks;
    for (int i = 0; i < size; i++) {
        ranks[i] = i;
        records[i] =
            (struct group_record){ .version = 22803, .encrypts = encrypts, .hierarchical = 1 };
        memset(&records[i].gpu, i, sizeof records[i].gpu);
        snprintf(records[i].host, sizeof records[i].host, "host%d", i >= size / 2);
    }
    *line = '\0';
    ck_assert_int_eq(cuda_group_judge(group, records, host_of, &err), HVD_OK);
    cuda_hierarchy_tell(group);
}

START_TEST(a_set_of_as_many_ranks_as_may_reduces_in_two_levels)
{
    struct cuda_group group = { 0 };
    judge_ranks(&group, HIERARCHY_MOST_RANKS, true);
    ck_assert(group.hierarchy.chosen);
    ck_assert(strstr(line, "large allreduces of GPUs go through NCCL within each of ") != NULL);
}
END_TEST

START_TEST(a_larger_set_goes_another_way_and_a_line_says_so)
{
    struct cuda_group group = { 0 };
    judge_ranks(&group, RANKS, _i);
    ck_assert(!group.hierarchy.chosen);
    ck_assert_int_eq(group.path, _i ? GROUP_HOST : GROUP_NCCL);
    ck_assert_str_eq(line, "process set 0: HOROVOD_HIERARCHICAL_ALLREDUCE=1 has no effect: the set "
                           "has 17 ranks, more than 16");
}
END_TEST

START_TEST(one_rank_without_memory_pools_leaves_the_group_without_them)
{
    struct err err;
    int host_of[3], ranks[3] = { 0, 1, 2 };
    struct cuda_reducer reducer = { .library = &library };
    struct cuda_group group = { .reducer = &reducer, .size = 3, .ranks = ranks };
    struct group_record records[3] = { 0 };
    for (int i = 0; i < 3; i++)
        records[i].pools = i != _i;
    ck_assert_int_eq(cuda_group_judge(&group, records, host_of, &err), HVD_OK);
    ck_assert(group.has_pools == (_i == 3));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("group_records");
    TCase *tcase = tcase_create("group_records");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, a_set_of_as_many_ranks_as_may_reduces_in_two_levels);
    tcase_add_loop_test(tcase, a_larger_set_goes_another_way_and_a_line_says_so, 0, 2);
    tcase_add_loop_test(tcase, one_rank_without_memory_pools_leaves_the_group_without_them, 0, 4);
    return unit_run(suite);
}
