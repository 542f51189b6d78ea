/* SPDX-License-Identifier: Apache-2.0 */
/* The relay; see relay.h.
 *
 *   an end says something -> a chunk, due at once or later -> the other end
 *
 * An end that closes, or is reset, is closed or reset to the other side behind its last chunk; to
 * one that cannot be written to nothing is carried any more. What waits in here is limited, like
 * the memory of a network. */
#include "tests/proxy/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { READ_SIZE = 64 * 1024, QUEUE_MAX = 4 * 1024 * 1024 };

struct chunk {
    struct chunk *next;
    uint64_t due_ms; /* UINT64_MAX: when it is released */
    struct wire_bytes bytes;
    size_t written;
};

struct way {
    int in, out;
    struct wire_stream stream;
    struct chunk *first, **last;
    size_t queued;
    uint64_t held_ms; /* nothing that comes is due before; UINT64_MAX: not until released */
    bool ended;       /* the end that is read from, has */
    bool closed;      /* and the other one has been told */
};

struct relay_pair {
    struct relay_pair *next;
    unsigned number; /* 1 is the first that came */
    bool is_meant;   /* by a rule */
    struct way ways[RELAY_WAYS];
    bool broken; /* to be closed */
    bool resets; /* with a reset */
};

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void relay_init(struct relay *relay, const struct relay_rules *rules, int listener,
                const struct sockaddr_in *to)
{
    *relay = (struct relay){ .rules = *rules, .listener = listener, .random = 1 };
    if (to)
        relay->to = *to;
}

int relay_listen(uint32_t host, uint16_t port, struct sockaddr_in *at)
{
    socklen_t length = sizeof *at;
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    *at = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
    at->sin_addr.s_addr = htonl(host);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(fd, (struct sockaddr *)at, sizeof *at) == 0 && listen(fd, SOMAXCONN) == 0 &&
        getsockname(fd, (struct sockaddr *)at, &length) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* ---- pairs ---- */

/* What comes first there decides; NULL when nothing is known of it. NULL if no rule is for it. */
static const struct wire_fault *fault_of(const struct relay *relay, const struct relay_pair *pair,
                                         int way, const unsigned char *first, size_t nbytes)
{
    for (int i = 0; i < relay->rules.count; i++) {
        const struct relay_fault *fault = &relay->rules.faults[i];
        if (fault->way != way || (fault->connection && fault->connection != pair->number) ||
            (fault->once && relay->struck > 0))
            continue;
        bool is_there = first && (size_t)fault->when_at < nbytes;
        if (fault->when_byte < 0 || (is_there && first[fault->when_at] == fault->when_byte))
            return &fault->fault;
    }
    return NULL;
}

static void choose_faults(const struct relay *relay, struct relay_pair *pair,
                          const unsigned char *first, size_t nbytes)
{
    for (int i = 0; i < RELAY_WAYS; i++) {
        const struct wire_fault *fault = fault_of(relay, pair, i, first, nbytes);
        pair->ways[i].stream.fault = fault ? *fault : (struct wire_fault){ 0 };
        pair->is_meant |= fault != NULL;
    }
}

static void set_up(struct way *way, int in, int out)
{
    int on = 1;
    *way = (struct way){ .in = in, .out = out };
    way->last = &way->first;
    fcntl(in, F_SETFL, O_NONBLOCK | fcntl(in, F_GETFL));
    fcntl(out, F_SETFL, O_NONBLOCK | fcntl(out, F_GETFL));
    (void)setsockopt(out, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void relay_join(struct relay *relay, int near_in, int near_out, int far_in, int far_out)
{
    struct relay_pair *pair = calloc(1, sizeof *pair);
    if (!pair)
        abort();
    pair->number = ++relay->came;
    set_up(&pair->ways[RELAY_THERE], near_in, far_out);
    set_up(&pair->ways[RELAY_BACK], far_in, near_out);
    choose_faults(relay, pair, NULL, 0);
    pair->next = relay->pairs;
    relay->pairs = pair;
}

static void drop_chunk(struct way *way)
{
    struct chunk *chunk = way->first;
    way->queued -= chunk->bytes.length - chunk->written;
    way->first = chunk->next;
    if (!way->first)
        way->last = &way->first;
    free(chunk->bytes.data);
    free(chunk);
}

static void close_end(int fd, bool resets)
{
    struct linger linger = { .l_onoff = 1, .l_linger = 0 };
    if (resets)
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(fd);
}

static void close_pair(struct relay_pair *pair)
{
    struct way *there = &pair->ways[RELAY_THERE], *back = &pair->ways[RELAY_BACK];
    int fds[] = { there->in, there->out, back->in, back->out };
    for (int i = 0; i < 4; i++) {
        bool again = (i == 2 && fds[2] == fds[1]) || (i == 3 && fds[3] == fds[0]);
        if (!again)
            close_end(fds[i], pair->resets);
    }
    for (int i = 0; i < RELAY_WAYS; i++) {
        while (pair->ways[i].first)
            drop_chunk(&pair->ways[i]);
        wire_stream_fini(&pair->ways[i].stream);
    }
    free(pair);
}

void relay_fini(struct relay *relay)
{
    while (relay->pairs) {
        struct relay_pair *pair = relay->pairs;
        relay->pairs = pair->next;
        close_pair(pair);
    }
    if (relay->listener >= 0)
        close(relay->listener);
    relay->listener = -1;
}

bool relay_is_busy(const struct relay *relay)
{
    return relay->pairs;
}

/* ---- what comes ---- */

static void put_chunk(struct way *way, const unsigned char *data, size_t nbytes, uint64_t due_ms)
{
    struct chunk *chunk = calloc(1, sizeof *chunk);
    if (!chunk || !(chunk->bytes.data = malloc(nbytes + 1)))
        abort();
    memcpy(chunk->bytes.data, data, nbytes);
    chunk->bytes.length = nbytes;
    chunk->due_ms = due_ms > way->held_ms ? due_ms : way->held_ms;
    *way->last = chunk;
    way->last = &chunk->next;
    way->queued += nbytes;
}

static uint64_t due(struct relay *relay)
{
    unsigned jitter = 0;
    relay->random = relay->random * 1664525u + 1013904223u;
    if (relay->rules.jitter_ms)
        jitter = (relay->random >> 8) % relay->rules.jitter_ms;
    return now_ms() + relay->rules.delay_ms + jitter;
}

/* Nothing is due from now on; "for ever" is 0 milliseconds. */
static void hold(struct way *way, uint64_t ms)
{
    way->held_ms = ms ? now_ms() + ms : UINT64_MAX;
}

static bool has_happened(const struct wire_stream *stream, uint64_t before)
{
    uint64_t offset = stream->fault.offset;
    return stream->fault.act != WIRE_NOTHING && before <= offset && stream->came > offset;
}

static void take(struct relay *relay, struct relay_pair *pair, struct way *way,
                 const unsigned char *data, size_t nbytes)
{
    struct wire_bytes out = { 0 };
    size_t prompt = 0;
    uint64_t before = way->stream.came, due_ms = due(relay);
    enum wire_verdict verdict = wire_stream_take(&way->stream, data, nbytes, &out, &prompt);
    if (verdict != WIRE_STALLS)
        prompt = out.length;
    if (prompt > 0)
        put_chunk(way, out.data, prompt, due_ms);
    if (verdict == WIRE_STALLS) {
        hold(way, way->stream.fault.argument);
        put_chunk(way, out.data + prompt, out.length - prompt, due_ms);
    }
    if (verdict == WIRE_IS_CUT || verdict == WIRE_IS_RESET) {
        way->ended = true;
        pair->resets = verdict == WIRE_IS_RESET;
        relay->struck++;
    } else {
        relay->struck += has_happened(&way->stream, before);
    }
    free(out.data);
}

/* Nobody is there to read it. What comes the other way may still be on its way. */
static void give_up(struct way *way)
{
    while (way->first)
        drop_chunk(way);
    way->ended = way->closed = true;
}

static void read_from(struct relay *relay, struct relay_pair *pair, int which)
{
    static unsigned char data[READ_SIZE];
    struct way *way = &pair->ways[which];
    ssize_t nbytes = read(way->in, data, sizeof data);
    if (nbytes > 0 && which == RELAY_THERE && way->stream.came == 0)
        choose_faults(relay, pair, data, (size_t)nbytes);
    if (nbytes > 0) {
        relay->moved[which] += pair->is_meant || relay->rules.count == 0 ? (uint64_t)nbytes : 0;
        take(relay, pair, way, data, (size_t)nbytes);
    } else if (nbytes == 0) {
        way->ended = true;
    } else if (errno != EAGAIN && errno != EINTR) {
        way->ended = pair->resets = true; /* behind what it has said */
        give_up(&pair->ways[!which]);
    }
}

/* ---- what goes ---- */

/* Was it the fault that has ended it, and not the one who spoke? */
static bool is_severed(const struct way *way)
{
    enum wire_act act = way->stream.fault.act;
    return way->ended && (act == WIRE_CUT || act == WIRE_RESET) &&
           way->stream.came == way->stream.fault.offset;
}

static void write_to(struct relay *relay, struct relay_pair *pair, struct way *way, uint64_t now)
{
    ssize_t nbytes = 1;
    while (way->first && way->first->due_ms <= now && nbytes > 0) {
        struct chunk *chunk = way->first;
        size_t rest = chunk->bytes.length - chunk->written;
        if (rest > 0) {
            nbytes =
                write(way->out, chunk->bytes.data + chunk->written, relay->rules.single ? 1 : rest);
            if (nbytes < 0 && errno != EAGAIN && errno != EINTR)
                give_up(way);
            if (nbytes <= 0)
                return;
            chunk->written += (size_t)nbytes;
            way->queued -= (size_t)nbytes;
        }
        if (chunk->written == chunk->bytes.length)
            drop_chunk(way);
        if (relay->rules.single)
            break;
    }
    if (way->first || !way->ended || way->closed)
        return;
    way->closed = true;
    if (is_severed(way))
        pair->broken = true;
    else if (shutdown(way->out, SHUT_WR) < 0 && errno == ENOTSOCK)
        close(way->out), way->out = -1;
}

static bool is_over(const struct relay_pair *pair)
{
    return pair->broken || (pair->ways[RELAY_THERE].closed && pair->ways[RELAY_BACK].closed);
}

void relay_release(struct relay *relay)
{
    for (struct relay_pair *pair = relay->pairs; pair; pair = pair->next)
        for (int i = 0; i < RELAY_WAYS; i++) {
            pair->ways[i].held_ms = 0;
            for (struct chunk *chunk = pair->ways[i].first; chunk; chunk = chunk->next)
                chunk->due_ms = 0;
        }
}

/* ---- waiting ---- */

static void accept_one(struct relay *relay)
{
    int near = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC);
    if (near < 0)
        return;
    int far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (far >= 0 && connect(far, (struct sockaddr *)&relay->to, sizeof relay->to) == 0) {
        relay_join(relay, near, near, far, far);
        return;
    }
    if (far >= 0)
        close(far);
    close_end(near, true); /* as who is told that nobody listens */
}

static bool wants_to_read(const struct way *way)
{
    return !way->ended && way->queued < QUEUE_MAX;
}

/* Until when nothing happens, unless a descriptor is ready. */
static int until_due(const struct relay *relay, uint64_t now, int wait_ms)
{
    for (const struct relay_pair *pair = relay->pairs; pair; pair = pair->next)
        for (int i = 0; i < RELAY_WAYS; i++) {
            const struct chunk *chunk = pair->ways[i].first;
            if (!chunk || chunk->due_ms <= now || chunk->due_ms == UINT64_MAX)
                continue;
            int rest = (int)(chunk->due_ms - now);
            wait_ms = wait_ms < 0 || rest < wait_ms ? rest : wait_ms;
        }
    return wait_ms;
}

static void wait_for_any(const struct relay *relay, int wait_ms)
{
    enum { FDS_MAX = 1024 };
    struct pollfd fds[FDS_MAX];
    uint64_t now = now_ms();
    nfds_t count = 0;
    fds[count++] = (struct pollfd){ .fd = relay->listener, .events = POLLIN };
    for (const struct relay_pair *pair = relay->pairs; pair && count + 4 <= FDS_MAX;
         pair = pair->next)
        for (int i = 0; i < RELAY_WAYS; i++) {
            const struct way *way = &pair->ways[i];
            bool writes = way->first && way->first->due_ms <= now;
            if (wants_to_read(way))
                fds[count++] = (struct pollfd){ .fd = way->in, .events = POLLIN };
            if (writes)
                fds[count++] = (struct pollfd){ .fd = way->out, .events = POLLOUT };
        }
    poll(fds, count, until_due(relay, now, wait_ms));
}

static void move_pair(struct relay *relay, struct relay_pair *pair)
{
    for (int i = 0; i < RELAY_WAYS && !pair->broken; i++) {
        struct way *way = &pair->ways[i];
        if (wants_to_read(way))
            read_from(relay, pair, i);
        if (!pair->broken)
            write_to(relay, pair, way, now_ms());
    }
}

void relay_step(struct relay *relay, int wait_ms)
{
    wait_for_any(relay, wait_ms);
    if (relay->listener >= 0)
        accept_one(relay);
    for (struct relay_pair **at = &relay->pairs; *at;) {
        struct relay_pair *pair = *at;
        move_pair(relay, pair);
        if (!is_over(pair)) {
            at = &pair->next;
            continue;
        }
        *at = pair->next;
        close_pair(pair);
    }
}
