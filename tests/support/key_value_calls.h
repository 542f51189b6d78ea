/* SPDX-License-Identifier: Apache-2.0 */
/* A key-value store (rendezvous/store/key_value.h) and calls with names and values that are plain
 * strings. For one test program each. */
#ifndef TESTS_SUPPORT_KEY_VALUE_CALLS_H
#define TESTS_SUPPORT_KEY_VALUE_CALLS_H

#include "rendezvous/store/key_value.h"
#include "tests/support/unit.h"

#include <string.h>

static struct key_value *store;

static inline void setup(void)
{
    store = key_value_create();
    ck_assert_ptr_nonnull(store);
}

static inline void teardown(void)
{
    key_value_destroy(store);
}

static inline struct key_value_bytes name(const char *text)
{
    return (struct key_value_bytes){ text, strlen(text) };
}

static inline int put(const char *scope, const char *key, const char *value)
{
    return key_value_put(store, name(scope), name(key), value, strlen(value));
}

static inline int forget(const char *scope, const char *key)
{
    return key_value_delete(store, name(scope), name(key));
}

static inline bool there(const char *scope, const char *key)
{
    struct key_value_bytes value;
    return key_value_get(store, name(scope), name(key), &value) == 200;
}

static inline void expect(const char *scope, const char *key, const char *expected)
{
    struct key_value_bytes value;
    ck_assert_int_eq(key_value_get(store, name(scope), name(key), &value), 200);
    ck_assert_uint_eq(value.length, strlen(expected));
    ck_assert_mem_eq(value.data, expected, value.length);
}

#endif
