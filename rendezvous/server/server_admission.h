/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of the server: connections that it accepts, and the time that a client has to prove
 * itself. server.h says how they work together. */
#ifndef RENDEZVOUS_SERVER_SERVER_ADMISSION_H
#define RENDEZVOUS_SERVER_SERVER_ADMISSION_H

/* Unauthenticated clients, besides the workers that are still expected; and HTTP clients. */
enum {
    SERVER_UNAUTHENTICATED_MAX = 256,
    SERVER_UNAUTHENTICATED_MIN = 64,
    SERVER_CLIENTS_MAX = 16384
};

/* While there are more unauthenticated clients than SERVER_UNAUTHENTICATED_MAX, because workers are
 * expected, none keeps more of a head of HTTP than this that is not whole. */
enum { SERVER_CROWDED_HEAD_MAX = 1024 };

/* For the first head or the proven HELLO, from rendezvous_accept() on. */
enum { SERVER_UNAUTHENTICATED_MS = 5000 };

#endif
