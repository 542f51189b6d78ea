/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of rows in contributions; see decision_rows.h. */
#include "lib/engine/decision_rows.h"

#include "lib/base/wire.h"

enum { NUMBER_SIZE = 8 };

static size_t contributed(const struct agreed *agreed, int rank)
{
    return agreed->offsets[rank + 1] - agreed->offsets[rank];
}

/* Number `index` of a rank's contribution, which is long enough. */
static int64_t number_at(const struct agreed *agreed, int rank, int index)
{
    struct wire_reader reader;
    wire_reader_init(&reader, agreed->data + agreed->offsets[rank] + NUMBER_SIZE * (size_t)index,
                     NUMBER_SIZE);
    return (int64_t)wire_get_u64(&reader);
}

/* True if `nbytes` are so many rows; rows without elements are not counted. */
static bool are_rows(size_t nbytes, int64_t rows, size_t row_size)
{
    return row_size == 0 ? nbytes == 0
                         : nbytes % row_size == 0 && nbytes / row_size == (size_t)rows;
}

int64_t decision_rows(const struct agreed *agreed, int rank)
{
    size_t nbytes = contributed(agreed, rank);
    if (nbytes == 0)
        return 0;
    return nbytes < NUMBER_SIZE ? -1 : number_at(agreed, rank, 0);
}

bool decision_rows_came(const struct agreed *agreed, int rank, size_t row_size)
{
    size_t nbytes = contributed(agreed, rank);
    int64_t rows = decision_rows(agreed, rank);
    if (nbytes < NUMBER_SIZE || rows < 0 || rows > ROWS_MAX)
        return false;
    return are_rows(nbytes - NUMBER_SIZE, rows, row_size);
}

int64_t decision_split(const struct agreed *agreed, int size, int from, int to)
{
    return contributed(agreed, from) < NUMBER_SIZE * (size_t)size ? -1
                                                                  : number_at(agreed, from, to);
}

int64_t decision_splits_before(const struct agreed *agreed, int size, int from, int to)
{
    int64_t rows = 0;
    for (int rank = 0; rank < to; rank++) {
        int64_t split = decision_split(agreed, size, from, rank);
        if (split < 0 || split > ROWS_MAX - rows)
            return -1;
        rows += split;
    }
    return rows;
}

bool decision_splits_came(const struct agreed *agreed, int size, int from, size_t row_size)
{
    int64_t rows = decision_splits_before(agreed, size, from, size);
    return rows >= 0 &&
           are_rows(contributed(agreed, from) - NUMBER_SIZE * (size_t)size, rows, row_size);
}
