/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel's sockets allow: allreduce over TCP on 127.0.0.1, or over unix sockets, without
 * anything but the data.
 *
 *     bench/bound_socket RANKS NAME SAMPLES SAMPLE_MS allreduce:BYTES...
 *
 * NAME is bound/tcp, bound/tcp-reno (the same: the caller sees to reno) or bound/unix.
 *
 * "exchange" sends whole vectors to a partner and adds what it sends, log2 of the ranks times;
 * "ring" sends parts to the next rank, which adds and passes on what has come so far. Who waits
 * spins, or blocks when there are more ranks than cores. */
#include "bench/support/peer.h"
#include "bench/support/world.h"
#include "lib/reduce/reduce.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RANKS_MAX = 16, EXCHANGE_MAX = 1 << 20, PIECE = 128 << 10 };
enum algorithm { EXCHANGE, RING };

static const char *const algorithms[] = { [EXCHANGE] = "exchange", [RING] = "ring", NULL };

static struct world world;
static int links[RANKS_MAX][RANKS_MAX]; /* [a][b]: the end that a has of the link to b */
static char *incoming;                  /* room for what is added when it is there */
static reduce_fn *add;

/* ---- links ---- */

static void make_tcp_pair(int ends[2])
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (const void *)&address, length) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (void *)&address, &length) != 0 ||
        connect(ends[0], (const void *)&address, length) != 0)
        err(1, "a link over TCP");
    ends[1] = accept(listener, NULL, NULL);
    close(listener);
    for (int i = 0; i < 2; i++)
        setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
}

static void make_links(int size, bool tcp)
{
    int ends[2] = { -1, -1 };
    for (int a = 0; a < size; a++)
        for (int b = 0; b < a; b++) {
            if (tcp)
                make_tcp_pair(ends);
            else if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
                err(1, "a unix socket");
            links[a][b] = ends[0];
            links[b][a] = ends[1];
        }
}

/* ---- moving bytes ---- */

/* Both return what went, 0 if nothing can go now. */
static size_t push(int fd, const void *data, size_t nbytes)
{
    ssize_t n = nbytes ? send(fd, data, nbytes, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
    if (n < 0 && errno != EAGAIN)
        err(1, "send");
    return n < 0 ? 0 : (size_t)n;
}

static size_t pull(int fd, void *data, size_t nbytes)
{
    ssize_t n = nbytes ? recv(fd, data, nbytes, MSG_DONTWAIT) : 0;
    if (n == 0 && nbytes)
        errx(1, "a rank is gone");
    if (n < 0 && errno != EAGAIN)
        err(1, "recv");
    return n < 0 ? 0 : (size_t)n;
}

/* Nothing could go: for data from `in` if `more` is to come, or room at `out` if `some` waits. */
static void wait_for(int in, bool more, int out, bool some)
{
    struct pollfd events[2] = { { .fd = more ? in : -1, .events = POLLIN },
                                { .fd = some ? out : -1, .events = POLLOUT } };
    if (world.crowded)
        poll(events, 2, -1);
}

/* ---- algorithms ---- */

static void exchange(float *data, size_t count)
{
    size_t nbytes = count * sizeof *data;
    for (int distance = 1; distance < world.size; distance *= 2) {
        int fd = links[world.rank][world.rank ^ distance];
        size_t sent = push(fd, data, nbytes), received = 0;
        while (sent < nbytes || received < nbytes) {
            size_t out = push(fd, (char *)data + sent, nbytes - sent);
            size_t in = pull(fd, incoming + received, nbytes - received);
            sent += out;
            received += in;
            if (!in && !out)
                wait_for(fd, received < nbytes, fd, sent < nbytes);
        }
        add(data, data, incoming, count);
    }
}

/* How far a rank is with what it sends, or receives: 2 (size - 1) steps of a part each. */
struct progress {
    int step;
    size_t nbytes; /* of the part */
};

/* The part of a step: sent at `step`, or received at the step before. */
static int part_of(int step)
{
    return (world.rank - step + 2 * world.size) % world.size;
}

static char *part_begin(float *data, size_t count, int part)
{
    return (char *)(data + count * (size_t)part / (size_t)world.size);
}

static size_t part_size(float *data, size_t count, int part)
{
    return (size_t)(part_begin(data, count, part + 1) - part_begin(data, count, part));
}

static void advance(struct progress *progress, size_t nbytes, size_t part_nbytes)
{
    progress->nbytes += nbytes;
    if (progress->nbytes < part_nbytes)
        return;
    progress->step++;
    progress->nbytes = 0;
}

/* What may go has come at the step before. True if something went. */
static bool ring_send(struct progress *out, const struct progress *in, float *data, size_t count)
{
    int part = part_of(out->step);
    size_t whole = part_size(data, count, part);
    size_t ready = out->step == 0 || in->step >= out->step ? whole : in->nbytes & ~(size_t)3;
    size_t some = ready > out->nbytes ? ready - out->nbytes : 0;
    size_t n = push(links[world.rank][(world.rank + 1) % world.size],
                    part_begin(data, count, part) + out->nbytes, some < PIECE ? some : PIECE);
    if (n || !whole)
        advance(out, n, whole);
    return n || !whole;
}

/* Whole elements are added, as soon as they are there; `odd` bytes of one wait for the rest. */
static size_t take_sums(int fd, char *to, size_t left)
{
    static size_t odd;
    size_t n = odd + pull(fd, incoming + odd, (left < PIECE ? left : PIECE) - odd);
    size_t whole = n & ~(size_t)3;
    odd = n - whole;
    add(to, to, incoming, whole / sizeof(float));
    memcpy(incoming, incoming + whole, odd);
    return whole;
}

static bool ring_receive(struct progress *in, float *data, size_t count)
{
    int fd = links[world.rank][(world.rank + world.size - 1) % world.size];
    int part = part_of(in->step + 1);
    size_t whole = part_size(data, count, part), left = whole - in->nbytes;
    char *to = part_begin(data, count, part) + in->nbytes;
    size_t n = !whole                      ? 0
               : in->step < world.size - 1 ? take_sums(fd, to, left)
                                           : pull(fd, to, left < PIECE ? left : PIECE);
    if (n || !whole)
        advance(in, n, whole);
    return n || !whole;
}

static void ring(float *data, size_t count)
{
    struct progress in = { 0 }, out = { 0 };
    int steps = 2 * (world.size - 1), left = (world.rank + world.size - 1) % world.size;
    while (in.step < steps || out.step < steps) {
        bool sent = out.step < steps && ring_send(&out, &in, data, count);
        bool received = in.step < steps && ring_receive(&in, data, count);
        bool waits_for_room = out.step < steps && (out.step == 0 || in.step > out.step - 1 ||
                                                   (in.nbytes & ~(size_t)3) > out.nbytes);
        if (!sent && !received)
            wait_for(links[world.rank][left], in.step < steps,
                     links[world.rank][(world.rank + 1) % world.size], waits_for_room);
    }
}

/* ---- the peer ---- */

static bool can(const struct peer *peer, enum peer_operation operation, size_t count)
{
    bool power_of_two = (world.size & (world.size - 1)) == 0;
    if (operation != PEER_ALLREDUCE)
        return false;
    return peer->algorithm == RING ? count >= (size_t)world.size * 1024
                                   : power_of_two && count * sizeof(float) <= EXCHANGE_MAX;
}

static void run(const struct peer *peer, enum peer_operation operation, const float *input,
                float *output, size_t count)
{
    (void)operation, (void)input;
    if (peer->algorithm == RING)
        ring(output, count);
    else
        exchange(output, count);
}

int main(int argc, char **argv)
{
    int size = world_ranks(&argc, &argv);
    if (size > RANKS_MAX)
        errx(2, "at most %d ranks", RANKS_MAX);
    peer_check_arguments(argc, argv);
    add = reduce_function(HVD_FLOAT32, HVD_SUM);
    incoming = malloc(EXCHANGE_MAX);
    if (!incoming)
        errx(1, "out of memory");
    make_links(size, strcmp(argv[1], "bound/unix") != 0);
    world_fork(&world, size);
    struct peer peer = { .name = argv[1],
                         .rank = world.rank,
                         .size = size,
                         .algorithms = algorithms,
                         .can = can,
                         .run = run,
                         .barrier = world_barrier,
                         .slowest = world_slowest };
    peer_measure(&peer, argc - 2, argv + 2);
    return 0;
}
