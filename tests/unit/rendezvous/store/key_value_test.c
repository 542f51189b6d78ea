/* SPDX-License-Identifier: Apache-2.0 */
/* The key-value store: what it keeps, refuses and forgets, the life of Gloo's scopes, and who is
 * woken. */
#include "tests/support/key_value_calls.h"

#include <stdio.h>

static char large[KEY_VALUE_SIZE_MAX + 1];

START_TEST(nothing_can_be_destroyed)
{
    key_value_destroy(NULL);
}
END_TEST

START_TEST(an_empty_store_has_nothing)
{
    ck_assert(!there("scope", "key"));
    ck_assert_int_eq(forget("scope", "key"), 200);
    ck_assert_uint_eq(key_value_keys(store), 0);
    ck_assert_uint_eq(key_value_size(store), 0);
}
END_TEST

START_TEST(a_value_is_kept_until_it_is_deleted)
{
    char value[] = "first";
    ck_assert_int_eq(put("scope", "key", value), 200);
    value[0] = '?';
    expect("scope", "key", "first");
    ck_assert_int_eq(put("scope", "key", "the second"), 200);
    expect("scope", "key", "the second");
    ck_assert_uint_eq(key_value_keys(store), 1);
    ck_assert_uint_eq(key_value_size(store), 2 * KEY_VALUE_NAME_COST + 5 + 3 + 10);
    ck_assert_int_eq(forget("scope", "key"), 200);
    ck_assert_int_eq(forget("scope", "key"), 200);
    ck_assert(!there("scope", "key"));
    ck_assert_uint_eq(key_value_size(store), 0);
}
END_TEST

START_TEST(an_empty_value_is_there)
{
    ck_assert_int_eq(key_value_put(store, name("s"), name("k"), NULL, 0), 200);
    expect("s", "k", "");
}
END_TEST

START_TEST(a_value_may_hold_any_bytes)
{
    static const char bytes[] = { 0, '\n', (char)0xff, 0 };
    struct key_value_bytes value;
    ck_assert_int_eq(key_value_put(store, name("s"), name("k"), bytes, sizeof bytes), 200);
    ck_assert_int_eq(key_value_get(store, name("s"), name("k"), &value), 200);
    ck_assert_uint_eq(value.length, sizeof bytes);
    ck_assert_mem_eq(value.data, bytes, sizeof bytes);
}
END_TEST

START_TEST(a_value_can_be_put_under_another_key)
{
    struct key_value_bytes value;
    put("s", "k", "value");
    ck_assert_int_eq(key_value_get(store, name("s"), name("k"), &value), 200);
    ck_assert_int_eq(key_value_put(store, name("s"), name("k"), value.data, value.length), 200);
    expect("s", "k", "value");
}
END_TEST

START_TEST(names_do_not_run_into_each_other)
{
    put("a", "bc", "1");
    put("ab", "c", "2");
    put("a", "b", "3");
    expect("a", "bc", "1");
    expect("ab", "c", "2");
    expect("a", "b", "3");
    ck_assert(!there("ab", "bc"));
}
END_TEST

static const struct name_row {
    const char *name;
    size_t length;
    int as_scope, as_key;
} names[] = {
    { "", 0, 400, 400 },
    { KEY_VALUE_CHARACTERS, sizeof KEY_VALUE_CHARACTERS - 1, 200, 200 },
    { "local_a.example.com", 19, 200, 200 },
    { "a\0b", 3, 400, 400 },
    { "a b", 3, 400, 400 },
    { "a/b", 3, 400, 400 },
    { "a%20b", 5, 400, 400 },
    { "a?b", 3, 400, 400 },
    { "caf\xc3\xa9", 5, 400, 400 },
    { "\xff", 1, 400, 400 },
    { "a\n", 2, 400, 400 },
    { ".", 1, 400, 400 },
    { "..", 2, 400, 400 },
    { "...", 3, 200, 200 },
    { ".a", 2, 200, 200 },
    { NULL, KEY_VALUE_SCOPE_MAX, 200, 200 },
    { NULL, KEY_VALUE_SCOPE_MAX + 1, 400, 200 },
    { NULL, KEY_VALUE_KEY_MAX, 400, 200 },
    { NULL, KEY_VALUE_KEY_MAX + 1, 400, 400 },
};

/* What all calls say of the same names. */
static void expect_all(int status, struct key_value_bytes scope, struct key_value_bytes key)
{
    struct key_value_bytes value;
    int64_t sum;
    ck_assert_int_eq(key_value_put(store, scope, key, "1", 1), status);
    ck_assert_int_eq(key_value_get(store, scope, key, &value), status);
    ck_assert_int_eq(key_value_add(store, scope, key, 1, &sum), status);
    ck_assert_int_eq(key_value_delete(store, scope, key), status);
    ck_assert_uint_eq(key_value_size(store), 0);
}

START_TEST(names_have_known_characters_and_lengths)
{
    static char filler[KEY_VALUE_KEY_MAX + 1];
    const struct name_row *row = &names[_i];
    memset(filler, 'x', sizeof filler);
    struct key_value_bytes bytes = { row->name ? row->name : filler, row->length };
    expect_all(row->as_scope, bytes, name("k"));
    expect_all(row->as_key, name("s"), bytes);
}
END_TEST

START_TEST(a_value_has_4_mib_at_most)
{
    struct key_value_bytes s = name("s");
    ck_assert_int_eq(key_value_put(store, s, name("k"), large, KEY_VALUE_SIZE_MAX), 200);
    ck_assert_int_eq(key_value_put(store, s, name("k"), large, KEY_VALUE_SIZE_MAX + 1), 413);
    struct key_value_bytes value;
    ck_assert_int_eq(key_value_get(store, s, name("k"), &value), 200);
    ck_assert_uint_eq(value.length, KEY_VALUE_SIZE_MAX);
}
END_TEST

START_TEST(a_scope_has_131072_keys_at_most)
{
    char key[16];
    int kept = 0;
    for (int i = 0; i < KEY_VALUE_KEYS_MAX; i++) {
        snprintf(key, sizeof key, "%d", i);
        kept += put("s", key, "") == 200;
    }
    ck_assert_int_eq(kept, KEY_VALUE_KEYS_MAX);
    ck_assert_uint_eq(key_value_keys(store), KEY_VALUE_KEYS_MAX);
    ck_assert_int_eq(put("s", "more", ""), 507);
    ck_assert_int_eq(put("s", "7", "again"), 200);
    ck_assert_int_eq(put("other", "more", ""), 200);
    forget("s", "7");
    ck_assert_int_eq(put("s", "more", ""), 200);
    ck_assert_int_eq(put("s", "7", ""), 507);
}
END_TEST

START_TEST(there_are_4096_scopes_at_most_beside_the_planned)
{
    char scope[16];
    ck_assert_int_eq(key_value_plan(store, "planned", 1), 0);
    for (int i = 0; i < KEY_VALUE_SCOPES_MAX; i++) {
        snprintf(scope, sizeof scope, "%d", i);
        ck_assert_int_eq(put(scope, "k", ""), 200);
    }
    size_t size = key_value_size(store);
    ck_assert_int_eq(put("more", "k", ""), 507);
    ck_assert_uint_eq(key_value_size(store), size);
    ck_assert_int_eq(put("planned", "k", ""), 200);
    ck_assert_int_eq(put("7", "l", ""), 200);
    forget("7", "k");
    ck_assert_int_eq(put("more", "k", ""), 507);
    forget("7", "l");
    ck_assert_int_eq(put("more", "k", ""), 200);
    ck_assert_int_eq(key_value_plan(store, "more", 2), 0); /* was not planned, does not count now */
    ck_assert_int_eq(put("7", "k", ""), 200);
}
END_TEST

/* To the last byte. */
static void fill(void)
{
    char key[16];
    struct key_value_bytes s = name("s");
    for (int i = 0;; i++) {
        snprintf(key, sizeof key, "%02d", i);
        size_t left = KEY_VALUE_TOTAL_MAX - key_value_size(store);
        size_t cost = KEY_VALUE_NAME_COST + 2 + (i == 0 ? KEY_VALUE_NAME_COST + 1 : 0);
        size_t length = left - cost < KEY_VALUE_SIZE_MAX ? left - cost : KEY_VALUE_SIZE_MAX;
        ck_assert_int_eq(key_value_put(store, s, name(key), large, length), 200);
        if (length < KEY_VALUE_SIZE_MAX)
            break;
    }
    ck_assert_uint_eq(key_value_size(store), KEY_VALUE_TOTAL_MAX);
}

START_TEST(all_of_it_has_256_mib_at_most)
{
    struct key_value_bytes s = name("s");
    fill();
    ck_assert_int_eq(put("s", "more", ""), 507);
    ck_assert_int_eq(put("t", "more", ""), 507);
    ck_assert_int_eq(key_value_put(store, s, name("07"), large, KEY_VALUE_SIZE_MAX), 200);
    ck_assert_int_eq(key_value_put(store, s, name("63"), large, KEY_VALUE_SIZE_MAX), 507);
    ck_assert_int_eq(key_value_put(store, s, name("07"), "short", 5), 200);
    ck_assert_uint_eq(key_value_size(store), KEY_VALUE_TOTAL_MAX - KEY_VALUE_SIZE_MAX + 5);
    ck_assert_int_eq(key_value_put(store, s, name("63"), large, KEY_VALUE_SIZE_MAX), 200);
    expect("s", "07", "short");
    forget("s", "00");
    ck_assert_int_eq(put("t", "more", ""), 200);
}
END_TEST

START_TEST(a_put_that_is_refused_leaves_the_old_value)
{
    struct key_value_bytes s = name("s");
    put("s", "00", "");
    put("old", "k", "old value");
    fill();
    ck_assert_int_eq(put("old", "k", "old value."), 507);
    expect("old", "k", "old value");
    ck_assert_int_eq(put("old", "k", "new value"), 200);
    expect("old", "k", "new value");
    ck_assert_int_eq(key_value_put(store, s, name("00"), large, 0), 200);
}
END_TEST

START_TEST(stores_that_share_a_budget_have_no_more_together)
{
    enum { COST = 2 * KEY_VALUE_NAME_COST + sizeof "sk" - 1 }; /* of a scope and a key */
    struct memory_budget budget = { .max = 3 * COST + 20 };
    struct key_value_bytes s = name("s"), k = name("k");
    struct key_value *other = key_value_create();
    ck_assert_int_eq(put("s", "k", "before"), 200);
    key_value_share(store, &budget);
    key_value_share(other, &budget);
    ck_assert_uint_eq(budget.used, COST + 6);
    ck_assert_int_eq(put("s", "k", "now"), 200);
    ck_assert_int_eq(key_value_put(other, s, k, large, 2 * COST), 507);
    ck_assert_int_eq(key_value_put(other, s, k, large, COST + 17), 200);
    ck_assert_uint_eq(budget.used, budget.max);
    ck_assert_int_eq(put("s", "k", "then"), 507);
    ck_assert_int_eq(put("s", "k", "one"), 200);
    ck_assert_int_eq(key_value_put(other, s, k, large, 0), 200);
    ck_assert_int_eq(put("s", "k", "then"), 200);
    ck_assert_int_eq(key_value_delete(other, s, k), 200);
    ck_assert_uint_eq(budget.used, COST + 4);
    ck_assert_int_eq(key_value_put(other, s, k, large, COST), 200);
    key_value_destroy(other);
    ck_assert_uint_eq(budget.used, COST + 4);
    forget("s", "k");
    ck_assert_uint_eq(budget.used, 0);
    key_value_destroy(store);
    store = NULL;
}
END_TEST

START_TEST(what_is_planned_goes_back_to_the_budget_when_it_is_done)
{
    struct memory_budget budget = { .max = 1000 };
    key_value_share(store, &budget);
    ck_assert_int_eq(key_value_plan(store, "global", 1), 0);
    size_t planned = budget.used;
    ck_assert_int_eq(put("global", "0", "address"), 200);
    ck_assert_uint_gt(budget.used, planned);
    forget("global", "0");
    ck_assert_uint_eq(budget.used, planned);
    key_value_share(store, &(struct memory_budget){ 0 });
    ck_assert_uint_eq(budget.used, 0);
    key_value_destroy(store);
    store = NULL;
}
END_TEST

/* A number is added to what was put before, or to nothing. */
static const struct add_row {
    const char *before;
    int64_t number;
    int status;
    const char *after;
} adds[] = {
    { NULL, 5, 200, "5" },
    { NULL, -5, 200, "-5" },
    { NULL, 0, 200, "0" },
    { "41", 1, 200, "42" },
    { "-1", 1, 200, "0" },
    { "-0", 7, 200, "7" },
    { "007", 1, 200, "8" },
    { "9223372036854775806", 1, 200, "9223372036854775807" },
    { "9223372036854775807", 1, 409, "9223372036854775807" },
    { "9223372036854775808", -1, 409, "9223372036854775808" },
    { "-9223372036854775807", -1, 200, "-9223372036854775808" },
    { "-9223372036854775808", 0, 200, "-9223372036854775808" },
    { "-9223372036854775808", -1, 409, "-9223372036854775808" },
    { "-9223372036854775809", 1, 409, "-9223372036854775809" },
    { "99999999999999999999", 0, 409, "99999999999999999999" },
    { "000000000000000000001", 0, 409, "000000000000000000001" },
    { "", 1, 409, "" },
    { "-", 1, 409, "-" },
    { "+1", 1, 409, "+1" },
    { " 1", 1, 409, " 1" },
    { "1\n", 1, 409, "1\n" },
    { "1.0", 1, 409, "1.0" },
    { "0x10", 1, 409, "0x10" },
    { "one", 1, 409, "one" },
};

START_TEST(numbers_are_added)
{
    const struct add_row *row = &adds[_i];
    int64_t sum = -99;
    if (row->before)
        put("s", "k", row->before);
    ck_assert_int_eq(key_value_add(store, name("s"), name("k"), row->number, &sum), row->status);
    expect("s", "k", row->after);
    ck_assert_int_eq(sum, row->status == 200 ? strtoll(row->after, NULL, 10) : -99);
}
END_TEST

/* What a world of `size` does in a scope until all have met. */
static void meet(const char *scope, int size)
{
    char key[32];
    for (int rank = 0; rank < size; rank++) {
        snprintf(key, sizeof key, "rank_%d", rank);
        ck_assert_int_eq(put(scope, key, "host"), 200);
        ck_assert_int_eq(put(scope, key + 5, size > 1 ? "address" : ""), 200);
    }
}

START_TEST(a_planned_scope_is_cleared_when_all_have_deleted)
{
    key_value_plan(store, "global", 3);
    size_t empty = key_value_size(store);
    meet("global", 3);
    ck_assert_uint_eq(key_value_keys(store), 6);
    forget("global", "1");
    forget("global", "0");
    expect("global", "0", "address");
    expect("global", "1", "address");
    forget("global", "2");
    ck_assert_uint_eq(key_value_keys(store), 0);
    ck_assert_uint_eq(key_value_size(store), empty);
}
END_TEST

START_TEST(a_world_of_one_meets_itself)
{
    key_value_plan(store, "cross_0", 1);
    meet("cross_0", 1);
    expect("cross_0", "0", "");
    forget("cross_0", "0");
    ck_assert(!there("cross_0", "0"));
    ck_assert(!there("cross_0", "rank_0"));
}
END_TEST

START_TEST(a_scope_serves_again_under_its_name)
{
    key_value_plan(store, "global", 2);
    for (int i = 0; i < 3; i++) {
        meet("global", 2);
        forget("global", "0");
        expect("global", "1", "address");
        forget("global", "1");
        ck_assert_uint_eq(key_value_keys(store), 0);
    }
}
END_TEST

START_TEST(a_slow_delete_does_not_wipe_the_next_rendezvous)
{
    key_value_plan(store, "global", 2);
    meet("global", 2);
    forget("global", "0");
    put("global", "rank_0", "host");
    put("global", "0", "new");
    forget("global", "1"); /* the slow one: of the rendezvous before */
    expect("global", "0", "new");
    put("global", "1", "new");
    forget("global", "0");
    expect("global", "1", "new");
    forget("global", "1");
    ck_assert_uint_eq(key_value_keys(store), 0);
}
END_TEST

START_TEST(a_delete_that_is_repeated_counts_once)
{
    key_value_plan(store, "global", 2);
    meet("global", 2);
    forget("global", "0");
    forget("global", "0");
    forget("global", "nobody");
    expect("global", "0", "address");
    forget("global", "1");
    ck_assert_uint_eq(key_value_keys(store), 0);
    meet("global", 2);
    forget("global", "1");
    expect("global", "0", "address");
}
END_TEST

START_TEST(a_scope_that_is_done_leaves_the_others_alone)
{
    key_value_plan(store, "global", 2);
    key_value_plan(store, "local_a", 2);
    meet("global", 2);
    meet("local_a", 2);
    forget("global", "0");
    forget("local_a", "0");
    forget("local_a", "1");
    ck_assert(!there("local_a", "0"));
    expect("global", "1", "address");
    forget("global", "1"); /* its count has survived */
    ck_assert_uint_eq(key_value_keys(store), 0);
}
END_TEST

START_TEST(a_scope_that_is_not_planned_forgets_key_by_key)
{
    meet("global_process_set_hash_7d48", 2);
    forget("global_process_set_hash_7d48", "0");
    forget("global_process_set_hash_7d48", "1");
    expect("global_process_set_hash_7d48", "rank_0", "host");
    expect("global_process_set_hash_7d48", "rank_1", "host");
    ck_assert_uint_eq(key_value_keys(store), 2);
}
END_TEST

START_TEST(a_scope_can_be_planned_late_or_again)
{
    meet("global", 3);
    key_value_plan(store, "global", 3);
    forget("global", "0");
    forget("global", "1");
    key_value_plan(store, "global", 4);
    forget("global", "2");
    expect("global", "0", "address");
    key_value_plan(store, "global", 3);
    ck_assert_uint_eq(key_value_keys(store), 0);
}
END_TEST

START_TEST(a_plan_needs_a_name)
{
    ck_assert_int_eq(key_value_plan(store, "", 1), 400);
    ck_assert_int_eq(key_value_plan(store, "local_[::1]", 1), 400);
    ck_assert_uint_eq(key_value_size(store), 0);
}
END_TEST

static struct wait_list woken;

static void wake(void)
{
    TAILQ_INIT(&woken);
    key_value_wake(store, &woken);
}

START_TEST(who_waits_for_a_key_is_woken_when_it_comes)
{
    struct waiter waiters[3] = { 0 };
    for (int i = 0; i < 3; i++)
        waiter_join(&waiters[i], key_value_waiters(store, name("s"), name("k")));
    wake();
    ck_assert(TAILQ_EMPTY(&woken));
    put("s", "k", "");
    put("s", "k", "again");
    waiter_leave(&waiters[1]);
    wake();
    ck_assert_ptr_eq(TAILQ_FIRST(&woken), &waiters[0]);
    ck_assert_ptr_eq(TAILQ_NEXT(&waiters[0], link), &waiters[2]);
    ck_assert_ptr_null(TAILQ_NEXT(&waiters[2], link));
    waiter_join(&waiters[0], key_value_waiters(store, name("s"), name("k")));
    wake();
    ck_assert(TAILQ_EMPTY(&woken));
}
END_TEST

START_TEST(all_can_be_woken)
{
    static const char *const waited_for[] = { "a", "b", "c" };
    struct waiter waiters[3] = { 0 };
    for (int i = 0; i < 3; i++)
        waiter_join(&waiters[i], key_value_waiters(store, name("s"), name(waited_for[i])));
    TAILQ_INIT(&woken);
    key_value_wake_all(store, &woken);
    for (int i = 0; i < 3; i++)
        ck_assert_ptr_eq(waiters[i].in, &woken);
}
END_TEST

START_TEST(a_sum_wakes_and_a_refusal_does_not)
{
    struct waiter waiter = { 0 };
    int64_t sum;
    waiter_join(&waiter, key_value_waiters(store, name("s"), name("k")));
    key_value_put(store, name("s"), name("k"), large, sizeof large);
    forget("s", "k");
    wake();
    ck_assert(TAILQ_EMPTY(&woken));
    key_value_add(store, name("s"), name("k"), 1, &sum);
    wake();
    ck_assert_ptr_eq(TAILQ_FIRST(&woken), &waiter);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("key_value");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, nothing_can_be_destroyed);
    tcase_add_test(tcase, an_empty_store_has_nothing);
    tcase_add_test(tcase, a_value_is_kept_until_it_is_deleted);
    tcase_add_test(tcase, an_empty_value_is_there);
    tcase_add_test(tcase, a_value_may_hold_any_bytes);
    tcase_add_test(tcase, a_value_can_be_put_under_another_key);
    tcase_add_test(tcase, names_do_not_run_into_each_other);
    tcase_add_loop_test(tcase, names_have_known_characters_and_lengths, 0,
                        (int)(sizeof names / sizeof *names));
    tcase_add_test(tcase, a_value_has_4_mib_at_most);
    tcase_add_test(tcase, a_scope_has_131072_keys_at_most);
    tcase_add_test(tcase, there_are_4096_scopes_at_most_beside_the_planned);
    tcase_add_test(tcase, all_of_it_has_256_mib_at_most);
    tcase_add_test(tcase, a_put_that_is_refused_leaves_the_old_value);
    tcase_add_test(tcase, stores_that_share_a_budget_have_no_more_together);
    tcase_add_test(tcase, what_is_planned_goes_back_to_the_budget_when_it_is_done);
    tcase_add_loop_test(tcase, numbers_are_added, 0, (int)(sizeof adds / sizeof *adds));
    tcase_add_test(tcase, a_planned_scope_is_cleared_when_all_have_deleted);
    tcase_add_test(tcase, a_world_of_one_meets_itself);
    tcase_add_test(tcase, a_scope_serves_again_under_its_name);
    tcase_add_test(tcase, a_slow_delete_does_not_wipe_the_next_rendezvous);
    tcase_add_test(tcase, a_delete_that_is_repeated_counts_once);
    tcase_add_test(tcase, a_scope_that_is_done_leaves_the_others_alone);
    tcase_add_test(tcase, a_scope_that_is_not_planned_forgets_key_by_key);
    tcase_add_test(tcase, a_scope_can_be_planned_late_or_again);
    tcase_add_test(tcase, a_plan_needs_a_name);
    tcase_add_test(tcase, who_waits_for_a_key_is_woken_when_it_comes);
    tcase_add_test(tcase, all_can_be_woken);
    tcase_add_test(tcase, a_sum_wakes_and_a_refusal_does_not);
    Suite *all = suite_create("key_value");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
