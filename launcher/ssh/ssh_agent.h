/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the user's ssh-agent. Each question has a connection of its own and two seconds: an agent
 * that is dead or hangs costs no more time.
 *
 *   questions  u32 length   11: which keys are there?
 *              u32 length   13: sign   string public key   string data   u32 flags
 *   answers    u32 length   12   u32 count   count times: string public key, string comment
 *              u32 length   14   string signature: string type, string bytes
 *              u32 length    5: no */
#ifndef LAUNCHER_SSH_SSH_AGENT_H
#define LAUNCHER_SSH_SSH_AGENT_H

#include "launcher/ssh/ssh_wire.h"

#include <uv.h>

struct ssh_agent_question;

/* The answer without its length, borrowed for the call; or why there is none ("no answer within 2
 * s"). Called once, later. */
typedef void ssh_agent_fn(void *context, struct ssh_bytes answer, const char *problem);

struct ssh_agent_question *ssh_agent_ask_keys(uv_loop_t *loop, const char *path,
                                              ssh_agent_fn *on_answer, void *context);
struct ssh_agent_question *ssh_agent_ask_signature(uv_loop_t *loop, const char *path,
                                                   struct ssh_bytes public, struct ssh_bytes data,
                                                   ssh_agent_fn *on_answer, void *context);

/* The signature algorithm that a request to log in (RFC 4252, section 7) names, which the signature
 * must have: "ssh-ed25519"; "rsa-sha2-512" for an RSA key. Length 0 if `data` is no such request.
 * ssh_agent_ask_signature() asks the agent for this one. Pure. */
struct ssh_bytes ssh_agent_algorithm(struct ssh_bytes data);

/* Cancels; allowed only before the callback. NULL is fine. */
void ssh_agent_cancel(struct ssh_agent_question *question);

/* Begins to read an answer and returns the number of keys, or 0 if it is another answer. Then read
 * one key after another, until `reader` fails. Pure. */
uint32_t ssh_agent_read_keys(struct ssh_reader *reader, struct ssh_bytes answer);
void ssh_agent_read_key(struct ssh_reader *reader, struct ssh_bytes *public,
                        struct ssh_bytes *comment);

/* The bytes of a signature of that type; length 0 if the answer is no such signature. */
struct ssh_bytes ssh_agent_read_signature(struct ssh_bytes answer, struct ssh_bytes type);

#endif
