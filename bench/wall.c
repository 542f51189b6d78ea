/* SPDX-License-Identifier: Apache-2.0 */
/* How long a command takes, from its start to its end.
 *
 *     bench/wall NAME OPERATION RANKS TIMES COMMAND...
 *
 * Runs it so many times, after once for the caches if there are several, and prints a line as
 * support/peer.h says. Its stdout is thrown away. Fails with a line when the command does not end
 * with 0. */
#include "bench/support/sample.h"

#include <err.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static double time_command(char **command)
{
    int status;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    double start_us = now_us();
    if (posix_spawnp(&pid, command[0], &actions, NULL, command, environ) != 0)
        err(1, "%s", command[0]);
    if (waitpid(pid, &status, 0) != pid || status != 0)
        errx(1, "%s: wait status %#x", command[0], (unsigned)status);
    posix_spawn_file_actions_destroy(&actions);
    return now_us() - start_us;
}

int main(int argc, char **argv)
{
    double wall_us[ROUNDS_MAX];
    if (argc < 6)
        errx(2, "usage: wall NAME OPERATION RANKS TIMES COMMAND...");
    int times = (int)number_argument("TIMES", argv[4], 1, ROUNDS_MAX);
    if (times > 1)
        time_command(argv + 5);
    for (int i = 0; i < times; i++)
        wall_us[i] = time_command(argv + 5);
    double middle = median(wall_us, times); /* sorts them */
    printf("%s\t%s\t-\t%s\t0\t%.0f\t%.0f\t%.0f\n", argv[1], argv[2], argv[3], middle, wall_us[0],
           wall_us[times - 1]);
    return 0;
}
