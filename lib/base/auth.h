/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs that the peer knows the key of the job. Every proof is an HMAC-SHA256 under the key or
 * under a key derived from it, bound to a role label, to fresh nonces of both sides and to a
 * counter, so that nothing can be replayed or reflected.
 *
 * A rendezvous connection is sealed:
 *     client: OPEN with its nonce, server: CHALLENGE with its own,
 *     then only sealed frames, both ways.
 * A sealed frame's body begins with the proof of the rest:
 *     HMAC(key of the direction, "hvd1 frame", counter u64, frame header, rest).
 * The first sealed frame of each side proves that side.
 *
 * A service that serves many jobs keeps one key and derives the key of each job from it. A launcher
 * derives the key of each worker from the job's, and gives a worker no other: so a worker proves
 * which worker it is. */
#ifndef LIB_BASE_AUTH_H
#define LIB_BASE_AUTH_H

#include "lib/base/frame.h"
#include "lib/base/status.h"
#include "lib/base/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JOB_KEY_SIZE = 32,
    JOB_KEY_HEX_SIZE = 2 * JOB_KEY_SIZE + 1,
    NONCE_SIZE = 32,
    PROOF_SIZE = 32,
    DIGEST_SIZE = 32
};

/* The secret of the processes of a job. Never printed, logged or written to a file. */
struct job_key {
    unsigned char bytes[JOB_KEY_SIZE];
};

/* Must be called before any other function of this file; may be called again. */
int auth_init(struct err *err);

void job_key_generate(struct job_key *key);

/* The key of job `id` at a service: HMAC(service key, "hvd1 job", digest of the id). */
void job_key_derive(struct job_key *key, const struct job_key *service, const char *id);

/* The key of one worker of a job: HMAC(job key, "hvd1 worker", number of the worker u32). */
void worker_key_derive(struct job_key *key, const struct job_key *job, int worker);

/* Parses 64 hexadecimal digits, the format of HVD_JOB_KEY. The error quotes no part of the text;
 * with the second function the caller says what was wrong where. */
int job_key_parse(struct job_key *key, const char *hex, struct err *err);
bool job_key_decode(struct job_key *key, const char *hex, size_t length);
void job_key_format(const struct job_key *key, char hex[JOB_KEY_HEX_SIZE]);
void job_key_wipe(struct job_key *key);

void nonce_generate(unsigned char nonce[NONCE_SIZE]);

/* HMAC-SHA256(key, label, part 1, part 2). `label` separates the roles; the parts have fixed
 * lengths for a given label. */
void auth_proof(unsigned char proof[PROOF_SIZE], const unsigned char key[32], const char *label,
                const void *part1, size_t length1, const void *part2, size_t length2);

/* Both compare in constant time. */
bool auth_equal(const unsigned char a[PROOF_SIZE], const unsigned char b[PROOF_SIZE]);
bool job_key_equal(const struct job_key *a, const struct job_key *b);

/* SHA-256. */
void auth_digest(unsigned char digest[DIGEST_SIZE], const void *data, size_t length);

/* One side of a sealed connection. */
struct seal {
    unsigned char send_key[32], receive_key[32];
    uint64_t sent, received;
};

enum seal_role { SEAL_CLIENT, SEAL_SERVER };

void seal_init(struct seal *seal, enum seal_role role, const struct job_key *key,
               const unsigned char client_nonce[NONCE_SIZE],
               const unsigned char server_nonce[NONCE_SIZE]);
void seal_wipe(struct seal *seal);

/* Appends `payload` as the seal's next frame. Sets writer->failed when out of memory. */
void seal_put(struct seal *seal, struct wire_writer *writer, uint16_t type, const void *payload,
              size_t length);

/* Checks the seal's next incoming frame and returns its payload, borrowed from the frame.
 * HVD_ERR_AUTH when the proof is wrong. */
int seal_check(struct seal *seal, const struct frame *frame, struct wire_reader *payload,
               struct err *err);

#endif
