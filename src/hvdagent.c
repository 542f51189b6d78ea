/* SPDX-License-Identifier: Apache-2.0 */
/* hvdagent: the program that hvdrun starts on each host; see launcher/agent.h. Its stdin and stdout
 * are the link to hvdrun, its stderr is hvdrun's. Not for people. */
#include <config.h>

#include "launcher/agent.h"
#include "launcher/uv_must.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Moves the link away from descriptors 0 and 1, which a started program would inherit and a stray
 * print would corrupt. */
static int take_stream(int fd, int replacement_mode)
{
    int taken = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    int null = open("/dev/null", replacement_mode | O_CLOEXEC);
    if (taken < 0 || null < 0 || dup2(null, fd) < 0)
        return -1;
    if (null != fd)
        close(null);
    return taken;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("hvdagent " PACKAGE_VERSION);
        return EXIT_SUCCESS;
    }
    if (argc != 1 || isatty(STDIN_FILENO)) {
        fputs("hvdagent: started by hvdrun, not by hand; see hvdrun(1)\n", stderr);
        return 2;
    }
    int input = take_stream(STDIN_FILENO, O_RDONLY);
    int output = take_stream(STDOUT_FILENO, O_WRONLY);
    if (input < 0 || output < 0) {
        fputs("hvdagent: stdin and stdout must be open\n", stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    uv_loop_t loop;
    uv_must(uv_loop_init(&loop), "event loop");
    int status = agent_run(&loop, input, output);
    uv_loop_close(&loop);
    return status;
}
