/* SPDX-License-Identifier: Apache-2.0 */
/* A worker of an elastic job, on the public calls:
 *
 *   elastic_worker DIRECTORY         counts steps until DIRECTORY/end exists, in as many worlds as it
 *                                    takes
 *   elastic_worker DIRECTORY once    the same in one world: the first call that fails ends it
 *
 * Worker W submits nothing any more from the step on at which DIRECTORY/hang.W exists.
 *
 * Prints a line for each world that it joins, when it is removed, and at the end. Exits with 1 when
 * a call fails in a way that an elastic job does not explain, or when a sum or a count is wrong. */
#include "lib/hvd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEP_US = 5000 };

static const char *directory;
static int64_t steps; /* what would be trained; the same on all ranks of a world */

static void fail_call(const char *what)
{
    printf("failed %s: %s\n", what, hvd_last_error());
    exit(1);
}

static int is_end(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/end", directory);
    return access(path, F_OK) == 0;
}

static void hang_if_asked(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/hang.%s", directory, getenv("HVD_WORKER"));
    if (access(path, F_OK) != 0)
        return;
    printf("worker %s hangs\n", getenv("HVD_WORKER"));
    for (;;)
        pause();
}

/* A new worker takes over what the others have counted. */
static int synchronise(void)
{
    int64_t most = 0;
    int rc = hvd_allreduce("steps", &steps, &most, 1, HVD_INT64, HVD_MAX);
    if (rc == HVD_OK && most < steps) {
        printf("failed: %lld steps are lost\n", (long long)(steps - most));
        exit(1);
    }
    if (rc == HVD_OK)
        steps = most;
    return rc;
}

/* HVD_OK: the job is done; HVD_HOSTS_UPDATED: leave this world; else the status of a call. */
static int train(void)
{
    int rc = synchronise();
    while (rc == HVD_OK) {
        hang_if_asked();
        int64_t mine[3] = { 1, is_end(), hvd_hosts_updated() > 0 }, all[3];
        rc = hvd_allreduce("step", mine, all, 3, HVD_INT64, HVD_SUM);
        if (rc != HVD_OK)
            break;
        if (all[0] != hvd_size())
            fail_call("a sum");
        steps++;
        if (all[1] > 0)
            return HVD_OK;
        if (all[2] > 0)
            return HVD_HOSTS_UPDATED;
        usleep(STEP_US);
    }
    return rc;
}

int main(int argc, char **argv)
{
    const char *worker = getenv("HVD_WORKER");
    int once = argc > 2 && strcmp(argv[2], "once") == 0;
    directory = argc > 1 ? argv[1] : ".";
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (;;) {
        int rc = hvd_init();
        if (rc == HVD_ERR_REMOVED) {
            printf("removed worker %s\n", worker);
            return 0;
        }
        if (rc != HVD_OK && rc != HVD_ERR_PEER_LOST && rc != HVD_ERR_PEER_LEFT)
            fail_call("hvd_init");
        if (rc == HVD_OK)
            printf("world %d rank %d of %d worker %s pid %d\n", hvd_epoch(), hvd_rank(), hvd_size(),
                   worker, (int)getpid());
        rc = rc == HVD_OK ? train() : rc;
        if (rc == HVD_OK)
            break;
        if (once || (rc != HVD_HOSTS_UPDATED && rc != HVD_ERR_PEER_LOST && rc != HVD_ERR_PEER_LEFT))
            fail_call("hvd_allreduce");
        hvd_shutdown();
    }
    printf("done with worker %s after %s\n", worker, steps > 0 ? "some steps" : "nothing");
    return hvd_shutdown() == HVD_OK ? 0 : 1;
}
