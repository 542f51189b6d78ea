/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous on a TCP port: connections of a listening socket, carried to it.
 *
 * Happy path: bound and listening when tcp_port_open() returns; each connection is accepted, read
 * and answered until either side ends it. A client that comes with its request is served before the
 * next is accepted, and no more than TCP_PORT_TURN are accepted in one turn of the loop, so that
 * those who have something to say are not pushed out by those who say nothing. While a client does
 * not read what it is sent, nothing more is read from it; if nothing goes out for
 * TCP_PORT_WRITE_MS, it is hung up on, and also if it takes longer for what is queued than that and
 * a second for each TCP_PORT_RATE bytes. (A time for the whole whatever its size would be too short
 * for the largest answers on a slow line, or let the small ones lie for ever.) All that is queued
 * for clients together is bounded, too. TCP notices after 17 seconds that a host has vanished
 * (lib/base/tcp_attempts.h). When the rendezvous ends a connection, what was queued goes out first,
 * and the client has two seconds to see it. Fails when the address cannot be bound. Running out of
 * descriptors only keeps new ones waiting. */
#ifndef RENDEZVOUS_TCP_TCP_PORT_H
#define RENDEZVOUS_TCP_TCP_PORT_H

#include "rendezvous/server/rendezvous.h"

#include <stdbool.h>

enum {
    TCP_PORT_BACKLOG = 4096,
    TCP_PORT_TURN = 64,
    TCP_PORT_WRITE_MS = 10000,
    TCP_PORT_RATE = 64 * 1024
};

struct tcp_port;

/* Binds `address` ("127.0.0.1:0", "[::]:29400" is dual-stack). NULL and `err` (HVD_ERR_INVALID: not
 * an address; HVD_ERR_SYSTEM: cannot be bound). `rendezvous` is borrowed. */
struct tcp_port *tcp_port_open(uv_loop_t *loop, const char *address, struct rendezvous *rendezvous,
                               struct err *err);

/* Sets the function that finds out from the kernel where a connected client comes from. Without
 * one, all clients are RENDEZVOUS_ELSEWHERE. */
typedef enum rendezvous_origin tcp_port_origin_fn(void *context, int fd);
void tcp_port_set_origin(struct tcp_port *port, tcp_port_origin_fn *origin, void *context);

/* The address of the port, "ADDRESS:PORT"; borrowed. */
const char *tcp_port_address(const struct tcp_port *port);
int tcp_port_number(const struct tcp_port *port);

/* Can only this machine reach the port? */
bool tcp_port_is_loopback(const struct tcp_port *port);

/* Accepts no more. */
void tcp_port_stop(struct tcp_port *port);

/* Stops, and no longer keeps the loop alive but for clients that have not yet taken, or seen the
 * end of, what they were sent; after rendezvous_destroy(). tcp_port_close() must follow. */
void tcp_port_drain(struct tcp_port *port);

/* Stops, hangs up on everybody, and frees itself when the loop has run once more: at once after
 * rendezvous_destroy(), or else the rendezvous takes them for disconnected. NULL is fine. */
void tcp_port_close(struct tcp_port *port);

#endif
