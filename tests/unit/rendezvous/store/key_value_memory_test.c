/* SPDX-License-Identifier: Apache-2.0 */
/* The key-value store without memory: each allocation fails in turn, and the store is as it was.
 * Linked with -Wl,--wrap=malloc,--wrap=calloc,--wrap=tsearch. */
#include "tests/support/key_value_calls.h"

typedef int compare_fn(const void *, const void *);
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_tsearch(const void *key, void **root, compare_fn *compare);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_tsearch(const void *key, void **root, compare_fn *compare);

static int countdown; /* to the allocation that fails; 0 when none does */

static bool fails(void)
{
    return countdown > 0 && --countdown == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

/* The store asks only for what is not there, so that each call allocates. */
void *__wrap_tsearch(const void *key, void **root, compare_fn *compare)
{
    return fails() ? NULL : __real_tsearch(key, root, compare);
}

/* A put with the `which`th allocation failing; returns whether there were so many. */
static bool put_with_failure(int which, const char *scope, const char *key, const char *value)
{
    size_t size = key_value_size(store);
    countdown = which;
    int rc = put(scope, key, value);
    bool failed = countdown == 0;
    countdown = 0;
    ck_assert_int_eq(rc, failed ? 507 : 200);
    if (failed)
        ck_assert_uint_eq(key_value_size(store), size);
    return failed;
}

START_TEST(any_allocation_may_fail)
{
    int which = 1;
    while (put_with_failure(which, "s", "k", "value")) {
        ck_assert(!there("s", "k"));
        which++;
    }
    ck_assert_int_eq(which, 5); /* the value, the scope, and the place of each in its tree */
    expect("s", "k", "value");
    for (which = 1; put_with_failure(which, "s", "k", "other"); which++)
        expect("s", "k", "value");
    ck_assert_int_eq(which, 2);
    for (which = 1; put_with_failure(which, "s", "l", "other"); which++)
        ck_assert_uint_eq(key_value_keys(store), 1);
    ck_assert_int_eq(which, 3);
}
END_TEST

START_TEST(a_number_stays_when_there_is_no_memory)
{
    int64_t sum = -1;
    put("s", "k", "1");
    countdown = 1;
    ck_assert_int_eq(key_value_add(store, name("s"), name("k"), 1, &sum), 507);
    ck_assert_int_eq(sum, -1);
    expect("s", "k", "1");
}
END_TEST

START_TEST(a_plan_may_find_no_memory)
{
    for (int which = 1; which <= 2; which++) { /* the scope, and its place in the tree */
        countdown = which;
        ck_assert_int_eq(key_value_plan(store, "global", 2), 507);
        ck_assert_uint_eq(key_value_size(store), 0);
    }
    ck_assert_int_eq(key_value_plan(store, "global", 2), 0);
    put("global", "0", "address");
    put("global", "1", "address");
    forget("global", "0");
    expect("global", "0", "address");
}
END_TEST

START_TEST(a_store_may_find_no_memory)
{
    countdown = 1;
    ck_assert_ptr_null(key_value_create());
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("memory");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, any_allocation_may_fail);
    tcase_add_test(tcase, a_number_stays_when_there_is_no_memory);
    tcase_add_test(tcase, a_plan_may_find_no_memory);
    tcase_add_test(tcase, a_store_may_find_no_memory);
    Suite *all = suite_create("key_value_memory");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
