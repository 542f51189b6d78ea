/* SPDX-License-Identifier: Apache-2.0 */
/* The key-value store of a job; see key_value.h. Scopes, and in each its keys,
 * are the C library's balanced trees. Steps that can fail come before any change. */
#include "rendezvous/store/key_value.h"

#include "rendezvous/base/wait_table.h"

#include <assert.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 200, BAD_NAME = 400, NOT_FOUND = 404, NO_NUMBER = 409, TOO_LARGE = 413, FULL = 507 };
enum { NUMBER_SIZE = sizeof "-9223372036854775808" };

struct item {
    struct key_value_bytes key; /* first, since the tree compares it */
    struct key_value_bytes value;
    bool deleted; /* in a planned scope, which keeps it until all are */
    char bytes[]; /* key and value */
};

struct scope {
    struct key_value_bytes name; /* first likewise */
    void *items;                 /* tree of struct item */
    size_t keys;
    size_t size; /* of the items, as they cost */
    int members; /* 0: not planned */
    int deleted; /* items */
    struct scope *next_planned;
    char bytes[];
};

struct key_value {
    void *scopes;          /* tree of struct scope */
    struct scope *planned; /* those that are planned, a list */
    size_t unplanned;      /* scopes */
    size_t keys;
    size_t size;  /* of scopes and items, as they cost */
    size_t taken; /* of it, from the budget */
    struct memory_budget *budget;
    struct memory_budget own; /* without a limit, until key_value_share() replaces it */
    struct wait_table waiting;
};

bool key_value_name_valid(struct key_value_bytes name, size_t max)
{
    static const char characters[] = KEY_VALUE_CHARACTERS;
    if (name.length < 1 || name.length > max)
        return false;
    for (size_t i = 0; i < name.length; i++)
        if (!memchr(characters, name.data[i], sizeof characters - 1))
            return false;
    return name.length > 2 || memcmp(name.data, "..", name.length) != 0;
}

static bool names_valid(struct key_value_bytes scope, struct key_value_bytes key)
{
    return key_value_name_valid(scope, KEY_VALUE_SCOPE_MAX) &&
           key_value_name_valid(key, KEY_VALUE_KEY_MAX);
}

/* Any order will do for the trees. */
static int key_value_compare(const void *left, const void *right)
{
    const struct key_value_bytes *a = left;
    const struct key_value_bytes *b = right;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return memcmp(a->data, b->data, a->length);
}

static size_t item_size(const struct item *item)
{
    return KEY_VALUE_NAME_COST + item->key.length + item->value.length;
}

static size_t scope_size(const struct scope *scope)
{
    return KEY_VALUE_NAME_COST + scope->name.length;
}

static struct scope *find_scope(const struct key_value *store, struct key_value_bytes name)
{
    struct scope **node = tfind(&name, &store->scopes, key_value_compare);
    return node ? *node : NULL;
}

/* Where the tree keeps the item; NULL if there is none. */
static struct item **find_item(const struct scope *scope, struct key_value_bytes key)
{
    return scope ? tfind(&key, &scope->items, key_value_compare) : NULL;
}

static struct scope *scope_create(struct key_value *store, struct key_value_bytes name)
{
    struct scope *scope = calloc(1, sizeof *scope + name.length);
    if (!scope)
        return NULL;
    memcpy(scope->bytes, name.data, name.length);
    scope->name = (struct key_value_bytes){ scope->bytes, name.length };
    if (!tsearch(scope, &store->scopes, key_value_compare)) {
        free(scope);
        return NULL;
    }
    store->unplanned++;
    store->size += scope_size(scope);
    return scope;
}

/* One that is not planned and has no keys. */
static void scope_remove(struct key_value *store, struct scope *scope)
{
    store->unplanned--;
    store->size -= scope_size(scope);
    tdelete(scope, &store->scopes, key_value_compare);
    free(scope);
}

static void scope_clear(struct key_value *store, struct scope *scope)
{
    store->keys -= scope->keys;
    store->size -= scope->size;
    tdestroy(scope->items, free);
    scope->items = NULL;
    scope->keys = 0;
    scope->size = 0;
    scope->deleted = 0;
}

static void scope_destroy(void *scope)
{
    tdestroy(((struct scope *)scope)->items, free);
    free(scope);
}

/* Updates the size after a change. The limit was checked before the change. */
static void update_budget(struct key_value *store)
{
    store->budget->used += store->size - store->taken;
    store->taken = store->size;
}

struct key_value *key_value_create(void)
{
    struct key_value *store = calloc(1, sizeof *store);
    if (!store)
        return NULL;
    store->budget = &store->own;
    wait_table_init(&store->waiting);
    return store;
}

void key_value_share(struct key_value *store, struct memory_budget *budget)
{
    memory_budget_give(store->budget, store->taken);
    store->taken = 0;
    store->budget = budget;
    update_budget(store);
}

void key_value_destroy(struct key_value *store)
{
    if (!store)
        return;
    tdestroy(store->scopes, scope_destroy);
    memory_budget_give(store->budget, store->taken);
    free(store);
}

static void clear_if_all_deleted(struct key_value *store, struct scope *scope)
{
    if (scope->deleted >= scope->members)
        scope_clear(store, scope);
}

int key_value_plan(struct key_value *store, const char *scope, int members)
{
    assert(members >= 1);
    struct key_value_bytes name = { scope, strlen(scope) };
    if (!key_value_name_valid(name, KEY_VALUE_SCOPE_MAX))
        return BAD_NAME;
    struct scope *planned = find_scope(store, name);
    if (!planned && !(planned = scope_create(store, name)))
        return FULL;
    if (planned->members == 0) {
        store->unplanned--;
        planned->next_planned = store->planned;
        store->planned = planned;
    }
    planned->members = members;
    clear_if_all_deleted(store, planned);
    update_budget(store);
    return 0;
}

void key_value_unplan(struct key_value *store)
{
    for (struct scope *scope; (scope = store->planned);) {
        store->planned = scope->next_planned;
        store->unplanned++;
        scope_clear(store, scope);
        scope_remove(store, scope);
    }
    update_budget(store);
}

static struct item *item_create(struct key_value_bytes key, const void *value, size_t length)
{
    struct item *item = malloc(sizeof *item + key.length + length);
    if (!item)
        return NULL;
    item->key = (struct key_value_bytes){ item->bytes, key.length };
    item->value = (struct key_value_bytes){ item->bytes + key.length, length };
    item->deleted = false;
    memcpy(item->bytes, key.data, key.length);
    if (length > 0)
        memcpy(item->bytes + key.length, value, length);
    return item;
}

static void replace(struct key_value *store, struct scope *scope, struct item **node,
                    struct item *item)
{
    struct item *old = *node;
    scope->size += item_size(item) - item_size(old);
    store->size += item_size(item) - item_size(old);
    scope->deleted -= old->deleted;
    *node = item;
    free(old);
}

/* `scope` is NULL when it has to be made. */
static bool insert(struct key_value *store, struct scope *scope, struct key_value_bytes scope_name,
                   struct item *item)
{
    struct scope *made = scope ? NULL : scope_create(store, scope_name);
    struct scope *home = scope ? scope : made;
    if (!home)
        return false;
    if (!tsearch(item, &home->items, key_value_compare)) {
        if (made)
            scope_remove(store, made);
        return false;
    }
    home->keys++;
    home->size += item_size(item);
    store->keys++;
    store->size += item_size(item);
    return true;
}

/* May the value of the key have `length` bytes? `scope` and `old` are NULL if they do not
 * exist. */
static bool key_value_has_room(const struct key_value *store, const struct scope *scope,
                               struct key_value_bytes scope_name, struct key_value_bytes key,
                               const struct item *old, size_t length)
{
    size_t kept = store->size - (old ? item_size(old) : 0);
    size_t added = KEY_VALUE_NAME_COST + key.length + length;
    if (!scope)
        added += KEY_VALUE_NAME_COST + scope_name.length;
    size_t more = kept + added > store->size ? kept + added - store->size : 0;
    return kept + added <= KEY_VALUE_TOTAL_MAX && more <= memory_budget_left(store->budget) &&
           (old || !scope || scope->keys < KEY_VALUE_KEYS_MAX) &&
           (scope || store->unplanned < KEY_VALUE_SCOPES_MAX);
}

/* FNV-1a. Names that are chosen to collide only wake requests for each other. */
static uint32_t hash(uint32_t seed, struct key_value_bytes name)
{
    for (size_t i = 0; i < name.length; i++)
        seed = (seed ^ (unsigned char)name.data[i]) * 16777619U;
    return (seed ^ '/') * 16777619U;
}

static uint32_t hash_both(struct key_value_bytes scope, struct key_value_bytes key)
{
    return hash(hash(2166136261U, scope), key);
}

int key_value_put(struct key_value *store, struct key_value_bytes scope, struct key_value_bytes key,
                  const void *value, size_t length)
{
    if (!names_valid(scope, key))
        return BAD_NAME;
    if (length > KEY_VALUE_SIZE_MAX)
        return TOO_LARGE;
    struct scope *home = find_scope(store, scope);
    struct item **old = find_item(home, key);
    if (!key_value_has_room(store, home, scope, key, old ? *old : NULL, length))
        return FULL;
    struct item *item = item_create(key, value, length);
    if (!item)
        return FULL;
    if (old) {
        replace(store, home, old, item);
    } else if (!insert(store, home, scope, item)) {
        free(item);
        return FULL;
    }
    update_budget(store);
    wait_table_mark(&store->waiting, hash_both(scope, key));
    return OK;
}

int key_value_get(const struct key_value *store, struct key_value_bytes scope,
                  struct key_value_bytes key, struct key_value_bytes *value)
{
    if (!names_valid(scope, key))
        return BAD_NAME;
    struct item **node = find_item(find_scope(store, scope), key);
    if (!node)
        return NOT_FOUND;
    *value = (*node)->value;
    return OK;
}

/* Removes a key of a scope that is not planned, and with the last key the scope. */
static void remove_item(struct key_value *store, struct scope *scope, struct item *item)
{
    scope->keys--;
    scope->size -= item_size(item);
    store->keys--;
    store->size -= item_size(item);
    tdelete(item, &scope->items, key_value_compare);
    free(item);
    if (scope->keys == 0)
        scope_remove(store, scope);
}

int key_value_delete(struct key_value *store, struct key_value_bytes scope,
                     struct key_value_bytes key)
{
    if (!names_valid(scope, key))
        return BAD_NAME;
    struct scope *home = find_scope(store, scope);
    struct item **node = find_item(home, key);
    if (!node)
        return OK;
    if (home->members == 0) {
        remove_item(store, home, *node);
    } else {
        home->deleted += !(*node)->deleted;
        (*node)->deleted = true;
        clear_if_all_deleted(store, home);
    }
    update_budget(store);
    return OK;
}

/* Nothing but an optional '-' and digits, within 64 bits. */
static bool parse_number(struct key_value_bytes text, int64_t *number)
{
    bool negative = text.length > 0 && text.data[0] == '-';
    size_t first = negative ? 1 : 0;
    bool valid = text.length > first && text.length < NUMBER_SIZE;
    *number = 0;
    for (size_t i = first; valid && i < text.length; i++) {
        int digit = text.data[i] - '0';
        valid = digit >= 0 && digit <= 9 && !__builtin_mul_overflow(*number, 10, number) &&
                !__builtin_add_overflow(*number, negative ? -digit : digit, number);
    }
    return valid;
}

int key_value_add(struct key_value *store, struct key_value_bytes scope, struct key_value_bytes key,
                  int64_t number, int64_t *sum)
{
    struct key_value_bytes value = { "0", 1 };
    int rc = key_value_get(store, scope, key, &value);
    if (rc == BAD_NAME)
        return rc;
    int64_t before;
    int64_t after;
    if (!parse_number(value, &before) || __builtin_add_overflow(before, number, &after))
        return NO_NUMBER;
    char text[NUMBER_SIZE];
    int length = snprintf(text, sizeof text, "%lld", (long long)after);
    rc = key_value_put(store, scope, key, text, (size_t)length);
    if (rc == OK)
        *sum = after;
    return rc;
}

struct wait_list *key_value_waiters(struct key_value *store, struct key_value_bytes scope,
                                    struct key_value_bytes key)
{
    return wait_table_list(&store->waiting, hash_both(scope, key));
}

void key_value_wake(struct key_value *store, struct wait_list *woken)
{
    wait_table_wake(&store->waiting, woken);
}

void key_value_wake_all(struct key_value *store, struct wait_list *woken)
{
    wait_table_wake_all(&store->waiting, woken);
}

size_t key_value_keys(const struct key_value *store)
{
    return store->keys;
}

size_t key_value_size(const struct key_value *store)
{
    return store->size;
}
