/* SPDX-License-Identifier: Apache-2.0 */
/* Stands between two ends of a connection and breaks it at a given byte; see "proxy --help".
 *
 *   proxy --there 100:cut -- ssh host /bin/sh      around a command's stdin and stdout
 *   proxy --back 64:flip --listen 0 --to 127.0.0.1:4242
 *
 * Around a command it ends as that does. A listener prints its port and goes on until it is killed,
 * or its stdin ends, if it is told to look at that. */
#include "tests/proxy/relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage[] =
    "Usage: proxy [OPTION...] -- COMMAND [ARGUMENT...]\n"
    "       proxy [OPTION...] --listen [ADDRESS:]PORT --to ADDRESS:PORT\n"
    "Carries bytes between its own stdin and stdout and those of COMMAND, or between whoever\n"
    "connects to PORT (0: any; it is printed) and ADDRESS:PORT, and does to them what is asked "
    "for.\n"
    "\n"
    "  --there OFFSET:FAULT   to the bytes for COMMAND, or ADDRESS:PORT\n"
    "  --back OFFSET:FAULT    to those that come back\n"
    "  --connection N         the faults that follow are for the N-th connection alone\n"
    "  --when OFFSET=BYTE     they are for connections of which the first bytes there are such\n"
    "  --single               one byte at a time\n"
    "  --delay MS             everything comes so much later\n"
    "  --jitter MS            and up to so much more, by chance\n"
    "  --until-eof            a listener ends when its stdin does\n"
    "\n"
    "FAULT is one of\n"
    "  cut, reset             both ends see the other close, or a reset\n"
    "  flip[=BIT]             that bit of the byte is the other way round (0)\n"
    "  double[=N], drop[=N]   N bytes come twice, or not at all (1)\n"
    "  garbage[=N]            N bytes come that nobody has sent (1)\n"
    "  stall[=MS]             nothing comes for so long; 0: until a SIGUSR1 (0)\n"
    "OFFSET counts from 0. How many bytes went each way is said on stderr with --count.\n";

static struct {
    struct relay_rules rules;
    unsigned connection;
    int when_at, when_byte;
    const char *listen, *to;
    bool until_eof, counts;
} options = { .when_byte = -1 };

static volatile sig_atomic_t told, child_ended;

static void on_told(int signum)
{
    told |= signum == SIGUSR1;
    child_ended |= signum == SIGCHLD;
}

/* ---- options ---- */

static int refuse(const char *option, const char *token, const char *expected)
{
    fprintf(stderr, "proxy: error: %s '%s': expected %s\n", option, token, expected);
    exit(2);
}

static void add_fault(int way, const char *option, const char *text)
{
    struct relay_rules *rules = &options.rules;
    if (rules->count == RELAY_FAULTS_MAX)
        refuse(option, text, "at most 16 faults");
    struct relay_fault *fault = &rules->faults[rules->count++];
    fault->way = way;
    fault->connection = options.connection;
    fault->when_at = options.when_at;
    fault->when_byte = options.when_byte;
    const char *expected = wire_fault_parse(&fault->fault, text);
    if (expected)
        refuse(option, text, expected);
}

static unsigned number(const char *option, const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || value > 3600000)
        refuse(option, text, "a number up to 3600000");
    return (unsigned)value;
}

static void take_when(const char *text)
{
    char at[16];
    const char *equals = strchr(text, '=');
    snprintf(at, sizeof at, "%.*s", equals ? (int)(equals - text) : 0, text);
    options.when_at = (int)number("--when", at);
    options.when_byte = (int)number("--when", equals ? equals + 1 : "");
}

/* "[ADDRESS:]PORT" */
static struct sockaddr_in address(const char *option, const char *text)
{
    struct sockaddr_in in = { .sin_family = AF_INET };
    char host[64] = "127.0.0.1";
    const char *colon = strrchr(text, ':');
    if (colon)
        snprintf(host, sizeof host, "%.*s", (int)(colon - text), text);
    unsigned port = number(option, colon ? colon + 1 : text);
    if (inet_pton(AF_INET, host, &in.sin_addr) != 1 || port > 65535)
        refuse(option, text, "ADDRESS:PORT");
    in.sin_port = htons((uint16_t)port);
    return in;
}

enum {
    OPTION_THERE = 256,
    OPTION_BACK,
    OPTION_CONNECTION,
    OPTION_WHEN,
    OPTION_SINGLE,
    OPTION_DELAY
};
enum { OPTION_JITTER = 300, OPTION_LISTEN, OPTION_TO, OPTION_UNTIL_EOF, OPTION_COUNT, OPTION_HELP };

static const struct option long_options[] = {
    { "there", required_argument, NULL, OPTION_THERE },
    { "back", required_argument, NULL, OPTION_BACK },
    { "connection", required_argument, NULL, OPTION_CONNECTION },
    { "when", required_argument, NULL, OPTION_WHEN },
    { "single", no_argument, NULL, OPTION_SINGLE },
    { "delay", required_argument, NULL, OPTION_DELAY },
    { "jitter", required_argument, NULL, OPTION_JITTER },
    { "listen", required_argument, NULL, OPTION_LISTEN },
    { "to", required_argument, NULL, OPTION_TO },
    { "until-eof", no_argument, NULL, OPTION_UNTIL_EOF },
    { "count", no_argument, NULL, OPTION_COUNT },
    { "help", no_argument, NULL, OPTION_HELP },
    { 0 },
};

static void take_option(int option)
{
    switch (option) {
    case OPTION_THERE:
        add_fault(RELAY_THERE, "--there", optarg);
        break;
    case OPTION_BACK:
        add_fault(RELAY_BACK, "--back", optarg);
        break;
    case OPTION_CONNECTION:
        options.connection = number("--connection", optarg);
        break;
    case OPTION_WHEN:
        take_when(optarg);
        break;
    case OPTION_SINGLE:
        options.rules.single = true;
        break;
    case OPTION_DELAY:
        options.rules.delay_ms = number("--delay", optarg);
        break;
    case OPTION_JITTER:
        options.rules.jitter_ms = number("--jitter", optarg);
        break;
    case OPTION_LISTEN:
        options.listen = optarg;
        break;
    case OPTION_TO:
        options.to = optarg;
        break;
    case OPTION_UNTIL_EOF:
        options.until_eof = true;
        break;
    case OPTION_COUNT:
        options.counts = true;
        break;
    case OPTION_HELP:
        fputs(usage, stdout);
        exit(0);
    default:
        exit(2);
    }
}

static void say_count(const struct relay *relay)
{
    if (options.counts)
        fprintf(stderr, "proxy: %llu there, %llu back, %u struck\n",
                (unsigned long long)relay->moved[RELAY_THERE],
                (unsigned long long)relay->moved[RELAY_BACK], relay->struck);
}

static void step(struct relay *relay, int wait_ms)
{
    relay_step(relay, wait_ms);
    if (told)
        relay_release(relay);
    told = 0;
}

/* ---- around a command ---- */

static pid_t spawn(char **words, int fd)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    dup2(fd, STDIN_FILENO);
    dup2(fd, STDOUT_FILENO);
    signal(SIGPIPE, SIG_DFL);
    execvp(words[0], words);
    fprintf(stderr, "proxy: error: '%s': %s\n", words[0], strerror(errno));
    _exit(127);
}

static int status_of(int wait_status)
{
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

/* The command has a socket for both, as a remote shell has. */
static int run_command(char **words)
{
    struct relay relay;
    int pair[2], wait_status = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return 1;
    relay_init(&relay, &options.rules, -1, NULL);
    pid_t pid = spawn(words, pair[1]);
    close(pair[1]);
    relay_join(&relay, STDIN_FILENO, STDOUT_FILENO, pair[0], pair[0]);
    while (relay_is_busy(&relay))
        step(&relay, child_ended ? 100 : -1);
    say_count(&relay);
    while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
        ;
    return status_of(wait_status);
}

/* ---- for a listener ---- */

static bool stdin_has_ended(void)
{
    char byte;
    struct pollfd look = { .fd = STDIN_FILENO, .events = POLLIN };
    return poll(&look, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

static int run_listener(void)
{
    struct relay relay;
    struct sockaddr_in at = address("--listen", options.listen);
    struct sockaddr_in to = address("--to", options.to);
    int fd = relay_listen(ntohl(at.sin_addr.s_addr), ntohs(at.sin_port), &at);
    if (fd < 0) {
        fprintf(stderr, "proxy: error: --listen '%s': %s\n", options.listen, strerror(errno));
        return 1;
    }
    printf("%u\n", ntohs(at.sin_port));
    fflush(stdout);
    relay_init(&relay, &options.rules, fd, &to);
    while (!options.until_eof || !stdin_has_ended())
        step(&relay, options.until_eof ? 50 : -1);
    say_count(&relay);
    relay_fini(&relay);
    return 0;
}

int main(int argc, char **argv)
{
    int option;
    while ((option = getopt_long(argc, argv, "+", long_options, NULL)) >= 0)
        take_option(option);
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = on_told }, NULL);
    sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = on_told }, NULL);
    if (options.listen && options.to && optind == argc)
        return run_listener();
    if (!options.listen && !options.to && optind < argc)
        return run_command(argv + optind);
    fputs("proxy: error: expected a command, or --listen and --to\n", stderr);
    return 2;
}
