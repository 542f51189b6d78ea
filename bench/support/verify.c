/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers to collect, and what must come out; see verify.h. */
#include "bench/support/verify.h"

enum { PERIOD = 1000 };

static float element(int rank, size_t i)
{
    return (float)(rank + 1) * (float)(i % PERIOD);
}

/* The sum of element(rank, i) over all ranks. */
static float sum(int size, size_t i)
{
    return (float)(size * (size + 1) / 2) * (float)(i % PERIOD);
}

void verify_fill(int rank, float *input, size_t count)
{
    for (size_t i = 0; i < count; i++)
        input[i] = element(rank, i);
}

size_t verify_results(enum peer_operation operation, int size, size_t count)
{
    return operation == PEER_REDUCESCATTER ? count / (size_t)size : count;
}

static float expect(enum peer_operation operation, int rank, int size, size_t count, size_t i)
{
    size_t share = count / (size_t)size;
    switch (operation) {
    case PEER_ALLREDUCE:
        return sum(size, i);
    case PEER_BROADCAST:
        return element(0, i);
    case PEER_ALLGATHER:
        return element((int)(i / share), i % share);
    case PEER_ALLTOALL:
        return element((int)(i / share), (size_t)rank * share + i % share);
    case PEER_REDUCESCATTER:
        return sum(size, (size_t)rank * share + i);
    case PEER_OPERATIONS:
        break;
    }
    return 0;
}

size_t verify_find_wrong(enum peer_operation operation, int rank, int size, const float *output,
                         size_t count, float *expected)
{
    size_t i, results = verify_results(operation, size, count);
    for (i = 0; i < results; i++)
        if (output[i] != (*expected = expect(operation, rank, size, count, i)))
            break;
    return i;
}
