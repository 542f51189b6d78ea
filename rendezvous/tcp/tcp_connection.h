/* SPDX-License-Identifier: Apache-2.0 */
/* A port and its connections, seen from inside. For tcp_port.c and tcp_connection.c only. */
#ifndef RENDEZVOUS_TCP_TCP_CONNECTION_H
#define RENDEZVOUS_TCP_TCP_CONNECTION_H

#include "lib/base/wire.h"
#include "rendezvous/tcp/tcp_address.h"
#include "rendezvous/tcp/tcp_port.h"

#include <stdbool.h>

enum {
    TCP_READ_SIZE = 64 * 1024,
    TCP_QUEUE_MAX = 64 << 20,   /* a client with more bytes in its queue is disconnected */
    TCP_QUEUES_MAX = 256 << 20, /* when all queues of a port take so much, no queue becomes large */
    TCP_LINGER_MS = 2000,       /* how long a client may take to see that we have closed */
    TCP_LINGERING_MAX = 256,    /* at most so many, including those that have not read all that
                                 * was sent */
    TCP_UNAUTHENTICATED_QUEUE_MAX = 128 * 1024, /* a client with more bytes in its queue is
                                                 * authenticated */
    TCP_TICK_MS = 250
};

struct tcp_connection {
    uv_poll_t poll; /* its memory is released in on_closed() */
    int awaited;    /* the event that `poll` waits for */
    struct rendezvous_stream stream;
    struct tcp_port *port;
    struct rendezvous_connection *session; /* NULL: it is over for the rendezvous */
    struct tcp_connection *next, **link;   /* the pointer to this connection */
    struct wire_writer queue;              /* bytes from `sent` on have not gone out yet */
    size_t sent;
    size_t counted;       /* bytes of the queue, as counted in the port's sum */
    uint64_t deadline_ms; /* of the loop's clock; 0: none */
    uint64_t read_by_ms;  /* when all that is queued must have gone out */
    int fd;
    bool broken;    /* nothing more can be sent; its end is seen with the next event */
    bool lingering; /* it is over for the rendezvous, and counted; nobody looks at what comes */
};

struct tcp_port {
    uv_loop_t *loop;
    struct rendezvous *rendezvous; /* borrowed */
    tcp_port_origin_fn *origin;    /* or NULL */
    void *origin_context;
    int fd; /* -1: not listening any more */
    uv_poll_t poll;
    uv_timer_t tick; /* runs while a connection has a deadline, or accepting is paused */
    int handles;     /* of libuv's, not closed yet; the port is freed with the last of them */
    bool paused;     /* there was no descriptor for one more */
    bool closing;
    int deadlines, lingering;
    size_t queues, queues_max; /* bytes of memory */
    struct tcp_connection *connections;
    struct sockaddr_storage bound;
    char address[TCP_ADDRESS_SIZE];
    char chunk[TCP_READ_SIZE]; /* the bytes that were read last, from any connection */
};

/* Takes the accepted socket `fd`, and serves what has come already. */
void tcp_connection_start(struct tcp_port *port, int fd);

/* Hangs up, tells the rendezvous if it does not know yet, and forgets the connection. Others may be
 * forgotten on the way. */
void tcp_connection_end(struct tcp_connection *connection);

/* Its deadline has passed. */
void tcp_connection_expire(struct tcp_connection *connection, uint64_t now_ms);

/* One of the port's handles is closed. */
void tcp_port_release(struct tcp_port *port);

/* A descriptor has become free. */
void tcp_port_resume(struct tcp_port *port);

/* Makes sure that the tick runs. */
void tcp_port_watch(struct tcp_port *port);

#endif
