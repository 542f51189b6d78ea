/* SPDX-License-Identifier: Apache-2.0 */
/* Only who knows the key can make a frame that is accepted, only once, only in order, only in its
 * direction. */
#include "lib/base/auth.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct job_key key;
static struct seal client, server;

static void setup(void)
{
    unsigned char client_nonce[NONCE_SIZE], server_nonce[NONCE_SIZE];
    ck_assert_int_eq(auth_init(NULL), HVD_OK);
    job_key_generate(&key);
    nonce_generate(client_nonce);
    nonce_generate(server_nonce);
    seal_init(&client, SEAL_CLIENT, &key, client_nonce, server_nonce);
    seal_init(&server, SEAL_SERVER, &key, client_nonce, server_nonce);
}

/* What `seal` makes of the frame that begins at `bytes`. */
static int check(struct seal *seal, const unsigned char *bytes, size_t length,
                 struct wire_reader *payload)
{
    ck_assert_uint_ge(length, FRAME_HEADER_SIZE);
    struct frame frame = { .type = (uint16_t)(bytes[4] | bytes[5] << 8),
                           .length = (uint32_t)(length - FRAME_HEADER_SIZE),
                           .body = bytes + FRAME_HEADER_SIZE };
    struct err err;
    return seal_check(seal, &frame, payload, &err);
}

START_TEST(a_key_survives_its_hexadecimal_form)
{
    struct job_key again;
    char hex[JOB_KEY_HEX_SIZE];
    job_key_format(&key, hex);
    ck_assert_int_eq(job_key_parse(&again, hex, NULL), HVD_OK);
    ck_assert_mem_eq(&again, &key, sizeof key);
}
END_TEST

/* The last one was computed by another program. */
START_TEST(each_worker_of_each_job_has_a_key_of_its_own)
{
    struct job_key other, keys[3], again;
    char hex[JOB_KEY_HEX_SIZE];
    job_key_generate(&other);
    worker_key_derive(&keys[0], &key, 0);
    worker_key_derive(&keys[1], &key, 1);
    worker_key_derive(&keys[2], &other, 0);
    worker_key_derive(&again, &key, 1);
    ck_assert(job_key_equal(&again, &keys[1]));
    for (int i = 0; i < 3; i++) {
        ck_assert(!job_key_equal(&keys[i], &keys[(i + 1) % 3]));
        ck_assert(!job_key_equal(&keys[i], &key));
    }
    memset(&other, 0, sizeof other);
    worker_key_derive(&other, &other, 3);
    job_key_format(&other, hex);
    ck_assert_str_eq(hex, "b1e548746088c9aba9bc20151e01806c33264f5a4bb39bef1c5f44b124e726a1");
}
END_TEST

START_TEST(what_is_no_key_is_refused_and_not_shown)
{
    char good[JOB_KEY_HEX_SIZE], bad[JOB_KEY_HEX_SIZE + 8];
    job_key_format(&key, good);
    for (size_t at = 0; at < 64; at++) {
        struct err err;
        snprintf(bad, sizeof bad, "%s", good);
        bad[at] = ' ';
        ck_assert_int_eq(job_key_parse(&key, bad, &err), HVD_ERR_ENVIRONMENT);
        ck_assert_ptr_null(strstr(err.text, bad));
    }
    snprintf(bad, sizeof bad, "%s0", good);
    ck_assert_int_eq(job_key_parse(&key, bad, NULL), HVD_ERR_ENVIRONMENT);
    ck_assert_int_eq(job_key_parse(&key, good + 1, NULL), HVD_ERR_ENVIRONMENT);
    ck_assert_int_eq(job_key_parse(&key, "", NULL), HVD_ERR_ENVIRONMENT);
}
END_TEST

START_TEST(a_key_is_decoded_from_a_part_of_a_text)
{
    struct job_key again = { { 0 } };
    char text[JOB_KEY_HEX_SIZE + 8];
    char hex[JOB_KEY_HEX_SIZE];
    job_key_format(&key, hex);
    snprintf(text, sizeof text, "%s, more", hex);
    ck_assert(job_key_decode(&again, text, JOB_KEY_HEX_SIZE - 1));
    ck_assert(job_key_equal(&again, &key));
    ck_assert(!job_key_decode(&again, text, JOB_KEY_HEX_SIZE));
    ck_assert(!job_key_decode(&again, text, JOB_KEY_HEX_SIZE - 2));
    ck_assert(!job_key_decode(&again, text, 0));
}
END_TEST

START_TEST(keys_are_equal_in_every_bit_or_not)
{
    for (size_t bit = 0; bit < 8 * JOB_KEY_SIZE; bit++) {
        struct job_key other = key;
        other.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        ck_assert(!job_key_equal(&other, &key));
        other.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        ck_assert(job_key_equal(&other, &key));
    }
}
END_TEST

/* As Python has it: hmac.digest(bytes(range(32)), b"hvd1 job\0" + sha256(b"train").digest(),
 * "sha256"). */
START_TEST(a_service_has_a_key_for_each_job)
{
    static const char expected[] =
        "cd733c1ac5c3df8d74f1200577fa362a75fd8d546e00035b06242e0f11536626";
    struct job_key service, train, test, again, elsewhere;
    char hex[JOB_KEY_HEX_SIZE];
    for (size_t i = 0; i < JOB_KEY_SIZE; i++)
        service.bytes[i] = (unsigned char)i;
    job_key_derive(&train, &service, "train");
    job_key_derive(&again, &service, "train");
    job_key_derive(&test, &service, "test");
    job_key_derive(&elsewhere, &key, "train");
    job_key_format(&train, hex);
    ck_assert_str_eq(hex, expected);
    ck_assert(job_key_equal(&train, &again));
    ck_assert(!job_key_equal(&train, &test));
    ck_assert(!job_key_equal(&train, &elsewhere));
    ck_assert(!job_key_equal(&train, &service));
}
END_TEST

START_TEST(a_digest_is_sha256)
{
    static const unsigned char abc[] = { 0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea };
    unsigned char digest[DIGEST_SIZE];
    auth_digest(digest, "abc", 3);
    ck_assert_mem_eq(digest, abc, sizeof abc);
}
END_TEST

START_TEST(sealed_frames_are_accepted_in_order_both_ways)
{
    for (int i = 0; i < 3; i++) {
        struct wire_writer there = { 0 }, back = { 0 };
        struct wire_reader payload;
        seal_put(&client, &there, 3, "hello", 5);
        seal_put(&server, &back, 4, NULL, 0);
        ck_assert_int_eq(check(&server, there.data, there.length, &payload), HVD_OK);
        ck_assert_mem_eq(wire_get_bytes(&payload, 5), "hello", 5);
        ck_assert(wire_reader_finished(&payload));
        ck_assert_int_eq(check(&client, back.data, back.length, &payload), HVD_OK);
        wire_writer_fini(&there);
        wire_writer_fini(&back);
    }
}
END_TEST

START_TEST(a_flipped_bit_anywhere_is_refused)
{
    struct wire_writer frame = { 0 };
    struct wire_reader payload;
    seal_put(&client, &frame, 3, "hello", 5);
    for (size_t bit = 0; bit < 8 * frame.length; bit++) {
        if (bit / 8 < 4 || (bit / 8 >= 6 && bit / 8 < FRAME_HEADER_SIZE))
            continue; /* magic, flags and length are the frame reader's */
        frame.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        ck_assert_int_eq(check(&server, frame.data, frame.length, &payload), HVD_ERR_AUTH);
        frame.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    ck_assert_int_eq(check(&server, frame.data, frame.length, &payload), HVD_OK);
    wire_writer_fini(&frame);
}
END_TEST

START_TEST(a_frame_cut_at_any_byte_is_refused)
{
    struct wire_writer frame = { 0 };
    struct wire_reader payload;
    seal_put(&client, &frame, 3, "hello", 5);
    for (size_t length = FRAME_HEADER_SIZE; length < frame.length; length++)
        ck_assert_int_eq(check(&server, frame.data, length, &payload), HVD_ERR_AUTH);
    wire_writer_fini(&frame);
}
END_TEST

START_TEST(replay_reflection_and_reordering_are_refused)
{
    struct wire_writer first = { 0 }, second = { 0 };
    struct wire_reader payload;
    seal_put(&client, &first, 3, "a", 1);
    seal_put(&client, &second, 3, "a", 1);
    ck_assert_int_eq(check(&client, first.data, first.length, &payload), HVD_ERR_AUTH);
    ck_assert_int_eq(check(&server, second.data, second.length, &payload), HVD_ERR_AUTH);
    ck_assert_int_eq(check(&server, first.data, first.length, &payload), HVD_OK);
    ck_assert_int_eq(check(&server, first.data, first.length, &payload), HVD_ERR_AUTH);
    ck_assert_int_eq(check(&server, second.data, second.length, &payload), HVD_OK);
    wire_writer_fini(&first);
    wire_writer_fini(&second);
}
END_TEST

/* The counters do not come round in the lifetime of a test, whether they have 8 bits or 16. */
START_TEST(a_frame_is_worth_nothing_however_many_have_come_since)
{
    struct wire_writer first = { 0 };
    struct wire_reader payload;
    seal_put(&client, &first, 3, "a", 1);
    ck_assert_int_eq(check(&server, first.data, first.length, &payload), HVD_OK);
    for (int i = 0; i < 1 << 16; i++) {
        struct wire_writer next = { 0 };
        ck_assert_int_eq(check(&server, first.data, first.length, &payload), HVD_ERR_AUTH);
        seal_put(&client, &next, 3, "a", 1);
        ck_assert_int_eq(check(&server, next.data, next.length, &payload), HVD_OK);
        wire_writer_fini(&next);
    }
    wire_writer_fini(&first);
}
END_TEST

START_TEST(another_key_or_another_nonce_is_refused)
{
    unsigned char nonces[2][NONCE_SIZE] = { { 1 }, { 2 } };
    struct job_key other_key;
    struct seal mine, other, swapped;
    struct wire_reader payload;
    job_key_generate(&other_key);
    seal_init(&mine, SEAL_SERVER, &key, nonces[0], nonces[1]);
    seal_init(&other, SEAL_CLIENT, &other_key, nonces[0], nonces[1]);
    seal_init(&swapped, SEAL_CLIENT, &key, nonces[1], nonces[0]);
    struct wire_writer a = { 0 }, b = { 0 };
    seal_put(&other, &a, 3, "x", 1);
    seal_put(&swapped, &b, 3, "x", 1);
    ck_assert_int_eq(check(&mine, a.data, a.length, &payload), HVD_ERR_AUTH);
    ck_assert_int_eq(check(&mine, b.data, b.length, &payload), HVD_ERR_AUTH);
    wire_writer_fini(&a);
    wire_writer_fini(&b);
}
END_TEST

START_TEST(a_payload_too_long_for_a_frame_fails_the_writer)
{
    struct wire_writer writer = { 0 };
    char byte = 0;
    seal_put(&client, &writer, 3, &byte, FRAME_BODY_MAX);
    ck_assert(writer.failed);
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(labels_and_parts_keep_proofs_apart)
{
    unsigned char a[PROOF_SIZE], b[PROOF_SIZE];
    auth_proof(a, key.bytes, "hvd1 acceptor", "ab", 2, "c", 1);
    auth_proof(b, key.bytes, "hvd1 initiator", "ab", 2, "c", 1);
    ck_assert(!auth_equal(a, b));
    auth_proof(b, key.bytes, "hvd1 acceptor", "ab", 2, "c", 1);
    ck_assert(auth_equal(a, b));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("auth");
    TCase *tcase = tcase_create("auth");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, a_key_survives_its_hexadecimal_form);
    tcase_add_test(tcase, each_worker_of_each_job_has_a_key_of_its_own);
    tcase_add_test(tcase, what_is_no_key_is_refused_and_not_shown);
    tcase_add_test(tcase, a_key_is_decoded_from_a_part_of_a_text);
    tcase_add_test(tcase, keys_are_equal_in_every_bit_or_not);
    tcase_add_test(tcase, a_service_has_a_key_for_each_job);
    tcase_add_test(tcase, a_digest_is_sha256);
    tcase_add_test(tcase, sealed_frames_are_accepted_in_order_both_ways);
    tcase_add_test(tcase, a_flipped_bit_anywhere_is_refused);
    tcase_add_test(tcase, a_frame_cut_at_any_byte_is_refused);
    tcase_add_test(tcase, replay_reflection_and_reordering_are_refused);
    tcase_add_test(tcase, a_frame_is_worth_nothing_however_many_have_come_since);
    tcase_add_test(tcase, another_key_or_another_nonce_is_refused);
    tcase_add_test(tcase, a_payload_too_long_for_a_frame_fails_the_writer);
    tcase_add_test(tcase, labels_and_parts_keep_proofs_apart);
    return unit_run(suite);
}
