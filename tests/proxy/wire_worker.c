/* SPDX-License-Identifier: Apache-2.0 */
/* A rank whose every result is known: small data, which goes over the tree, and larger, which goes
 * over data links. Prints "right" and ends with status 0 when all is as it should be; with 3 when a
 * result is wrong; with 1 and a line that says why when a call has failed. */
#include "lib/hvd.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SMALL = 3, LARGE = 1500, ROUNDS = 2 };

static int32_t data[2 * LARGE];

static void require(int status, const char *what)
{
    if (status == HVD_OK)
        return;
    fprintf(stderr, "worker: %s: %s\n", what, hvd_last_error());
    exit(1);
}

static void require_right(int is_right, const char *what)
{
    if (is_right)
        return;
    fprintf(stderr, "worker: %s: a wrong result\n", what);
    _exit(3);
}

static int32_t value(int rank, size_t i)
{
    return (int32_t)i * 3 + rank * 1000 + 1;
}

static void fill(size_t count)
{
    for (size_t i = 0; i < count; i++)
        data[i] = value(hvd_rank(), i);
}

static void allreduce(const char *name, size_t count)
{
    int size = hvd_size(), right = 1;
    fill(count);
    require(hvd_allreduce(name, data, data, count, HVD_INT32, HVD_SUM), name);
    for (size_t i = 0; i < count; i++) {
        int32_t sum = 0;
        for (int rank = 0; rank < size; rank++)
            sum += value(rank, i);
        right &= data[i] == sum;
    }
    require_right(right, name);
}

static void broadcast(const char *name, size_t count, int root)
{
    int right = 1;
    fill(count);
    require(hvd_broadcast(name, data, count, HVD_INT32, root), name);
    for (size_t i = 0; i < count; i++)
        right &= data[i] == value(root, i);
    require_right(right, name);
}

int main(void)
{
    require(hvd_init(), "hvd_init");
    for (int round = 0; round < ROUNDS; round++) {
        allreduce("small", SMALL);
        allreduce("large", LARGE);
        broadcast("from 0", LARGE, 0);
        broadcast("from 1", LARGE, 1);
        require(hvd_barrier(), "barrier");
    }
    require(hvd_shutdown(), "hvd_shutdown");
    puts("right");
    return 0;
}
