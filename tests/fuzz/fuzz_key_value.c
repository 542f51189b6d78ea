/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on the key-value store, against a list that is searched from end to end.
 *
 *   operations, each u8 what, then scope, key and what else it takes;
 *   a name is u8: one of a few, or 255: u8 how often bytes are repeated, bytes
 *
 * Whatever is done: answers, values, numbers of keys and bytes are those of the list; a key that
 * comes wakes everybody who waits for it. */
#include "rendezvous/store/key_value.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 3 * 255, ENTRIES_MAX = 512, PLANS_MAX = 64, WAITERS_MAX = 32 };

struct name {
    char data[NAME_SIZE];
    size_t length;
};

/* The list. */
struct entry {
    struct name scope, key;
    uint8_t value[255];
    size_t length;
    bool deleted;
};

struct plan {
    struct name scope;
    int members;
};

struct waiting {
    struct waiter waiter; /* first */
    struct name scope, key;
    bool due;
};

static struct entry entries[ENTRIES_MAX];
static struct plan plans[PLANS_MAX];
static struct waiting waitings[WAITERS_MAX];
static int nentries, nplans, nwaitings;
static struct key_value *store;

static struct key_value_bytes bytes(const struct name *name)
{
    return (struct key_value_bytes){ name->data, name->length };
}

static bool same(const struct name *a, const struct name *b)
{
    return a->length == b->length && memcmp(a->data, b->data, a->length) == 0;
}

static bool valid(const struct name *name, size_t max)
{
    if (name->length == 0 || name->length > max)
        return false;
    for (size_t i = 0; i < name->length; i++)
        if (!name->data[i] || !strchr(KEY_VALUE_CHARACTERS, name->data[i]))
            return false;
    return !(name->length <= 2 && strspn(name->data, ".") >= name->length);
}

static bool both_valid(const struct name *scope, const struct name *key)
{
    return valid(scope, KEY_VALUE_SCOPE_MAX) && valid(key, KEY_VALUE_KEY_MAX);
}

static struct entry *find(const struct name *scope, const struct name *key)
{
    for (int i = 0; i < nentries; i++)
        if (same(&entries[i].scope, scope) && same(&entries[i].key, key))
            return &entries[i];
    return NULL;
}

static struct plan *find_plan(const struct name *scope)
{
    for (int i = 0; i < nplans; i++)
        if (same(&plans[i].scope, scope))
            return &plans[i];
    return NULL;
}

static void forget(struct entry *entry)
{
    *entry = entries[--nentries];
}

static void clear_if_all_deleted(const struct plan *plan)
{
    int deleted = 0;
    for (int i = 0; i < nentries; i++)
        deleted += same(&entries[i].scope, &plan->scope) && entries[i].deleted;
    if (deleted < plan->members)
        return;
    for (int i = nentries - 1; i >= 0; i--)
        if (same(&entries[i].scope, &plan->scope))
            forget(&entries[i]);
}

/* ---- the operations, on both ---- */

static void draw_name(struct fuzz_input *input, struct name *name)
{
    static const char *const few[] = { "global", "cross_0", "0", "1", "rank_0", "a", ".", "n:0" };
    uint8_t which = fuzz_u8(input);
    *name = (struct name){ 0 };
    if (which != 255) {
        name->length = strlen(few[which % 8]);
        memcpy(name->data, few[which % 8], name->length);
        return;
    }
    int times = 1 + fuzz_u8(input) % 3;
    size_t length;
    uint8_t *drawn = fuzz_bytes(input, &length);
    for (; times > 0 && length > 0; times--, name->length += length)
        memcpy(name->data + name->length, drawn, length);
    free(drawn);
}

static void draw_names(struct fuzz_input *input, struct name *scope, struct name *key)
{
    draw_name(input, scope);
    draw_name(input, key);
}

static void do_plan(struct fuzz_input *input)
{
    struct name scope;
    draw_name(input, &scope);
    int members = 1 + fuzz_u8(input) % 4;
    if (memchr(scope.data, '\0', scope.length) || nplans == PLANS_MAX)
        return;
    int rc = key_value_plan(store, scope.data, members);
    PROMISE(rc == (valid(&scope, KEY_VALUE_SCOPE_MAX) ? 0 : 400));
    if (rc != 0)
        return;
    struct plan *plan = find_plan(&scope);
    if (!plan)
        plan = &plans[nplans++];
    *plan = (struct plan){ scope, members };
    clear_if_all_deleted(plan);
}

static void remember(const struct name *scope, const struct name *key, const void *value,
                     size_t length)
{
    struct entry *entry = find(scope, key);
    if (!entry)
        entry = &entries[nentries++];
    *entry = (struct entry){ .scope = *scope, .key = *key, .length = length };
    if (length > 0)
        memcpy(entry->value, value, length);
    for (int i = 0; i < nwaitings; i++)
        if (same(&waitings[i].scope, scope) && same(&waitings[i].key, key))
            waitings[i].due = true;
}

static void do_put(struct fuzz_input *input)
{
    struct name scope, key;
    size_t length;
    draw_names(input, &scope, &key);
    uint8_t *value = fuzz_bytes(input, &length);
    if (nentries < ENTRIES_MAX) {
        int rc = key_value_put(store, bytes(&scope), bytes(&key), value, length);
        PROMISE(rc == (both_valid(&scope, &key) ? 200 : 400));
        if (rc == 200)
            remember(&scope, &key, value, length);
    }
    free(value);
}

static void do_put_large(struct fuzz_input *input)
{
    static char large[KEY_VALUE_SIZE_MAX + 1];
    struct name scope, key;
    draw_names(input, &scope, &key);
    int rc = key_value_put(store, bytes(&scope), bytes(&key), large, sizeof large);
    PROMISE(rc == (both_valid(&scope, &key) ? 413 : 400));
}

static void do_get(struct fuzz_input *input)
{
    struct name scope, key;
    struct key_value_bytes value = { 0 };
    draw_names(input, &scope, &key);
    int rc = key_value_get(store, bytes(&scope), bytes(&key), &value);
    const struct entry *entry = find(&scope, &key);
    PROMISE(rc == (!both_valid(&scope, &key) ? 400 : entry ? 200 : 404));
    if (rc != 200)
        return;
    PROMISE(value.length == entry->length);
    PROMISE(value.length == 0 || memcmp(value.data, entry->value, value.length) == 0);
}

static void do_delete(struct fuzz_input *input)
{
    struct name scope, key;
    draw_names(input, &scope, &key);
    int rc = key_value_delete(store, bytes(&scope), bytes(&key));
    PROMISE(rc == (both_valid(&scope, &key) ? 200 : 400));
    struct entry *entry = find(&scope, &key);
    const struct plan *plan = find_plan(&scope);
    if (!entry)
        return;
    if (!plan) {
        forget(entry);
        return;
    }
    entry->deleted = true;
    clear_if_all_deleted(plan);
}

static bool is_number(const struct entry *entry, long long *number)
{
    char text[21] = "0";
    size_t length = entry ? entry->length : 1;
    if (length >= sizeof text || length == 0)
        return false;
    if (entry) {
        memcpy(text, entry->value, length);
        text[length] = '\0';
    }
    size_t sign = *text == '-';
    errno = 0;
    *number = strtoll(text, NULL, 10);
    return strspn(text + sign, "0123456789") == length - sign && length > sign && errno == 0;
}

static void do_add(struct fuzz_input *input)
{
    struct name scope, key;
    draw_names(input, &scope, &key);
    int64_t number = fuzz_i32(input), sum = 0;
    if (number % 3 == 0)
        number *= INT64_C(4294967295);
    if (nentries == ENTRIES_MAX)
        return;
    int rc = key_value_add(store, bytes(&scope), bytes(&key), number, &sum);
    if (!both_valid(&scope, &key)) {
        PROMISE(rc == 400);
        return;
    }
    long long before, after;
    bool adds = is_number(find(&scope, &key), &before) &&
                !__builtin_add_overflow(before, (long long)number, &after);
    PROMISE(rc == (adds ? 200 : 409));
    if (!adds)
        return;
    char text[32];
    PROMISE(sum == after);
    remember(&scope, &key, text, (size_t)snprintf(text, sizeof text, "%lld", after));
}

static void do_wait(struct fuzz_input *input)
{
    struct name scope, key;
    draw_names(input, &scope, &key);
    if (nwaitings == WAITERS_MAX)
        return;
    struct waiting *waiting = &waitings[nwaitings++];
    *waiting = (struct waiting){ .scope = scope, .key = key };
    waiter_join(&waiting->waiter, key_value_waiters(store, bytes(&scope), bytes(&key)));
}

/* Those that are woken wait for nothing any more. */
static void wake(void (*wake_some)(struct key_value *, struct wait_list *), bool all)
{
    struct wait_list woken = TAILQ_HEAD_INITIALIZER(woken);
    wake_some(store, &woken);
    for (int i = nwaitings - 1; i >= 0; i--) {
        struct waiting *waiting = &waitings[i], *last = &waitings[nwaitings - 1];
        bool is_woken = waiting->waiter.in == &woken;
        PROMISE(is_woken || (!all && !waiting->due));
        if (!is_woken)
            continue;
        waiter_leave(&waiting->waiter);
        struct wait_list *list = last->waiter.in;
        waiter_leave(&last->waiter);
        *waiting = *last;
        nwaitings--;
        if (list && waiting != last)
            waiter_join(&waiting->waiter, list);
    }
    PROMISE(TAILQ_EMPTY(&woken));
}

static void do_wake(struct fuzz_input *input)
{
    (void)input;
    wake(key_value_wake, false);
}

static void do_wake_all(struct fuzz_input *input)
{
    (void)input;
    wake(key_value_wake_all, true);
}

static void check_size(void)
{
    size_t size = 0;
    for (int i = 0; i < nentries; i++) {
        const struct entry *entry = &entries[i];
        bool first = !find_plan(&entry->scope);
        for (int before = 0; before < i; before++)
            first = first && !same(&entries[before].scope, &entry->scope);
        size += KEY_VALUE_NAME_COST + entry->key.length + entry->length;
        size += first ? KEY_VALUE_NAME_COST + entry->scope.length : 0;
    }
    for (int i = 0; i < nplans; i++)
        size += KEY_VALUE_NAME_COST + plans[i].scope.length;
    PROMISE(key_value_keys(store) == (size_t)nentries);
    PROMISE(key_value_size(store) == size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const operations[])(struct fuzz_input *) = { do_put,  do_get,      do_delete,
                                                               do_add,  do_plan,     do_wait,
                                                               do_wake, do_wake_all, do_put_large };
    struct fuzz_input input = fuzz_begin(data, size);
    nentries = nplans = nwaitings = 0;
    store = key_value_create();
    PROMISE(store);
    while (input.left > 0)
        operations[fuzz_u8(&input) % (sizeof operations / sizeof *operations)](&input);
    check_size();
    wake(key_value_wake_all, true);
    key_value_destroy(store);
    return 0;
}
