/* SPDX-License-Identifier: Apache-2.0 */
/* See program_output.h. */
#include "launcher/process/program_output.h"

#include "launcher/process/spawn.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Reads to the end; false if the end does not come in time. */
static bool program_output_read_all(int fd, struct text_buffer *output, uint64_t deadline_ms)
{
    char bytes[4096];
    while (output->length < PROGRAM_OUTPUT_MAX) {
        uint64_t now = monotonic_ms();
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        int rc = now < deadline_ms ? poll(&ready, 1, (int)(deadline_ms - now)) : 0;
        if (rc < 0 && errno == EINTR)
            continue;
        ssize_t n = rc > 0 ? read(fd, bytes, sizeof bytes) : -1;
        if (n <= 0)
            return n == 0;
        text_buffer_put(output, bytes, (size_t)n);
    }
    return false;
}

/* False if the program does not end in time, for instance because a driver hangs in its exit. */
static bool program_output_reap(pid_t pid, uint64_t deadline_ms, int *wait_status)
{
    const struct timespec pause = { .tv_nsec = 1000000 };
    while (waitpid(pid, wait_status, WNOHANG) == 0) {
        if (monotonic_ms() >= deadline_ms)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

static bool program_output_start(const char *path, char *const *argv, char *const *envp, int null,
                                 int output, struct spawned *spawned)
{
    const struct spawn_request request = {
        .path = path,
        .argv = argv,
        .envp = envp,
        .stdio = { null, output, null },
        .death_signal = SIGKILL,
    };
    if (spawn_start(&request, spawned, NULL) != HVD_OK)
        return false;
    if (spawn_confirm(spawned) == 0)
        return true;
    waitpid(spawned->pid, NULL, 0);
    return false;
}

bool program_output_read(const char *path, char *const *argv, char *const *envp,
                         uint32_t timeout_ms, struct text_buffer *output, int *wait_status)
{
    struct spawned spawned;
    int fds[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return false;
    if (pipe2(fds, O_CLOEXEC) < 0) {
        close(null);
        return false;
    }
    bool started = program_output_start(path, argv, envp, null, fds[1], &spawned);
    close(fds[1]);
    close(null);
    uint64_t deadline_ms = monotonic_ms() + timeout_ms;
    bool whole = started && program_output_read_all(fds[0], output, deadline_ms) &&
                 program_output_reap(spawned.pid, deadline_ms, wait_status);
    if (started && !whole)
        kill(spawned.pid, SIGKILL); /* waitpid(-1) of the caller reaps it */
    close(fds[0]);
    return whole;
}
