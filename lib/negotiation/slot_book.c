/* SPDX-License-Identifier: Apache-2.0 */
/* Which cache slots are in use; see slot_book.h. */
#include "lib/negotiation/slot_book.h"

#include <stdlib.h>
#include <string.h>

bool slot_book_init(struct slot_book *book, int capacity)
{
    size_t count = capacity > 0 ? (size_t)capacity : 1;
    *book = (struct slot_book){ .capacity = capacity, .oldest = -1, .newest = -1 };
    book->free = malloc(count * sizeof *book->free);
    book->retiring = malloc(count * sizeof *book->retiring);
    book->links = malloc(count * sizeof *book->links);
    return book->free && book->retiring && book->links;
}

void slot_book_fini(struct slot_book *book)
{
    free(book->free);
    free(book->retiring);
    free(book->links);
    *book = (struct slot_book){ 0 };
}

static void slot_book_append(struct slot_book *book, int slot)
{
    book->links[slot] = (struct slot_link){ .older = book->newest, .newer = -1 };
    if (book->newest >= 0)
        book->links[book->newest].newer = slot;
    else
        book->oldest = slot;
    book->newest = slot;
}

static void unlink_slot(struct slot_book *book, int slot)
{
    struct slot_link link = book->links[slot];
    if (link.older >= 0)
        book->links[link.older].newer = link.newer;
    else
        book->oldest = link.newer;
    if (link.newer >= 0)
        book->links[link.newer].older = link.older;
    else
        book->newest = link.older;
}

int slot_book_take(struct slot_book *book)
{
    int slot = -1;
    if (book->nfree > 0)
        slot = book->free[--book->nfree];
    else if (book->fresh < book->capacity)
        slot = book->fresh++;
    if (slot >= 0)
        slot_book_append(book, slot);
    return slot;
}

void slot_book_touch(struct slot_book *book, int slot)
{
    if (slot == book->newest)
        return;
    unlink_slot(book, slot);
    slot_book_append(book, slot);
}

int slot_book_retire(struct slot_book *book, bool (*busy)(void *arg, int slot), void *arg)
{
    int wanted = book->capacity / 8 > 0 ? book->capacity / 8 : 1;
    for (int slot = book->oldest, newer; slot >= 0 && book->nretiring < wanted; slot = newer) {
        newer = book->links[slot].newer;
        if (busy(arg, slot))
            continue;
        unlink_slot(book, slot);
        book->retiring[book->nretiring++] = slot;
    }
    return book->nretiring;
}

void slot_book_retired(struct slot_book *book)
{
    memcpy(book->free + book->nfree, book->retiring,
           (size_t)book->nretiring * sizeof *book->retiring);
    book->nfree += book->nretiring;
    book->nretiring = 0;
}
