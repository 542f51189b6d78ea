/* SPDX-License-Identifier: Apache-2.0 */
/* Ending the process when a call of libuv fails; see uv_must.h. */
#include "launcher/base/uv_must.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/xalloc.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

/* The resource that has probably run out when libuv aborts. */
static const struct {
    int code;
    const char *text;
} wants[] = {
    { EMFILE, "too many open files (ulimit -n)" },
    { ENFILE, "too many open files on this machine (sysctl fs.file-max)" },
    { ENOMEM, "the kernel has no memory left" },
    { ENOSPC, "too many watched descriptors (sysctl fs.epoll.max_user_watches)" },
};

void uv_must_find_memory(void)
{
    uv_replace_allocator(xmalloc, xrealloc, xcalloc, free);
}

static const char *find_want(int code)
{
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++)
        if (wants[i].code == code)
            return wants[i].text;
    return NULL;
}

/* A SIGABRT of abort() comes from this process. libuv calls abort() right behind the call that
 * failed, but other code may call it long after a failure. The handler is removed before it runs,
 * so any other abort takes its default course. */
static void on_abort(int signum, siginfo_t *info, void *context)
{
    const char *want = info->si_pid == getpid() ? find_want(errno) : NULL;
    (void)context;
    if (!want) {
        raise(signum);
        return;
    }
    char message[160];
    int length = snprintf(message, sizeof message, "%.32s: error: aborted; what failed last: %s\n",
                          program_invocation_short_name, want);
    ssize_t ignored = write(STDERR_FILENO, message, (size_t)length);
    (void)ignored;
    _exit(STATUS_RESOURCE);
}

void uv_must_explain_aborts(void)
{
    struct sigaction action = { .sa_sigaction = on_abort,
                                .sa_flags = (int)(SA_SIGINFO | SA_RESETHAND | SA_NODEFER) };
    sigaction(SIGABRT, &action, NULL);
}

void uv_must(int rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s: error: %s: %s\n", program_invocation_short_name, what, uv_strerror(rc));
    _exit(STATUS_RESOURCE);
}
