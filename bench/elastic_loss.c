/* SPDX-License-Identifier: Apache-2.0 */
/* From a change of an elastic job to the first collective of the next world, and the time of a
 * step.
 *
 *   bench/elastic_loss FILE STEPS         after STEPS steps the last rank writes the time into FILE
 *                                         and kills itself; rank 0 of the next world prints "reset"
 *                                         and the microseconds since then
 *   bench/elastic_loss FILE STEPS wait    the same, but the ranks wait for another process that
 *                                         writes the time and changes the hosts of the job
 *   bench/elastic_loss FILE now           writes the time into FILE, in no job
 *   bench/elastic_loss - STEPS            nothing changes
 *
 * A step is a sum of 4096 floats, and a look at whether hosts have changed. Rank 0 prints "step"
 * and the median of the first world's steps in microseconds. The clock is the same for all
 * processes of a machine. */
#include "hvd.h"

#include "bench/support/instant.h"
#include "bench/support/sample.h"

#include <err.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 4096, STEPS_MAX = 1000000 };

static float data[COUNT];
static double times_us[STEPS_MAX];

static int loss_step(void)
{
    int rc = hvd_allreduce("step", data, data, COUNT, HVD_FLOAT32, HVD_SUM);
    return rc == HVD_OK && hvd_hosts_updated() > 0 ? HVD_HOSTS_UPDATED : rc;
}

static void loss_must(int rc)
{
    if (rc != HVD_OK)
        errx(1, "%s", hvd_last_error());
}

enum loss_change { LOSS_NONE, LOSS_DEATH, LOSS_OF_HOSTS };

/* Until the world changes, or the steps are made. */
static int loss_first_world(int steps, enum loss_change change, const char *path)
{
    int rc = HVD_OK;
    for (int i = 0; i < steps && rc == HVD_OK; i++) {
        double began_us = now_us();
        rc = loss_step();
        times_us[i] = now_us() - began_us;
    }
    if (rc == HVD_OK && hvd_rank() == 0)
        printf("step %.1f\n", median(times_us, steps));
    if (rc == HVD_OK && change == LOSS_DEATH && hvd_rank() == hvd_size() - 1) {
        instant_write_now(path);
        raise(SIGKILL);
    }
    while (rc == HVD_OK && change != LOSS_NONE)
        rc = loss_step();
    return rc;
}

/* A rank that was removed has no next world. */
static void loss_next_world(const char *path)
{
    int rc = hvd_init();
    if (rc == HVD_ERR_REMOVED)
        exit(0);
    loss_must(rc);
    loss_must(loss_step());
    if (hvd_rank() == 0)
        printf("reset %.0f\n", now_us() - instant_read(path));
}

int main(int argc, char **argv)
{
    bool waits = argc == 4 && strcmp(argv[3], "wait") == 0;
    if (argc != 3 && !waits)
        errx(2, "usage: elastic_loss FILE|- STEPS|now [wait]");
    if (strcmp(argv[2], "now") == 0)
        return instant_write_now(argv[1]), 0;
    int steps = (int)number_argument("STEPS", argv[2], 1, STEPS_MAX);
    enum loss_change change = waits                       ? LOSS_OF_HOSTS
                              : strcmp(argv[1], "-") == 0 ? LOSS_NONE
                                                          : LOSS_DEATH;
    setvbuf(stdout, NULL, _IOLBF, 0);
    loss_must(hvd_init());
    if (hvd_epoch() > 0) { /* a newcomer */
        loss_must(loss_step());
    } else if (loss_first_world(steps, change, argv[1]) != HVD_OK) {
        hvd_shutdown();
        loss_next_world(argv[1]);
    }
    return hvd_shutdown() != HVD_OK;
}
