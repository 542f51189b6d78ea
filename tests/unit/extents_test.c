/* SPDX-License-Identifier: Apache-2.0 */
/* Which parts of a range are taken: what fits where, what becomes one again, and a long run of
 * random requests beside a map of single units. */
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

enum { UNITS = 2000, STEPS = 20000, HELD = 100 };

static struct held {
    uint32_t offset, size;
} held[HELD];
static char units[UNITS];

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

/* Does nobody hold any of it? */
static bool all(uint32_t offset, uint32_t size, char value)
{
    for (uint32_t i = 0; i < size; i++)
        if (units[offset + i] != value)
            return false;
    return true;
}

/* The lowest part that is free, by looking at each; UNITS: there is none. */
static uint32_t expected(uint32_t size, uint32_t alignment)
{
    for (uint32_t offset = 0; offset + size <= UNITS; offset += alignment)
        if (all(offset, size, 0))
            return offset;
    return UNITS;
}

static void take_or_give(struct held *one, uint32_t size, uint32_t alignment)
{
    if (one->size > 0) {
        ck_assert_uint_eq(extents_give(&extents, one->offset), one->size);
        memset(units + one->offset, 0, one->size);
        one->size = 0;
        return;
    }
    uint32_t offset = UNITS, right = expected(size, alignment);
    ck_assert(extents_take(&extents, size, alignment, &offset) == (right < UNITS));
    ck_assert_uint_eq(offset, right);
    if (right < UNITS) {
        *one = (struct held){ offset, size };
        memset(units + offset, 1, size);
    }
}

START_TEST(random_requests_get_what_a_map_of_units_says)
{
    uint32_t state = (uint32_t)time(NULL);
    printf("# SEED=%u\n", state);
    extents_init(&extents, UNITS);
    for (int i = 0; i < STEPS; i++) {
        uint32_t size = 1 + next_random(&state) % 60, alignment = 1u << next_random(&state) % 5;
        take_or_give(&held[next_random(&state) % HELD], size, alignment);
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
    tcase_add_test(tcase, random_requests_get_what_a_map_of_units_says);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
