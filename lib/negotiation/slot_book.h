/* SPDX-License-Identifier: Apache-2.0 */
/* The cache slots that the root has given to names. The root takes back the slots that were not
 * used for longest.
 *
 *   free -> used -> retiring (until all ranks know) -> free */
#ifndef LIB_NEGOTIATION_SLOT_BOOK_H
#define LIB_NEGOTIATION_SLOT_BOOK_H

#include <stdbool.h>

struct slot_link {
    int older, newer; /* used slots; the ends are -1 */
};

struct slot_book {
    int capacity;
    int fresh; /* lower slots have been used before */
    int nfree; /* taken back */
    int *free;
    int nretiring;
    int *retiring;
    struct slot_link *links;
    int oldest, newest;
};

/* False when out of memory. */
bool slot_book_init(struct slot_book *book, int capacity);
void slot_book_fini(struct slot_book *book);

/* A slot for a new name, as the most recently used; -1 if all are taken. */
int slot_book_take(struct slot_book *book);
void slot_book_touch(struct slot_book *book, int slot);

/* Puts about an eighth of the slots, at least one, into `retiring`, the oldest first, except those
 * for which `busy` returns true. Returns how many. */
int slot_book_retire(struct slot_book *book, bool (*busy)(void *arg, int slot), void *arg);

/* No rank uses the retiring slots any more. */
void slot_book_retired(struct slot_book *book);

#endif
