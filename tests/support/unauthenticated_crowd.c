/* SPDX-License-Identifier: Apache-2.0 */
/* Crowds: so many connections of each kind are kept until a file is there, or LIMIT_MS have
 * passed. Clients that are disconnected come back, RATE times a second all together. Prints
 * "crowded" when all clients have been connected once, and at the end how many of each kind were
 * connected, and how many of these connections the rendezvous ended. Clients drop the answers,
 * and some clients never read. */
#include "tests/support/unauthenticated.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LIMIT_MS = 120000, TICK_MS = 20, EVENTS = 256, CROWD_MAX = 18000, SMALL_BUFFER = 4096 };

struct kind {
    const char *name, *first; /* what it says when connected */
    const char *again;        /* and then over and over; NULL: nothing */
    int every_ms;             /* 0: whenever there is room */
    bool leaves;              /* at once */
    bool never_reads;
};

static char authorized[512]; /* GET of a large value, with a key */

#define PAGE "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define PAGES_4 PAGE PAGE PAGE PAGE

/* A head that has no end, nearly as long as one may be. */
#define LETTERS_64 "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqr"
#define LINE "X: " LETTERS_64 LETTERS_64 LETTERS_64 LETTERS_64 "\r\n"
#define LINES_8 LINE LINE LINE LINE LINE LINE LINE LINE
#define HEAD "GET / HTTP/1.1\r\nHost: a\r\n" LINES_8 LINES_8 LINES_8 LINES_8 LINES_8 LINES_8 LINES_8

static const struct kind kinds[] = {
    { "silent", "", NULL, 0, false, false },
    { "scan", "", NULL, 0, true, false },
    { "drip", "GET /healthz HTTP/1.1\r\nHost: a\r\nX: ", "x", 1000, false, false },
    { "head", HEAD, NULL, 0, false, false },
    { "frames", "HVD1\x01", "\x01", 1000, false, false },
    { "newlines", "\r\n\r\n", "\r\n", 0, false, false },
    { "tls", "\x16\x03\x01\x02\x01\x01\x01\xfc\x03\x03", NULL, 0, false, false },
    { "upload", "PUT /a/b HTTP/1.1\r\nHost: a\r\nContent-Length: 536870912\r\n\r\n",
      "0123456789abcdef", 0, false, false },
    { "unread", PAGES_4 PAGES_4 PAGES_4 PAGES_4, NULL, 0, false, true },
    { "heavy", authorized, NULL, 0, false, true },
    { "open", NULL, NULL, 0, false, false }, /* an OPEN */
};

enum { KINDS = sizeof kinds / sizeof *kinds };

struct member {
    const struct kind *kind;
    int fd;
    bool connected;
    uint64_t next_ms; /* when it says something again */
};

static struct member crowd[CROWD_MAX];
static int ncrowd, absent; /* absent: not connected at present */
static int poll_fd;
static long dialled[KINDS], ended[KINDS];

static void leave(struct member *member)
{
    close(member->fd);
    member->fd = -1;
    member->connected = false;
    absent++;
}

static void join(struct member *member)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)unauthenticated_port) };
    struct epoll_event event = { .events = EPOLLOUT, .data.ptr = member };
    int size = SMALL_BUFFER;
    inet_pton(AF_INET, unauthenticated_address, &to.sin_addr);
    member->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (member->fd < 0)
        stop("socket: %m");
    absent--;
    if (member->kind->never_reads)
        setsockopt(member->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    if (connect(member->fd, (struct sockaddr *)&to, sizeof to) < 0 && errno != EINPROGRESS)
        leave(member);
    else if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, member->fd, &event) < 0)
        stop("epoll_ctl: %m");
}

static void listen_only(struct member *member, bool also_writes)
{
    struct epoll_event event = { .data.ptr = member };
    event.events =
        (member->kind->never_reads ? 0 : EPOLLIN) | (also_writes ? (uint32_t)EPOLLOUT : 0);
    epoll_ctl(poll_fd, EPOLL_CTL_MOD, member->fd, &event);
}

static void say_open(const struct member *member)
{
    struct joiner joiner = { 0 };
    struct wire_writer out = { 0 };
    nonce_generate(joiner.nonce);
    joiner_put_open(&joiner, &out, JOIN_VERSION, "train");
    send(member->fd, out.data, out.length, MSG_NOSIGNAL);
    wire_writer_fini(&out);
}

static void on_connected(struct member *member, uint64_t now)
{
    const struct kind *kind = member->kind;
    member->connected = true;
    member->next_ms = now + (uint64_t)kind->every_ms;
    dialled[kind - kinds]++;
    if (kind->first)
        send(member->fd, kind->first, strlen(kind->first), MSG_NOSIGNAL);
    else
        say_open(member);
    if (kind->leaves)
        leave(member);
    else
        listen_only(member, kind->again && kind->every_ms == 0);
}

static void say_again(struct member *member)
{
    static char bytes[16384];
    const char *again = member->kind->again;
    size_t length = strlen(again),
           size = member->kind->every_ms ? length : sizeof bytes / length * length;
    for (size_t at = 0; at < size; at += length)
        memcpy(bytes + at, again, length);
    send(member->fd, bytes, size, MSG_NOSIGNAL);
}

static void on_event(struct member *member, uint32_t events, uint64_t now)
{
    static char bytes[65536];
    if (!member->connected && !(events & (EPOLLERR | EPOLLHUP))) {
        on_connected(member, now);
        return;
    }
    bool over = events & (EPOLLERR | EPOLLHUP);
    if (!over && (events & EPOLLIN))
        over = recv(member->fd, bytes, sizeof bytes, 0) <= 0;
    if (over) {
        ended[member->kind - kinds] += member->connected;
        leave(member);
    } else if (events & EPOLLOUT) {
        say_again(member);
    }
}

/* Lets the dripping clients send, and connects `many` of the absent clients, in turn. */
static void tick(uint64_t now, long many)
{
    static int turn;
    for (int i = 0; i < ncrowd; i++) {
        struct member *member = &crowd[i];
        if (member->connected && member->kind->every_ms && member->next_ms <= now) {
            say_again(member);
            member->next_ms = now + (uint64_t)member->kind->every_ms;
        }
    }
    for (int looked = 0; looked < ncrowd && many > 0 && absent > 0;
         looked++, turn = (turn + 1) % ncrowd)
        if (crowd[turn].fd < 0) {
            join(&crowd[turn]);
            many--;
        }
}

static bool all_were_there(void)
{
    long sum = 0;
    for (int k = 0; k < KINDS; k++)
        sum += dialled[k];
    return sum >= ncrowd;
}

static void run(const char *file, long rate)
{
    struct epoll_event events[EVENTS];
    uint64_t began = now_ms(), ticked = began;
    bool said = false;
    while (access(file, F_OK) < 0 && now_ms() - began < LIMIT_MS) {
        int count = epoll_wait(poll_fd, events, EVENTS, TICK_MS);
        uint64_t now = now_ms();
        for (int i = 0; i < count; i++)
            on_event(events[i].data.ptr, events[i].events, now);
        if (now - ticked >= TICK_MS) {
            tick(now, rate * (long)(now - ticked) / 1000 + 1);
            ticked = now;
        }
        if (!said && all_were_there()) {
            puts("crowded");
            fflush(stdout);
            said = true;
        }
    }
}

static void enlist(const char *name, int count)
{
    int k = 0;
    while (k < KINDS && strcmp(kinds[k].name, name) != 0)
        k++;
    if (k == KINDS || count < 1 || ncrowd + count > CROWD_MAX)
        stop("a crowd of %d '%s'?", count, name);
    for (int i = 0; i < count; i++)
        crowd[ncrowd++] = (struct member){ .kind = &kinds[k], .fd = -1 };
    absent += count;
}

int unauthenticated_crowd(char **arguments)
{
    snprintf(authorized, sizeof authorized,
             "GET /big/value HTTP/1.1\r\nHost: a\r\nAuthorization: %s\r\n\r\n", arguments[2]);
    for (char **at = arguments + 3; at[0] && at[1]; at += 2)
        enlist(at[0], atoi(at[1]));
    poll_fd = epoll_create1(EPOLL_CLOEXEC);
    run(arguments[0], atol(arguments[1]));
    for (int k = 0; k < KINDS; k++)
        if (dialled[k] > 0)
            printf("%s: %ld came, %ld sent away\n", kinds[k].name, dialled[k], ended[k]);
    return EXIT_SUCCESS;
}
