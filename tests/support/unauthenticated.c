/* SPDX-License-Identifier: Apache-2.0 */
/* Unauthenticated clients at a running rendezvous, and what comes of them:
 *
 *   unauthenticated ADDRESS PORT requests KEY < tests/bad/http.tsv   with a key that is none
 *   unauthenticated ADDRESS PORT rows JOB KEY < tests/bad/wire.tsv   prints the same first four columns
 *   unauthenticated ADDRESS PORT mutants JOB KEY
 *       a joining worker's bytes, cut after each and with each bit changed
 *   unauthenticated ADDRESS PORT replays JOB KEY
 *       recorded requests and HELLOs, sent again
 *   unauthenticated ADDRESS PORT alike JOB NOJOB OTHER KEY
 *       answers about a job that is there and one that is not, also to who has the KEY of job OTHER
 *   unauthenticated ADDRESS PORT crowd FILE RATE AUTHORIZATION KIND COUNT...
 *       keeps so many connections of a kind until FILE is there
 *   unauthenticated ADDRESS PORT gets KEY COUNT
 *       so many connections at once, one GET on each
 *   unauthenticated ADDRESS PORT joins KEY COUNT
 *       so many worlds of two, one after the other; KEY is the service's
 *
 * Fails, with what was wrong on stdout, when an unauthenticated client gets what it should not. */
#include "tests/support/unauthenticated.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_MS = 60000, CHUNK = 16384 };

const char *unauthenticated_address;
int unauthenticated_port;

void stop(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("unauthenticated: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(EXIT_FAILURE);
}

uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int dial(void)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)unauthenticated_port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (inet_pton(AF_INET, unauthenticated_address, &to.sin_addr) != 1)
        stop("no address: %s", unauthenticated_address);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
        stop("connect: %m");
    return fd;
}

void send_all(int fd, const void *data, size_t length)
{
    const char *at = data;
    while (length > 0) {
        ssize_t n = send(fd, at, length, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        at += n;
        length -= (size_t)n;
    }
}

bool read_until(int fd, struct wire_writer *received, size_t length)
{
    static char bytes[CHUNK];
    struct pollfd ready = { fd, POLLIN, 0 };
    while (received->length < length) {
        if (poll(&ready, 1, LIMIT_MS) <= 0)
            stop("neither an answer nor an end");
        ssize_t n = recv(fd, bytes, sizeof bytes, 0);
        if (n <= 0)
            return false;
        wire_put_bytes(received, bytes, (size_t)n);
    }
    return true;
}

bool read_to_end(int fd, struct wire_writer *received)
{
    return read_until(fd, received, SIZE_MAX);
}

static const struct {
    const char *name;
    int (*act)(char **arguments);
    int narguments; /* at least */
} parts[] = {
    { "requests", unauthenticated_requests, 1 }, { "rows", unauthenticated_rows, 2 },
    { "mutants", unauthenticated_mutants, 2 },   { "replays", unauthenticated_replays, 2 },
    { "alike", unauthenticated_alike, 4 },       { "crowd", unauthenticated_crowd, 3 },
    { "gets", unauthenticated_gets, 2 },         { "joins", unauthenticated_joins, 2 },
};

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (auth_init(NULL) < 0 || argc < 4)
        stop("expected ADDRESS PORT PART ...");
    unauthenticated_address = argv[1];
    unauthenticated_port = atoi(argv[2]);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(argv[3], parts[i].name) == 0 && argc - 4 >= parts[i].narguments)
            return parts[i].act(argv + 4);
    stop("what is '%s' with %d arguments?", argv[3], argc - 4);
}
