/* SPDX-License-Identifier: Apache-2.0 */
/* Two ranks that know the key and mean the same link agree, however their bytes are cut; nobody
 * else gets a link. */
#include "lib/link/link_handshake.h"
#include "tests/support/unit.h"

#include <string.h>

static struct job_key key, other_key;
static const struct link_identity link01 = { .epoch = 4, .source = 0, .target = 1, .channel = 2 };
static struct link_handshake initiator, acceptor;

static void setup(void)
{
    ck_assert_int_eq(auth_init(NULL), HVD_OK);
    job_key_generate(&key);
    job_key_generate(&other_key);
    link_handshake_initiate(&initiator, &link01, &key);
    link_handshake_accept(&acceptor, link01.epoch, link01.target, &key);
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
    for (size_t step = 1; step <= 70; step++) {
        setup();
        ck_assert_int_eq(converse(step), HVD_OK);
        ck_assert(both_done());
    }
}
END_TEST

START_TEST(the_acceptor_learns_who_dials_and_for_which_channel)
{
    ck_assert_int_eq(converse(64), HVD_OK);
    ck_assert_mem_eq(&acceptor.identity, &link01, sizeof link01);
}
END_TEST

START_TEST(nothing_beyond_the_handshake_is_asked_for)
{
    size_t room;
    ck_assert_int_eq(converse(64), HVD_OK);
    link_handshake_space(&initiator, &room);
    ck_assert_uint_eq(room, 0);
    link_handshake_space(&acceptor, &room);
    ck_assert_uint_eq(room, 0);
}
END_TEST

START_TEST(every_flipped_bit_of_the_hello_is_refused)
{
    for (int bit = 0; bit < 8 * LINK_HELLO_SIZE; bit++) {
        setup();
        initiator.out[bit / 8] ^= (unsigned char)(1 << bit % 8);
        int rc = converse(64);
        ck_assert_msg(rc == HVD_ERR_PROTOCOL || rc == HVD_ERR_AUTH, "bit %d: %d", bit, rc);
        ck_assert(!link_handshake_done(&initiator) && !link_handshake_done(&acceptor));
    }
}
END_TEST

START_TEST(every_flipped_bit_of_the_challenge_is_refused)
{
    for (int bit = 0; bit < 8 * LINK_CHALLENGE_SIZE; bit++) {
        setup();
        carry(&initiator, &acceptor, 64);
        acceptor.out[bit / 8] ^= (unsigned char)(1 << bit % 8);
        ck_assert_int_eq(converse(64), HVD_ERR_AUTH);
        ck_assert(!link_handshake_done(&initiator));
    }
}
END_TEST

START_TEST(every_flipped_bit_of_the_proof_is_refused)
{
    for (int bit = 0; bit < 8 * PROOF_SIZE; bit++) {
        setup();
        carry(&initiator, &acceptor, 64);
        carry(&acceptor, &initiator, 64);
        initiator.out[bit / 8] ^= (unsigned char)(1 << bit % 8);
        ck_assert_int_eq(converse(64), HVD_ERR_AUTH);
        ck_assert(!link_handshake_done(&acceptor));
    }
}
END_TEST

START_TEST(a_ready_byte_of_another_value_is_refused)
{
    carry(&initiator, &acceptor, 64);
    carry(&acceptor, &initiator, 64);
    carry(&initiator, &acceptor, 64);
    acceptor.out[acceptor.out_start] = 0;
    ck_assert_int_eq(converse(64), HVD_ERR_PROTOCOL);
    ck_assert(!link_handshake_done(&initiator));
}
END_TEST

START_TEST(another_key_is_refused_by_either_side)
{
    link_handshake_initiate(&initiator, &link01, &other_key);
    ck_assert_int_eq(converse(64), HVD_ERR_AUTH);
    ck_assert(!link_handshake_done(&acceptor));
    setup();
    link_handshake_accept(&acceptor, link01.epoch, link01.target, &other_key);
    ck_assert_int_eq(converse(64), HVD_ERR_AUTH);
    ck_assert(!link_handshake_done(&initiator));
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
        link_handshake_initiate(&initiator, &others[i], &key);
        ck_assert_int_eq(converse(64), HVD_ERR_PROTOCOL);
    }
}
END_TEST

/* Somebody without the key sends an initiator's own words back to it. */
START_TEST(an_echo_is_refused)
{
    size_t length;
    unsigned char hello[LINK_HELLO_SIZE];
    memcpy(hello, link_handshake_output(&initiator, &length), sizeof hello);
    link_handshake_sent(&initiator, length);
    memcpy(link_handshake_space(&initiator, &length), hello, LINK_CHALLENGE_SIZE);
    ck_assert_int_eq(link_handshake_received(&initiator, length, NULL), HVD_ERR_AUTH);
}
END_TEST

/* Two ranks dial each other; somebody without the key plays their hellos off against each other. */
START_TEST(a_reflected_hello_is_for_another_link)
{
    link_handshake_accept(&acceptor, link01.epoch, 0, &key); /* rank 0 accepts, too */
    ck_assert_int_eq(converse(64), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(a_recorded_conversation_cannot_be_replayed)
{
    unsigned char hello[LINK_HELLO_SIZE], proof[PROOF_SIZE];
    size_t length;
    memcpy(hello, initiator.out, sizeof hello);
    carry(&initiator, &acceptor, 64);
    carry(&acceptor, &initiator, 64);
    memcpy(proof, initiator.out, sizeof proof);
    ck_assert_int_eq(converse(64), HVD_OK);

    link_handshake_accept(&acceptor, link01.epoch, link01.target, &key);
    memcpy(link_handshake_space(&acceptor, &length), hello, sizeof hello);
    ck_assert_int_eq(link_handshake_received(&acceptor, sizeof hello, NULL), HVD_OK);
    link_handshake_output(&acceptor, &length);
    link_handshake_sent(&acceptor, length);
    memcpy(link_handshake_space(&acceptor, &length), proof, sizeof proof);
    ck_assert_int_eq(link_handshake_received(&acceptor, sizeof proof, NULL), HVD_ERR_AUTH);
}
END_TEST

/* A proof for one role is none for the other: what an acceptor proves to us does not help to prove
 * anything to it. */
START_TEST(an_acceptors_proof_does_not_serve_an_initiator)
{
    size_t length;
    unsigned char proof[PROOF_SIZE];
    carry(&initiator, &acceptor, 64);
    memcpy(proof, acceptor.out + NONCE_SIZE, sizeof proof);
    link_handshake_output(&acceptor, &length);
    link_handshake_sent(&acceptor, length);
    memcpy(link_handshake_space(&acceptor, &length), proof, sizeof proof);
    ck_assert_int_eq(link_handshake_received(&acceptor, sizeof proof, NULL), HVD_ERR_AUTH);
}
END_TEST

START_TEST(nobody_is_heard_before_the_answer_is_out)
{
    size_t room;
    carry(&initiator, &acceptor, 64);
    link_handshake_space(&acceptor, &room);
    ck_assert_uint_eq(room, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link_handshake");
    TCase *tcase = tcase_create("link_handshake");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, nothing_said_is_nothing_agreed);
    tcase_add_test(tcase, two_ranks_of_one_job_agree_however_bytes_are_cut);
    tcase_add_test(tcase, the_acceptor_learns_who_dials_and_for_which_channel);
    tcase_add_test(tcase, nothing_beyond_the_handshake_is_asked_for);
    tcase_add_test(tcase, every_flipped_bit_of_the_hello_is_refused);
    tcase_add_test(tcase, every_flipped_bit_of_the_challenge_is_refused);
    tcase_add_test(tcase, every_flipped_bit_of_the_proof_is_refused);
    tcase_add_test(tcase, a_ready_byte_of_another_value_is_refused);
    tcase_add_test(tcase, another_key_is_refused_by_either_side);
    tcase_add_test(tcase, another_world_or_target_is_refused);
    tcase_add_test(tcase, an_echo_is_refused);
    tcase_add_test(tcase, a_reflected_hello_is_for_another_link);
    tcase_add_test(tcase, a_recorded_conversation_cannot_be_replayed);
    tcase_add_test(tcase, an_acceptors_proof_does_not_serve_an_initiator);
    tcase_add_test(tcase, nobody_is_heard_before_the_answer_is_out);
    return unit_run(suite);
}
