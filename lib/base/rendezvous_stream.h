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

/* Where a connection comes from, as its carrier knows. */
enum rendezvous_origin {
    RENDEZVOUS_ELSEWHERE,
    RENDEZVOUS_OWN_UID /* a loopback socket that belongs to the job's own user */
};

/* How the rendezvous answers on a connection; embedded in whatever the carrier keeps for it. */
struct rendezvous_stream {
    /* Queues `length` bytes for the other side. `data` is borrowed for the call. Never calls back
     * into the rendezvous. */
    void (*send)(struct rendezvous_stream *stream, const void *data, size_t length);

    /* Ends the connection after what was queued. The connection is gone for the rendezvous: the
     * carrier must not call receive() or hangup() for it any more. May be called inside receive().
     */
    void (*close)(struct rendezvous_stream *stream);

    /* It does not live until the verdict: whoever waits for the end of the job on it is told when
     * the last rank has ended (rendezvous_tell_end()). */
    bool brief;
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
