/* SPDX-License-Identifier: Apache-2.0 */
/* hvdagent: the program that hvdrun starts on each host; see launcher/agent/agent.h. Its stdin and
 * stdout are the link to hvdrun, its stderr is hvdrun's. Not for people.
 *
 *   --supervise  on another machine: with a supervisor (launcher/cleanup/supervisor.h)
 *   --dial       srun has started it: stdin has an invitation (launcher/protocol/agent_dial.h), and
 *                the link to hvdrun is a connection that it makes
 *   --sent DIR   this program is a sent copy, alone in DIR: both are removed at once */
#include <config.h>

#include "launcher/agent/agent.h"
#include "launcher/agent/agent_dial.h"
#include "launcher/agent/sent_copy.h"
#include "launcher/base/exit_status.h"
#include "launcher/base/private_memory.h"
#include "launcher/base/uv_must.h"
#include "launcher/cleanup/supervisor.h"
#include "launcher/placement/binding_places.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct agent_options {
    bool version, supervise, dial;
    const char *sent;
};

static bool read_options(struct agent_options *options, char **argv)
{
    while (*++argv) {
        if (strcmp(*argv, "--version") == 0)
            options->version = true;
        else if (strcmp(*argv, "--supervise") == 0)
            options->supervise = true;
        else if (strcmp(*argv, "--dial") == 0)
            options->dial = true;
        else if (strcmp(*argv, "--sent") == 0 && argv[1])
            options->sent = *++argv;
        else
            return false;
    }
    return true;
}

/* True for the kinds of stdin that hvdrun and sshd give; false for a terminal, a file or a
 * device. */
static bool is_stream(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

/* A copy that cannot remove itself runs nevertheless. */
static void remove_sent_copy(const char *folder)
{
    struct err err = { 0 };
    if (folder && sent_copy_remove(folder, &err) < 0)
        fprintf(stderr, "hvdagent: its copy was left behind: %s\n", err.text);
}

/* Makes the connection stdin and stdout. Slurm sends a signal for the job to every process of it,
 * and the ranks get it too: the agent and its supervisor must not die of it. */
static int dial_hvdrun(void)
{
    static const int meant_for_ranks[] = { SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGXCPU };
    struct err err = { 0 };
    for (size_t i = 0; i < sizeof meant_for_ranks / sizeof *meant_for_ranks; i++)
        signal(meant_for_ranks[i], SIG_IGN);
    int fd = agent_dial_hvdrun(STDIN_FILENO, &err);
    if (fd < 0 || dup2(fd, STDIN_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0) {
        fprintf(stderr, "hvdagent: %s\n", fd < 0 ? err.text : "no descriptors are left");
        return STATUS_UNREACHABLE;
    }
    close(fd);
    return 0;
}

int main(int argc, char **argv)
{
    struct agent_options options = { 0 };
    (void)argc;
    private_memory_start();
    uv_must_find_memory();
    uv_must_explain_aborts();
    signal(SIGCHLD, SIG_DFL); /* the parent may ignore SIGCHLD, and then no child could be waited
                               * for */
    bool understood = read_options(&options, argv);
    if (understood && options.version) {
        puts("hvdagent " PACKAGE_VERSION);
        return EXIT_SUCCESS;
    }
    if (!understood || !is_stream(STDIN_FILENO)) {
        fputs("hvdagent: started by hvdrun, not by hand; see hvdrun(1)\n", stderr);
        return 2;
    }
    remove_sent_copy(options.sent);
    int failed = options.dial ? dial_hvdrun() : 0;
    if (failed)
        return failed;
    int status = options.supervise ? supervisor_fork(SUPERVISOR_HANG_UP_MS) : -1;
    if (status < 0)
        status = agent_serve(binding_places_read);
    private_memory_end();
    return status;
}
