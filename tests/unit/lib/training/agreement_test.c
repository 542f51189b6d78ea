/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks find out together: that all is well, whose mistake it is, and where they differ. */
#include "lib/training/agreement.h"

#include "lib/hvd.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static void require_err(int rc, const struct err *err, int code, const char *text)
{
    bool right = rc == code && err->code == code && strcmp(err->text, text) == 0;
    if (!right)
        fprintf(stderr, "%d: '%s', wanted %d: '%s'\n", rc, err->text, code, text);
    REQUIRE(right);
}

static const struct err well = { .code = HVD_OK };
static const struct err bad_name = { .code = HVD_ERR_INVALID, .text = "parameter 'w': no name" };
static const struct err no_memory = { .code = HVD_ERR_NOMEM, .text = "no\nmemory" };

static int all_is_well(int rank)
{
    struct err err;
    (void)rank;
    init_world();
    for (int i = 0; i < 3; i++) {
        REQUIRE(agreement_complete("test", 0, &well, &err) == HVD_OK);
        REQUIRE(agreement_compare("test", 0, "a float32 [3]\nb int8 []\n", &err) == HVD_OK);
        REQUIRE(agreement_compare("test", 0, "", &err) == HVD_OK);
        REQUIRE(agreement_conclude("test", 0, &well, "a\n", &err) == HVD_OK);
        REQUIRE(agreement_conclude(NULL, 0, &well, "a\n", &err) == HVD_OK);
    }
    return leave_world();
}

START_TEST(ranks_without_mistakes_that_mean_the_same_go_on)
{
    ranks_run(&(struct mini_options){ .size = _i }, all_is_well);
}
END_TEST

/* Ranks 1 and 2 of four. */
static int two_mistakes(int rank)
{
    struct err err;
    const struct err *own = rank == 1 ? &no_memory : rank == 2 ? &bad_name : &well;
    init_world();
    for (int i = 0; i < 3; i++) {
        int rc = agreement_complete("test", 0, own, &err);
        if (rank == 1 || rank == 2)
            require_err(rc, &err, own->code, own->text);
        else
            require_err(rc, &err, HVD_ERR_MISMATCH, "rank 1: no?memory");
    }
    REQUIRE(agreement_complete("test", 0, &well, &err) == HVD_OK);
    return leave_world();
}

START_TEST(a_mistake_is_ones_own_and_the_others_hear_of_the_lowest)
{
    ranks_run(&(struct mini_options){ .size = 4 }, two_mistakes);
}
END_TEST

/* Of three ranks two differ, then one of them has a mistake besides. */
static int mistakes_and_differences(int rank)
{
    struct err err;
    const char *lines = rank > 0 ? "b\n" : "a\n";
    init_world();
    int rc = agreement_conclude("test", 0, &well, lines, &err);
    require_err(rc, &err, HVD_ERR_MISMATCH, "rank 1 lacks 'a', which rank 0 has");
    rc = agreement_conclude("test", 0, rank == 2 ? &bad_name : &well, rank == 2 ? NULL : lines,
                            &err);
    if (rank == 2)
        require_err(rc, &err, bad_name.code, bad_name.text);
    else
        require_err(rc, &err, HVD_ERR_MISMATCH, "rank 2: parameter 'w': no name");
    rc = agreement_conclude(NULL, 0, rank == 0 ? &bad_name : &well, lines, &err);
    REQUIRE(rc == (rank == 0 ? HVD_ERR_INVALID : HVD_ERR_MISMATCH));
    return leave_world();
}

START_TEST(mistakes_come_before_differences)
{
    ranks_run(&(struct mini_options){ .size = 3 }, mistakes_and_differences);
}
END_TEST

START_TEST(alone_a_rank_has_its_own_mistakes_only)
{
    struct err err;
    ck_assert_int_eq(agreement_complete("test", 0, &well, &err), HVD_ERR_NOT_INITIALIZED);
    ck_assert_int_eq(hvd_init(), HVD_OK);
    ck_assert_int_eq(agreement_complete("test", 0, &well, &err), HVD_OK);
    ck_assert_int_eq(agreement_complete("test", 0, &bad_name, &err), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, bad_name.text);
    ck_assert_int_eq(agreement_compare("test", 0, "a\n", &err), HVD_OK);
    ck_assert_int_eq(agreement_compare("test", 7, "a\n", &err), HVD_ERR_INVALID);
}
END_TEST

#define TEN "0123456789"
#define FIFTY TEN TEN TEN TEN TEN
#define LONG_NAME FIFTY FIFTY FIFTY FIFTY
#define HEAD FIFTY FIFTY TEN TEN TEN "01" /* what is left of it in a line that is too long */
#define TAIL "123456789" FIFTY

/* Of ranks 0 to 3; rank 2 differs from rank 0, rank 3 in another way, too. */
static const struct {
    const char *first, *second, *third;
    const char *text;
} differences[] = {
    { "w [3]\nb [5]\n", "w [3]\nb [6]\n", "v [1]\n", "rank 2 has 'b [6]', rank 0 has 'b [5]'" },
    { "w [3]\nb [5]\n", "w [3]\n", "w [3]\n", "rank 2 lacks 'b [5]', which rank 0 has" },
    { "v [5]\nw [3]\n", "w [3]\n", "w [3]\n", "rank 2 lacks 'v [5]', which rank 0 has" },
    { "w [3]\n", "w [3]\nb [5]\n", "b\n", "rank 2 has 'b [5]', rank 0 does not" },
    { "w [3]\n", "b [5]\nw [3]\n", "b\n", "rank 2 has 'b [5]', rank 0 does not" },
    { "v [4]\nw [3]\n", "w [3]\nv [3]\n", "", "rank 2 has 'v [3]', rank 0 has 'v [4]'" },
    { "w [3]\nv [4]\n", "v [3]\nw [3]\n", "", "rank 2 has 'v [3]', rank 0 has 'v [4]'" },
    { "v [4]\nw [3]\n", "w [3]\nv [4]\n", "", "rank 2 has 'w [3]', rank 0 has 'v [4]'" },
    { "g 0 1\ng 2 3\n", "g 0 1\n", "", "rank 2 lacks 'g 2 3', which rank 0 has" },
    { "g 2 3\n", "g 0 1\ng 2 3\n", "", "rank 2 has 'g 0 1', rank 0 does not" },
    { "", "w [3]\n", "", "rank 2 has 'w [3]', rank 0 does not" },
    { "w [3]\n", "", "w [3]\n", "rank 2 lacks 'w [3]', which rank 0 has" },
    { "w [3]\n", "w [33]\n", "w [3]\n", "rank 2 has 'w [33]', rank 0 has 'w [3]'" },
    { "w [3]\n", "w\x1b [3]\n", "w [3]\n", "rank 2 lacks 'w [3]', which rank 0 has" },
    { "w [3]\n", "w [3]\nv\x1b [3]\n", "w [3]\n", "rank 2 has 'v? [3]', rank 0 does not" },
    { LONG_NAME " float32 [3, 3]\n", LONG_NAME " float32 [5, 5]\n", "",
      "rank 2 has '" LONG_NAME " float32 [5, 5]', rank 0 has '" LONG_NAME " float32 [3, 3]'" },
    { LONG_NAME " float32 [3, 3, 7, 7]\n", LONG_NAME " float32 [5, 5, 7, 7]\n", "",
      "rank 2 has '" HEAD "..." TAIL " float32 [5, 5, 7, 7]', rank 0 has '" HEAD "..." TAIL
      " float32 [3, 3, 7, 7]'" },
};

static int differ(int rank)
{
    struct err err;
    init_world();
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
        const char *lines = rank < 2    ? differences[i].first
                            : rank == 2 ? differences[i].second
                                        : differences[i].third;
        int rc = agreement_compare("test", 0, lines, &err);
        require_err(rc, &err, HVD_ERR_MISMATCH, differences[i].text);
    }
    REQUIRE(agreement_compare("test", 0, "w [3]\n", &err) == HVD_OK);
    return leave_world();
}

START_TEST(a_difference_is_quoted_on_all_ranks)
{
    ranks_run(&(struct mini_options){ .size = 4 }, differ);
}
END_TEST

/* Rank 0 is not in it: it has a mistake of its own, if it calls. */
static int in_a_set(int rank)
{
    struct err err;
    init_world();
    int set = hvd_add_process_set((const int[]){ 3, 1 }, 2);
    REQUIRE(set > 0);
    int completed = agreement_complete("test", set, rank == 1 ? &bad_name : &well, &err);
    if (rank == 3)
        require_err(completed, &err, HVD_ERR_MISMATCH, "rank 1: parameter 'w': no name");
    int compared = agreement_compare("test", set, rank == 3 ? "b\n" : "a\n", &err);
    if (rank % 2 == 1)
        require_err(compared, &err, HVD_ERR_MISMATCH, "rank 3 lacks 'a', which rank 1 has");
    else
        REQUIRE(completed == HVD_ERR_INVALID && compared == HVD_ERR_INVALID);
    return leave_world();
}

START_TEST(in_a_process_set_its_first_rank_is_the_reference)
{
    ranks_run(&(struct mini_options){ .size = 4 }, in_a_set);
}
END_TEST

/* More lines than fit into one message of agreement. */
static int differ_far_behind(int rank)
{
    enum { LINES = 40000, LENGTH = 10 };
    struct err err;
    char *lines = calloc(LINES, LENGTH + 1);
    for (int i = 0; i < LINES; i++)
        sprintf(lines + (size_t)i * LENGTH, "line%5d\n", rank == 1 && i == 39000 ? 0 : i);
    init_world();
    int rc = agreement_compare("test", 0, lines, &err);
    require_err(rc, &err, HVD_ERR_MISMATCH, "rank 1 lacks 'line39000', which rank 0 has");
    free(lines);
    return leave_world();
}

START_TEST(a_difference_far_behind_is_found)
{
    ranks_run(&(struct mini_options){ .size = 3 }, differ_far_behind);
}
END_TEST

/* Those that have no more data are not asked. */
static int one_has_joined(int rank)
{
    struct err err;
    int last;
    init_world();
    if (rank != 2)
        REQUIRE(agreement_complete("test", 0, &well, &err) == HVD_OK);
    REQUIRE_STATUS(hvd_join(&last), HVD_OK);
    return leave_world();
}

START_TEST(a_rank_that_has_joined_has_no_mistake)
{
    ranks_run(&(struct mini_options){ .size = 3 }, one_has_joined);
}
END_TEST

static int broken_world(int rank)
{
    struct err err;
    init_world();
    if (rank == 1)
        return leave_world();
    int rc = agreement_complete("test", 0, &well, &err);
    REQUIRE(rc == HVD_ERR_PEER_LEFT && strstr(err.text, "rank 1"));
    rc = agreement_compare("test", 0, "a\n", &err);
    REQUIRE(rc == HVD_ERR_PEER_LEFT && strstr(err.text, "rank 1"));
    return leave_world();
}

START_TEST(without_one_of_the_ranks_there_is_no_agreement)
{
    ranks_run(&(struct mini_options){ .size = 3 }, broken_world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agreement");
    TCase *tcase = tcase_create("agreement");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, ranks_without_mistakes_that_mean_the_same_go_on, 1, 5);
    tcase_add_test(tcase, a_mistake_is_ones_own_and_the_others_hear_of_the_lowest);
    tcase_add_test(tcase, mistakes_come_before_differences);
    tcase_add_test(tcase, alone_a_rank_has_its_own_mistakes_only);
    tcase_add_test(tcase, a_difference_is_quoted_on_all_ranks);
    tcase_add_test(tcase, in_a_process_set_its_first_rank_is_the_reference);
    tcase_add_test(tcase, a_difference_far_behind_is_found);
    tcase_add_test(tcase, a_rank_that_has_joined_has_no_mistake);
    tcase_add_test(tcase, without_one_of_the_ranks_there_is_no_agreement);
    return unit_run(suite);
}
