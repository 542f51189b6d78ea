/* SPDX-License-Identifier: Apache-2.0 */
/* An agent whose link is stdin and stdout; see agent.h. Fails when one of them is closed, or no
 * descriptors are left. */
#include "launcher/agent/agent.h"

#include "launcher/base/uv_must.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* Moves the link away from descriptors 0 and 1, which a started program would inherit and an
 * unexpected print would corrupt. */
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

int agent_serve(binding_places_fn *find_places)
{
    const struct agent_settings settings = { AGENT_RELAY_STALL_MS, find_places };
    int input = take_stream(STDIN_FILENO, O_RDONLY);
    int output = take_stream(STDOUT_FILENO, O_WRONLY);
    if (input < 0 || output < 0) {
        fputs("hvdagent: stdin and stdout must be open\n", stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    uv_loop_t loop;
    uv_must(uv_loop_init(&loop), "event loop");
    int status = agent_run(&loop, input, output, &settings);
    uv_loop_close(&loop);
    return status;
}
