/* SPDX-License-Identifier: Apache-2.0 */
/* Two ranks of one world that mean the same link agree, however their bytes are cut; nobody else
 * gets a link, and no rank gets the link of another. */
#include "lib/link/link_handshake.h"
#include "tests/support/credentials.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <string.h>

static struct rank_certifier certifier;
static struct rank_credentials ranks[3]; /* of the world of link01 */
static const struct link_identity link01 = { .epoch = 4, .source = 0, .target = 1, .channel = 2 };
static struct link_handshake initiator, acceptor;

enum { WHOLE = LINK_CHALLENGE_SIZE }; /* the longest message */

static const struct link_terms off = { .encryption = ENCRYPTION_OFF, .between_hosts = true };
static struct link_terms required; /* of setup() */

static void begin(const struct link_terms *initiators, const struct link_terms *acceptors)
{
    link_handshake_initiate(&initiator, &link01, initiators, &ranks[0]);
    link_handshake_accept(&acceptor, acceptors, &ranks[1]);
}

static void setup(void)
{
    ck_assert_int_eq(auth_init(NULL), HVD_OK);
    rank_certifier_generate(&certifier);
    for (uint32_t rank = 0; rank < 3; rank++)
        credentials_make(&ranks[rank], &certifier, link01.epoch, rank);
    required =
        (struct link_terms){ .encryption = ENCRYPTION_REQUIRE, .ciphers = cipher_supported() };
    begin(&off, &off);
}

/* Moves at most `step` bytes. Returns how many, or the status that `to` ends with. */
static int carry(struct link_handshake *from, struct link_handshake *to, size_t step)
{
    size_t length, room;
    const void *data = link_handshake_output(from, &length);
    void *space = link_handshake_space(to, &room);
    size_t count = length < room ? length : room;
    count = count < step ? count : step;
    if (count == 0)
        return 0;
    struct err err;
    memcpy(space, data, count);
    link_handshake_sent(from, count);
    int rc = link_handshake_received(to, count, &err);
    return rc < 0 ? rc : (int)count;
}

/* Both ways until nothing moves or somebody refuses. */
static int converse(size_t step)
{
    int there, back;
    do {
        if ((there = carry(&initiator, &acceptor, step)) < 0)
            return there;
        if ((back = carry(&acceptor, &initiator, step)) < 0)
            return back;
    } while (there + back > 0);
    return HVD_OK;
}

static bool both_done(void)
{
    return link_handshake_done(&initiator) && link_handshake_done(&acceptor);
}

START_TEST(nothing_said_is_nothing_agreed)
{
    ck_assert(!link_handshake_done(&initiator));
    ck_assert(!link_handshake_done(&acceptor));
}
END_TEST

START_TEST(two_ranks_of_one_job_agree_however_bytes_are_cut)
{
    for (size_t step = 1; step <= LINK_CHALLENGE_SIZE + 10; step++) {
        setup();
        ck_assert_int_eq(converse(step), HVD_OK);
        ck_assert(both_done());
    }
}
END_TEST

START_TEST(the_acceptor_learns_who_dials_and_for_which_channel)
{
    ck_assert_int_eq(converse(WHOLE), HVD_OK);
    ck_assert_mem_eq(&acceptor.identity, &link01, sizeof link01);
}
END_TEST

START_TEST(nothing_beyond_the_handshake_is_asked_for)
{
    size_t room;
    ck_assert_int_eq(converse(WHOLE), HVD_OK);
    link_handshake_space(&initiator, &room);
    ck_assert_uint_eq(room, 0);
    link_handshake_space(&acceptor, &room);
    ck_assert_uint_eq(room, 0);
}
END_TEST

static void begin_encrypted(bool encrypted)
{
    const struct link_terms *terms = encrypted ? &required : &off;
    begin(terms, terms);
}

/* The settings, the ciphers and the ephemeral keys are among the bits. */
START_TEST(every_flipped_bit_of_the_hello_is_refused)
{
    for (int bit = 0; bit < 8 * LINK_HELLO_SIZE; bit++) {
        begin_encrypted(_i);
        initiator.out[bit / 8] ^= (unsigned char)(1 << bit % 8);
        int rc = converse(WHOLE);
        ck_assert_msg(rc == HVD_ERR_PROTOCOL || rc == HVD_ERR_AUTH, "bit %d: %d", bit, rc);
        ck_assert(!link_handshake_done(&initiator) && !link_handshake_done(&acceptor));
    }
}
END_TEST

START_TEST(every_flipped_bit_of_the_challenge_is_refused)
{
    for (int bit = 0; bit < 8 * LINK_CHALLENGE_SIZE; bit++) {
        begin_encrypted(_i);
        carry(&initiator, &acceptor, WHOLE);
        acceptor.out[bit / 8] ^= (unsigned char)(1 << bit % 8);
        ck_assert_int_eq(converse(WHOLE), HVD_ERR_AUTH);
        ck_assert(!link_handshake_done(&initiator));
    }
}
END_TEST

START_TEST(every_flipped_bit_of_the_proof_is_refused)
{
    for (int bit = 0; bit < 8 * PROOF_SIZE; bit++) {
        begin_encrypted(_i);
        carry(&initiator, &acceptor, WHOLE);
        carry(&acceptor, &initiator, WHOLE);
        initiator.out[bit / 8] ^= (unsigned char)(1 << bit % 8);
        ck_assert_int_eq(converse(WHOLE), HVD_ERR_AUTH);
        ck_assert(!link_handshake_done(&acceptor));
    }
}
END_TEST

START_TEST(a_ready_byte_of_another_value_is_refused)
{
    carry(&initiator, &acceptor, WHOLE);
    carry(&acceptor, &initiator, WHOLE);
    carry(&initiator, &acceptor, WHOLE);
    acceptor.out[acceptor.out_start] = 0;
    ck_assert_int_eq(converse(WHOLE), HVD_ERR_PROTOCOL);
    ck_assert(!link_handshake_done(&initiator));
}
END_TEST

/* A rank of the same job that was in the world before, or is in another job. */
START_TEST(another_certifier_is_refused_by_either_side)
{
    struct rank_certifier other;
    struct rank_credentials foreign;
    rank_certifier_generate(&other);
    credentials_make(&foreign, &other, link01.epoch, (uint32_t)_i);
    begin(&off, &off);
    if (_i == 0)
        link_handshake_initiate(&initiator, &link01, &off, &foreign);
    else
        link_handshake_accept(&acceptor, &off, &foreign);
    ck_assert_int_eq(converse(WHOLE), HVD_ERR_AUTH);
    ck_assert(!link_handshake_done(_i == 0 ? &acceptor : &initiator));
}
END_TEST

/* Rank 2 has all that a rank of this world has, and says to be rank 0, or rank 1. */
static void begin_with_third_rank(int which, struct rank_credentials *third)
{
    begin(&off, &off);
    if (which == 0)
        link_handshake_initiate(&initiator, &link01, &off, third);
    else
        link_handshake_accept(&acceptor, &off, third);
}

static void check_third_is_refused(int which)
{
    struct err err;
    struct link_handshake *third = which == 0 ? &initiator : &acceptor,
                          *honest = which == 0 ? &acceptor : &initiator;
    carry(&initiator, &acceptor, LINK_HELLO_SIZE - (which == 0));
    if (which == 1)
        carry(&acceptor, &initiator, LINK_CHALLENGE_SIZE - 1);
    size_t length, room;
    const unsigned char *last = link_handshake_output(third, &length);
    void *space = link_handshake_space(honest, &room);
    ck_assert_uint_eq(length, 1);
    ck_assert_uint_eq(room, 1);
    memcpy(space, last, 1);
    ck_assert_int_eq(link_handshake_received(honest, 1, &err), HVD_ERR_AUTH);
    ck_assert_str_eq(err.text, which == 0 ? "it cannot prove that it is rank 0"
                                          : "it cannot prove that it is rank 1");
    ck_assert(!link_handshake_done(honest));
}

START_TEST(a_third_rank_with_its_own_certificate_is_refused)
{
    struct rank_credentials third = ranks[2];
    third.rank = (uint32_t)_i; /* what it claims */
    begin_with_third_rank(_i, &third);
    check_third_is_refused(_i);
}
END_TEST

/* Certificates and public keys are no secrets. */
START_TEST(a_third_rank_with_the_certificate_of_another_is_refused)
{
    struct rank_credentials third = ranks[_i];
    memcpy(third.secret, ranks[2].secret, sizeof third.secret);
    begin_with_third_rank(_i, &third);
    ck_assert_int_eq(converse(WHOLE), HVD_ERR_AUTH);
    ck_assert(!link_handshake_done(_i == 0 ? &acceptor : &initiator));
}
END_TEST

/* After an honest link: what a rank has kept of another helps nobody else. */
START_TEST(a_third_rank_is_refused_after_a_link_was_made)
{
    begin(&off, &off);
    ck_assert_int_eq(converse(WHOLE), HVD_OK);
    struct rank_credentials third = ranks[2];
    third.rank = (uint32_t)_i;
    begin_with_third_rank(_i, &third);
    check_third_is_refused(_i);
}
END_TEST

START_TEST(another_world_or_target_is_refused)
{
    static const struct link_identity others[] = {
        { .epoch = 3, .source = 0, .target = 1, .channel = 2 },
        { .epoch = 4, .source = 0, .target = 2, .channel = 2 },
        { .epoch = 4, .source = 1, .target = 0, .channel = 2 },
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        setup();
        link_handshake_initiate(&initiator, &others[i], &off, &ranks[others[i].source]);
        ck_assert_int_eq(converse(WHOLE), HVD_ERR_PROTOCOL);
    }
}
END_TEST

/* Somebody without the key sends an initiator's own words back to it. */
START_TEST(an_echo_is_refused)
{
    size_t length;
    unsigned char hello[LINK_CHALLENGE_SIZE] = { 0 };
    memcpy(hello, link_handshake_output(&initiator, &length), LINK_HELLO_SIZE);
    link_handshake_sent(&initiator, length);
    memcpy(link_handshake_space(&initiator, &length), hello, LINK_CHALLENGE_SIZE);
    ck_assert_int_eq(link_handshake_received(&initiator, length, NULL), HVD_ERR_AUTH);
}
END_TEST

/* Two ranks dial each other; somebody without the key plays their hellos off against each other. */
START_TEST(a_reflected_hello_is_for_another_link)
{
    link_handshake_accept(&acceptor, &off, &ranks[0]); /* rank 0 accepts, too */
    ck_assert_int_eq(converse(WHOLE), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(a_recorded_conversation_cannot_be_replayed)
{
    unsigned char hello[LINK_HELLO_SIZE], proof[PROOF_SIZE];
    size_t length;
    memcpy(hello, initiator.out, sizeof hello);
    carry(&initiator, &acceptor, WHOLE);
    carry(&acceptor, &initiator, WHOLE);
    memcpy(proof, initiator.out, sizeof proof);
    ck_assert_int_eq(converse(WHOLE), HVD_OK);

    link_handshake_accept(&acceptor, &off, &ranks[1]);
    memcpy(link_handshake_space(&acceptor, &length), hello, sizeof hello);
    ck_assert_int_eq(link_handshake_received(&acceptor, sizeof hello, NULL), HVD_OK);
    link_handshake_output(&acceptor, &length);
    link_handshake_sent(&acceptor, length);
    memcpy(link_handshake_space(&acceptor, &length), proof, sizeof proof);
    ck_assert_int_eq(link_handshake_received(&acceptor, sizeof proof, NULL), HVD_ERR_AUTH);
}
END_TEST

/* Nor do the answers of an acceptor convince an initiator that comes later. */
START_TEST(a_recorded_answer_cannot_be_replayed)
{
    unsigned char challenge[LINK_CHALLENGE_SIZE];
    size_t length;
    carry(&initiator, &acceptor, WHOLE);
    memcpy(challenge, acceptor.out, sizeof challenge);
    ck_assert_int_eq(converse(WHOLE), HVD_OK);

    link_handshake_initiate(&initiator, &link01, &off, &ranks[0]);
    link_handshake_output(&initiator, &length);
    link_handshake_sent(&initiator, length);
    memcpy(link_handshake_space(&initiator, &length), challenge, sizeof challenge);
    ck_assert_int_eq(link_handshake_received(&initiator, sizeof challenge, NULL), HVD_ERR_AUTH);
}
END_TEST

/* A proof for one role is none for the other: what an acceptor proves to us does not help to prove
 * anything to it. */
START_TEST(an_acceptors_proof_does_not_serve_an_initiator)
{
    size_t length;
    unsigned char proof[PROOF_SIZE];
    carry(&initiator, &acceptor, WHOLE);
    memcpy(proof, acceptor.out + LINK_ANSWER_SIZE, sizeof proof);
    link_handshake_output(&acceptor, &length);
    link_handshake_sent(&acceptor, length);
    memcpy(link_handshake_space(&acceptor, &length), proof, sizeof proof);
    ck_assert_int_eq(link_handshake_received(&acceptor, sizeof proof, NULL), HVD_ERR_AUTH);
}
END_TEST

/* ---- encryption ---- */

static const struct {
    enum encryption initiator, acceptor;
    bool between_hosts;
    enum encryption_verdict verdict;
} settings[] = {
    { ENCRYPTION_OFF, ENCRYPTION_OFF, true, LINK_PLAIN },
    { ENCRYPTION_OFF, ENCRYPTION_AUTO, true, LINK_PLAIN },
    { ENCRYPTION_AUTO, ENCRYPTION_OFF, true, LINK_PLAIN },
    { ENCRYPTION_AUTO, ENCRYPTION_AUTO, false, LINK_PLAIN },
    { ENCRYPTION_AUTO, ENCRYPTION_AUTO, true, LINK_ENCRYPTED },
    { ENCRYPTION_AUTO, ENCRYPTION_REQUIRE, false, LINK_ENCRYPTED },
    { ENCRYPTION_REQUIRE, ENCRYPTION_AUTO, false, LINK_ENCRYPTED },
    { ENCRYPTION_REQUIRE, ENCRYPTION_REQUIRE, false, LINK_ENCRYPTED },
    { ENCRYPTION_REQUIRE, ENCRYPTION_OFF, true, LINK_REFUSED },
    { ENCRYPTION_OFF, ENCRYPTION_REQUIRE, false, LINK_REFUSED },
};

static const struct link_keys no_keys;

START_TEST(both_sides_know_the_settings_and_come_to_the_same_verdict)
{
    struct link_terms lower = { .encryption = settings[_i].initiator,
                                .ciphers = cipher_supported(),
                                .between_hosts = settings[_i].between_hosts };
    struct link_terms higher = { .encryption = settings[_i].acceptor,
                                 .ciphers = cipher_supported() };
    begin(&lower, &higher);
    ck_assert_int_eq(converse(WHOLE), HVD_OK);
    ck_assert(both_done());
    ck_assert_int_eq(initiator.verdict, settings[_i].verdict);
    ck_assert_int_eq(acceptor.verdict, settings[_i].verdict);
    ck_assert_int_eq(acceptor.its.encryption, settings[_i].initiator);
    ck_assert_int_eq(initiator.its.encryption, settings[_i].acceptor);
    bool has_keys = memcmp(&initiator.keys, &no_keys, sizeof no_keys) != 0;
    ck_assert_int_eq(has_keys, settings[_i].verdict == LINK_ENCRYPTED);
}
END_TEST

static bool is_same(const struct record_keys *a, const struct record_keys *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static const struct {
    unsigned initiator, acceptor;
    enum cipher cipher;
} ciphers[] = {
    { 6, 6, CIPHER_AES256GCM },        { 4, 6, CIPHER_CHACHA20POLY1305 },
    { 6, 4, CIPHER_CHACHA20POLY1305 }, { 4, 4, CIPHER_CHACHA20POLY1305 },
    { 0xfe, 6, CIPHER_AES256GCM }, /* ciphers that we do not know */
};

START_TEST(the_best_cipher_of_both_is_chosen_and_each_direction_has_keys_of_its_own)
{
    struct link_terms lower = required, higher = required;
    lower.ciphers = ciphers[_i].initiator;
    higher.ciphers = ciphers[_i].acceptor;
    begin(&lower, &higher);
    ck_assert_int_eq(converse(WHOLE), HVD_OK);
    ck_assert_int_eq(initiator.keys.cipher, ciphers[_i].cipher);
    ck_assert_int_eq(acceptor.keys.cipher, ciphers[_i].cipher);
    ck_assert(is_same(&initiator.keys.send, &acceptor.keys.receive));
    ck_assert(is_same(&initiator.keys.receive, &acceptor.keys.send));
    ck_assert(!is_same(&initiator.keys.send, &initiator.keys.receive));
}
END_TEST

START_TEST(two_links_of_one_pair_have_other_keys)
{
    begin(&required, &required);
    ck_assert_int_eq(converse(WHOLE), HVD_OK);
    struct link_keys first = initiator.keys;
    begin(&required, &required);
    ck_assert_int_eq(converse(WHOLE), HVD_OK);
    ck_assert(!is_same(&first.send, &initiator.keys.send));
    ck_assert(!is_same(&first.receive, &initiator.keys.receive));
}
END_TEST

START_TEST(no_cipher_in_common_is_refused)
{
    struct link_terms aes = required;
    aes.ciphers = 1u << CIPHER_AES256GCM;
    struct link_terms chacha = required;
    chacha.ciphers = 1u << CIPHER_CHACHA20POLY1305;
    begin(&aes, &chacha);
    ck_assert_int_eq(converse(WHOLE), HVD_ERR_PROTOCOL);
}
END_TEST

/* The keys of both ranks would not help who has recorded the conversation. */
START_TEST(the_ephemeral_secrets_are_wiped_when_both_are_done)
{
    static const unsigned char zero[LINK_EPHEMERAL_SIZE];
    begin(&required, &required);
    ck_assert_mem_ne(initiator.secret, zero, sizeof zero);
    ck_assert_int_eq(converse(WHOLE), HVD_OK);
    ck_assert_mem_eq(initiator.secret, zero, sizeof zero);
    ck_assert_mem_eq(acceptor.secret, zero, sizeof zero);
    link_handshake_wipe(&initiator);
    ck_assert_mem_eq(&initiator.keys, &no_keys, sizeof no_keys);
    ck_assert_mem_eq(&initiator.pair, zero, sizeof initiator.pair);
}
END_TEST

/* A rank of the job itself sends an ephemeral key for which the shared secret is always zero. */
START_TEST(an_ephemeral_key_that_gives_no_secret_is_refused)
{
    begin(&required, &required);
    memset(initiator.hello + 64, 0, LINK_EPHEMERAL_SIZE);
    memset(initiator.out + 64, 0, LINK_EPHEMERAL_SIZE);
    ck_assert_int_eq(converse(WHOLE), HVD_ERR_PROTOCOL);
    ck_assert(!link_handshake_done(&acceptor));
}
END_TEST

START_TEST(nobody_is_heard_before_the_answer_is_out)
{
    size_t room;
    carry(&initiator, &acceptor, WHOLE);
    link_handshake_space(&acceptor, &room);
    ck_assert_uint_eq(room, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link_handshake");
    TCase *tcase = tcase_create("link_handshake");
    descriptors_watch(tcase);
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, nothing_said_is_nothing_agreed);
    tcase_add_test(tcase, two_ranks_of_one_job_agree_however_bytes_are_cut);
    tcase_add_test(tcase, the_acceptor_learns_who_dials_and_for_which_channel);
    tcase_add_test(tcase, nothing_beyond_the_handshake_is_asked_for);
    tcase_add_loop_test(tcase, every_flipped_bit_of_the_hello_is_refused, 0, 2);
    tcase_add_loop_test(tcase, every_flipped_bit_of_the_challenge_is_refused, 0, 2);
    tcase_add_loop_test(tcase, every_flipped_bit_of_the_proof_is_refused, 0, 2);
    tcase_add_test(tcase, a_ready_byte_of_another_value_is_refused);
    tcase_add_loop_test(tcase, another_certifier_is_refused_by_either_side, 0, 2);
    tcase_add_loop_test(tcase, a_third_rank_with_its_own_certificate_is_refused, 0, 2);
    tcase_add_loop_test(tcase, a_third_rank_with_the_certificate_of_another_is_refused, 0, 2);
    tcase_add_loop_test(tcase, a_third_rank_is_refused_after_a_link_was_made, 0, 2);
    tcase_add_test(tcase, another_world_or_target_is_refused);
    tcase_add_test(tcase, an_echo_is_refused);
    tcase_add_test(tcase, a_reflected_hello_is_for_another_link);
    tcase_add_test(tcase, a_recorded_conversation_cannot_be_replayed);
    tcase_add_test(tcase, a_recorded_answer_cannot_be_replayed);
    tcase_add_test(tcase, an_acceptors_proof_does_not_serve_an_initiator);
    tcase_add_loop_test(tcase, both_sides_know_the_settings_and_come_to_the_same_verdict, 0,
                        sizeof settings / sizeof *settings);
    tcase_add_loop_test(tcase,
                        the_best_cipher_of_both_is_chosen_and_each_direction_has_keys_of_its_own, 0,
                        sizeof ciphers / sizeof *ciphers);
    tcase_add_test(tcase, two_links_of_one_pair_have_other_keys);
    tcase_add_test(tcase, no_cipher_in_common_is_refused);
    tcase_add_test(tcase, the_ephemeral_secrets_are_wiped_when_both_are_done);
    tcase_add_test(tcase, an_ephemeral_key_that_gives_no_secret_is_refused);
    tcase_add_test(tcase, nobody_is_heard_before_the_answer_is_out);
    return unit_run(suite);
}
