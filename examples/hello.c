/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest program: join the world, add one number per rank, leave.
 *
 *     hvdrun -np 2 examples/hello
 *
 * Without hvdrun it is a world of its own, of size 1. When a call fails, hvd_last_error() has the
 * reason in words and the program ends with status 1, as it does when its line cannot be
 * written. */
#include <stdio.h>

#include "hvd.h"

static int failed(const char *what)
{
    fprintf(stderr, "hello: %s: %s\n", what, hvd_last_error());
    return 1;
}

int main(void)
{
    if (hvd_init() != HVD_OK)
        return failed("hvd_init");
    int rank = hvd_rank(), size = hvd_size();
    double mine = rank + 1, sum = 0;
    if (hvd_allreduce("hello", &mine, &sum, 1, HVD_FLOAT64, HVD_SUM) != HVD_OK)
        return failed("hvd_allreduce");
    printf("hello from rank %d of %d: all ranks' numbers add up to %g\n", rank, size, sum);
    hvd_shutdown();
    if (fflush(stdout) == 0)
        return 0;
    fprintf(stderr, "hello: standard output cannot be written\n");
    return 1;
}
