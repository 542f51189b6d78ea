/* SPDX-License-Identifier: Apache-2.0 */
/* A port (rendezvous/tcp/tcp_port.h) and clients of it over real loopback sockets, in one thread;
 * with a stand-in for the rendezvous that says everything back, unless the first byte asks for
 * something else:
 *
 *   '!' answers and closes   'L' answers much   'C' answers much and closes   'M' less and closes
 *
 * Link with --wrap=uv_now: the clock can be put forward. */
#ifndef TESTS_SUPPORT_TCP_CLIENTS_H
#define TESTS_SUPPORT_TCP_CLIENTS_H

#include "rendezvous/tcp/tcp_connection.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

enum { LARGE = 24 << 20, MEDIUM = 64 << 10, CONNECTIONS_MAX = 300 };

struct rendezvous {
    bool refuses;
    int accepted, hung_up, open;
    size_t received;
    char story[64]; /* a for accept, r for receive, h for hang-up */
    struct rendezvous_connection *latest;
};

struct rendezvous_connection {
    struct rendezvous_stream *stream;
    struct rendezvous *rendezvous;
};

extern uv_loop_t port_loop;
extern struct rendezvous stand_in;
extern struct tcp_port *port;
extern uint64_t port_ahead_ms; /* of the clock */

uint64_t __real_uv_now(const uv_loop_t *loop);
uint64_t __wrap_uv_now(const uv_loop_t *loop);

/* A port on loopback; and its end, at which nobody may be connected any more. */
void port_set_up(void);
void port_tear_down(void);

/* Goes round the loop. */
void port_turn(void);
void port_turns(int n);

/* A client, nonblocking; in two steps; or one for whom little fits into the kernel's buffers of
 * either side. */
int port_dial(void);
int port_new_socket(void);
void port_connect(int fd);
int port_dial_narrow(void);

/* Is sent so much that most of it is queued, when its buffers in the kernel are small; 0: as they
 * are. */
int port_dial_for_much(size_t length, int buffer_size);

void port_say(int fd, const char *text);

/* Reads until `length` bytes have come or the connection has ended; how many have come, or -1 if it
 * was reset. */
ssize_t port_hear(int fd, char *data, size_t length);

/* Just this comes; or the end. */
void port_expect(int fd, const char *text);
void port_expect_end(int fd);

/* The port's side says LARGE bytes. */
void port_send_large(struct rendezvous_stream *stream);

#endif
