/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake in which two ranks prove to each other which rank each of them is and that they
 * mean the same link, and agree whether and how it is encrypted, before any other byte is read.
 * Bytes in, bytes out; no socket.
 *
 *   initiator                                    acceptor
 *   hello, 192 bytes                         ->
 *                                            <-  answer, 168, and proof("hvd1 acceptor"), 32
 *   proof("hvd1 initiator"), 32              ->
 *                                            <-  ready, 1 byte of value 1
 *
 *   hello: 0 magic "HVDD"  4 version u16  6 encryption u8 (enum encryption)
 *          7 ciphers u8 (bit 1 << enum cipher)  8 epoch u32  12 source rank u32
 *          16 target rank u32  20 channel u32  24 streams u32  28 1 between hosts, else 0, u32
 *          32 nonce  64 ephemeral key  96 the source's key  128 its certificate
 *   answer: 0 nonce  32 ephemeral key  64 encryption u8  65 cipher u8 (enum cipher)  66 zero
 *          72 the target's key  104 its certificate
 *
 * The proofs are made with the key of the pair of ranks (rank_credentials.h), which both sides
 * derive from their own key and the certified key of the other. Both proofs cover the hello and the
 * answer, so nobody else can change what the sides agree on, and no third rank can pretend to be
 * one of the two. encryption_judge() says what follows from both settings; the acceptor chooses the
 * cipher. All messages have fixed sizes; none has a length field.
 *
 * The ephemeral keys are X25519 public keys; a side that encrypts nothing has zeros. The keys of
 * the records are made from the key of the pair, the secret that both ephemeral keys give, the
 * hello and the answer. The ephemeral secrets are wiped when the proofs have been checked, so that
 * the keys of both ranks do not open what was recorded before these keys became known.
 *
 * Fails with HVD_ERR_PROTOCOL (not our protocol, another world, another target, an answer that
 * cannot be) or HVD_ERR_AUTH (a wrong certificate or proof); the caller then closes the connection
 * without an answer. Settings that do not fit are no failure here: both sides know them when they
 * are done, and no keys are made. */
#ifndef LIB_LINK_LINK_HANDSHAKE_H
#define LIB_LINK_LINK_HANDSHAKE_H

#include "lib/base/auth.h"
#include "lib/base/encryption.h"
#include "lib/base/rank_credentials.h"
#include "lib/base/status.h"
#include "lib/link/link_encrypted.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LINK_VERSION = 14,
    LINK_EPHEMERAL_SIZE = 32,
    LINK_HELLO_SIZE = 192,
    LINK_ANSWER_SIZE = 168,
    LINK_CHALLENGE_SIZE = LINK_ANSWER_SIZE + PROOF_SIZE
};

/* The identity of a link: `source` dials, `target` accepts. */
struct link_identity {
    uint32_t epoch, source, target, channel;
    uint32_t streams; /* the number that `source` wants for data links between hosts; to be
                       * compared */
};

/* The encryption setting that a side sends. */
struct link_terms {
    enum encryption encryption;
    unsigned ciphers;   /* cipher_supported(), or less in a test */
    bool between_hosts; /* the initiator says so for both */
};

/* initiator:  challenge -> ready -> done;  acceptor:  hello -> proof -> done; each is the awaited
 * message. */
enum link_awaits { AWAITS_HELLO, AWAITS_CHALLENGE, AWAITS_PROOF, AWAITS_READY, AWAITS_NOTHING };

struct link_handshake {
    enum link_awaits awaits;
    struct link_identity identity; /* the acceptor's: source and channel are claims until done */
    struct rank_credentials *credentials; /* borrowed until the end */
    struct job_key pair;             /* of both ranks, once the peer's certificate is checked */
    struct link_terms own, its;      /* `its` from the hello or the answer; claims until done */
    enum encryption_verdict verdict; /* when done */
    struct link_keys keys;           /* when done, with the verdict LINK_ENCRYPTED */
    unsigned char secret[LINK_EPHEMERAL_SIZE];
    unsigned char hello[LINK_HELLO_SIZE], answer[LINK_ANSWER_SIZE];
    unsigned char in[LINK_CHALLENGE_SIZE], out[LINK_CHALLENGE_SIZE];
    size_t received;
    size_t out_start, out_end; /* to be sent: out[out_start, out_end) */
};

void link_handshake_initiate(struct link_handshake *handshake, const struct link_identity *identity,
                             const struct link_terms *terms, struct rank_credentials *credentials);

/* The acceptor's credentials say the world and its rank; the identity names the dialler and the
 * channel when the handshake is done. */
void link_handshake_accept(struct link_handshake *handshake, const struct link_terms *terms,
                           struct rank_credentials *credentials);

/* Wipes the secrets, also those of a copy whose original goes on. */
void link_handshake_wipe(struct link_handshake *handshake);

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
