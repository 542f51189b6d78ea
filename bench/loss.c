/* SPDX-License-Identifier: Apache-2.0 */
/* How long after the death of a rank the others have the error: bench/loss FILE.
 *
 * The ranks reduce a vector again and again; the last one, in the middle of it, writes the time
 * into FILE and kills itself. The others print, in microseconds, how much later their call has
 * failed, and end with 0 once they have; SIGTERM, with which the launcher ends the job, is blocked
 * until then. CLOCK_MONOTONIC is the same for all processes of a machine. */
#include "hvd.h"

#include "bench/support/instant.h"
#include "bench/support/sample.h"

#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 4096, BEFORE = 200 };

int main(int argc, char **argv)
{
    static float vector[COUNT];
    sigset_t term;
    if (argc != 2)
        errx(2, "usage: loss FILE");
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    if (hvd_init() < 0)
        errx(1, "%s", hvd_last_error());
    for (int i = 0;; i++) {
        if (i == BEFORE && hvd_rank() == hvd_size() - 1) {
            instant_write_now(argv[1]);
            raise(SIGKILL);
        }
        if (hvd_allreduce("vector", vector, vector, COUNT, HVD_FLOAT32, HVD_SUM) < 0)
            break;
    }
    printf("%.0f\n", now_us() - instant_read(argv[1]));
    return 0;
}
