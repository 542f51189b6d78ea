/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are held until an event with a name occurs: a wait list (wait_list.h) for each
 * hash of a name. An event is marked when it occurs, and the requests that wait for it are woken
 * when the caller asks for them. Requests for other names with the same hash are woken, too, and
 * wait again. */
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

/* The list in which requests for names with this hash wait. */
struct wait_list *wait_table_list(struct wait_table *table, uint32_t hash);

/* Marks the event of a name with this hash. */
void wait_table_mark(struct wait_table *table, uint32_t hash);

/* Moves the requests for the names that were marked since the last call to `woken`. */
void wait_table_wake(struct wait_table *table, struct wait_list *woken);

/* Moves all requests to `woken`. */
void wait_table_wake_all(struct wait_table *table, struct wait_list *woken);

#endif
