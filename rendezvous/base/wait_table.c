/* SPDX-License-Identifier: Apache-2.0 */
/* Wait lists by hash; see wait_table.h. */
#include "rendezvous/base/wait_table.h"

void wait_table_init(struct wait_table *table)
{
    SLIST_INIT(&table->marked);
    for (int i = 0; i < WAIT_TABLE_LISTS; i++) {
        TAILQ_INIT(&table->entries[i].waiters);
        table->entries[i].marked = false;
    }
}

/* Every bit of the hash affects the index. */
static struct wait_table_entry *entry_of(struct wait_table *table, uint32_t hash)
{
    hash ^= hash >> 16;
    return &table->entries[(hash ^ hash >> 8) % WAIT_TABLE_LISTS];
}

struct wait_list *wait_table_list(struct wait_table *table, uint32_t hash)
{
    return &entry_of(table, hash)->waiters;
}

void wait_table_mark(struct wait_table *table, uint32_t hash)
{
    struct wait_table_entry *entry = entry_of(table, hash);
    if (entry->marked)
        return;
    entry->marked = true;
    SLIST_INSERT_HEAD(&table->marked, entry, link);
}

void wait_table_wake(struct wait_table *table, struct wait_list *woken)
{
    struct wait_table_entry *entry;
    while ((entry = SLIST_FIRST(&table->marked))) {
        SLIST_REMOVE_HEAD(&table->marked, link);
        entry->marked = false;
        wait_list_wake(&entry->waiters, woken);
    }
}

void wait_table_wake_all(struct wait_table *table, struct wait_list *woken)
{
    for (int i = 0; i < WAIT_TABLE_LISTS; i++)
        wait_list_wake(&table->entries[i].waiters, woken);
}
