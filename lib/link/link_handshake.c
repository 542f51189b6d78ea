/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake of a link; see link_handshake.h. */
#include "lib/link/link_handshake.h"

#include "lib/base/wire.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

_Static_assert((int)LINK_HELLO_SIZE <= (int)LINK_CHALLENGE_SIZE, "one buffer serves all messages");
_Static_assert((int)LINK_EPHEMERAL_SIZE == (int)crypto_scalarmult_BYTES &&
                   (int)LINK_EPHEMERAL_SIZE == (int)crypto_scalarmult_SCALARBYTES,
               "ephemeral keys are X25519 keys");

enum { HELLO_NONCE = 32, HELLO_EPHEMERAL = 64, HELLO_KEY = 96 };
enum { ANSWER_EPHEMERAL = 32, ANSWER_TERMS = 64, ANSWER_KEY = 72 };

_Static_assert((int)HELLO_KEY + RANK_KEY_SIZE + CERTIFICATE_SIZE == (int)LINK_HELLO_SIZE &&
                   (int)ANSWER_KEY + RANK_KEY_SIZE + CERTIFICATE_SIZE == (int)LINK_ANSWER_SIZE,
               "a key and its certificate are the last fields");

/* ---- keys ---- */

/* Makes a secret, and writes its public key; zeros if this side encrypts nothing. */
static void make_ephemeral(struct link_handshake *handshake, bool encrypts, unsigned char *public)
{
    memset(public, 0, LINK_EPHEMERAL_SIZE);
    if (!encrypts)
        return;
    randombytes_buf(handshake->secret, sizeof handshake->secret);
    crypto_scalarmult_base(public, handshake->secret);
}

/* The master key of the link: what both ephemeral keys give, bound to the key of the pair and to
 * all that the proofs cover. */
static void make_master(const struct link_handshake *handshake,
                        const unsigned char shared[LINK_EPHEMERAL_SIZE],
                        unsigned char master[crypto_kdf_KEYBYTES])
{
    static const char label[] = "hvd1 link keys";
    crypto_generichash_state state;
    crypto_generichash_init(&state, handshake->pair.bytes, JOB_KEY_SIZE, crypto_kdf_KEYBYTES);
    crypto_generichash_update(&state, (const unsigned char *)label, sizeof label);
    crypto_generichash_update(&state, shared, LINK_EPHEMERAL_SIZE);
    crypto_generichash_update(&state, handshake->hello, LINK_HELLO_SIZE);
    crypto_generichash_update(&state, handshake->answer, LINK_ANSWER_SIZE);
    crypto_generichash_final(&state, master, crypto_kdf_KEYBYTES);
    sodium_memzero(&state, sizeof state);
}

/* `first` is the number of the direction's two keys. */
static void make_record_keys(struct record_keys *keys, uint64_t first,
                             const unsigned char master[crypto_kdf_KEYBYTES])
{
    crypto_kdf_derive_from_key(keys->data, sizeof keys->data, first, "hvd1link", master);
    crypto_kdf_derive_from_key(keys->sum, sizeof keys->sum, first + 1, "hvd1link", master);
}

/* Both proofs are right. */
static int make_keys(struct link_handshake *handshake, bool initiates, enum cipher cipher,
                     struct err *err)
{
    unsigned char shared[LINK_EPHEMERAL_SIZE], master[crypto_kdf_KEYBYTES];
    const unsigned char *its =
        initiates ? handshake->answer + ANSWER_EPHEMERAL : handshake->hello + HELLO_EPHEMERAL;
    if (handshake->verdict != LINK_ENCRYPTED)
        return HVD_OK;
    int rc = crypto_scalarmult(shared, handshake->secret, its);
    sodium_memzero(handshake->secret, sizeof handshake->secret);
    if (rc != 0)
        return fail(err, HVD_ERR_PROTOCOL, "its ephemeral key gives no secret");
    make_master(handshake, shared, master);
    handshake->keys.cipher = cipher;
    make_record_keys(initiates ? &handshake->keys.send : &handshake->keys.receive, 1, master);
    make_record_keys(initiates ? &handshake->keys.receive : &handshake->keys.send, 3, master);
    sodium_memzero(shared, sizeof shared);
    sodium_memzero(master, sizeof master);
    return HVD_OK;
}

void link_handshake_wipe(struct link_handshake *handshake)
{
    sodium_memzero(&handshake->keys, sizeof handshake->keys);
    sodium_memzero(handshake->secret, sizeof handshake->secret);
    job_key_wipe(&handshake->pair);
}

/* The public key of this rank, and behind it its certificate. */
static void put_credentials(const struct link_handshake *handshake, unsigned char *at)
{
    memcpy(at, handshake->credentials->public, RANK_KEY_SIZE);
    memcpy(at + RANK_KEY_SIZE, handshake->credentials->certificate, CERTIFICATE_SIZE);
}

/* Checks what the peer has put there, and makes the key of the pair. */
static int take_credentials(struct link_handshake *handshake, uint32_t rank,
                            const unsigned char *at, struct err *err)
{
    return rank_credentials_pair(handshake->credentials, rank, at, at + RANK_KEY_SIZE,
                                 &handshake->pair, err);
}

/* ---- messages ---- */

static void hello_encode(struct link_handshake *handshake)
{
    const struct link_identity *identity = &handshake->identity;
    const struct link_terms *own = &handshake->own;
    struct wire_writer writer = { .data = handshake->hello, .capacity = LINK_HELLO_SIZE };
    wire_put_bytes(&writer, "HVDD", 4);
    wire_put_u16(&writer, LINK_VERSION);
    wire_put_u8(&writer, (uint8_t)own->encryption);
    wire_put_u8(&writer, (uint8_t)own->ciphers);
    wire_put_u32(&writer, identity->epoch);
    wire_put_u32(&writer, identity->source);
    wire_put_u32(&writer, identity->target);
    wire_put_u32(&writer, identity->channel);
    wire_put_u32(&writer, identity->streams);
    wire_put_u32(&writer, own->between_hosts);
    nonce_generate(handshake->hello + HELLO_NONCE);
    make_ephemeral(handshake, own->encryption != ENCRYPTION_OFF,
                   handshake->hello + HELLO_EPHEMERAL);
    put_credentials(handshake, handshake->hello + HELLO_KEY);
}

void link_handshake_initiate(struct link_handshake *handshake, const struct link_identity *identity,
                             const struct link_terms *terms, struct rank_credentials *credentials)
{
    *handshake = (struct link_handshake){
        .awaits = AWAITS_CHALLENGE, .identity = *identity, .own = *terms, .credentials = credentials
    };
    hello_encode(handshake);
    memcpy(handshake->out, handshake->hello, LINK_HELLO_SIZE);
    handshake->out_end = LINK_HELLO_SIZE;
}

void link_handshake_accept(struct link_handshake *handshake, const struct link_terms *terms,
                           struct rank_credentials *credentials)
{
    struct link_identity identity = { .epoch = credentials->epoch, .target = credentials->rank };
    *handshake = (struct link_handshake){
        .awaits = AWAITS_HELLO, .identity = identity, .own = *terms, .credentials = credentials
    };
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
    auth_proof(proof, handshake->pair.bytes, label, handshake->hello, LINK_HELLO_SIZE,
               handshake->answer, LINK_ANSWER_SIZE);
}

static int check_proof(const struct link_handshake *handshake, uint32_t rank, const char *label,
                       const unsigned char *given, struct err *err)
{
    unsigned char proof[PROOF_SIZE];
    make_proof(handshake, label, proof);
    if (!auth_equal(proof, given))
        return fail(err, HVD_ERR_AUTH, "it cannot prove that it is rank %u", rank);
    return HVD_OK;
}

/* Writes the initiator's identity and terms. */
static int hello_decode(struct link_identity *identity, struct link_terms *terms,
                        const unsigned char *hello, struct err *err)
{
    struct wire_reader reader;
    wire_reader_init(&reader, hello, HELLO_NONCE);
    if (memcmp(wire_get_bytes(&reader, 4), "HVDD", 4) != 0)
        return fail(err, HVD_ERR_PROTOCOL, "not a hello");
    if (wire_get_u16(&reader) != LINK_VERSION)
        return fail(err, HVD_ERR_PROTOCOL, "another version of the link protocol");
    uint8_t encryption = wire_get_u8(&reader);
    terms->ciphers = wire_get_u8(&reader);
    bool same = wire_get_u32(&reader) == identity->epoch;
    identity->source = wire_get_u32(&reader);
    same &= wire_get_u32(&reader) == identity->target;
    identity->channel = wire_get_u32(&reader);
    identity->streams = wire_get_u32(&reader);
    uint32_t between = wire_get_u32(&reader);
    terms->encryption = (enum encryption)encryption;
    terms->between_hosts = between;
    if (!same)
        return fail(err, HVD_ERR_PROTOCOL, "a hello for another rank or world");
    if (encryption > ENCRYPTION_REQUIRE || between > 1)
        return fail(err, HVD_ERR_PROTOCOL, "a hello that cannot be");
    return HVD_OK;
}

/* The agreed encryption, by the settings of both sides, which the proofs cover. */
static enum encryption_verdict judge_terms(const struct link_terms *initiator,
                                           const struct link_terms *acceptor)
{
    return encryption_judge(initiator->encryption, acceptor->encryption, initiator->between_hosts);
}

static int on_hello(struct link_handshake *handshake, struct err *err)
{
    struct link_terms *own = &handshake->own, *its = &handshake->its;
    int rc = hello_decode(&handshake->identity, its, handshake->in, err);
    if (rc < 0)
        return rc;
    enum cipher cipher = CIPHER_NONE;
    handshake->verdict = judge_terms(its, own);
    bool encrypts = handshake->verdict == LINK_ENCRYPTED;
    if (encrypts && (cipher = cipher_choose(own->ciphers, its->ciphers)) == CIPHER_NONE)
        return fail(err, HVD_ERR_PROTOCOL, "no cipher in common");
    rc = take_credentials(handshake, handshake->identity.source, handshake->in + HELLO_KEY, err);
    if (rc < 0)
        return rc;
    unsigned char *answer = handshake->answer, proof[PROOF_SIZE];
    memcpy(handshake->hello, handshake->in, LINK_HELLO_SIZE);
    nonce_generate(answer);
    make_ephemeral(handshake, encrypts, answer + ANSWER_EPHEMERAL);
    answer[ANSWER_TERMS] = (unsigned char)own->encryption;
    answer[ANSWER_TERMS + 1] = (unsigned char)cipher;
    put_credentials(handshake, answer + ANSWER_KEY);
    make_proof(handshake, "hvd1 acceptor", proof);
    link_handshake_say(handshake, answer, LINK_ANSWER_SIZE);
    link_handshake_say(handshake, proof, PROOF_SIZE);
    handshake->awaits = AWAITS_PROOF;
    return HVD_OK;
}

/* The acceptor has proved its answer, so only a rank of the job could have made a bad one. */
static int answer_decode(struct link_handshake *handshake, enum cipher *cipher, struct err *err)
{
    static const unsigned char zero[ANSWER_KEY - ANSWER_TERMS - 2];
    const unsigned char *terms = handshake->answer + ANSWER_TERMS;
    struct link_terms *own = &handshake->own, *its = &handshake->its;
    *cipher = (enum cipher)terms[1];
    its->encryption = (enum encryption)terms[0];
    if (terms[0] > ENCRYPTION_REQUIRE || memcmp(terms + 2, zero, sizeof zero) != 0)
        return fail(err, HVD_ERR_PROTOCOL, "an answer that cannot be");
    handshake->verdict = judge_terms(own, its);
    bool is_offered = terms[1] <= CIPHER_CHACHA20POLY1305 && own->ciphers & 1u << terms[1];
    if (handshake->verdict == LINK_ENCRYPTED ? !is_offered : terms[1] != CIPHER_NONE)
        return fail(err, HVD_ERR_PROTOCOL, "a cipher that was not offered");
    return HVD_OK;
}

static int on_challenge(struct link_handshake *handshake, struct err *err)
{
    enum cipher cipher;
    uint32_t target = handshake->identity.target;
    memcpy(handshake->answer, handshake->in, LINK_ANSWER_SIZE);
    int rc = take_credentials(handshake, target, handshake->answer + ANSWER_KEY, err);
    if (rc == HVD_OK)
        rc = check_proof(handshake, target, "hvd1 acceptor", handshake->in + LINK_ANSWER_SIZE, err);
    if (rc == HVD_OK)
        rc = answer_decode(handshake, &cipher, err);
    if (rc == HVD_OK)
        rc = make_keys(handshake, true, cipher, err);
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
    uint32_t source = handshake->identity.source;
    int rc = check_proof(handshake, source, "hvd1 initiator", handshake->in, err);
    if (rc == HVD_OK)
        rc = make_keys(handshake, false, (enum cipher)handshake->answer[ANSWER_TERMS + 1], err);
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
