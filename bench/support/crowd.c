/* SPDX-License-Identifier: Apache-2.0 */
/* Many clients; see crowd.h. */
#include "bench/support/crowd.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DESCRIPTORS_BESIDE = 64, EVENTS = 256, READ_SIZE = 64 * 1024 };

static void want_descriptors(int size)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < (rlim_t)(size + DESCRIPTORS_BESIDE))
        errx(1, "%d connections need more descriptors than ulimit -n allows", size);
}

static void parse(struct sockaddr_in *address, const char *text)
{
    char host[64] = "";
    const char *colon = strchr(text, ':');
    if (colon && (size_t)(colon - text) < sizeof host)
        memcpy(host, text, (size_t)(colon - text));
    *address = (struct sockaddr_in){ .sin_family = AF_INET,
                                     .sin_port = htons((uint16_t)atoi(colon ? colon + 1 : "0")) };
    if (inet_pton(AF_INET, host, &address->sin_addr) != 1 || address->sin_port == 0)
        errx(2, "'%s' is not ADDRESS:PORT", text);
}

void crowd_init(struct crowd *crowd, const char *address, int size)
{
    want_descriptors(size);
    *crowd = (struct crowd){ .epoll = epoll_create1(EPOLL_CLOEXEC), .size = size };
    crowd->members = calloc((size_t)size, sizeof *crowd->members);
    if (crowd->epoll < 0 || !crowd->members)
        err(1, "a crowd of %d", size);
    parse(&crowd->address, address);
    for (int i = 0; i < size; i++)
        crowd->members[i].fd = -1;
}

void crowd_fini(struct crowd *crowd)
{
    for (int i = 0; i < crowd->size; i++)
        crowd_close(crowd, i);
    free(crowd->members);
    close(crowd->epoll);
}

static void watch(struct crowd *crowd, int index, int act, bool waits_to_send)
{
    struct crowd_member *member = &crowd->members[index];
    struct epoll_event event = { .events = EPOLLIN | (waits_to_send ? EPOLLOUT : 0),
                                 .data.u32 = (uint32_t)index };
    member->waits_to_send = waits_to_send;
    if (epoll_ctl(crowd->epoll, act, member->fd, &event) != 0)
        err(1, "epoll_ctl");
}

void crowd_dial(struct crowd *crowd, int index, int from)
{
    const int on = 1;
    struct crowd_member *member = &crowd->members[index];
    struct sockaddr_in source = { .sin_family = AF_INET };
    source.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (in_addr_t)from - 1);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        err(1, "socket");
    setsockopt(fd, SOL_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    setsockopt(fd, SOL_TCP, TCP_NODELAY, &on, sizeof on);
    if (bind(fd, (const void *)&source, sizeof source) != 0)
        err(1, "bind");
    if (connect(fd, (const void *)&crowd->address, sizeof crowd->address) != 0 &&
        errno != EINPROGRESS)
        err(1, "connect");
    member->fd = fd;
    watch(crowd, index, EPOLL_CTL_ADD, true);
}

void crowd_put(struct crowd *crowd, int index, const void *data, size_t length)
{
    struct crowd_member *member = &crowd->members[index];
    wire_put_bytes(&member->out, data, length);
    if (member->out.failed)
        errx(1, "out of memory");
    if (member->fd >= 0 && !member->waits_to_send)
        watch(crowd, index, EPOLL_CTL_MOD, true);
}

void crowd_take(struct crowd *crowd, int index, size_t length)
{
    struct wire_writer *in = &crowd->members[index].in;
    in->length -= length;
    memmove(in->data, in->data + length, in->length);
}

void crowd_close(struct crowd *crowd, int index)
{
    struct crowd_member *member = &crowd->members[index];
    if (member->fd >= 0)
        close(member->fd);
    wire_writer_fini(&member->out);
    wire_writer_fini(&member->in);
    *member = (struct crowd_member){ .fd = -1 };
}

static void end(struct crowd *crowd, int index)
{
    crowd_close(crowd, index);
    crowd->on_end(crowd, index);
}

/* False if the connection is over. */
static bool flush(struct crowd *crowd, int index)
{
    struct crowd_member *member = &crowd->members[index];
    while (member->sent < member->out.length) {
        ssize_t n = send(member->fd, member->out.data + member->sent,
                         member->out.length - member->sent, MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN;
        member->sent += (size_t)n;
    }
    member->out.length = member->sent = 0;
    watch(crowd, index, EPOLL_CTL_MOD, false);
    return true;
}

static bool receive(struct crowd *crowd, int index)
{
    static char bytes[READ_SIZE];
    struct crowd_member *member = &crowd->members[index];
    ssize_t n = recv(member->fd, bytes, sizeof bytes, 0);
    if (n <= 0)
        return n < 0 && errno == EAGAIN;
    wire_put_bytes(&member->in, bytes, (size_t)n);
    crowd->on_bytes(crowd, index);
    return true;
}

static void serve(struct crowd *crowd, const struct epoll_event *event)
{
    int index = (int)event->data.u32;
    struct crowd_member *member = &crowd->members[index];
    bool alive = member->fd >= 0;
    if (alive && (event->events & EPOLLOUT))
        alive = flush(crowd, index);
    if (alive && (event->events & (EPOLLIN | EPOLLERR | EPOLLHUP)))
        alive = receive(crowd, index);
    if (!alive && member->fd >= 0)
        end(crowd, index);
}

bool crowd_turn(struct crowd *crowd, int timeout_ms)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(crowd->epoll, events, EVENTS, timeout_ms);
    for (int i = 0; i < count; i++)
        serve(crowd, &events[i]);
    return count > 0;
}
