/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs of the job's key; see auth.h. */
#include "lib/base/auth.h"

#include <sodium.h>
#include <string.h>

_Static_assert(PROOF_SIZE == crypto_auth_hmacsha256_BYTES, "a proof is one HMAC-SHA256");
_Static_assert(JOB_KEY_SIZE == crypto_auth_hmacsha256_KEYBYTES, "the job's key is an HMAC key");

int auth_init(struct err *err)
{
    if (sodium_init() < 0)
        return fail(err, HVD_ERR_SYSTEM, "no source of random numbers");
    return HVD_OK;
}

void job_key_generate(struct job_key *key)
{
    randombytes_buf(key->bytes, sizeof key->bytes);
}

void job_key_derive(struct job_key *key, const struct job_key *service, const char *id)
{
    unsigned char digest[DIGEST_SIZE];
    auth_digest(digest, id, strlen(id));
    auth_proof(key->bytes, service->bytes, "hvd1 job", digest, sizeof digest, "", 0);
}

void worker_key_derive(struct job_key *key, const struct job_key *job, int worker)
{
    uint32_t number = htole32((uint32_t)worker);
    unsigned char derived[PROOF_SIZE];
    auth_proof(derived, job->bytes, "hvd1 worker", &number, sizeof number, "", 0);
    memcpy(key->bytes, derived, sizeof key->bytes);
    sodium_memzero(derived, sizeof derived);
}

bool job_key_decode(struct job_key *key, const char *hex, size_t length)
{
    size_t decoded = 0;
    const char *end = NULL;
    return length == JOB_KEY_HEX_SIZE - 1 &&
           sodium_hex2bin(key->bytes, sizeof key->bytes, hex, length, NULL, &decoded, &end) == 0 &&
           decoded == JOB_KEY_SIZE && end == hex + length;
}

int job_key_parse(struct job_key *key, const char *hex, struct err *err)
{
    if (!job_key_decode(key, hex, strlen(hex)))
        return fail(err, HVD_ERR_ENVIRONMENT, "HVD_JOB_KEY: not 64 hexadecimal digits");
    return HVD_OK;
}

void job_key_format(const struct job_key *key, char hex[JOB_KEY_HEX_SIZE])
{
    sodium_bin2hex(hex, JOB_KEY_HEX_SIZE, key->bytes, sizeof key->bytes);
}

void job_key_wipe(struct job_key *key)
{
    sodium_memzero(key, sizeof *key);
}

void nonce_generate(unsigned char nonce[NONCE_SIZE])
{
    randombytes_buf(nonce, NONCE_SIZE);
}

void auth_proof(unsigned char proof[PROOF_SIZE], const unsigned char key[32], const char *label,
                const void *part1, size_t length1, const void *part2, size_t length2)
{
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, key, JOB_KEY_SIZE);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)label, strlen(label) + 1);
    crypto_auth_hmacsha256_update(&state, part1, length1);
    crypto_auth_hmacsha256_update(&state, part2, length2);
    crypto_auth_hmacsha256_final(&state, proof);
    sodium_memzero(&state, sizeof state);
}

bool auth_equal(const unsigned char a[PROOF_SIZE], const unsigned char b[PROOF_SIZE])
{
    return sodium_memcmp(a, b, PROOF_SIZE) == 0;
}

bool job_key_equal(const struct job_key *a, const struct job_key *b)
{
    return sodium_memcmp(a->bytes, b->bytes, JOB_KEY_SIZE) == 0;
}

void auth_digest(unsigned char digest[DIGEST_SIZE], const void *data, size_t length)
{
    crypto_hash_sha256(digest, data, length);
}

void seal_init(struct seal *seal, enum seal_role role, const struct job_key *key,
               const unsigned char client_nonce[NONCE_SIZE],
               const unsigned char server_nonce[NONCE_SIZE])
{
    unsigned char from_client[32], from_server[32];
    auth_proof(from_client, key->bytes, "hvd1 from client", client_nonce, NONCE_SIZE, server_nonce,
               NONCE_SIZE);
    auth_proof(from_server, key->bytes, "hvd1 from server", client_nonce, NONCE_SIZE, server_nonce,
               NONCE_SIZE);
    *seal = (struct seal){ 0 };
    memcpy(seal->send_key, role == SEAL_CLIENT ? from_client : from_server, 32);
    memcpy(seal->receive_key, role == SEAL_CLIENT ? from_server : from_client, 32);
    sodium_memzero(from_client, sizeof from_client);
    sodium_memzero(from_server, sizeof from_server);
}

void seal_wipe(struct seal *seal)
{
    sodium_memzero(seal, sizeof *seal);
}

static void seal_proof(unsigned char proof[PROOF_SIZE], const unsigned char key[32], uint64_t count,
                       uint16_t type, const void *payload, size_t length)
{
    unsigned char head[8 + FRAME_HEADER_SIZE];
    for (int i = 0; i < 8; i++)
        head[i] = (unsigned char)(count >> (8 * i));
    frame_header_encode(head + 8, type, (uint32_t)(PROOF_SIZE + length));
    auth_proof(proof, key, "hvd1 frame", head, sizeof head, payload, length);
}

void seal_put(struct seal *seal, struct wire_writer *writer, uint16_t type, const void *payload,
              size_t length)
{
    if (length > FRAME_BODY_MAX - PROOF_SIZE) {
        writer->failed = true;
        return;
    }
    unsigned char proof[PROOF_SIZE];
    seal_proof(proof, seal->send_key, seal->sent++, type, payload, length);
    size_t begin = frame_begin(writer, type);
    wire_put_bytes(writer, proof, sizeof proof);
    wire_put_bytes(writer, payload, length);
    frame_end(writer, begin);
}

int seal_check(struct seal *seal, const struct frame *frame, struct wire_reader *payload,
               struct err *err)
{
    if (frame->length < PROOF_SIZE)
        return fail(err, HVD_ERR_AUTH, "a frame of type %u without proof of the job's key",
                    frame->type);
    const unsigned char *rest = frame->body + PROOF_SIZE;
    size_t length = frame->length - PROOF_SIZE;
    unsigned char proof[PROOF_SIZE];
    seal_proof(proof, seal->receive_key, seal->received, frame->type, rest, length);
    if (!auth_equal(proof, frame->body))
        return fail(err, HVD_ERR_AUTH, "a frame of type %u with a wrong proof of the job's key",
                    frame->type);
    seal->received++;
    wire_reader_init(payload, rest, length);
    return HVD_OK;
}
