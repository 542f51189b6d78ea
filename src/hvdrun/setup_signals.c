/* SPDX-License-Identifier: Apache-2.0 */
/* Signals before the event loop; see setup_signals.h. The handler may interrupt any call, so it
 * only writes a line that is ready, and exits without destroying anything. */
#include "src/hvdrun/setup_signals.h"

#include "launcher/base/exit_status.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define LINE(number, name)                                                                         \
    "hvdrun: stopped by signal " #number " (" name ") before anything was started\n"

static const struct {
    int signum;
    const char *line;
} setup_signals[] = {
    { SIGHUP, LINE(1, "SIGHUP") },
    { SIGINT, LINE(2, "SIGINT") },
    { SIGTERM, LINE(15, "SIGTERM") },
};

_Static_assert(SIGHUP == 1 && SIGINT == 2 && SIGTERM == 15, "the lines have other numbers");

enum { SETUP_SIGNALS = sizeof setup_signals / sizeof *setup_signals };

static void on_setup_signal(int signum)
{
    for (size_t i = 0; i < SETUP_SIGNALS; i++)
        if (setup_signals[i].signum == signum) {
            ssize_t n = write(STDERR_FILENO, setup_signals[i].line, strlen(setup_signals[i].line));
            (void)n; /* nobody is left who could be told */
        }
    _exit(STATUS_SIGNAL + signum);
}

void setup_signals_release(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void setup_signals_start(void)
{
    struct sigaction action = { .sa_handler = on_setup_signal }, before;
    for (size_t i = 0; i < SETUP_SIGNALS; i++) {
        int signum = setup_signals[i].signum;
        sigaction(signum, NULL, &before);
        if (signum != SIGHUP || before.sa_handler != SIG_IGN)
            sigaction(signum, &action, NULL);
    }
    setup_signals_release(); /* the parent may have blocked them */
}

void setup_signals_hold(void)
{
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < SETUP_SIGNALS; i++)
        sigaddset(&held, setup_signals[i].signum);
    sigprocmask(SIG_BLOCK, &held, NULL);
}
