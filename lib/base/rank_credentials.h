/* SPDX-License-Identifier: Apache-2.0 */
/* The credentials with which the ranks of one world prove to each other which rank each of them is.
 *
 * A rank makes a key pair (X25519) before it joins, and sends the public key in HELLO. When the
 * world is complete, the rendezvous signs (Ed25519) for each rank that this public key is the one
 * of that rank in this epoch. The signature is the rank's certificate; WELCOME carries it and the
 * public key of the certifier. Each world has a certifier of its own, whose secret never leaves the
 * rendezvous.
 *
 * WELCOME also has the public keys of the neighbours at the start: to check a certificate takes
 * longer than to compare a key.
 *
 * Two ranks send each other public keys and certificates, and derive the key of their pair:
 *
 *     HMAC(shared secret of both key pairs, "hvd1 rank pair", public key of the lower rank, of the
 *          higher rank)
 *
 * Only these two ranks know it, so a proof under it shows which rank made it. Neither the key of
 * the job nor what any other rank knows helps to make such a proof. */
#ifndef LIB_BASE_RANK_CREDENTIALS_H
#define LIB_BASE_RANK_CREDENTIALS_H

#include "lib/base/auth.h"
#include "lib/base/status.h"

#include <stdint.h>

enum {
    RANK_KEY_SIZE = 32,
    CERTIFICATE_SIZE = 64,
    CERTIFIER_KEY_SIZE = 32,
    KNOWN_RANKS = 64 /* of which a rank keeps the keys; others cost it 0.1 ms for each link */
};

/* The certifier of a world. */
struct rank_certifier {
    unsigned char secret[64];
    unsigned char public[CERTIFIER_KEY_SIZE];
};

void rank_certifier_generate(struct rank_certifier *certifier);
void rank_certifier_wipe(struct rank_certifier *certifier);

/* Certifies that `public` is the key of `rank` in `epoch`. */
void rank_certifier_certify(const struct rank_certifier *certifier, uint32_t epoch, uint32_t rank,
                            const unsigned char public[RANK_KEY_SIZE],
                            unsigned char certificate[CERTIFICATE_SIZE]);

/* The credentials of one rank. `known` are ranks whose certificate has been checked; a rank has its
 * place there by its number. */
struct rank_credentials {
    uint32_t epoch, rank;
    unsigned char secret[RANK_KEY_SIZE], public[RANK_KEY_SIZE];
    unsigned char certificate[CERTIFICATE_SIZE];
    unsigned char certifier[CERTIFIER_KEY_SIZE];
    struct {
        bool is_there, has_pair;
        uint32_t rank;
        unsigned char public[RANK_KEY_SIZE];
        struct job_key pair;
    } known[KNOWN_RANKS];
};

/* Makes the key pair. WELCOME gives epoch, rank, certificate and certifier. */
void rank_credentials_generate(struct rank_credentials *credentials);
void rank_credentials_wipe(struct rank_credentials *credentials);

/* The rendezvous itself has said that `public` is the key of `rank`. */
void rank_credentials_know(struct rank_credentials *credentials, uint32_t rank,
                           const unsigned char public[RANK_KEY_SIZE]);

/* The key of the pair with `rank`, which has sent `public` and `certificate`. HVD_ERR_AUTH if the
 * certificate does not say that. */
int rank_credentials_pair(struct rank_credentials *credentials, uint32_t rank,
                          const unsigned char public[RANK_KEY_SIZE],
                          const unsigned char certificate[CERTIFICATE_SIZE], struct job_key *pair,
                          struct err *err);

#endif
