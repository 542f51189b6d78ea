/* SPDX-License-Identifier: Apache-2.0 */
/* A rank that does nothing: joins the world, reduces one number, says its process id, and sleeps
 * for so many seconds before it reduces another. bench/idle.sh looks at it meanwhile. */
#include "hvd.h"

#include "bench/support/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void must(int rc)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "idle: %s\n", hvd_last_error());
    exit(1);
}

static void add_one(void)
{
    int one = 1, sum = 0;
    must(hvd_allreduce("one", &one, &sum, 1, HVD_INT32, HVD_SUM));
    if (sum != hvd_size()) {
        fprintf(stderr, "idle: %d ranks add up to %d\n", hvd_size(), sum);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return fprintf(stderr, "usage: idle SECONDS\n"), 2;
    unsigned seconds = (unsigned)number_argument("SECONDS", argv[1], 0, 86400);
    must(hvd_init());
    add_one();
    printf("%d\t%ld\n", hvd_rank(), (long)getpid());
    fflush(stdout);
    sleep(seconds);
    add_one();
    must(hvd_shutdown());
    return 0;
}
