/* SPDX-License-Identifier: Apache-2.0 */
/* The key-value store in long random use, beside a model that is plain arrays. */
#include "tests/support/key_value_calls.h"

#include <stdio.h>

/* The model: every scope has the same few keys; odd scopes are planned. */
enum { SCOPES = 6, KEYS = 7, MEMBERS = 3, STEPS = 20000 };

static struct model_value {
    bool there, deleted;
    char value[24];
} model[SCOPES][KEYS];

static const char *const scopes[SCOPES] = { "a", "b", "c", "aa", "ab", "ba" };
static const char *const keys[KEYS] = { "0", "1", "2", "rank_0", "x", "xx", "00" };

static uint32_t random_less_than(uint32_t limit)
{
    static uint64_t state = 20260101;
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(state >> 33) % limit;
}

static void model_put(int scope, int key, const char *value)
{
    struct model_value *at = &model[scope][key];
    *at = (struct model_value){ .there = true };
    strcpy(at->value, value);
}

static void model_delete(int scope, int key)
{
    struct model_value *at = &model[scope][key];
    int deleted = 0;
    if (scope % 2 == 0)
        *at = (struct model_value){ 0 };
    at->deleted = at->there;
    for (int i = 0; i < KEYS; i++)
        deleted += model[scope][i].deleted;
    if (deleted == MEMBERS)
        memset(model[scope], 0, sizeof model[scope]);
}

static void step(void)
{
    int scope = (int)random_less_than(SCOPES);
    int key = (int)random_less_than(KEYS);
    const char *there = model[scope][key].there ? model[scope][key].value : "0";
    char value[24];
    int64_t sum;
    switch (random_less_than(4)) {
    case 0:
        forget(scopes[scope], keys[key]);
        model_delete(scope, key);
        break;
    case 1:
        snprintf(value, sizeof value, "%lld", strtoll(there, NULL, 10) - 3);
        ck_assert_int_eq(key_value_add(store, name(scopes[scope]), name(keys[key]), -3, &sum), 200);
        model_put(scope, key, value);
        break;
    default:
        snprintf(value, sizeof value, "%d", (int)random_less_than(1U << random_less_than(31)));
        put(scopes[scope], keys[key], value);
        model_put(scope, key, value);
    }
}

/* What the model says of a key is what the store says. */
static bool same(int scope, int key)
{
    const struct model_value *at = &model[scope][key];
    struct key_value_bytes value = { NULL, 0 };
    int rc = key_value_get(store, name(scopes[scope]), name(keys[key]), &value);
    return rc == (at->there ? 200 : 404) && value.length == strlen(at->value) &&
           (value.length == 0 || memcmp(value.data, at->value, value.length) == 0);
}

/* One assertion at the end: each of Check's is a message to another process. */
static void expect_model(void)
{
    size_t count = 0;
    size_t size = 0;
    bool all_same = true;
    for (int scope = 0; scope < SCOPES; scope++) {
        size_t before = count;
        for (int key = 0; key < KEYS; key++) {
            all_same = all_same && same(scope, key);
            if (!model[scope][key].there)
                continue;
            size += KEY_VALUE_NAME_COST + strlen(keys[key]) + strlen(model[scope][key].value);
            count++;
        }
        if (scope % 2 || count > before)
            size += KEY_VALUE_NAME_COST + strlen(scopes[scope]);
    }
    ck_assert(all_same && key_value_keys(store) == count && key_value_size(store) == size);
}

START_TEST(random_use_agrees_with_plain_arrays)
{
    for (int scope = 1; scope < SCOPES; scope += 2)
        key_value_plan(store, scopes[scope], MEMBERS);
    for (int i = 0; i < STEPS; i++) {
        step();
        expect_model();
    }
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("random");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, random_use_agrees_with_plain_arrays);
    Suite *all = suite_create("key_value_random");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
