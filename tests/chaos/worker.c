/* SPDX-License-Identifier: Apache-2.0 */
/* A worker that makes it hard for whoever must end it; chaos.c starts jobs of them.
 *
 *   chaos_worker KIND [LIFE_MS]     prints "up", then stays, or ends with status 0 after so long
 *
 * It does not need to be started by hvdrun: alone, "collective" is a world of one. SIGUSR1 ends it
 * with status 42. A collective that fails is status 1. The kind "elastic" is in
 * worker_elastic.c. */
#include "lib/base/clock.h"
#include "lib/hvd.h"
#include "tests/chaos/worker_elastic.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 1000, BOMB_MAX = 100, BOMB_UID = 1000000, FAILED = 42 };

static long life_ms = -1; /* for ever */

static void say_up(void)
{
    puts("up");
    fflush(stdout);
}

static void stay(void)
{
    for (;;)
        pause();
}

/* The worker itself; what it has started stays whatever happens. */
static void live(void)
{
    say_up();
    if (life_ms < 0)
        stay();
    struct timespec left = { life_ms / 1000, life_ms % 1000 * 1000000 };
    while (nanosleep(&left, &left) < 0)
        ;
}

static void on_failure(int signum)
{
    (void)signum;
    _exit(FAILED);
}

static void act_plain(void)
{
    live();
}

/* Rank 0's clock decides for all how many rounds there are. */
static void act_collective(void)
{
    float data[COUNT] = { 0 };
    int rc = hvd_init();
    uint64_t began_ms = monotonic_ms();
    if (rc == HVD_OK)
        say_up();
    for (float over = 0; rc == HVD_OK && over == 0; over = data[0]) {
        bool last =
            hvd_rank() == 0 && life_ms >= 0 && monotonic_ms() - began_ms >= (uint64_t)life_ms;
        data[0] = last ? 1 : 0;
        rc = hvd_allreduce("chaos", data, data, COUNT, HVD_FLOAT32, HVD_SUM);
    }
    if (rc == HVD_OK)
        rc = hvd_shutdown();
    if (rc == HVD_OK)
        return;
    fprintf(stderr, "chaos_worker: %s\n", hvd_last_error());
    exit(EXIT_FAILURE);
}

static void ignore_signals(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
}

static void act_stubborn(void)
{
    ignore_signals();
    live();
}

/* What a worker starts goes by another name, so that it is not taken for one. */
static void become_kin(void)
{
    prctl(PR_SET_NAME, "chaos_kin");
}

static void act_grandchild(void)
{
    if (fork() == 0) {
        become_kin();
        stay();
    }
    live();
}

/* Two forks and a new session; the parent waits until it is so. Zero in the unrelated process. */
static int fork_unrelated(void)
{
    int done_pipe[2];
    char byte;
    if (pipe(done_pipe) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        become_kin();
        setsid();
        if (fork() != 0)
            _exit(0);
        close(done_pipe[0]);
        close(done_pipe[1]);
        return 0;
    }
    close(done_pipe[1]);
    ssize_t ignored = read(done_pipe[0], &byte, 1);
    (void)ignored;
    close(done_pipe[0]);
    return pid;
}

static void act_daemon(void)
{
    if (fork_unrelated() == 0) {
        ignore_signals();
        syscall(SYS_close_range, 3U, ~0U, 0U);
        stay();
    }
    live();
}

static void act_closed(void)
{
    if (fork_unrelated() == 0) {
        ignore_signals();
        syscall(SYS_close_range, 0U, ~0U, 0U);
        stay();
    }
    live();
}

/* Grows until the limit stops it, and again whenever something was killed. The limit counts the
 * processes of a user, so it is one that nobody else is; only root can become so. */
static void act_bomb(void)
{
    struct rlimit limit = { BOMB_MAX, BOMB_MAX };
    say_up();
    if (geteuid() != 0 || setuid(BOMB_UID + (uid_t)getpid()) < 0 ||
        setrlimit(RLIMIT_NPROC, &limit) < 0)
        stay();
    ignore_signals();
    for (;;) {
        pid_t pid = fork();
        if (pid == 0)
            become_kin();
        else if (pid < 0)
            usleep(20000); /* it is to be many, not to take the processors from everybody else */
    }
}

/* Where it was a moment ago it is no more. Not faster: where nobody waits for them, the dead fill
 * the table of processes. */
static void act_comet(void)
{
    if (fork_unrelated() == 0) {
        ignore_signals();
        while (fork() == 0)
            usleep(10000);
        _exit(0);
    }
    live();
}

static void act_elastic(void)
{
    worker_elastic_act(life_ms);
}

static const struct {
    const char *name;
    void (*act)(void);
} kinds[] = {
    { "plain", act_plain },       { "collective", act_collective },
    { "stubborn", act_stubborn }, { "grandchild", act_grandchild },
    { "daemon", act_daemon },     { "closed", act_closed },
    { "bomb", act_bomb },         { "comet", act_comet },
    { "elastic", act_elastic },
};

int main(int argc, char **argv)
{
    if (argc > 2)
        life_ms = atol(argv[2]);
    signal(SIGUSR1, on_failure);
    for (size_t i = 0; argc > 1 && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(argv[1], kinds[i].name) != 0)
            continue;
        kinds[i].act();
        return EXIT_SUCCESS;
    }
    fputs("chaos_worker: what kind?\n", stderr);
    return 2;
}
