/* SPDX-License-Identifier: Apache-2.0 */
/* Values of bytes under a scope and a key, which workers and tools of one job exchange.
 *
 * Scopes of Gloo's are planned: how many members each has is known. A member that has met the
 * others deletes its key; when as many different keys have been deleted as the scope has members,
 * all of it goes, and nothing before, as Horovod's server does it. A key that is put again counts
 * as not deleted, so that a second rendezvous under the same names cannot be wiped by the end of
 * the first. In any other scope a key is gone when it is deleted.
 *
 * Fails with the HTTP status of the same meaning: 400 a name that is empty, too long, has other
 * characters than KEY_VALUE_CHARACTERS or is "." or ".." (clients resolve them); 404 no such key;
 * 409 a value that is no number (add); 413 a value beyond KEY_VALUE_SIZE_MAX; 507 too many scopes,
 * keys or bytes, in this store or in all that share a budget, or no memory. */
#ifndef RENDEZVOUS_STORE_KEY_VALUE_H
#define RENDEZVOUS_STORE_KEY_VALUE_H

#include "rendezvous/base/memory_budget.h"
#include "rendezvous/base/wait_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KEY_VALUE_SCOPE_MAX = 128,
    KEY_VALUE_KEY_MAX = 512,
    KEY_VALUE_SIZE_MAX = 4 * 1024 * 1024,
    KEY_VALUE_KEYS_MAX = 131072, /* in a scope */
    KEY_VALUE_SCOPES_MAX = 4096, /* beside those that are planned */
    KEY_VALUE_NAME_COST = 128,   /* bytes that a scope or key takes beside its name and value */
    KEY_VALUE_TOTAL_MAX = 256 * 1024 * 1024 /* values, names and what they cost */
};

#define KEY_VALUE_CHARACTERS                                                                       \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@+=,-"

/* Bytes that are not terminated; borrowed. A value's are valid until the store is called next. */
struct key_value_bytes {
    const char *data;
    size_t length;
};

struct key_value;

/* A name as above, of at most `max` bytes (KEY_VALUE_SCOPE_MAX or KEY_VALUE_KEY_MAX). */
bool key_value_name_valid(struct key_value_bytes name, size_t max);

/* NULL when out of memory; destroying NULL is fine. Waiting requests are not woken. */
struct key_value *key_value_create(void);
void key_value_destroy(struct key_value *store);

/* From now on what it keeps is taken from `budget`, too, until it is destroyed; borrowed. */
void key_value_share(struct key_value *store, struct memory_budget *budget);

/* `scope` has `members`, at least one; 0 or a failure. Survives the end of its keys. No limit but
 * memory: what is planned is the caller's own. */
int key_value_plan(struct key_value *store, const char *scope, int members);

/* Nothing is planned any more, and what is in planned scopes is gone; who waits for a key there
 * goes on waiting. */
void key_value_unplan(struct key_value *store);

/* All return 200 or a failure as above; an empty value is there like any other. A value that is put
 * is copied. */
int key_value_put(struct key_value *store, struct key_value_bytes scope, struct key_value_bytes key,
                  const void *value, size_t length);
int key_value_get(const struct key_value *store, struct key_value_bytes scope,
                  struct key_value_bytes key, struct key_value_bytes *value);
int key_value_delete(struct key_value *store, struct key_value_bytes scope,
                     struct key_value_bytes key); /* 200 also if it is not there */

/* Adds to a decimal number, 0 if the key is not there, and stores and returns the sum; 409 also
 * when it does not fit 64 bits. */
int key_value_add(struct key_value *store, struct key_value_bytes scope, struct key_value_bytes key,
                  int64_t number, int64_t *sum);

/* The list in which requests wait for this key, and maybe for other keys, too. Valid as long as
 * the store. */
struct wait_list *key_value_waiters(struct key_value *store, struct key_value_bytes scope,
                                    struct key_value_bytes key);

/* Moves the requests whose key may have come since the last call to `woken`. */
void key_value_wake(struct key_value *store, struct wait_list *woken);

/* Moves all waiting requests to `woken`, before the store is destroyed. */
void key_value_wake_all(struct key_value *store, struct wait_list *woken);

/* For status and metrics. */
size_t key_value_keys(const struct key_value *store);
size_t
key_value_size(const struct key_value *store); /* bytes, as KEY_VALUE_TOTAL_MAX counts them */

#endif
