/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are held until something that has a name happens: a wait list (wait_list.h) for
 * each hash of a name. What happens is marked at once, and those that wait for it are woken when it
 * suits the caller; others of the same hash are woken as well, and wait again. */
#ifndef RENDEZVOUS_BASE_WAIT_TABLE_H
#define RENDEZVOUS_BASE_WAIT_TABLE_H

#include "rendezvous/base/wait_list.h"

#include <stdbool.h>
#include <stdint.h>

enum { WAIT_TABLE_LISTS = 256 };

struct wait_table {
    SLIST_HEAD(, wait_table_entry) marked;
    struct wait_table_entry {
        struct wait_list waiters;
        SLIST_ENTRY(wait_table_entry) link;
        bool marked;
    } entries[WAIT_TABLE_LISTS];
};

/* Its address must not change any more. */
void wait_table_init(struct wait_table *table);

/* Where to wait for a name of this hash. */
struct wait_list *wait_table_list(struct wait_table *table, uint32_t hash);

/* It has happened. */
void wait_table_mark(struct wait_table *table, uint32_t hash);

/* Those that wait for what was marked since the last call go to `woken`. */
void wait_table_wake(struct wait_table *table, struct wait_list *woken);

/* All go to `woken`. */
void wait_table_wake_all(struct wait_table *table, struct wait_list *woken);

#endif
