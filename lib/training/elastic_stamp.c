/* SPDX-License-Identifier: Apache-2.0 */
/* Stamps of commits; see elastic_stamp.h. */
#include "lib/training/elastic_stamp.h"

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

int elastic_stamp_compare(const struct elastic_stamp *a, const struct elastic_stamp *b)
{
    int order = compare_numbers(a->epoch, b->epoch);
    if (order != 0 || a->epoch == ELASTIC_EPOCH_NONE)
        return order;
    return compare_numbers(a->commit, b->commit);
}

int elastic_stamp_root(const struct elastic_stamp *stamps, int size)
{
    int root = 0;
    for (int rank = 1; rank < size; rank++)
        if (elastic_stamp_compare(&stamps[rank], &stamps[root]) > 0)
            root = rank;
    return stamps[root].epoch == ELASTIC_EPOCH_NONE ? -1 : root;
}

bool elastic_stamp_differs(const struct elastic_stamp *stamps, int size, int root)
{
    for (int rank = 0; rank < size; rank++)
        if (elastic_stamp_compare(&stamps[rank], &stamps[root]) != 0)
            return true;
    return false;
}
