/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets of a guest (lib/link/descriptor.h); none raises SIGPIPE. descriptor_close() closes
 * them.
 *
 * TCP_USER_TIMEOUT is not set on purpose: it also ends a connection whose other side merely does
 * not read, and a rank that writes a checkpoint for ten seconds is not dead. link_tcp.c looks for
 * missing acknowledgements instead. */
#ifndef LIB_LINK_SOCKET_H
#define LIB_LINK_SOCKET_H

#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

struct socket_address {
    struct sockaddr_storage storage;
    socklen_t length;
};

enum { SOCKET_ADDRESS_TEXT = 64 };

/* "192.0.2.1:80" or "[2001:db8::1]:80", numeric only. HVD_ERR_PROTOCOL otherwise. */
int socket_address_parse(struct socket_address *address, const char *text, struct err *err);
void socket_address_format(const struct socket_address *address, char text[SOCKET_ADDRESS_TEXT]);

/* A descriptor whose connection is under way: it is writable when socket_connect_result() knows how
 * it ended. */
int socket_connect(const struct socket_address *address, struct err *err);
int socket_connect_result(int fd, struct err *err);

/* The address that `fd` is bound to; false if there is none. */
bool socket_local_address(int fd, struct socket_address *where);

/* A host that is silent for so long is asked, so often, and given up when it does not answer. */
struct socket_keepalive {
    int idle_s, interval_s, probes;
};

/* No delay for small messages; keepalive, by default one that notices a silent host in 4 seconds.
 * Does nothing on a socket that is not TCP. */
void socket_tune(int fd, const struct socket_keepalive *keepalive);

/* Bytes moved, 0 if none can be moved now, HVD_ERR_PEER_LOST with the reason (the end of the
 * stream is one), or HVD_ERR_SYSTEM when `data` is not memory that can be used. */
ssize_t socket_receive(int fd, void *data, size_t size, struct err *err);
ssize_t socket_receive_parts(int fd, const struct iovec *parts, int count, struct err *err);
ssize_t socket_send(int fd, const void *data, size_t size, struct err *err);
ssize_t socket_send_parts(int fd, const struct iovec *parts, int count, struct err *err);

/* Ends the sending half, reads away what still lies there (a close with unread bytes would destroy
 * what is on its way to the other side), and closes. -1 is fine. */
void socket_close_gently(int fd);

/* For deadlines. */
uint64_t monotonic_ms(void);
uint64_t monotonic_ns(void);

#endif
