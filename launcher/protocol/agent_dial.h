/* SPDX-License-Identifier: Apache-2.0 */
/* How an agent that something else has started (srun) connects to hvdrun, in frames of
 * lib/base/frame.h:
 *
 *   on the agent's stdin   INVITATION  version, port, key, hvdrun's addresses
 *   then, over TCP, before the frames of agent_protocol.h:
 *     agent                              hvdrun
 *     HELLO      version, task, nonce, node  ->
 *                                        <-  CHALLENGE  nonce, proof that hvdrun knows the key
 *     PROOF      that the agent does     ->
 *
 * The key is of one srun, and of nothing else: it lets a process be the agent of a host. Both
 * proofs cover HELLO and both nonces, under labels of their own, so that no proof can be replayed
 * or sent back. hvdrun closes the connection when anything is wrong: it does not say what, to
 * somebody who has proved nothing. */
#ifndef LAUNCHER_PROTOCOL_AGENT_DIAL_H
#define LAUNCHER_PROTOCOL_AGENT_DIAL_H

#include "lib/base/auth.h"
#include "lib/base/status.h"
#include "lib/base/wire.h"

#include <stdint.h>

enum { DIAL_VERSION = 1, DIAL_ADDRESSES_MAX = 16, DIAL_ADDRESS_SIZE = 46, DIAL_BODY_MAX = 4096 };

/* Time for a connection, and for an answer of the other side. */
enum { DIAL_CONNECT_MS = 5000, DIAL_ANSWER_MS = 10000 };

enum dial_frame { DIAL_INVITATION = 1, DIAL_HELLO, DIAL_CHALLENGE, DIAL_PROOF };

struct dial_invitation {
    uint16_t version;
    uint16_t port;
    struct job_key key;
    int naddresses;
    char addresses[DIAL_ADDRESSES_MAX][DIAL_ADDRESS_SIZE]; /* numeric, the likeliest first */
};

struct dial_hello {
    uint16_t version;
    uint32_t task; /* SLURM_PROCID */
    unsigned char nonce[NONCE_SIZE];
    char node[256]; /* SLURMD_NODENAME */
};

struct dial_challenge {
    unsigned char nonce[NONCE_SIZE];
    unsigned char proof[PROOF_SIZE];
};

/* Decoders return HVD_ERR_PROTOCOL for a body that is malformed or of another version. */
void dial_invitation_encode(struct wire_writer *writer, const struct dial_invitation *message);
int dial_invitation_decode(struct dial_invitation *message, struct wire_reader *reader,
                           struct err *err);
void dial_hello_encode(struct wire_writer *writer, const struct dial_hello *message);
int dial_hello_decode(struct dial_hello *message, struct wire_reader *reader, struct err *err);
void dial_challenge_encode(struct wire_writer *writer, const struct dial_challenge *message);
int dial_challenge_decode(struct dial_challenge *message, struct wire_reader *reader,
                          struct err *err);
int dial_proof_decode(unsigned char proof[PROOF_SIZE], struct wire_reader *reader, struct err *err);

enum dial_side { DIAL_HVDRUN, DIAL_AGENT };

/* The proof of one side that it knows the key. */
void dial_prove(unsigned char proof[PROOF_SIZE], enum dial_side side, const struct job_key *key,
                const struct dial_hello *hello, const unsigned char hvdrun_nonce[NONCE_SIZE]);

#endif
