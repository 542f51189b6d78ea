/* SPDX-License-Identifier: Apache-2.0 */
/* Where the ranks of a set may be; see layouts.h. */
#include "tests/support/layouts.h"

enum { IN_ORDER, DEALT, IN_DISORDER, ORDERS };

/* How many ranks are on each host. */
static int slots_of(int slots[LAYOUT_HOSTS], int number)
{
    int nhosts = 1;
    for (int layouts = LAYOUT_SLOTS; number >= layouts; layouts *= LAYOUT_SLOTS, nhosts++)
        number -= layouts;
    for (int host = 0; host < nhosts; host++, number /= LAYOUT_SLOTS)
        slots[host] = 1 + number % LAYOUT_SLOTS;
    return nhosts;
}

static void place(struct layout *layout, int host, int *slots)
{
    slots[host]--;
    layout->places[layout->size++] = host;
}

struct layout layout_of(int number)
{
    struct layout layout = { 0 };
    int slots[LAYOUT_HOSTS], left = 0, order = number % ORDERS;
    int nhosts = slots_of(slots, number / ORDERS);
    for (int host = 0; host < nhosts; host++)
        left += slots[host];
    for (int host = 0, turn = 0; left > 0; left--, turn++) {
        if (order == DEALT)
            host = turn % nhosts;
        else if (order == IN_DISORDER)
            host = (turn * 7 + 5 * turn * turn) % nhosts;
        while (slots[host] == 0)
            host = (host + 1) % nhosts;
        place(&layout, host, slots);
    }
    return layout;
}
