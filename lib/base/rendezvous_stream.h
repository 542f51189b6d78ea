/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between the rendezvous and the carrier of a connection's bytes.
 *
 *   carrier -> rendezvous    accept(), receive() for each piece, hangup()
 *   rendezvous -> carrier    send(), close()
 *
 * Carriers are a TCP socket (rendezvous/tcp/tcp_connection.c), an agent's link (launcher/
 * job_host_relay.c) and tests. The bytes of a connection go from carrier to rendezvous, or back, in
 * one call without a queue between them. */
#ifndef LIB_BASE_RENDEZVOUS_STREAM_H
#define LIB_BASE_RENDEZVOUS_STREAM_H

#include <stdbool.h>
#include <stddef.h>

struct rendezvous;
struct rendezvous_connection;

/* The origin of a connection, as its carrier knows it. */
enum rendezvous_origin {
    RENDEZVOUS_ELSEWHERE,
    RENDEZVOUS_OWN_UID /* a loopback socket that belongs to the job's own user */
};

/* How the rendezvous answers on a connection; embedded in the carrier's struct for the
 * connection. */
struct rendezvous_stream {
    /* Queues `length` bytes for the other side. `data` is borrowed for the call. Never calls back
     * into the rendezvous. */
    void (*send)(struct rendezvous_stream *stream, const void *data, size_t length);

    /* Ends the connection after the queued bytes. The connection no longer exists for the
     * rendezvous: the carrier must not call receive() or hangup() for it any more. May be called
     * inside receive(). */
    void (*close)(struct rendezvous_stream *stream);

    /* The connection does not live until the verdict: a client that waits on it for the end of the
     * job gets its answer when the last rank has ended (rendezvous_tell_end()). */
    bool brief;

    /* The workers of an elastic job whose processes run where the connection comes from: `workers`
     * of them, from the number `worker` on; 0: not known. */
    int worker, workers;
};

/* The rendezvous, for a carrier that cannot include rendezvous/server/rendezvous.h, which describes
 * these calls. */
struct rendezvous_server {
    struct rendezvous *rendezvous; /* borrowed; NULL: there is none */
    struct rendezvous_connection *(*accept)(struct rendezvous *rendezvous,
                                            struct rendezvous_stream *stream,
                                            enum rendezvous_origin origin);
    void (*receive)(struct rendezvous_connection *connection, const void *data, size_t length);
    void (*hangup)(struct rendezvous_connection *connection);
};

#endif
