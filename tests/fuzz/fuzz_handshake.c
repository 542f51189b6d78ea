/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake of two ranks over a wire that somebody else holds (lib/link/link_handshake.c),
 * or one of them and a peer without credentials.
 *
 *   u8: bit 0 an unauthenticated peer instead of the initiator, bit 1 instead of the acceptor, bit
 *   2 they mean different ranks, bit 3 different worlds, bit 4 different certifiers, bit 5 the initiator
 *   requires encryption, bit 6 the acceptor does, bit 7 both would have it; then steps, each u8 what:
 *     0 the initiator's next bytes arrive: u8 how many   1 the acceptor's
 *     2 as 0, one byte of them changed: u8 which, u8     3 as 1, changed
 *     4 bytes made up for the acceptor: u8 how many, they   5 for the initiator
 *
 * Whatever it does: who has no credentials is never let in; nobody is done who was told anything
 * else than the other side has said, or who means another link; two that are done have the same
 * verdict, and keys that fit; not one byte more is taken than the
 * handshake has; once failed, it is over. */
#include "lib/link/link_handshake.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/credentials.h"

#include <stdlib.h>
#include <string.h>

enum { INITIATOR, ACCEPTOR, SIDES };

static struct side {
    struct link_handshake handshake;
    bool unauthenticated; /* nobody is there: what it says is made up */
    bool failed, lied;    /* lied: was told what the other has not said, and what a proof covers */
    size_t taken;         /* bytes */
} sides[SIDES];

/* Bytes that a proof covers, of all that a side is told: the last one to the initiator, "ready", is
 * bare. */
static const size_t proved[SIDES] = { LINK_CHALLENGE_SIZE, LINK_HELLO_SIZE + PROOF_SIZE };

/* The initiator's credentials, then the acceptor's; bit 0 of their number: another rank, bit 1: of
 * another epoch, bit 2: of another certifier. They are made once, so what a rank keeps of others is
 * as after many links. */
static struct rank_credentials *ranks_of_world(void)
{
    static struct rank_certifier certifiers[2];
    static struct rank_credentials ranks[1 + 8];
    if (ranks[0].epoch > 0)
        return ranks;
    rank_certifier_generate(&certifiers[0]);
    rank_certifier_generate(&certifiers[1]);
    credentials_make(&ranks[0], &certifiers[0], 7, 1);
    for (int i = 0; i < 8; i++)
        credentials_make(&ranks[1 + i], &certifiers[i >> 2], i & 2 ? 8 : 7, i & 1 ? 3 : 2);
    return ranks;
}

static struct link_terms terms(bool requires, bool allows)
{
    return (struct link_terms){ .encryption = requires ? ENCRYPTION_REQUIRE
                                              : allows ? ENCRYPTION_AUTO
                                                       : ENCRYPTION_OFF,
                                .ciphers = cipher_supported(),
                                .between_hosts = true };
}

static void begin(uint8_t how)
{
    struct link_identity identity = { 7, 1, 2, 3, 4 };
    struct rank_credentials *ranks = ranks_of_world();
    memset(sides, 0, sizeof sides);
    struct link_terms initiators = terms(how & 32, how & 128),
                      acceptors = terms(how & 64, how & 128);
    link_handshake_initiate(&sides[INITIATOR].handshake, &identity, &initiators, &ranks[0]);
    link_handshake_accept(&sides[ACCEPTOR].handshake, &acceptors, &ranks[1 + (how >> 2 & 7)]);
    sides[INITIATOR].unauthenticated = how & 1;
    sides[ACCEPTOR].unauthenticated = how & 2;
}

/* As many bytes as it wants come to `side`. Returns how many. */
static size_t tell(struct side *side, const uint8_t *bytes, size_t length)
{
    size_t done = 0, room;
    struct err err = { .code = HVD_OK };
    while (done < length && !side->failed) {
        void *space = link_handshake_space(&side->handshake, &room);
        size_t n = room < length - done ? room : length - done;
        if (n == 0)
            break;
        memcpy(space, bytes + done, n);
        done += n;
        int rc = link_handshake_received(&side->handshake, n, &err);
        PROMISE(rc == HVD_OK || rc == HVD_ERR_PROTOCOL || rc == HVD_ERR_AUTH);
        side->failed = rc < 0;
    }
    side->taken += done;
    return done;
}

/* What `from` has to say goes to the other side, or nowhere. */
static void pass(int from, struct fuzz_input *input, bool change)
{
    uint8_t bytes[LINK_CHALLENGE_SIZE];
    struct side *speaker = &sides[from], *listener = &sides[1 - from];
    size_t length, most = 1 + fuzz_u8(input);
    const void *output = link_handshake_output(&speaker->handshake, &length);
    length = length < most ? length : most;
    if (length > 0)
        memcpy(bytes, output, length);
    uint8_t which = change ? fuzz_u8(input) : 0, mask = change ? fuzz_u8(input) : 0;
    if (speaker->unauthenticated || speaker->failed || length == 0)
        return;
    bytes[which % length] ^= mask;
    if (listener->unauthenticated) {
        link_handshake_sent(&speaker->handshake, length);
        return;
    }
    size_t before = listener->taken, taken = tell(listener, bytes, length);
    if (mask != 0 && which % length < taken)
        listener->lied |= before + which % length < proved[1 - from];
    link_handshake_sent(&speaker->handshake, taken);
}

static void make_up(int for_whom, struct fuzz_input *input)
{
    size_t length;
    uint8_t *bytes = fuzz_bytes(input, &length);
    struct side *side = &sides[for_whom];
    size_t before = side->taken;
    if (!side->unauthenticated && tell(side, bytes, length) > 0)
        side->lied |= before < proved[for_whom];
    free(bytes);
}

static void step(struct fuzz_input *input)
{
    uint8_t what = fuzz_u8(input) % 6;
    if (what < 4)
        pass(what & 1, input, what & 2);
    else
        make_up(what == 4 ? ACCEPTOR : INITIATOR, input);
}

/* Of two sides that are done, and have heard only each other. */
static void check_keys(void)
{
    const struct link_handshake *one = &sides[INITIATOR].handshake,
                                *other = &sides[ACCEPTOR].handshake;
    if (sides[INITIATOR].failed || sides[ACCEPTOR].failed || one->awaits != AWAITS_NOTHING ||
        other->awaits != AWAITS_NOTHING)
        return;
    PROMISE(one->verdict == other->verdict);
    PROMISE(one->keys.cipher == other->keys.cipher);
    PROMISE((one->keys.cipher != CIPHER_NONE) == (one->verdict == LINK_ENCRYPTED));
    PROMISE(memcmp(&one->keys.send, &other->keys.receive, sizeof one->keys.send) == 0);
    PROMISE(memcmp(&one->keys.receive, &other->keys.send, sizeof one->keys.send) == 0);
}

static void check(uint8_t how)
{
    static const size_t most[SIDES] = { LINK_CHALLENGE_SIZE + 1, LINK_HELLO_SIZE + PROOF_SIZE };
    bool unauthenticated = how & 3, differ = how & 28;
    for (int i = 0; i < SIDES; i++) {
        const struct side *side = &sides[i];
        bool done = !side->failed && side->handshake.awaits == AWAITS_NOTHING;
        PROMISE(side->taken <= most[i]);
        PROMISE(!done || (!side->lied && !unauthenticated && !differ));
        PROMISE(!done || side->taken == most[i]);
    }
    check_keys();
    const struct link_identity *claimed = &sides[ACCEPTOR].handshake.identity;
    if (sides[ACCEPTOR].handshake.awaits == AWAITS_NOTHING && !sides[ACCEPTOR].failed)
        PROMISE(claimed->source == 1 && claimed->channel == 3 && claimed->streams == 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    uint8_t how = fuzz_u8(&input);
    begin(how);
    while (input.left > 0) {
        step(&input);
        check(how);
    }
    return 0;
}
