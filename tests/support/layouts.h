/* SPDX-License-Identifier: Apache-2.0 */
/* Where the ranks of a set may be: all layouts of up to 4 hosts with up to 4 ranks each, and ranks
 * one after the other, dealt out, or in disorder. */
#ifndef TESTS_SUPPORT_LAYOUTS_H
#define TESTS_SUPPORT_LAYOUTS_H

enum { LAYOUT_HOSTS = 4, LAYOUT_SLOTS = 4, LAYOUT_RANKS = LAYOUT_HOSTS * LAYOUT_SLOTS };

/* 4 + 16 + 64 + 256 layouts in three orders. */
enum { LAYOUTS = 3 * 340 };

struct layout {
    int size;
    int places[LAYOUT_RANKS]; /* of each rank, below LAYOUT_HOSTS */
};

struct layout layout_of(int number);

#endif
