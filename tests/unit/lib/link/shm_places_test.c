/* SPDX-License-Identifier: Apache-2.0 */
/* Which slots segments get, and which pieces belong to one vector. */
#include "lib/link/shm_exported.h"
#include "lib/link/shm_run.h"
#include "tests/support/unit.h"

static struct shm_exported exported;
static struct shm_runs runs;

static int export(uint64_t segment)
{
    int slot = shm_exported_choose(&exported);
    shm_exported_set(&exported, slot, segment);
    return slot;
}

START_TEST(each_segment_gets_a_slot_and_keeps_it)
{
    int slots[SHM_SLOTS];
    ck_assert_int_eq(shm_exported_find(&exported, 1), -1);
    for (uint64_t i = 0; i < SHM_SLOTS; i++)
        slots[i] = export(i + 1);
    for (uint64_t i = 0; i < SHM_SLOTS; i++) {
        ck_assert_int_eq(shm_exported_find(&exported, i + 1), slots[i]);
        for (uint64_t k = 0; k < i; k++)
            ck_assert_int_ne(slots[i], slots[k]);
    }
}
END_TEST

START_TEST(the_segment_that_was_used_least_recently_is_released)
{
    for (uint64_t i = 0; i < SHM_SLOTS; i++)
        export(i + 1);
    shm_exported_find(&exported, 1);
    int second = shm_exported_find(&exported, 2), third = shm_exported_find(&exported, 3);
    for (uint64_t i = 3; i < SHM_SLOTS; i++)
        shm_exported_find(&exported, i + 1);
    shm_exported_find(&exported, 1);
    ck_assert_int_eq(export(100), second);
    ck_assert_int_eq(shm_exported_find(&exported, 2), -1);
    ck_assert_int_eq(export(2), third);
    ck_assert_int_ge(shm_exported_find(&exported, 1), 0);
}
END_TEST

START_TEST(a_slot_is_used_once_the_other_side_has_said_what_became_of_its_segment)
{
    int first = export(1), second = export(2);
    ck_assert(!shm_exported_is_answered(&exported, first, 0));
    ck_assert(shm_exported_is_answered(&exported, first, 1));
    ck_assert(!shm_exported_is_answered(&exported, second, 1));
    ck_assert(shm_exported_is_answered(&exported, second, 2));
    for (uint64_t i = 2; i < SHM_SLOTS + 1; i++)
        export(i + 1);
    ck_assert_int_eq(shm_exported_find(&exported, SHM_SLOTS + 1), first);
    ck_assert(!shm_exported_is_answered(&exported, first, SHM_SLOTS));
    ck_assert_uint_eq(shm_exported_open(&exported, SHM_SLOTS - 1), 2);
}
END_TEST

START_TEST(more_answers_than_segments_are_none)
{
    int slot = export(1);
    ck_assert(!shm_exported_is_answered(&exported, slot, 2));
    ck_assert(!shm_exported_is_answered(&exported, slot, UINT32_MAX));
}
END_TEST

static size_t before(size_t at, size_t nbytes)
{
    return shm_runs_before(&runs, (const char *)0x10000 + at, nbytes);
}

START_TEST(pieces_behind_one_another_are_one_vector)
{
    ck_assert_uint_eq(before(0, 100), 0);
    ck_assert_uint_eq(before(100, 100), 100);
    ck_assert_uint_eq(before(200, 50), 200);
    ck_assert_uint_eq(before(251, 50), 0);
}
END_TEST

START_TEST(a_piece_may_be_handed_over_again_from_its_middle)
{
    ck_assert_uint_eq(before(0, 100), 0);
    ck_assert_uint_eq(before(30, 70), 30);
    ck_assert_uint_eq(before(100, 100), 100);
    ck_assert_uint_eq(before(0, 100), 0);
    ck_assert_uint_eq(before(200, 100), 0);
}
END_TEST

START_TEST(vectors_may_be_handed_over_in_turn)
{
    for (size_t i = 0; i < 10; i++)
        for (size_t vector = 0; vector < SHM_RUNS; vector++)
            ck_assert_uint_eq(before(vector * 100000 + i * 10, 10), i * 10);
    ck_assert_uint_eq(before(900000, 10), 0);
    ck_assert_uint_eq(before(100, 10), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shm_places");
    TCase *tcase = tcase_create("shm_places");
    tcase_add_test(tcase, each_segment_gets_a_slot_and_keeps_it);
    tcase_add_test(tcase, the_segment_that_was_used_least_recently_is_released);
    tcase_add_test(tcase, a_slot_is_used_once_the_other_side_has_said_what_became_of_its_segment);
    tcase_add_test(tcase, more_answers_than_segments_are_none);
    tcase_add_test(tcase, pieces_behind_one_another_are_one_vector);
    tcase_add_test(tcase, a_piece_may_be_handed_over_again_from_its_middle);
    tcase_add_test(tcase, vectors_may_be_handed_over_in_turn);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
