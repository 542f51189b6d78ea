/* SPDX-License-Identifier: Apache-2.0 */
/* Names that were agreed on before are a bit; when there are more names than slots, those that were
 * not used for longest make room. */
#include "lib/negotiation/cache.h"
#include "lib/negotiation/slot_book.h"
#include "tests/support/negotiation_net.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct net net;

static void start(int size, int capacity)
{
    struct negotiation_settings settings = net_defaults;
    settings.cache_capacity = capacity;
    net_init(&net, size, &settings, 1);
}

/* Bytes that went up for one name on all ranks. */
static size_t cost(const char *name, int64_t count, bool nameless)
{
    const float data[4] = { 1 };
    struct offer offer = net_allreduce(&net, name, count, data);
    offer.description.nameless = nameless;
    net.bytes_up = 0;
    for (int i = 0; i < net.size; i++)
        net_submit(&net, i, &offer);
    net_complete(&net);
    net_check_one(&net, DECISION_DONE, name);
    return net.bytes_up / (size_t)(net.size - 1);
}

enum { AS_A_BIT = 1 + 4 + 8 + 8 + 4 }; /* flags, one run of one word, and a float32 */

START_TEST(a_name_becomes_a_bit)
{
    start(_i, 1024);
    ck_assert_uint_gt(cost("grad", 1, false), 60);
    for (int round = 0; round < 3; round++)
        ck_assert_uint_eq(cost("grad", 1, false), AS_A_BIT);
    ck_assert_uint_gt(cost("grad", 2, false), 60);
    ck_assert_uint_eq(cost("grad", 2, false), AS_A_BIT + 4);
    net_fini(&net);
}
END_TEST

START_TEST(without_a_cache_and_without_a_name_nothing_is_remembered)
{
    for (int capacity = 0; capacity < 2; capacity++) {
        start(3, capacity);
        for (int round = 0; round < 3; round++)
            ck_assert_uint_gt(cost("noname.0", 1, capacity > 0), 60);
        net_fini(&net);
    }
}
END_TEST

START_TEST(many_names_are_bits_of_one_message)
{
    enum { COUNT = 200 };
    const float data[1] = { 1 };
    char names[COUNT][16];
    start(2, 1024);
    for (int round = 0; round < 3; round++) {
        net.bytes_up = 0;
        for (int i = 0; i < 2; i++) {
            for (int at = 0; at < COUNT; at++) {
                snprintf(names[at], sizeof names[at], "t%d", at & 0xff);
                struct offer offer = net_allreduce(&net, names[at], 1, data);
                net_submit(&net, i, &offer);
            }
        }
        net_complete(&net);
        net_check_logs(&net);
    }
    ck_assert_uint_le(net.bytes_up, 5 + 8 + 4 * 8 + COUNT * sizeof *data);
    net_fini(&net);
}
END_TEST

START_TEST(each_of_many_names_is_a_bit_alone)
{
    enum { NAMES = 130 };
    char name[16];
    start(_i, 1024);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < NAMES; i++) {
            snprintf(name, sizeof name, "name %d", i);
            size_t nbytes = cost(name, 1, false);
            ck_assert(round == 0 ? nbytes > 60 : nbytes == AS_A_BIT);
        }
    }
    net_fini(&net);
}
END_TEST

START_TEST(old_names_make_room_for_new_ones)
{
    enum { CAPACITY = 16, COUNT = 60 };
    char name[24];
    start(_i, CAPACITY);
    for (int at = 0; at < COUNT; at++) {
        snprintf(name, sizeof name, "name%d", at);
        for (int times = 0; times < 4; times++) {
            cost(name, 1, false);
            cost("always", 1, false);
        }
        ck_assert_uint_eq(cost(name, 1, false), AS_A_BIT);
        ck_assert_uint_eq(cost("always", 1, false), AS_A_BIT);
    }
    ck_assert_uint_gt(cost("name0", 1, false), 60);
    net_fini(&net);
}
END_TEST

/* A name that waits is not retired at the root, but may be below: rank 1 hears of the retirement
 * between the submissions of others. */
START_TEST(names_in_flight_outlive_the_retirement_of_their_slots)
{
    char name[24];
    start(6, 2);
    for (int round = 0; round < 40; round++) {
        for (int at = 0; at < 7; at++) {
            snprintf(name, sizeof name, "n%d", at);
            const float data[1] = { 1 };
            struct offer offer = net_allreduce(&net, name, 1, data);
            for (int i = 0; i < net.size; i++)
                if ((i + round) % 3 != 0)
                    net_submit(&net, i, &offer);
            for (uint32_t steps = net_random(&net, 20); steps > 0; steps--)
                net_step(&net);
        }
        for (int at = 6; at >= 0; at--) {
            snprintf(name, sizeof name, "n%d", at);
            const float data[1] = { 1 };
            struct offer offer = net_allreduce(&net, name, 1, data);
            for (int i = 0; i < net.size; i++)
                if ((i + round) % 3 == 0)
                    net_submit(&net, i, &offer);
            for (uint32_t steps = net_random(&net, 20); steps > 0; steps--)
                net_step(&net);
        }
        net_complete(&net);
        net_check_logs(&net);
        ck_assert_int_eq(net.seen[5].decisions, 7 * (round + 1));
    }
    net_fini(&net);
}
END_TEST

static void submit(int rank, const char *name)
{
    const float data[1] = { 1 };
    struct offer offer = net_allreduce(&net, name, 1, data);
    net_submit(&net, rank, &offer);
}

/* "a" was used before "b", and waits for rank 0 when "c" needs a slot. */
START_TEST(a_name_that_waits_keeps_its_slot)
{
    start(2, 2);
    cost("a", 1, false);
    cost("b", 1, false);
    submit(1, "a");
    net_complete(&net);
    cost("c", 1, false);
    cost("c", 1, false);
    ck_assert_uint_eq(cost("c", 1, false), AS_A_BIT);
    submit(0, "a");
    net_complete(&net);
    net_check_one(&net, DECISION_DONE, "a");
    ck_assert_uint_eq(cost("a", 1, false), AS_A_BIT);
    net_fini(&net);
}
END_TEST

/* The name and its end need one byte more than the smallest block has. */
START_TEST(a_name_goes_back_to_the_pool_with_the_size_that_it_had)
{
    struct err err;
    struct cache cache = { 0 };
    struct pool pool = { 0 };
    const struct description description = net_description(COLLECTIVE_ALLREDUCE, 1);
    char name[POOL_LEAST + 1] = "";
    memset(name, 'n', POOL_LEAST);
    const struct cache_change change = { name, POOL_LEAST, 1, &description, true };
    ck_assert_int_eq(cache_assign(&cache, &pool, 0, &change, &err), HVD_OK);
    cache_fini(&cache, &pool);
    ck_assert_ptr_null(pool.free[0]);
    ck_assert_ptr_nonnull(pool.free[1]);
    pool_fini(&pool);
}
END_TEST

static bool is_three(void *arg, int slot)
{
    (void)arg;
    return slot == 3;
}

START_TEST(slots_go_out_in_order_and_come_back_oldest_first)
{
    struct slot_book book;
    ck_assert(slot_book_init(&book, 16));
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(slot_book_take(&book), i);
    ck_assert_int_eq(slot_book_take(&book), -1);
    slot_book_touch(&book, 2);
    slot_book_touch(&book, 15);
    slot_book_touch(&book, 0);
    slot_book_touch(&book, 1);
    ck_assert_int_eq(slot_book_retire(&book, is_three, NULL), 2);
    ck_assert_int_eq(book.retiring[0], 4);
    ck_assert_int_eq(book.retiring[1], 5);
    ck_assert_int_eq(slot_book_take(&book), -1);
    slot_book_retired(&book);
    ck_assert_int_eq(slot_book_take(&book), 5);
    ck_assert_int_eq(slot_book_take(&book), 4);
    ck_assert_int_eq(slot_book_take(&book), -1);
    slot_book_fini(&book);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("cache");
    tcase_add_loop_test(tcase, a_name_becomes_a_bit, 2, 8);
    tcase_add_test(tcase, without_a_cache_and_without_a_name_nothing_is_remembered);
    tcase_add_test(tcase, many_names_are_bits_of_one_message);
    tcase_add_loop_test(tcase, each_of_many_names_is_a_bit_alone, 2, 5);
    tcase_add_loop_test(tcase, old_names_make_room_for_new_ones, 2, 8);
    tcase_add_test(tcase, names_in_flight_outlive_the_retirement_of_their_slots);
    tcase_add_test(tcase, a_name_that_waits_keeps_its_slot);
    tcase_add_test(tcase, a_name_goes_back_to_the_pool_with_the_size_that_it_had);
    tcase_add_test(tcase, slots_go_out_in_order_and_come_back_oldest_first);
    Suite *all = suite_create("negotiation_cache");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
