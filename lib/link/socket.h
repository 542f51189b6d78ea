/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets in a host program's process (lib/base/descriptor.h); none raises SIGPIPE.
 * descriptor_close() closes them.
 *
 * TCP_USER_TIMEOUT is not set on purpose: it also ends a connection whose peer merely does not
 * read, and a rank that writes a checkpoint for ten seconds is not dead. tcp_unanswered.c checks
 * for missing acknowledgements instead. */
#ifndef LIB_LINK_SOCKET_H
#define LIB_LINK_SOCKET_H

#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

struct socket_address {
    struct sockaddr_storage storage;
    socklen_t length;
};

enum { SOCKET_ADDRESS_TEXT = 64 };

/* "192.0.2.1:80" or "[2001:db8::1]:80", numeric only, or "unix:" and 32 hexadecimal digits: a unix
 * socket of this network namespace, without a file. HVD_ERR_PROTOCOL otherwise. */
int socket_address_parse(struct socket_address *address, const char *text, struct err *err);
void socket_address_format(const struct socket_address *address, char text[SOCKET_ADDRESS_TEXT]);

bool socket_address_is_unix(const char *text);

/* A descriptor whose connection is under way: it becomes writable when socket_connect_result()
 * knows the outcome. HVD_ERR_PEER_LOST, HVD_ERR_SYSTEM (no socket); for a unix socket
 * HVD_ERR_ENVIRONMENT when it does not exist, HVD_ERR_TIMEOUT when it exists but is too busy
 * now. */
int socket_connect(const struct socket_address *address, struct err *err);

/* The same, with a call of `prepare` (NULL: none) for the socket before it connects. */
int socket_connect_prepared(const struct socket_address *address, void (*prepare)(int fd),
                            struct err *err);

/* HVD_OK once the connection stands. */
int socket_connect_result(int fd, struct err *err);

/* The address that `fd` is bound to; false if there is none. */
bool socket_local_address(int fd, struct socket_address *where);

bool socket_is_unix(int fd);

/* The kernel's credentials of the peer of a connected unix socket. The pid is 0 if the process
 * is not visible from here. Returns false if the kernel does not know. */
bool socket_peer(int fd, pid_t *pid, uid_t *uid);

/* HVD_OK if the peer is this user; else HVD_ERR_AUTH, which names the other user. */
int socket_check_user(int fd, struct err *err);

/* No delay for small messages, and keepalive: tcp_probe_idle() of lib/base/tcp_attempts.h. Does
 * nothing on a socket that is not TCP. */
void socket_tune(int fd, int idle_s, int probes);

/* Bytes moved, 0 if none can be moved now, HVD_ERR_PEER_LOST with the reason (the end of the
 * stream is one), or HVD_ERR_SYSTEM when `data` is not memory that can be used. */
ssize_t socket_receive(int fd, void *data, size_t size, struct err *err);
ssize_t socket_receive_parts(int fd, const struct iovec *parts, int count, struct err *err);
ssize_t socket_send(int fd, const void *data, size_t size, struct err *err);
ssize_t socket_send_parts(int fd, const struct iovec *parts, int count, struct err *err);

/* Like socket_send(), with a copy of the descriptor `passed` beside the first of the bytes.
 * HVD_ERR_SYSTEM: it cannot be passed, and nothing was sent. */
ssize_t socket_send_descriptor(int fd, const void *data, size_t size, int passed, struct err *err);

/* Like socket_receive(); `*passed` is the first descriptor that came beside the bytes
 * (close-on-exec, above 2, for close()), or -1: there was none, or this process can have no
 * more. */
ssize_t socket_receive_descriptor(int fd, void *data, size_t size, int *passed, struct err *err);

/* Ends the sending half, reads the unread bytes (closing with unread bytes would destroy bytes on
 * their way to the peer), and closes. -1 is fine. */
void socket_close_gently(int fd);

#endif
