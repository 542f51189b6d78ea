/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that start a collective of the long form and wait for it. */
#include "lib/hvd.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

static const int64_t two = 2, four = 4;

static struct hvd_tensor of(const char *name, const int32_t *input, int32_t *output, size_t size,
                            const int64_t *rows)
{
    return (struct hvd_tensor){ .name = name,
                                .input = input,
                                .output = output,
                                .output_size = size,
                                .dtype = HVD_INT32,
                                .ndims = 1,
                                .dims = rows };
}

static int groups(int rank)
{
    int32_t in[2] = { rank, 1 }, a[2], b[2], share[1];
    struct hvd_result results[2];
    init_world();
    struct hvd_tensor sums[] = { of("a", in, a, 0, &two), of("b", in, b, 0, &two) };
    REQUIRE_STATUS(hvd_grouped_allreduce(sums, 2, HVD_SUM, NULL), HVD_OK);
    REQUIRE(a[0] == 1 && a[1] == 2 && b[0] == 1 && b[1] == 2);
    struct hvd_tensor all[] = { of("c", in, NULL, 0, &two), of("d", in, NULL, 0, &two) };
    REQUIRE_STATUS(hvd_grouped_allgather(all, 2, NULL, results), HVD_OK);
    REQUIRE(results[1].dim0 == 4 && ((int32_t *)results[1].data)[2] == 1);
    hvd_result_free(&results[0]);
    hvd_result_free(&results[1]);
    struct hvd_tensor shares[] = { of("e", in, share, sizeof share, &two) };
    REQUIRE_STATUS(hvd_grouped_reducescatter(shares, 1, HVD_SUM, NULL), HVD_OK);
    REQUIRE(share[0] == rank + 1);
    return leave_world();
}

START_TEST(groups_are_waited_for)
{
    ranks_run(&(struct mini_options){ .size = 2 }, groups);
}
END_TEST

static int single(int rank)
{
    int32_t in[4] = { rank, rank, rank + 10, rank + 10 }, share[2], came[4];
    struct hvd_result result;
    init_world();
    struct hvd_tensor sum = of("a", in, share, sizeof share, &four);
    REQUIRE_STATUS(hvd_reducescatter(&sum, HVD_SUM, NULL), HVD_OK);
    REQUIRE(share[0] == (rank ? 21 : 1) && share[1] == share[0]);
    struct hvd_tensor parts = of("b", in, came, sizeof came, &four);
    REQUIRE_STATUS(hvd_alltoall(&parts, NULL, 0, NULL, NULL), HVD_OK);
    REQUIRE(came[0] == (rank ? 10 : 0) && came[2] == (rank ? 11 : 1));
    parts.output = NULL;
    REQUIRE_STATUS(hvd_alltoall(&parts, NULL, 0, NULL, &result), HVD_OK);
    REQUIRE(result.nrows == 2 && result.rows[0] == 2 && result.dim0 == 4);
    hvd_result_free(&result);
    return leave_world();
}

START_TEST(single_tensors_are_waited_for)
{
    ranks_run(&(struct mini_options){ .size = 2 }, single);
}
END_TEST

static int mistaken(int rank)
{
    int32_t in[4] = { 0 };
    (void)rank;
    init_world();
    struct hvd_tensor tensor = of("a", in, NULL, 0, &four);
    REQUIRE_STATUS(hvd_alltoall(&tensor, NULL, 0, NULL, NULL), HVD_ERR_INVALID);
    require_text("alltoall 'a': output is NULL");
    REQUIRE_STATUS(hvd_grouped_allgather(&tensor, 1, NULL, NULL), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_reducescatter(NULL, HVD_SUM, NULL), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_grouped_allreduce(&tensor, 0, HVD_SUM, NULL), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    return leave_world();
}

START_TEST(without_a_place_for_the_result_nothing_is_submitted)
{
    ranks_run(&(struct mini_options){ .size = 2 }, mistaken);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("blocking");
    TCase *tcase = tcase_create("blocking");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, groups_are_waited_for);
    tcase_add_test(tcase, single_tensors_are_waited_for);
    tcase_add_test(tcase, without_a_place_for_the_result_nothing_is_submitted);
    return unit_run(suite);
}
