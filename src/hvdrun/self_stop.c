/* SPDX-License-Identifier: Apache-2.0 */
/* Stopping this process; see self_stop.h. */
#include "src/hvdrun/self_stop.h"

#include "launcher/base/uv_must.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <unistd.h>

static sigset_t set_of(int signum)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signum);
    return set;
}

static void change_mask(int how, int signum)
{
    sigset_t set = set_of(signum);
    sigprocmask(how, &set, NULL);
}

static bool signal_is_pending(int signum)
{
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, signum) == 1;
}

/* The descriptor stays readable until the stop. */
static void on_self_stop_readable(uv_poll_t *poll, int status, int events)
{
    struct self_stop *stop = poll->data;
    (void)status;
    (void)events;
    uv_poll_stop(poll);
    stop->on_asked(stop->context);
}

void self_stop_listen(struct self_stop *stop)
{
    uv_must(uv_poll_start(&stop->poll, UV_READABLE, on_self_stop_readable), "signals");
}

void self_stop_open(struct self_stop *stop, uv_loop_t *loop, void (*on_asked)(void *context),
                    void *context)
{
    sigset_t set = set_of(SIGTSTP);
    signal(SIGTSTP, SIG_DFL);
    change_mask(SIG_BLOCK, SIGTSTP);
    stop->on_asked = on_asked;
    stop->context = context;
    stop->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    uv_must(stop->fd < 0 ? -errno : uv_poll_init(loop, &stop->poll, stop->fd), "signals");
    stop->poll.data = stop;
    self_stop_listen(stop);
}

/* SIGCONT is blocked meanwhile, so that a SIGCONT that ends the stop is still pending afterwards.
 * If none is, the kernel has dropped SIGTSTP. */
void self_stop_now(struct self_stop *stop)
{
    change_mask(SIG_BLOCK, SIGCONT);
    if (signal_is_pending(SIGTSTP)) {
        change_mask(SIG_UNBLOCK, SIGTSTP);
        change_mask(SIG_BLOCK, SIGTSTP);
        if (!signal_is_pending(SIGCONT))
            raise(SIGSTOP);
    }
    change_mask(SIG_UNBLOCK, SIGCONT);
    self_stop_listen(stop);
}

static void forget_sigtstp(const struct self_stop *stop)
{
    struct signalfd_siginfo info;
    while (read(stop->fd, &info, sizeof info) == sizeof info)
        ;
}

void self_stop_drop(struct self_stop *stop)
{
    forget_sigtstp(stop);
    self_stop_listen(stop);
}

void self_stop_close(struct self_stop *stop)
{
    uv_close((uv_handle_t *)&stop->poll, NULL);
    forget_sigtstp(stop);
    close(stop->fd);
    change_mask(SIG_UNBLOCK, SIGTSTP);
}
