/* SPDX-License-Identifier: Apache-2.0 */
/* hvdssh: libssh2 for hvdrun, in a process for each host (launcher/ssh/ssh_helper.h).
 *
 *   load libssh2 -> a start comes: fork -> confine the child -> session with the host -> exit
 *                -> a kill comes: kill the child
 *                -> a child has ended: tell hvdrun how
 *                -> hvdrun has hung up: kill the children that are left, exit
 *
 * This process reads nothing that a host has sent. A child keeps the three descriptors of its host
 * only. Fails only when another program than hvdrun runs it. */
#include "launcher/base/exit_status.h"
#include "launcher/base/private_memory.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "launcher/ssh/ssh_confine.h"
#include "launcher/ssh/ssh_helper.h"
#include "launcher/ssh/ssh_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HVDRUN = STDIN_FILENO };

struct served {
    pid_t pid;
    uint32_t number;
};

struct hvdssh {
    struct served *served;
    size_t count;
    sigset_t waiting; /* the mask while nothing is done: SIGCHLD comes then only */
};

static void on_child_signal(int signum)
{
    (void)signum; /* interrupts ppoll() */
}

/* ---- a child ---- */

/* Replaces stdin, stdout and stderr by /dev/null. Stdin is the socket of hvdrun, from which a
 * child could receive the sockets of other hosts. Output of a child would reach the terminal, so
 * only sanitizers keep stderr. */
static void drop_descriptors(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        _exit(STATUS_RESOURCE);
    for (int fd = 0; fd < 2; fd++)
        dup2(null, fd);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    dup2(null, STDERR_FILENO);
#endif
}

static _Noreturn void child_run(const struct hvdssh *hvdssh, pid_t parent,
                                const int sockets[SSH_HELPER_SOCKETS])
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, &hvdssh->waiting, NULL);
    drop_descriptors();
    bool confined = ssh_confine();
    const struct ssh_serve_request request = { sockets[0], sockets[1], sockets[2], confined };
    _exit(ssh_serve(&request));
}

/* ---- hvdrun ---- */

static void tell_hvdrun(uint32_t number, enum ssh_helper_what what, int value)
{
    const struct ssh_helper_told told = { number, what, (uint32_t)value };
    while (send(HVDRUN, &told, sizeof told, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

static void serve_host(struct hvdssh *hvdssh, uint32_t number, const int sockets[])
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        child_run(hvdssh, parent, sockets);
    if (pid < 0) {
        tell_hvdrun(number, SSH_HELPER_NOT_STARTED, errno);
        return;
    }
    hvdssh->served = xreallocarray(hvdssh->served, hvdssh->count + 1, sizeof *hvdssh->served);
    hvdssh->served[hvdssh->count++] = (struct served){ pid, number };
}

/* The descriptors of a message are fewer than were sent if no more can be open here. */
static size_t take_descriptors(struct msghdr *message, int sockets[SSH_HELPER_SOCKETS])
{
    const struct cmsghdr *header = CMSG_FIRSTHDR(message);
    if (!header || header->cmsg_type != SCM_RIGHTS)
        return 0;
    size_t nbytes = header->cmsg_len - CMSG_LEN(0);
    memcpy(sockets, CMSG_DATA(header), nbytes);
    return nbytes / sizeof *sockets;
}

/* The process has not been reaped, so no other one has its pid. */
static void kill_host(const struct hvdssh *hvdssh, uint32_t number)
{
    for (size_t i = 0; i < hvdssh->count; i++)
        if (hvdssh->served[i].number == number)
            kill(hvdssh->served[i].pid, SIGKILL);
}

/* False if hvdrun has hung up. */
static bool take_message(struct hvdssh *hvdssh)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(SSH_HELPER_SOCKETS * sizeof(int))];
    } control;
    uint32_t number = 0;
    struct iovec data = { &number, sizeof number };
    struct msghdr message = {
        .msg_iov = &data,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = CMSG_LEN(SSH_HELPER_SOCKETS * sizeof(int)), /* and no room for more */
    };
    ssize_t n = recvmsg(HVDRUN, &message, MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0)
        return false;
    int sockets[SSH_HELPER_SOCKETS];
    size_t count = take_descriptors(&message, sockets);
    if (count == SSH_HELPER_SOCKETS)
        serve_host(hvdssh, number, sockets);
    else if (count == 0 && !(message.msg_flags & MSG_CTRUNC))
        kill_host(hvdssh, number);
    else
        tell_hvdrun(number, SSH_HELPER_NOT_STARTED, EMFILE);
    for (size_t i = 0; i < count; i++)
        close(sockets[i]);
    return true;
}

/* Tells hvdrun of the children that have ended. */
static void reap(struct hvdssh *hvdssh)
{
    pid_t pid;
    for (int status; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        for (size_t i = 0; i < hvdssh->count; i++) {
            if (hvdssh->served[i].pid != pid)
                continue;
            tell_hvdrun(hvdssh->served[i].number, SSH_HELPER_ENDED, status);
            hvdssh->served[i] = hvdssh->served[--hvdssh->count];
            break;
        }
    }
}

static void watch_children(struct hvdssh *hvdssh)
{
    struct sigaction action = { .sa_handler = on_child_signal };
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &hvdssh->waiting);
    sigdelset(&hvdssh->waiting, SIGCHLD);
    sigaction(SIGCHLD, &action, NULL);
}

static void serve_hvdrun(struct hvdssh *hvdssh)
{
    struct pollfd hvdrun = { .fd = HVDRUN, .events = POLLIN };
    for (;;) {
        int ready = ppoll(&hvdrun, 1, NULL, &hvdssh->waiting);
        reap(hvdssh);
        if (ready > 0 && !take_message(hvdssh))
            return;
    }
}

/* Batch systems send SIGTSTP to all processes of a job. hvdrun then orders the agents to stop the
 * ranks and to wait without a limit, and stops itself. The children, which inherit this, must pass
 * the orders on: an agent without them ends its ranks after --heartbeat-timeout. */
static void ignore_terminal_stops(void)
{
    signal(SIGTSTP, SIG_IGN);
    signal(SIGTTIN, SIG_IGN);
    signal(SIGTTOU, SIG_IGN);
}

static bool is_run_by_hvdrun(void)
{
    int type = 0;
    socklen_t length = sizeof type;
    return getsockopt(HVDRUN, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

int main(void)
{
    struct hvdssh hvdssh = { 0 };
    private_memory_start();
    uv_must_find_memory();
    uv_must_explain_aborts();
    if (!is_run_by_hvdrun()) {
        fprintf(stderr, "hvdssh: error: this program is run by hvdrun\n");
        return STATUS_USAGE;
    }
    fcntl(HVDRUN, F_SETFD, FD_CLOEXEC);
    ignore_terminal_stops();
    watch_children(&hvdssh);
    ssh_session_prepare();
    serve_hvdrun(&hvdssh);
    for (size_t i = 0; i < hvdssh.count; i++)
        kill(hvdssh.served[i].pid, SIGKILL);
    free(hvdssh.served);
    private_memory_end();
    return EXIT_SUCCESS;
}
