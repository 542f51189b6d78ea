/* SPDX-License-Identifier: Apache-2.0 */
/* A worker that misbehaves on request; the tests of hvdrun start it. Acts in the order of its
 * arguments:
 *
 *   lines N           N numbered lines to stdout, "RANK N", 100 bytes each
 *   bytes             the 256 byte values to stdout, in one line
 *   text T            T to stdout without a newline, with \n, \r and \0 understood
 *   long N            one line of N times "x"
 *   ignore-term       ignores SIGTERM and SIGINT from now on
 *   daemon            a grandchild outside the session that ignores SIGTERM, has closed all its
 *                     descriptors, and stays
 *   holder            a grandchild outside the session that keeps stdout and stderr open
 *   orphans N         N grandchildren that end at once, whose parents have ended before them
 *   say-signals       prints the name of each signal it gets; SIGTERM ends it with status 0
 *   stay              waits for ever
 *   die N             sends itself signal N
 *   exit N            ends with status N
 *   only R            the rest is for rank R alone; the others end with status 0
 *   fds               prints the numbers of its open descriptors in one line
 *   ignored           prints the numbers of ignored or blocked signals in one line
 *   hear F            as systemd: prints the datagrams that come to the socket F, up to STOPPING=1
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *rank(void)
{
    const char *value = getenv("HOROVOD_RANK");
    return value ? value : "?";
}

static void act_lines(const char *argument)
{
    long count = atol(argument);
    for (long i = 0; i < count; i++)
        printf("%s %-97ld\n", rank(), i);
}

static void act_bytes(const char *argument)
{
    (void)argument;
    for (int byte = 0; byte < 256; byte++)
        if (byte != '\n' && byte != '\r')
            putchar(byte);
    putchar('\n');
}

static void act_text(const char *text)
{
    for (; *text; text++) {
        if (*text != '\\') {
            putchar(*text);
            continue;
        }
        text++;
        putchar(*text == 'n' ? '\n' : *text == 'r' ? '\r' : *text == '0' ? '\0' : *text);
    }
}

static void act_long(const char *argument)
{
    for (long count = atol(argument); count > 0; count--)
        putchar('x');
    putchar('\n');
}

static void act_ignore_term(const char *argument)
{
    (void)argument;
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
}

static void act_stay(const char *argument)
{
    (void)argument;
    fflush(stdout);
    for (;;)
        pause();
}

/* Two forks and a new session: a daemon without a parent in the job, in a process group of its
 * own. */
static int become_unrelated(void)
{
    fflush(stdout);
    if (fork() != 0)
        return 0;
    setsid();
    if (fork() != 0)
        _exit(0);
    signal(SIGTERM, SIG_IGN);
    return 1;
}

static void act_daemon(const char *argument)
{
    if (!become_unrelated())
        return;
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
    act_stay(argument);
}

static void act_holder(const char *argument)
{
    if (become_unrelated())
        act_stay(argument);
}

static void act_orphans(const char *argument)
{
    int ends[2];
    fflush(stdout);
    if (pipe(ends) < 0)
        return;
    for (int count = atoi(argument); count > 0; count--) {
        pid_t parent = fork();
        if (parent == 0) {
            char byte;
            close(ends[1]);
            if (fork() == 0 && read(ends[0], &byte, 1) < 0) /* until all are orphans */
                _exit(1);
            _exit(0);
        }
        waitpid(parent, NULL, 0);
    }
    close(ends[0]);
    close(ends[1]);
}

static void act_say_signals(const char *argument)
{
    sigset_t all;
    (void)argument;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    printf("listening\n");
    for (int signum = 0; signum != SIGTERM;) {
        fflush(stdout);
        sigwait(&all, &signum);
        printf("got SIG%s\n", sigabbrev_np(signum));
    }
    fflush(stdout);
    _exit(0); /* a SIGCONT at exit makes LeakSanitizer hang */
}

static void act_die(const char *argument)
{
    fflush(stdout);
    signal(atoi(argument), SIG_DFL);
    raise(atoi(argument));
}

static void act_exit(const char *argument)
{
    exit(atoi(argument));
}

static void act_only(const char *argument)
{
    if (strcmp(argument, rank()) != 0)
        exit(0);
}

static void act_fds(const char *argument)
{
    DIR *dir = opendir("/proc/self/fd");
    (void)argument;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(dir))
            printf("%s ", entry->d_name);
    printf("\n");
    closedir(dir);
}

static void act_ignored(const char *argument)
{
    sigset_t blocked;
    struct sigaction action;
    (void)argument;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int signum = 1; signum < 32; signum++)
        if ((sigaction(signum, NULL, &action) == 0 && action.sa_handler == SIG_IGN) ||
            sigismember(&blocked, signum))
            printf("%d ", signum);
    printf("\n");
}

static void act_hear(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char heard[512] = "";
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        perror("act: hear");
        exit(2);
    }
    while (!strstr(heard, "STOPPING=1")) {
        ssize_t n = recv(fd, heard, sizeof heard - 1, 0);
        heard[n > 0 ? n : 0] = '\0';
        printf("%s\n", heard);
        fflush(stdout);
    }
}

static const struct {
    const char *name;
    void (*act)(const char *argument);
    int takes_argument;
} acts[] = {
    { "lines", act_lines, 1 },
    { "bytes", act_bytes, 0 },
    { "text", act_text, 1 },
    { "long", act_long, 1 },
    { "ignore-term", act_ignore_term, 0 },
    { "daemon", act_daemon, 0 },
    { "holder", act_holder, 0 },
    { "orphans", act_orphans, 1 },
    { "say-signals", act_say_signals, 0 },
    { "stay", act_stay, 0 },
    { "die", act_die, 1 },
    { "exit", act_exit, 1 },
    { "only", act_only, 1 },
    { "fds", act_fds, 0 },
    { "ignored", act_ignored, 0 },
    { "hear", act_hear, 1 },
};

static int perform(char **argument)
{
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        if (strcmp(argument[0], acts[i].name) != 0)
            continue;
        acts[i].act(acts[i].takes_argument ? argument[1] : NULL);
        return 1 + acts[i].takes_argument;
    }
    fprintf(stderr, "act: what is '%s'?\n", argument[0]);
    exit(2);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc;)
        i += perform(argv + i);
    return 0;
}
