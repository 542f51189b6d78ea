/* SPDX-License-Identifier: Apache-2.0 */
/* Two ranks derive one key, which no third rank has; a certificate holds for one rank, one epoch,
 * one key and one world. */
#include "tests/support/credentials.h"
#include "tests/support/unit.h"

enum { EPOCH = 5 };

static struct rank_certifier certifier;
static struct rank_credentials ranks[3];
static struct job_key pair;
static struct err err;

static void setup(void)
{
    ck_assert_int_eq(auth_init(NULL), HVD_OK);
    rank_certifier_generate(&certifier);
    for (uint32_t rank = 0; rank < 3; rank++)
        credentials_make(&ranks[rank], &certifier, EPOCH, rank);
}

static int pair_with(struct rank_credentials *own, const struct rank_credentials *other)
{
    return rank_credentials_pair(own, other->rank, other->public, other->certificate, &pair, &err);
}

static struct job_key pair_key(int rank, int other)
{
    ck_assert_int_eq(pair_with(&ranks[rank], &ranks[other]), HVD_OK);
    return pair;
}

START_TEST(both_ranks_of_a_pair_derive_one_key_and_each_pair_another)
{
    struct job_key key01 = pair_key(0, 1), key02 = pair_key(0, 2), key12 = pair_key(1, 2);
    struct job_key key10 = pair_key(1, 0);
    ck_assert(job_key_equal(&key01, &key10));
    ck_assert(!job_key_equal(&key01, &key02));
    ck_assert(!job_key_equal(&key01, &key12));
}
END_TEST

START_TEST(a_key_that_is_kept_is_the_same_key)
{
    struct job_key first = pair_key(0, 1), again = pair_key(0, 1);
    ck_assert(job_key_equal(&first, &again));
}
END_TEST

START_TEST(a_rank_that_the_rendezvous_has_told_needs_no_certificate)
{
    static const unsigned char none[CERTIFICATE_SIZE];
    struct job_key usual = pair_key(1, 0);
    rank_credentials_know(&ranks[0], 1, ranks[1].public);
    ck_assert_int_eq(rank_credentials_pair(&ranks[0], 1, ranks[1].public, none, &pair, &err),
                     HVD_OK);
    ck_assert(job_key_equal(&usual, &pair));
    ck_assert_int_eq(rank_credentials_pair(&ranks[0], 1, ranks[2].public, none, &pair, &err),
                     HVD_ERR_AUTH);
}
END_TEST

/* Rank 0 and rank 64 have the same place among those that are kept. */
START_TEST(ranks_that_share_a_place_do_not_share_a_key)
{
    struct rank_credentials far;
    credentials_make(&far, &certifier, EPOCH, KNOWN_RANKS);
    struct job_key near = pair_key(1, 0);
    ck_assert_int_eq(pair_with(&ranks[1], &far), HVD_OK);
    ck_assert(!job_key_equal(&near, &pair));
    struct job_key again = pair_key(1, 0);
    ck_assert(job_key_equal(&near, &again));
}
END_TEST

static void check_refused(uint32_t rank, const unsigned char *public,
                          const unsigned char *certificate)
{
    struct job_key before = pair;
    ck_assert_int_eq(rank_credentials_pair(&ranks[0], rank, public, certificate, &pair, &err),
                     HVD_ERR_AUTH);
    ck_assert(job_key_equal(&before, &pair));
}

/* Before and after the rank is known. */
START_TEST(a_certificate_holds_for_one_rank_and_one_key)
{
    if (_i == 1)
        pair_key(0, 1);
    check_refused(2, ranks[1].public, ranks[1].certificate);
    ck_assert_str_eq(err.text, "it cannot prove that it is rank 2");
    check_refused(1, ranks[2].public, ranks[1].certificate);
    check_refused(1, ranks[2].public, ranks[2].certificate);
}
END_TEST

START_TEST(a_certificate_holds_for_one_epoch_and_one_world)
{
    struct rank_certifier other;
    struct rank_credentials foreign;
    rank_certifier_generate(&other);
    credentials_make(&foreign, &certifier, EPOCH + 1, 1);
    check_refused(1, foreign.public, foreign.certificate);
    credentials_make(&foreign, &other, EPOCH, 1);
    check_refused(1, foreign.public, foreign.certificate);
}
END_TEST

START_TEST(every_flipped_bit_of_a_key_or_certificate_is_refused)
{
    for (int bit = 0; bit < 8 * (RANK_KEY_SIZE + CERTIFICATE_SIZE); bit++) {
        struct rank_credentials changed = ranks[1];
        unsigned char mask = (unsigned char)(1 << bit % 8);
        if (bit < 8 * RANK_KEY_SIZE)
            changed.public[bit / 8] ^= mask;
        else
            changed.certificate[bit / 8 - RANK_KEY_SIZE] ^= mask;
        check_refused(1, changed.public, changed.certificate);
    }
}
END_TEST

/* A rank of the world itself has it certified; every rank would know the pair's key. */
START_TEST(a_key_that_gives_no_secret_is_refused)
{
    static const unsigned char zero[RANK_KEY_SIZE];
    unsigned char certificate[CERTIFICATE_SIZE];
    rank_certifier_certify(&certifier, EPOCH, 1, zero, certificate);
    check_refused(1, zero, certificate);
}
END_TEST

START_TEST(credentials_that_were_never_completed_admit_nobody)
{
    struct rank_credentials alone = { 0 };
    ck_assert_int_eq(pair_with(&alone, &ranks[1]), HVD_ERR_AUTH);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rank_credentials");
    TCase *tcase = tcase_create("rank_credentials");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, both_ranks_of_a_pair_derive_one_key_and_each_pair_another);
    tcase_add_test(tcase, a_key_that_is_kept_is_the_same_key);
    tcase_add_test(tcase, a_rank_that_the_rendezvous_has_told_needs_no_certificate);
    tcase_add_test(tcase, ranks_that_share_a_place_do_not_share_a_key);
    tcase_add_loop_test(tcase, a_certificate_holds_for_one_rank_and_one_key, 0, 2);
    tcase_add_test(tcase, a_certificate_holds_for_one_epoch_and_one_world);
    tcase_add_test(tcase, every_flipped_bit_of_a_key_or_certificate_is_refused);
    tcase_add_test(tcase, a_key_that_gives_no_secret_is_refused);
    tcase_add_test(tcase, credentials_that_were_never_completed_admit_nobody);
    return unit_run(suite);
}
