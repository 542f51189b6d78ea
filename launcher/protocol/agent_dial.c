/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of an agent that connects to hvdrun; see agent_dial.h. */
#include "launcher/protocol/agent_dial.h"

#include <stdlib.h>
#include <string.h>

static int dial_finished(const struct wire_reader *reader, const char *what, struct err *err)
{
    if (wire_reader_finished(reader))
        return HVD_OK;
    return fail(err, HVD_ERR_PROTOCOL, "malformed %s frame", what);
}

static int dial_check_version(uint16_t version, struct err *err)
{
    if (version == DIAL_VERSION)
        return HVD_OK;
    return fail(err, HVD_ERR_PROTOCOL, "version %u of the dial protocol, expected %d", version,
                DIAL_VERSION);
}

void dial_invitation_encode(struct wire_writer *writer, const struct dial_invitation *message)
{
    wire_put_u16(writer, message->version);
    wire_put_u16(writer, message->port);
    wire_put_bytes(writer, message->key.bytes, JOB_KEY_SIZE);
    wire_put_u16(writer, (uint16_t)message->naddresses);
    for (int i = 0; i < message->naddresses; i++)
        wire_put_string(writer, message->addresses[i]);
}

int dial_invitation_decode(struct dial_invitation *message, struct wire_reader *reader,
                           struct err *err)
{
    *message = (struct dial_invitation){ .version = wire_get_u16(reader) };
    if (dial_check_version(message->version, err) < 0)
        return HVD_ERR_PROTOCOL;
    message->port = wire_get_u16(reader);
    const void *key = wire_get_bytes(reader, JOB_KEY_SIZE);
    if (key)
        memcpy(message->key.bytes, key, JOB_KEY_SIZE);
    message->naddresses = wire_get_u16(reader);
    if (message->port == 0 || message->naddresses > DIAL_ADDRESSES_MAX)
        return fail(err, HVD_ERR_PROTOCOL, "malformed INVITATION frame");
    for (int i = 0; i < message->naddresses; i++)
        wire_get_string(reader, message->addresses[i], sizeof message->addresses[i]);
    return dial_finished(reader, "INVITATION", err);
}

void dial_hello_encode(struct wire_writer *writer, const struct dial_hello *message)
{
    wire_put_u16(writer, message->version);
    wire_put_u32(writer, message->task);
    wire_put_bytes(writer, message->nonce, NONCE_SIZE);
    wire_put_string(writer, message->node);
}

int dial_hello_decode(struct dial_hello *message, struct wire_reader *reader, struct err *err)
{
    *message = (struct dial_hello){ .version = wire_get_u16(reader) };
    if (dial_check_version(message->version, err) < 0)
        return HVD_ERR_PROTOCOL;
    message->task = wire_get_u32(reader);
    const void *nonce = wire_get_bytes(reader, NONCE_SIZE);
    if (nonce)
        memcpy(message->nonce, nonce, NONCE_SIZE);
    wire_get_string(reader, message->node, sizeof message->node);
    return dial_finished(reader, "HELLO", err);
}

void dial_challenge_encode(struct wire_writer *writer, const struct dial_challenge *message)
{
    wire_put_bytes(writer, message->nonce, NONCE_SIZE);
    wire_put_bytes(writer, message->proof, PROOF_SIZE);
}

int dial_challenge_decode(struct dial_challenge *message, struct wire_reader *reader,
                          struct err *err)
{
    const void *nonce = wire_get_bytes(reader, NONCE_SIZE);
    const void *proof = wire_get_bytes(reader, PROOF_SIZE);
    int rc = dial_finished(reader, "CHALLENGE", err);
    if (rc < 0 || !nonce || !proof)
        return HVD_ERR_PROTOCOL;
    memcpy(message->nonce, nonce, NONCE_SIZE);
    memcpy(message->proof, proof, PROOF_SIZE);
    return HVD_OK;
}

int dial_proof_decode(unsigned char proof[PROOF_SIZE], struct wire_reader *reader, struct err *err)
{
    const void *given = wire_get_bytes(reader, PROOF_SIZE);
    int rc = dial_finished(reader, "PROOF", err);
    if (rc < 0 || !given)
        return HVD_ERR_PROTOCOL;
    memcpy(proof, given, PROOF_SIZE);
    return HVD_OK;
}

/* A digest of HELLO, because the parts of a proof have fixed lengths. */
void dial_prove(unsigned char proof[PROOF_SIZE], enum dial_side side, const struct job_key *key,
                const struct dial_hello *hello, const unsigned char hvdrun_nonce[NONCE_SIZE])
{
    static const char *const labels[] = {
        [DIAL_HVDRUN] = "hvd1 dial hvdrun", [DIAL_AGENT] = "hvd1 dial agent"
    };
    unsigned char digest[DIGEST_SIZE];
    struct wire_writer body = { 0 };
    dial_hello_encode(&body, hello);
    if (body.failed) /* a proof of nothing is refused by the other side */
        memset(digest, 0, sizeof digest);
    else
        auth_digest(digest, body.data, body.length);
    wire_writer_fini(&body);
    auth_proof(proof, key->bytes, labels[side], digest, sizeof digest, hvdrun_nonce, NONCE_SIZE);
}
