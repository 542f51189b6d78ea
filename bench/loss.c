/* SPDX-License-Identifier: Apache-2.0 */
/* How long after the death of a rank the others have the error: bench/loss FILE.
 *
 * The ranks reduce a vector again and again; the last one, in the middle of it, writes the time into
 * FILE and kills itself. The others print, in microseconds, how much later their call has failed,
 * and end with 0 once they have; SIGTERM, with which the launcher ends the job, is blocked until
 * then. CLOCK_MONOTONIC is the same for all processes of a machine. */
#include "hvd.h"

#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 4096, BEFORE = 200 };

static double clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void die(const char *path)
{
    double now = clock_us();
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, &now, sizeof now) != sizeof now)
        err(1, "%s", path);
    raise(SIGKILL);
}

static double died_at(const char *path)
{
    double then = 0;
    int file = open(path, O_RDONLY);
    if (file < 0 || read(file, &then, sizeof then) != sizeof then)
        err(1, "%s", path);
    return then;
}

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
        if (i == BEFORE && hvd_rank() == hvd_size() - 1)
            die(argv[1]);
        if (hvd_allreduce("vector", vector, vector, COUNT, HVD_FLOAT32, HVD_SUM) < 0)
            break;
    }
    printf("%.0f\n", clock_us() - died_at(argv[1]));
    return 0;
}
