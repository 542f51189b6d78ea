/* SPDX-License-Identifier: Apache-2.0 */
/* Which parts of a range are taken: what fits where, what becomes one again, what has been used,
 * and a long run of random requests beside a map of single units. */
#include "lib/memory/extents.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static struct extents extents;

static uint32_t take(uint32_t size, uint32_t alignment)
{
    uint32_t offset;
    ck_assert(extents_take(&extents, size, alignment, &offset));
    return offset;
}

START_TEST(the_lowest_part_that_fits_is_taken)
{
    extents_init(&extents, 100);
    ck_assert(extents_is_free(&extents));
    ck_assert_uint_eq(take(10, 1), 0);
    ck_assert_uint_eq(take(20, 1), 10);
    ck_assert_uint_eq(take(70, 1), 30);
    ck_assert(!extents_is_free(&extents));
    ck_assert(!extents_take(&extents, 1, 1, &(uint32_t){ 0 }));
    ck_assert_uint_eq(extents_give(&extents, 10), 20);
    ck_assert(!extents_take(&extents, 21, 1, &(uint32_t){ 0 }));
    ck_assert_uint_eq(take(5, 1), 10);
    ck_assert_uint_eq(take(15, 1), 15);
}
END_TEST

START_TEST(a_part_begins_where_it_is_asked_to_and_leaves_the_rest_before_it_free)
{
    extents_init(&extents, 64);
    ck_assert_uint_eq(take(3, 1), 0);
    ck_assert_uint_eq(take(16, 16), 16);
    ck_assert_uint_eq(take(13, 1), 3);
    ck_assert_uint_eq(take(32, 16), 32);
    ck_assert(!extents_take(&extents, 1, 1, &(uint32_t){ 0 }));
    extents_init(&extents, 20);
    take(1, 1);
    ck_assert(!extents_take(&extents, 5, 16, &(uint32_t){ 0 }));
    ck_assert(!extents_take(&extents, 1, 32, &(uint32_t){ 0 }));
}
END_TEST

START_TEST(free_neighbours_become_one_in_any_order)
{
    static const uint32_t orders[][3] = {
        { 0, 10, 20 }, { 0, 20, 10 }, { 10, 0, 20 }, { 10, 20, 0 }, { 20, 0, 10 }, { 20, 10, 0 },
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        extents_init(&extents, 30);
        for (int k = 0; k < 3; k++)
            take(10, 1);
        for (int k = 0; k < 3; k++)
            ck_assert_uint_eq(extents_give(&extents, orders[i][k]), 10);
        ck_assert(extents_is_free(&extents));
        ck_assert_uint_eq(take(30, 1), 0);
    }
}
END_TEST

START_TEST(what_is_not_taken_cannot_be_given_back)
{
    extents_init(&extents, 30);
    ck_assert_uint_eq(extents_give(&extents, 0), 0);
    take(10, 1);
    ck_assert_uint_eq(extents_give(&extents, 5), 0);
    ck_assert_uint_eq(extents_give(&extents, 10), 0);
    ck_assert_uint_eq(extents_give(&extents, 1000), 0);
    ck_assert_uint_eq(extents_give(&extents, 0), 10);
    ck_assert_uint_eq(extents_give(&extents, 0), 0);
}
END_TEST

START_TEST(there_is_an_end_to_the_number_of_parts)
{
    uint32_t offset;
    int count = 0;
    extents_init(&extents, 1 << 20);
    while (extents_take(&extents, 1, 1, &offset))
        count++;
    ck_assert_int_ge(count, EXTENTS_MAX - 2);
    ck_assert_int_le(extents.count, EXTENTS_MAX);
    for (uint32_t i = 0; i < (uint32_t)count; i++)
        ck_assert_uint_eq(extents_give(&extents, i), 1);
    ck_assert(extents_is_free(&extents));
}
END_TEST

START_TEST(what_is_given_back_is_used_until_it_is_taken_or_refreshed)
{
    struct extent part;
    extents_init(&extents, 100);
    ck_assert(!extents_refresh(&extents, 0, 1, 1, &part));
    take(30, 1);
    take(10, 1);
    extents_give(&extents, 0);
    ck_assert_uint_eq(extents.used, 30);
    take(10, 1);
    ck_assert_uint_eq(extents.used, 20);
    extents_give(&extents, 30);
    ck_assert_uint_eq(extents.used, 30);
    ck_assert(!extents_refresh(&extents, 0, 1, 1, &part));
    ck_assert(extents_refresh(&extents, 1, 100, 1, &part));
    ck_assert_uint_eq(part.offset, 10);
    ck_assert_uint_eq(part.size, 30);
    ck_assert_uint_eq(extents.used, 0);
    ck_assert_int_eq(extents.count, 2);
}
END_TEST

START_TEST(the_end_of_what_is_used_is_refreshed_and_begins_at_a_multiple)
{
    struct extent part;
    extents_init(&extents, 100);
    take(50, 1);
    extents_give(&extents, 0);
    ck_assert(extents_refresh(&extents, 0, 5, 16, &part));
    ck_assert_uint_eq(part.offset, 32);
    ck_assert_uint_eq(part.size, 32);
    ck_assert_uint_eq(extents.used, 32);
}
END_TEST

START_TEST(what_becomes_fresh_piece_by_piece_is_told_of_whole)
{
    struct extent part;
    extents_init(&extents, 100);
    for (int i = 0; i < 20; i++)
        take(5, 1);
    extents_give(&extents, 30);
    ck_assert(extents_refresh(&extents, 6, 5, 10, &part));
    ck_assert_uint_eq(part.offset, 30);
    ck_assert_uint_eq(part.size, 5);
    extents_give(&extents, 35);
    ck_assert(extents_refresh(&extents, 7, 5, 10, &part));
    ck_assert_uint_eq(part.offset, 30);
    ck_assert_uint_eq(part.size, 10);
}
END_TEST

START_TEST(what_is_used_and_what_is_fresh_are_taken_together)
{
    extents_init(&extents, 100);
    take(50, 1);
    extents_give(&extents, 0);
    ck_assert_uint_eq(take(80, 1), 0);
    ck_assert_uint_eq(extents.used, 0);
    ck_assert_uint_eq(take(20, 1), 80);
}
END_TEST

enum { UNITS = 2000, STEPS = 20000, HELD = 100 };

static struct held {
    uint32_t offset, size;
} held[HELD];
static enum { FRESH, USED, TAKEN } units[UNITS];

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

/* Does nobody hold any of it? */
static bool is_free(uint32_t offset, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        if (units[offset + i] == TAKEN)
            return false;
    return true;
}

/* The lowest part that is free, by looking at each; UNITS: there is none. */
static uint32_t expected(uint32_t size, uint32_t alignment)
{
    for (uint32_t offset = 0; offset + size <= UNITS; offset += alignment)
        if (is_free(offset, size))
            return offset;
    return UNITS;
}

static void mark(uint32_t offset, uint32_t size, int state)
{
    for (uint32_t i = 0; i < size; i++)
        units[offset + i] = state;
}

static uint32_t count_used(void)
{
    uint32_t count = 0;
    for (int i = 0; i < UNITS; i++)
        count += units[i] == USED;
    return count;
}

static void take_or_give(struct held *one, uint32_t size, uint32_t alignment)
{
    if (one->size > 0) {
        ck_assert_uint_eq(extents_give(&extents, one->offset), one->size);
        mark(one->offset, one->size, USED);
        one->size = 0;
        return;
    }
    uint32_t offset = UNITS, right = expected(size, alignment);
    ck_assert(extents_take(&extents, size, alignment, &offset) == (right < UNITS));
    ck_assert_uint_eq(offset, right);
    if (right < UNITS) {
        *one = (struct held){ offset, size };
        mark(offset, size, TAKEN);
    }
}

static void refresh(uint32_t index, uint32_t least, uint32_t alignment)
{
    struct extent part;
    if (!extents_refresh(&extents, (int)index, least, alignment, &part))
        return;
    for (uint32_t i = 0; i < part.size; i++)
        ck_assert_int_ne(units[part.offset + i], TAKEN);
    mark(part.offset, part.size, FRESH);
}

START_TEST(random_requests_get_what_a_map_of_units_says)
{
    uint32_t state = (uint32_t)time(NULL);
    printf("# SEED=%u\n", state);
    extents_init(&extents, UNITS);
    for (int i = 0; i < STEPS; i++) {
        uint32_t size = 1 + next_random(&state) % 60, alignment = 1u << next_random(&state) % 5;
        take_or_give(&held[next_random(&state) % HELD], size, alignment);
        refresh(next_random(&state) % (uint32_t)extents.count, size, alignment);
        ck_assert_uint_eq(extents.used, count_used());
    }
    for (int i = 0; i < HELD; i++)
        if (held[i].size > 0)
            take_or_give(&held[i], 1, 1);
    ck_assert(extents_is_free(&extents));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("extents");
    TCase *tcase = tcase_create("extents");
    tcase_add_test(tcase, the_lowest_part_that_fits_is_taken);
    tcase_add_test(tcase, a_part_begins_where_it_is_asked_to_and_leaves_the_rest_before_it_free);
    tcase_add_test(tcase, free_neighbours_become_one_in_any_order);
    tcase_add_test(tcase, what_is_not_taken_cannot_be_given_back);
    tcase_add_test(tcase, there_is_an_end_to_the_number_of_parts);
    tcase_add_test(tcase, what_is_given_back_is_used_until_it_is_taken_or_refreshed);
    tcase_add_test(tcase, the_end_of_what_is_used_is_refreshed_and_begins_at_a_multiple);
    tcase_add_test(tcase, what_becomes_fresh_piece_by_piece_is_told_of_whole);
    tcase_add_test(tcase, what_is_used_and_what_is_fresh_are_taken_together);
    tcase_add_test(tcase, random_requests_get_what_a_map_of_units_says);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
