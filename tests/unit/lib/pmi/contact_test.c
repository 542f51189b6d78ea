/* SPDX-License-Identifier: Apache-2.0 */
/* Where the ranks of a job meet, as text, and on which node each rank is. */
#include "lib/pmi/contact.h"

#include "lib/hvd.h"
#include "lib/pmi/pmi_mapping.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static struct contact contact;
static struct err err;

START_TEST(what_is_published_is_read)
{
    struct contact read;
    char text[PROCESS_MANAGER_VALUE_MAX];
    contact = (struct contact){ .has_key = true, .host = "node1" };
    job_key_generate(&contact.key);
    contact.addresses =
        (struct join_addresses){ .count = 3,
                                 .text = { "192.0.2.1:80", "[2001:db8::1]:80", "unix:00" } };
    contact_format(text, &contact, HVD_OK);
    ck_assert_ptr_null(strpbrk(text, " ;="));
    ck_assert_int_eq(contact_parse(&read, text, &err), HVD_OK);
    ck_assert(read.has_key && job_key_equal(&read.key, &contact.key));
    ck_assert_str_eq(read.host, "node1");
    ck_assert_int_eq(read.addresses.count, 2);
    ck_assert_str_eq(read.addresses.text[1], "[2001:db8::1]:80");
}
END_TEST

START_TEST(without_a_key_the_ranks_have_their_own)
{
    char text[PROCESS_MANAGER_VALUE_MAX];
    contact = (struct contact){ .host = "a b,c;d=e",
                                .addresses = { .count = 1, .text = { "1.2.3.4:5" } } };
    contact_format(text, &contact, HVD_OK);
    ck_assert_str_eq(text, "hvd1,-,a?b?c?d?e,1.2.3.4:5");
    ck_assert_int_eq(contact_parse(&contact, text, &err), HVD_OK);
    ck_assert(!contact.has_key);
}
END_TEST

START_TEST(addresses_without_room_are_left_out)
{
    char text[PROCESS_MANAGER_VALUE_MAX];
    contact = (struct contact){ .has_key = true, .addresses.count = JOIN_ADDRESSES_MAX };
    memset(contact.host, 'h', CONTACT_HOST_SIZE - 1);
    for (int i = 0; i < JOIN_ADDRESSES_MAX; i++)
        memset(contact.addresses.text[i], 'a', JOIN_ADDRESS_MAX - 1);
    contact_format(text, &contact, HVD_OK);
    ck_assert_int_eq(contact_parse(&contact, text, &err), HVD_OK);
    ck_assert_int_eq(contact.addresses.count, 5);
}
END_TEST

START_TEST(rank_0_says_that_it_cannot_serve)
{
    char text[PROCESS_MANAGER_VALUE_MAX];
    contact = (struct contact){ .has_key = true, .host = "node1" };
    contact_format(text, &contact, HVD_ERR_SYSTEM);
    ck_assert_int_eq(contact_parse(&contact, text, &err), HVD_ERR_PEER_LOST);
    ck_assert_str_eq(err.text, "rank 0 on node1 cannot serve the rendezvous");
}
END_TEST

static const char *const bad[] = {
    "",
    "hvd1",
    "hvd1,",
    "hvd1," KEY,
    "hvd1," KEY ",",
    "hvd1," KEY ",node1",
    "hvd1," KEY ",node1,",
    "hvd1," KEY ",node1,1.2.3.4:5,",
    "hvd1," KEY ",,1.2.3.4:5",
    "hvd1," KEY "0,node1,1.2.3.4:5",
    "hvd1,0011,node1,1.2.3.4:5",
    "hvd1,x" KEY ",node1,1.2.3.4:5",
    "hvd1," KEY ",node1,1.2.3.4 5",
    "hvd1," KEY ",node1,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
    "hvd1," KEY ",node1,0123456789012345678901234567890123456789012345678901234567890123",
};

START_TEST(another_text_is_refused_and_never_shown)
{
    ck_assert_int_eq(contact_parse(&contact, bad[_i], &err), HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, "what rank 0 has published is no place to meet");
}
END_TEST

START_TEST(another_version_is_named)
{
    ck_assert_int_eq(contact_parse(&contact, "hvd2," KEY ",a,1.2.3.4:5", &err), HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, "rank 0 has another version of libhvd");
}
END_TEST

/* ---- PMI_process_mapping ---- */

static const struct {
    const char *text;
    int rank, size, local_rank, local_size;
} mappings[] = {
    { "(vector,(0,1,4))", 2, 4, 2, 4 },         { "(vector,(0,2,2))", 3, 4, 1, 2 },
    { "(vector,(0,2,1))", 3, 4, 1, 2 }, /* round robin */
    { "(vector,(0,1,2),(1,1,1))", 2, 3, 0, 1 }, { "(vector,(0,1,2),(1,1,1),(0,1,1))", 3, 4, 2, 3 },
    { "(vector,(0,3,1),(0,1,1))", 0, 4, 0, 2 },
};

START_TEST(a_mapping_tells_the_local_rank_and_size)
{
    int local_rank = -1, local_size = -1;
    ck_assert(pmi_mapping_place(mappings[_i].text, mappings[_i].rank, mappings[_i].size,
                                &local_rank, &local_size));
    ck_assert_int_eq(local_rank, mappings[_i].local_rank);
    ck_assert_int_eq(local_size, mappings[_i].local_size);
}
END_TEST

static const char *const bad_mappings[] = {
    "",
    "vector,(0,1,4)",
    "(vector)",
    "(vector,)",
    "(vector,(0,1,4)",
    "(vector,(0,1,4)))",
    "(vector,(0,1))",
    "(vector,(0,0,4))",
    "(vector,(0,1,0))",
    "(vector,(-1,1,4))",
    "(vector,(0,1,99999999999999999999))",
    "(vector,(0,1,4),)",
    "(vector, (0,1,4))",
};

START_TEST(another_text_is_no_mapping)
{
    int local_rank = -1, local_size = -1;
    ck_assert(!pmi_mapping_place(bad_mappings[_i], 0, 4, &local_rank, &local_size));
    ck_assert_int_eq(local_rank, -1);
    ck_assert_int_eq(local_size, -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("contact");
    TCase *tcase = tcase_create("contact");
    suite_add_tcase(suite, tcase);
    auth_init(NULL);
    tcase_add_test(tcase, what_is_published_is_read);
    tcase_add_test(tcase, without_a_key_the_ranks_have_their_own);
    tcase_add_test(tcase, addresses_without_room_are_left_out);
    tcase_add_test(tcase, rank_0_says_that_it_cannot_serve);
    tcase_add_loop_test(tcase, another_text_is_refused_and_never_shown, 0,
                        sizeof bad / sizeof *bad);
    tcase_add_test(tcase, another_version_is_named);
    tcase_add_loop_test(tcase, a_mapping_tells_the_local_rank_and_size, 0,
                        sizeof mappings / sizeof *mappings);
    tcase_add_loop_test(tcase, another_text_is_no_mapping, 0,
                        sizeof bad_mappings / sizeof *bad_mappings);
    return unit_run(suite);
}
