/* SPDX-License-Identifier: Apache-2.0 */
/* Authorization of an HTTP client: its credentials, before more than the request's head is read.
 *
 * A client of another user or host proves a key (keyring.h), in one of two ways:
 *
 *   Authorization: Bearer [ID:]KEY
 *       KEY is 64 hexadecimal digits: of job ID, or without ID of the one job, or of the service.
 *   Authorization: HVD1 job="ID", counter="N", body="HEX", proof="HEX"
 *       The key itself is not sent. 401 on this connection has said WWW-Authenticate: HVD1
 *       nonce="HEX"; N is larger than in any request before it on this connection (so that nothing
 *       can be replayed); body is the SHA-256 of the body, of no bytes if there is none;
 *       proof is HMAC-SHA256(key, "hvd1 http", nonce (32 bytes), N (u64), SHA-256 of
 *       "METHOD TARGET BODYHEX"). job="" is the one job, or the service.
 *
 * A loopback client whose socket belongs to the job's own uid needs neither: that is how unmodified
 * Horovod workers come; a service has no user of its own. But a browser of that user's can be sent
 * there by any web page: so Host must be a loopback address or localhost, with or without a port,
 * and Origin, if there is one, the same; other requests need a key. A request that
 * comes from another page by the browser's own account (http_of_another_page()) is refused with
 * 403, with a key or without one.
 *
 * Refused with 401: nothing shown where something must be, a scheme that is none of these, a key or
 * proof that is wrong, a counter that does not rise, no matter whether there is such a job: the
 * answers are the same. 400: an Authorization that cannot be read (http_credentials.h). */
#ifndef RENDEZVOUS_HTTP_HTTP_ACCESS_H
#define RENDEZVOUS_HTTP_HTTP_ACCESS_H

#include "lib/base/auth.h"
#include "lib/base/job_id.h"
#include "lib/base/rendezvous_stream.h"
#include "rendezvous/base/keyring.h"
#include "rendezvous/http/http_request.h"

#include <stdbool.h>
#include <stdint.h>

enum http_level {
    HTTP_ANYBODY,   /* without credentials */
    HTTP_OF_JOB,    /* may do what concerns `job` */
    HTTP_OF_SERVICE /* may do everything */
};

struct http_access {
    enum http_level level;
    char job[JOB_ID_SIZE]; /* of HTTP_OF_JOB */
    bool credentials;      /* it has sent some, which were right */
    bool digest_known;     /* the body must have `digest` */
    unsigned char digest[DIGEST_SIZE];
};

/* Of one connection. */
struct http_gate {
    const struct keyring *keyring; /* borrowed, outlives the connection */
    enum rendezvous_origin origin;
    unsigned char nonce[NONCE_SIZE]; /* generated when it is first sent */
    bool nonce_told;
    uint64_t counter; /* the largest that was proved; at 2^64-1 nothing can follow */
};

void http_gate_init(struct http_gate *gate, const struct keyring *keyring,
                    enum rendezvous_origin origin);
void http_gate_fini(struct http_gate *gate);

/* Checks the credentials of a request. Returns 0, or the HTTP status of a refusal. `access` is
 * HTTP_ANYBODY after a refusal, and if the request has no credentials. */
int http_gate_check(struct http_gate *gate, const struct http_request *request,
                    struct http_access *access);

/* The value of WWW-Authenticate, for a 401: both schemes, and the connection's nonce. */
enum { HTTP_CHALLENGE_SIZE = 2 * NONCE_SIZE + 64 };
void http_gate_challenge(struct http_gate *gate, char text[HTTP_CHALLENGE_SIZE]);

/* Fills in the proof that a client sends; for tests, bench and C clients. `text` has room for
 * HTTP_PROOF_SIZE: the value of Authorization. */
enum { HTTP_PROOF_SIZE = KEY_OWNER_SIZE + 4 * DIGEST_SIZE + 96 };
void http_proof_make(char text[HTTP_PROOF_SIZE], const struct job_key *key, const char *job,
                     const unsigned char nonce[NONCE_SIZE], uint64_t counter, const char *method,
                     const char *target, const void *body, size_t length);

#endif
