/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake in which two ranks prove to each other that they know the job's key and mean the
 * same link, before any other byte is read. Bytes in, bytes out; no socket.
 *
 *   initiator                                    acceptor
 *   hello, 64 bytes                          ->
 *                                            <-  nonce, 32, and proof("hvd1 acceptor"), 32
 *   proof("hvd1 initiator"), 32              ->
 *                                            <-  ready, 1 byte of value 1
 *
 *   hello: 0 magic "HVDD"  4 version u16  6 zero u16  8 epoch u32  12 source rank u32
 *          16 target rank u32  20 channel u32  24 streams u32  28 zero u32  32 nonce
 *
 * Both proofs cover the hello and the acceptor's nonce. All messages have fixed sizes; none has a
 * length field. Fails with HVD_ERR_PROTOCOL (not our protocol, another world, another target) or
 * HVD_ERR_AUTH (a wrong proof); the caller then closes the connection without an answer. */
#ifndef LIB_LINK_LINK_HANDSHAKE_H
#define LIB_LINK_LINK_HANDSHAKE_H

#include "lib/base/auth.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINK_VERSION = 8, LINK_HELLO_SIZE = 64, LINK_CHALLENGE_SIZE = NONCE_SIZE + PROOF_SIZE };

/* The identity of a link: `source` dials, `target` accepts. */
struct link_identity {
    uint32_t epoch, source, target, channel;
    uint32_t streams; /* the number that `source` wants for data links between hosts; to be
                       * compared */
};

/* initiator:  challenge -> ready -> done;  acceptor:  hello -> proof -> done; each is the awaited
 * message. */
enum link_awaits { AWAITS_HELLO, AWAITS_CHALLENGE, AWAITS_PROOF, AWAITS_READY, AWAITS_NOTHING };

struct link_handshake {
    enum link_awaits awaits;
    struct link_identity identity; /* the acceptor's: source and channel are claims until done */
    const struct job_key *key;     /* borrowed until the end */
    unsigned char hello[LINK_HELLO_SIZE];
    unsigned char nonce[NONCE_SIZE]; /* the acceptor's */
    unsigned char in[LINK_HELLO_SIZE], out[LINK_HELLO_SIZE];
    size_t received;
    size_t out_start, out_end; /* to be sent: out[out_start, out_end) */
};

void link_handshake_initiate(struct link_handshake *handshake, const struct link_identity *identity,
                             const struct job_key *key);

/* The acceptor knows the world and itself; the identity names the dialler and the channel when the
 * handshake is done. */
void link_handshake_accept(struct link_handshake *handshake, uint32_t epoch, uint32_t target,
                           const struct job_key *key);

/* The bytes to send now (`*length` may be 0); and the report that so many have been sent. */
const void *link_handshake_output(const struct link_handshake *handshake, size_t *length);
void link_handshake_sent(struct link_handshake *handshake, size_t nbytes);

/* The place for the next received bytes; `*length` is the most to receive, so that bytes after the
 * handshake stay in the socket; 0 when nothing is awaited. The second function reports how many
 * came. */
void *link_handshake_space(struct link_handshake *handshake, size_t *length);
int link_handshake_received(struct link_handshake *handshake, size_t nbytes, struct err *err);

/* Everything has been received and sent: the link may be used. */
bool link_handshake_done(const struct link_handshake *handshake);

#endif
