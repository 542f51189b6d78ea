/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts of ranks; see placing.h. */
#include "lib/collective/placing.h"

#include <stddef.h>
#include <stdlib.h>

/* Makes one block of memory with all tables in it. */
struct tables {
    struct placing placing;
    int numbers[];
};

/* Returns the number of hosts; `number` has room for every place. */
static int number_hosts(int *host, int *number, const int *places, int size, int limit)
{
    int nhosts = 0;
    for (int place = 0; place < limit; place++)
        number[place] = -1;
    for (int rank = 0; rank < size; rank++) {
        int *own = &number[places[rank]];
        if (*own < 0)
            *own = nhosts++;
        host[rank] = *own;
    }
    return nhosts;
}

static int most(const int *first, int nhosts)
{
    int slots = 0;
    for (int host = 0; host < nhosts; host++)
        if (first[host + 1] - first[host] > slots)
            slots = first[host + 1] - first[host];
    return slots;
}

static void draw_up(struct tables *tables, int *number, const int *places, int size, int limit)
{
    int *host = tables->numbers, *index = host + size, *members = index + size,
        *first = members + size;
    int nhosts = number_hosts(host, number, places, size, limit);
    for (int rank = 0; rank < size; rank++)
        index[rank] = first[host[rank] + 1]++;
    for (int i = 0; i < nhosts; i++)
        first[i + 1] += first[i];
    for (int rank = 0; rank < size; rank++)
        members[first[host[rank]] + index[rank]] = rank;
    tables->placing = (struct placing){ .size = size,
                                        .nhosts = nhosts,
                                        .slots = most(first, nhosts),
                                        .host = host,
                                        .index = index,
                                        .first = first,
                                        .members = members };
}

struct placing *placing_create(const int *places, int size, int limit)
{
    size_t count = 4 * (size_t)size + 1;
    struct tables *tables = calloc(1, sizeof *tables + count * sizeof *tables->numbers);
    int *number = calloc((size_t)limit, sizeof *number);
    if (tables && number)
        draw_up(tables, number, places, size, limit);
    free(number);
    if (tables && number)
        return &tables->placing;
    free(tables);
    return NULL;
}

void placing_destroy(struct placing *placing)
{
    free(placing); /* the first member of its block */
}

int placing_count(const struct placing *placing, int host)
{
    return placing->first[host + 1] - placing->first[host];
}
