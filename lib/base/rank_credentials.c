/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates and pair keys; see rank_credentials.h. */
#include "lib/base/rank_credentials.h"

#include <sodium.h>
#include <string.h>

_Static_assert((int)RANK_KEY_SIZE == (int)crypto_scalarmult_BYTES &&
                   (int)RANK_KEY_SIZE == (int)crypto_scalarmult_SCALARBYTES,
               "keys of ranks are X25519 keys");
_Static_assert((int)CERTIFICATE_SIZE == (int)crypto_sign_BYTES &&
                   (int)CERTIFIER_KEY_SIZE == (int)crypto_sign_PUBLICKEYBYTES &&
                   sizeof((struct rank_certifier *)0)->secret == crypto_sign_SECRETKEYBYTES,
               "certificates are Ed25519 signatures");

/* What is signed: label, epoch, rank, key. */
enum { STATEMENT_LABEL = 16, STATEMENT_SIZE = STATEMENT_LABEL + 8 + RANK_KEY_SIZE };

static void make_statement(unsigned char statement[STATEMENT_SIZE], uint32_t epoch, uint32_t rank,
                           const unsigned char public[RANK_KEY_SIZE])
{
    static const char label[STATEMENT_LABEL] = "hvd1 rank key";
    struct wire_writer writer = { .data = statement, .capacity = STATEMENT_SIZE };
    wire_put_bytes(&writer, label, sizeof label);
    wire_put_u32(&writer, epoch);
    wire_put_u32(&writer, rank);
    wire_put_bytes(&writer, public, RANK_KEY_SIZE);
}

void rank_certifier_generate(struct rank_certifier *certifier)
{
    crypto_sign_keypair(certifier->public, certifier->secret);
}

void rank_certifier_wipe(struct rank_certifier *certifier)
{
    sodium_memzero(certifier, sizeof *certifier);
}

void rank_certifier_certify(const struct rank_certifier *certifier, uint32_t epoch, uint32_t rank,
                            const unsigned char public[RANK_KEY_SIZE],
                            unsigned char certificate[CERTIFICATE_SIZE])
{
    unsigned char statement[STATEMENT_SIZE];
    make_statement(statement, epoch, rank, public);
    crypto_sign_detached(certificate, NULL, statement, sizeof statement, certifier->secret);
}

void rank_credentials_generate(struct rank_credentials *credentials)
{
    *credentials = (struct rank_credentials){ 0 };
    randombytes_buf(credentials->secret, sizeof credentials->secret);
    crypto_scalarmult_base(credentials->public, credentials->secret);
}

void rank_credentials_wipe(struct rank_credentials *credentials)
{
    sodium_memzero(credentials, sizeof *credentials);
}

static bool is_certified(const struct rank_credentials *credentials, uint32_t rank,
                         const unsigned char public[RANK_KEY_SIZE],
                         const unsigned char certificate[CERTIFICATE_SIZE])
{
    unsigned char statement[STATEMENT_SIZE];
    make_statement(statement, credentials->epoch, rank, public);
    return crypto_sign_verify_detached(certificate, statement, sizeof statement,
                                       credentials->certifier) == 0;
}

/* False if `public` is a key that gives no secret. */
static bool make_pair(const struct rank_credentials *credentials, uint32_t rank,
                      const unsigned char public[RANK_KEY_SIZE], struct job_key *pair)
{
    unsigned char shared[RANK_KEY_SIZE];
    bool is_lower = credentials->rank < rank;
    bool is_good = crypto_scalarmult(shared, credentials->secret, public) == 0;
    if (is_good)
        auth_proof(pair->bytes, shared, "hvd1 rank pair", is_lower ? credentials->public : public,
                   RANK_KEY_SIZE, is_lower ? public : credentials->public, RANK_KEY_SIZE);
    sodium_memzero(shared, sizeof shared);
    return is_good;
}

void rank_credentials_know(struct rank_credentials *credentials, uint32_t rank,
                           const unsigned char public[RANK_KEY_SIZE])
{
    unsigned place = rank % KNOWN_RANKS;
    credentials->known[place].is_there = true;
    credentials->known[place].has_pair = false;
    credentials->known[place].rank = rank;
    memcpy(credentials->known[place].public, public, RANK_KEY_SIZE);
}

static bool is_known(const struct rank_credentials *credentials, uint32_t rank,
                     const unsigned char public[RANK_KEY_SIZE])
{
    unsigned place = rank % KNOWN_RANKS;
    return credentials->known[place].is_there && credentials->known[place].rank == rank &&
           memcmp(credentials->known[place].public, public, RANK_KEY_SIZE) == 0;
}

int rank_credentials_pair(struct rank_credentials *credentials, uint32_t rank,
                          const unsigned char public[RANK_KEY_SIZE],
                          const unsigned char certificate[CERTIFICATE_SIZE], struct job_key *pair,
                          struct err *err)
{
    unsigned place = rank % KNOWN_RANKS;
    bool known = is_known(credentials, rank, public);
    struct job_key made;
    if (known && credentials->known[place].has_pair) {
        *pair = credentials->known[place].pair;
        return HVD_OK;
    }
    if ((!known && !is_certified(credentials, rank, public, certificate)) ||
        !make_pair(credentials, rank, public, &made))
        return fail(err, HVD_ERR_AUTH, "it cannot prove that it is rank %u", rank);
    rank_credentials_know(credentials, rank, public);
    credentials->known[place].has_pair = true;
    credentials->known[place].pair = *pair = made;
    job_key_wipe(&made);
    return HVD_OK;
}
