/* SPDX-License-Identifier: Apache-2.0 */
/* From the death of a rank to the first collective of the next world, and the time of a step.
 *
 *   bench/elastic_loss FILE STEPS    in an elastic job: after STEPS steps the last rank writes the
 *                                    time into FILE and kills itself; rank 0 of the next world
 *                                    prints "reset" and the microseconds since then
 *   bench/elastic_loss - STEPS       no rank dies
 *
 * A step is a sum of 4096 floats, and a look at whether hosts have changed. Rank 0 prints "step"
 * and the median of the first world's steps in microseconds. The clock is the same for all
 * processes of a machine. */
#include "hvd.h"

#include "bench/support/sample.h"

#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 4096, STEPS_MAX = 1000000 };

static float data[COUNT];
static double times_us[STEPS_MAX];

static void loss_die(const char *path)
{
    double now = now_us();
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, &now, sizeof now) != sizeof now)
        err(1, "%s", path);
    raise(SIGKILL);
}

static double loss_died_at(const char *path)
{
    double then = 0;
    int file = open(path, O_RDONLY);
    if (file < 0 || read(file, &then, sizeof then) != sizeof then)
        err(1, "%s", path);
    close(file);
    return then;
}

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

/* Until a rank has died, or the steps are made. */
static int loss_first_world(int steps, bool a_rank_dies, const char *path)
{
    int rc = HVD_OK;
    for (int i = 0; i < steps && rc == HVD_OK; i++) {
        double began_us = now_us();
        rc = loss_step();
        times_us[i] = now_us() - began_us;
    }
    if (rc == HVD_OK && hvd_rank() == 0)
        printf("step %.1f\n", median(times_us, steps));
    if (rc == HVD_OK && a_rank_dies && hvd_rank() == hvd_size() - 1)
        loss_die(path);
    while (rc == HVD_OK && a_rank_dies)
        rc = loss_step();
    return rc;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        errx(2, "usage: elastic_loss FILE|- STEPS");
    int steps = (int)number_argument("STEPS", argv[2], 1, STEPS_MAX);
    setvbuf(stdout, NULL, _IOLBF, 0);
    loss_must(hvd_init());
    if (loss_first_world(steps, strcmp(argv[1], "-") != 0, argv[1]) == HVD_OK)
        return hvd_shutdown() != HVD_OK;
    hvd_shutdown();
    loss_must(hvd_init());
    loss_must(loss_step());
    if (hvd_rank() == 0)
        printf("reset %.0f\n", now_us() - loss_died_at(argv[1]));
    return hvd_shutdown() != HVD_OK;
}
