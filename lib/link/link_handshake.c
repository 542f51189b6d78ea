/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake of a link; see link_handshake.h. */
#include "lib/link/link_handshake.h"

#include "lib/base/wire.h"

#include <assert.h>
#include <string.h>

_Static_assert((int)LINK_CHALLENGE_SIZE <= (int)LINK_HELLO_SIZE, "one buffer serves all messages");

static void hello_encode(unsigned char hello[LINK_HELLO_SIZE], const struct link_identity *identity)
{
    struct wire_writer writer = { .data = hello, .capacity = LINK_HELLO_SIZE };
    wire_put_bytes(&writer, "HVDD", 4);
    wire_put_u16(&writer, LINK_VERSION);
    wire_put_u16(&writer, 0);
    wire_put_u32(&writer, identity->epoch);
    wire_put_u32(&writer, identity->source);
    wire_put_u32(&writer, identity->target);
    wire_put_u32(&writer, identity->channel);
    wire_put_u32(&writer, identity->streams);
    wire_put_u32(&writer, 0);
    nonce_generate(hello + LINK_HELLO_SIZE - NONCE_SIZE);
}

void link_handshake_initiate(struct link_handshake *handshake, const struct link_identity *identity,
                             const struct job_key *key)
{
    *handshake =
        (struct link_handshake){ .awaits = AWAITS_CHALLENGE, .identity = *identity, .key = key };
    hello_encode(handshake->hello, identity);
    memcpy(handshake->out, handshake->hello, LINK_HELLO_SIZE);
    handshake->out_end = LINK_HELLO_SIZE;
}

void link_handshake_accept(struct link_handshake *handshake, uint32_t epoch, uint32_t target,
                           const struct job_key *key)
{
    *handshake = (struct link_handshake){ .awaits = AWAITS_HELLO,
                                          .identity = { .epoch = epoch, .target = target },
                                          .key = key };
}

const void *link_handshake_output(const struct link_handshake *handshake, size_t *length)
{
    *length = handshake->out_end - handshake->out_start;
    return handshake->out + handshake->out_start;
}

void link_handshake_sent(struct link_handshake *handshake, size_t nbytes)
{
    handshake->out_start += nbytes;
    assert(handshake->out_start <= handshake->out_end);
}

static void link_handshake_say(struct link_handshake *handshake, const void *data, size_t length)
{
    if (handshake->out_start == handshake->out_end)
        handshake->out_start = handshake->out_end = 0;
    assert(handshake->out_end + length <= sizeof handshake->out);
    memcpy(handshake->out + handshake->out_end, data, length);
    handshake->out_end += length;
}

static void make_proof(const struct link_handshake *handshake, const char *label,
                       unsigned char proof[PROOF_SIZE])
{
    auth_proof(proof, handshake->key->bytes, label, handshake->hello, LINK_HELLO_SIZE,
               handshake->nonce, NONCE_SIZE);
}

static int check_proof(const struct link_handshake *handshake, const char *label,
                       const unsigned char *given, struct err *err)
{
    unsigned char proof[PROOF_SIZE];
    make_proof(handshake, label, proof);
    if (!auth_equal(proof, given))
        return fail(err, HVD_ERR_AUTH, "it does not know the job's key");
    return HVD_OK;
}

/* Writes the initiator's hello. */
static int hello_decode(struct link_identity *identity, const unsigned char *hello, struct err *err)
{
    struct wire_reader reader;
    wire_reader_init(&reader, hello, LINK_HELLO_SIZE - NONCE_SIZE);
    if (memcmp(wire_get_bytes(&reader, 4), "HVDD", 4) != 0)
        return fail(err, HVD_ERR_PROTOCOL, "not a hello");
    if (wire_get_u16(&reader) != LINK_VERSION)
        return fail(err, HVD_ERR_PROTOCOL, "another version of the link protocol");
    uint16_t zero = wire_get_u16(&reader);
    bool same = wire_get_u32(&reader) == identity->epoch;
    identity->source = wire_get_u32(&reader);
    same &= wire_get_u32(&reader) == identity->target;
    identity->channel = wire_get_u32(&reader);
    identity->streams = wire_get_u32(&reader);
    if (zero != 0 || !same || wire_get_u32(&reader) != 0)
        return fail(err, HVD_ERR_PROTOCOL, "a hello for another rank or world");
    return HVD_OK;
}

static int on_hello(struct link_handshake *handshake, struct err *err)
{
    int rc = hello_decode(&handshake->identity, handshake->in, err);
    if (rc < 0)
        return rc;
    memcpy(handshake->hello, handshake->in, LINK_HELLO_SIZE);
    nonce_generate(handshake->nonce);
    unsigned char proof[PROOF_SIZE];
    make_proof(handshake, "hvd1 acceptor", proof);
    link_handshake_say(handshake, handshake->nonce, NONCE_SIZE);
    link_handshake_say(handshake, proof, PROOF_SIZE);
    handshake->awaits = AWAITS_PROOF;
    return HVD_OK;
}

static int on_challenge(struct link_handshake *handshake, struct err *err)
{
    memcpy(handshake->nonce, handshake->in, NONCE_SIZE);
    int rc = check_proof(handshake, "hvd1 acceptor", handshake->in + NONCE_SIZE, err);
    if (rc < 0)
        return rc;
    unsigned char proof[PROOF_SIZE];
    make_proof(handshake, "hvd1 initiator", proof);
    link_handshake_say(handshake, proof, PROOF_SIZE);
    handshake->awaits = AWAITS_READY;
    return HVD_OK;
}

static int on_proof(struct link_handshake *handshake, struct err *err)
{
    int rc = check_proof(handshake, "hvd1 initiator", handshake->in, err);
    if (rc < 0)
        return rc;
    link_handshake_say(handshake, "\1", 1);
    handshake->awaits = AWAITS_NOTHING;
    return HVD_OK;
}

static int on_link_handshake_ready(struct link_handshake *handshake, struct err *err)
{
    if (handshake->in[0] != 1)
        return fail(err, HVD_ERR_PROTOCOL, "it is not ready");
    handshake->awaits = AWAITS_NOTHING;
    return HVD_OK;
}

static const struct {
    size_t size;
    int (*on_message)(struct link_handshake *handshake, struct err *err);
} messages[] = {
    [AWAITS_HELLO] = { LINK_HELLO_SIZE, on_hello },
    [AWAITS_CHALLENGE] = { LINK_CHALLENGE_SIZE, on_challenge },
    [AWAITS_PROOF] = { PROOF_SIZE, on_proof },
    [AWAITS_READY] = { 1, on_link_handshake_ready },
    [AWAITS_NOTHING] = { 0, NULL },
};

void *link_handshake_space(struct link_handshake *handshake, size_t *length)
{
    size_t size = messages[handshake->awaits].size;
    bool speaks = handshake->out_start < handshake->out_end; /* answers before it listens again */
    *length = speaks ? 0 : size - handshake->received;
    return handshake->in + handshake->received;
}

int link_handshake_received(struct link_handshake *handshake, size_t nbytes, struct err *err)
{
    handshake->received += nbytes;
    assert(handshake->received <= messages[handshake->awaits].size);
    if (handshake->received < messages[handshake->awaits].size)
        return HVD_OK;
    handshake->received = 0;
    return messages[handshake->awaits].on_message(handshake, err);
}

bool link_handshake_done(const struct link_handshake *handshake)
{
    return handshake->awaits == AWAITS_NOTHING && handshake->out_start == handshake->out_end;
}
