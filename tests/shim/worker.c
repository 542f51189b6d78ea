/* SPDX-License-Identifier: Apache-2.0 */
/* The worker of the jobs in which calls fail: all of the library that a small training job uses,
 * and some output. What it does for itself needs no memory, so that every failure is the library's.
 * Its argument is how many elements are many. Ends with 0 when every result was right; else says on
 * stderr what failed, and ends with 1. */
#include "lib/hvd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SMALL = 5, LARGE = 96 * 1024, LINES = 20, ROUNDS = 3 };

static float data[LARGE];

/* By a bare system call: what a worker writes is not what is tested. */
static void say(int fd, const char *format, ...)
{
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length > (int)sizeof text - 1)
        length = (int)sizeof text - 1;
    for (int done = 0; done < length;) {
        long n = syscall(SYS_write, fd, text + done, (size_t)(length - done));
        if (n < 0 && errno != EINTR)
            _exit(4);
        done += n > 0 ? (int)n : 0;
    }
}

static void must(int status, const char *what)
{
    if (status == HVD_OK)
        return;
    say(STDERR_FILENO, "worker: %s: %s\n", what, hvd_last_error());
    _exit(1);
}

/* Every rank gives value + rank; every element must be the sum of that. */
static void reduce(const char *name, size_t count, float value)
{
    int size = hvd_size();
    for (size_t i = 0; i < count; i++)
        data[i] = value + (float)hvd_rank();
    must(hvd_allreduce(name, data, data, count, HVD_FLOAT32, HVD_SUM), name);
    float sum = value * (float)size + (float)(size * (size - 1) / 2);
    for (size_t i = 0; i < count; i++)
        if (data[i] != sum) {
            say(STDERR_FILENO, "worker: %s: element %zu is wrong\n", name, i);
            _exit(3);
        }
}

static void broadcast(void)
{
    for (int i = 0; i < SMALL; i++)
        data[i] = hvd_rank() == 1 ? 7 : 0;
    must(hvd_broadcast("start", data, SMALL, HVD_FLOAT32, 1), "broadcast");
    for (int i = 0; i < SMALL; i++)
        if (data[i] != 7) {
            say(STDERR_FILENO, "worker: broadcast: element %d is wrong\n", i);
            _exit(3);
        }
}

int main(int argc, char **argv)
{
    size_t many = argc > 1 ? strtoul(argv[1], NULL, 10) : LARGE;
    if (many > LARGE)
        many = LARGE;
    must(hvd_init(), "hvd_init");
    broadcast();
    for (int round = 0; round < ROUNDS; round++) {
        reduce("small", SMALL, (float)round);
        reduce("large", many, (float)round);
        for (int i = 0; i < LINES; i++)
            say(STDOUT_FILENO, "round %d line %d of a rank that has something to say\n", round, i);
        say(STDERR_FILENO, "round %d is over\n", round);
    }
    must(hvd_barrier(), "barrier");
    must(hvd_shutdown(), "hvd_shutdown");
    say(STDOUT_FILENO, "done");
    return 0;
}
