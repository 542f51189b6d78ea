/* SPDX-License-Identifier: Apache-2.0 */
/* Authorization of HTTP clients; see http_access.h. */
#include "rendezvous/http/http_access.h"

#include "rendezvous/http/http_credentials.h"
#include "rendezvous/http/http_loopback.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum { HEX_SIZE = 2 * DIGEST_SIZE + 1 };

/* The identity of a request without its time: "METHOD TARGET BODYHEX". A target that does not fit
 * has been refused before. */
static void digest_request(unsigned char digest[DIGEST_SIZE], const char *method,
                           struct http_text target, const unsigned char body[DIGEST_SIZE])
{
    char text[HTTP_REQUEST_LINE_MAX + HEX_SIZE + 2], hex[HEX_SIZE];
    sodium_bin2hex(hex, sizeof hex, body, DIGEST_SIZE);
    size_t length = strlen(method);
    if (length + target.length > HTTP_REQUEST_LINE_MAX)
        target.length = 0;
    memcpy(text, method, length);
    text[length++] = ' ';
    memcpy(text + length, target.data, target.length);
    length += target.length;
    text[length++] = ' ';
    memcpy(text + length, hex, HEX_SIZE - 1);
    auth_digest(digest, text, length + HEX_SIZE - 1);
}

static void make_proof(unsigned char proof[PROOF_SIZE], const struct job_key *key,
                       const unsigned char nonce[NONCE_SIZE], uint64_t counter,
                       const unsigned char request[DIGEST_SIZE])
{
    unsigned char when[NONCE_SIZE + 8];
    memcpy(when, nonce, NONCE_SIZE);
    for (int i = 0; i < 8; i++)
        when[NONCE_SIZE + i] = (unsigned char)(counter >> (8 * i));
    auth_proof(proof, key->bytes, "hvd1 http", when, sizeof when, request, DIGEST_SIZE);
}

/* The key that credentials must show: of the service if they name no job. */
static void expected_key(const struct keyring *keyring, const struct key_owner *owner,
                         struct job_key *key)
{
    if (keyring->service && !*owner->job && owner->worker < 0)
        *key = keyring->key;
    else
        keyring_key(keyring, owner, key);
}

static bool proof_is_right(struct http_gate *gate, const struct http_request *request,
                           const struct http_credentials *credentials, const struct job_key *key)
{
    unsigned char digest[DIGEST_SIZE], proof[PROOF_SIZE];
    digest_request(digest, http_method_name(request->method),
                   (struct http_text){ request->target, request->target_length },
                   credentials->body);
    make_proof(proof, key, gate->nonce, credentials->counter, digest);
    bool right = auth_equal(proof, credentials->proof);
    right = right && gate->nonce_told && credentials->counter > gate->counter;
    if (right)
        gate->counter = credentials->counter;
    explicit_bzero(proof, sizeof proof);
    return right;
}

static bool are_right(struct http_gate *gate, const struct http_request *request,
                      const struct http_credentials *credentials)
{
    struct job_key key;
    expected_key(gate->keyring, &credentials->owner, &key);
    bool right = credentials->scheme == HTTP_BEARER
                     ? job_key_equal(&key, &credentials->key)
                     : proof_is_right(gate, request, credentials, &key);
    job_key_wipe(&key);
    return right;
}

static void grant(struct http_access *access, const struct keyring *keyring, const char *job)
{
    bool all = keyring->service && !*job;
    access->level = all ? HTTP_OF_SERVICE : HTTP_OF_JOB;
    snprintf(access->job, sizeof access->job, "%s", *job ? job : keyring->job);
}

static int check_credentials(struct http_gate *gate, const struct http_request *request,
                             struct http_access *access)
{
    struct http_credentials credentials;
    int refused = http_credentials_parse(&credentials, request->authorization);
    if (!refused && !are_right(gate, request, &credentials))
        refused = 401;
    if (!refused) {
        grant(access, gate->keyring, credentials.owner.job);
        access->credentials = true;
        access->digest_known = credentials.scheme == HTTP_PROOF;
        memcpy(access->digest, credentials.body, sizeof access->digest);
    }
    http_credentials_wipe(&credentials);
    return refused;
}

void http_gate_init(struct http_gate *gate, const struct keyring *keyring,
                    enum rendezvous_origin origin)
{
    *gate = (struct http_gate){ .keyring = keyring, .origin = origin };
}

void http_gate_fini(struct http_gate *gate)
{
    explicit_bzero(gate, sizeof *gate);
}

int http_gate_check(struct http_gate *gate, const struct http_request *request,
                    struct http_access *access)
{
    *access = (struct http_access){ .level = HTTP_ANYBODY };
    if (http_of_another_page(request))
        return 403;
    if (request->authorization.data)
        return check_credentials(gate, request, access);
    /* A service has users of many jobs: being one of them does not say which. */
    if (gate->origin == RENDEZVOUS_OWN_UID && !gate->keyring->service && http_loopback(request))
        grant(access, gate->keyring, "");
    return 0;
}

void http_gate_challenge(struct http_gate *gate, char text[HTTP_CHALLENGE_SIZE])
{
    char hex[2 * NONCE_SIZE + 1];
    if (!gate->nonce_told)
        nonce_generate(gate->nonce);
    gate->nonce_told = true;
    sodium_bin2hex(hex, sizeof hex, gate->nonce, sizeof gate->nonce);
    snprintf(text, HTTP_CHALLENGE_SIZE, "Bearer realm=\"hvd\", HVD1 nonce=\"%s\"", hex);
}

void http_proof_make(char text[HTTP_PROOF_SIZE], const struct job_key *key, const char *job,
                     const unsigned char nonce[NONCE_SIZE], uint64_t counter, const char *method,
                     const char *target, const void *body, size_t length)
{
    unsigned char digest[DIGEST_SIZE], request[DIGEST_SIZE], proof[PROOF_SIZE];
    char body_hex[HEX_SIZE], proof_hex[HEX_SIZE];
    auth_digest(digest, body, length);
    digest_request(request, method, (struct http_text){ target, strlen(target) }, digest);
    make_proof(proof, key, nonce, counter, request);
    sodium_bin2hex(body_hex, sizeof body_hex, digest, sizeof digest);
    sodium_bin2hex(proof_hex, sizeof proof_hex, proof, sizeof proof);
    snprintf(text, HTTP_PROOF_SIZE, "HVD1 job=\"%s\", counter=\"%llu\", body=\"%s\", proof=\"%s\"",
             job, (unsigned long long)counter, body_hex, proof_hex);
}
