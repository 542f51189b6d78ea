/* SPDX-License-Identifier: Apache-2.0 */
/* Notifications of unmodified Horovod workers: the bytes that Horovod 0.28.1 writes are read, and
 * what is written are the bytes that it reads. */
#include "launcher/elastic/worker_notice.h"

#include "tests/support/unit.h"

#include <sodium.h>
#include <string.h>

enum { HEAD = 36 };

static const unsigned char key[WORKER_NOTICE_KEY_SIZE] = "a key of thirty-two bytes, as is";

#define NETWORK "\x8c\"horovod.runner.common.util.network\x94"

static const char ping[] =
    "\x80\x05\x95\x39\0\0\0\0\0\0\0" NETWORK "\x8c\x0bPingRequest\x94\x93\x94)\x81\x94.";
static const char ack[] = "\x80\x05\x95\x39\0\0\0\0\0\0\0" NETWORK "\x8c\x0b"
                          "AckResponse\x94\x93\x94)\x81\x94.";
static const char pong[] =
    "\x80\x05\x95\x88\0\0\0\0\0\0\0" NETWORK "\x8c\x0cPingResponse\x94\x93\x94)\x81\x94}\x94("
    "\x8c\x0cservice_name\x94\x8c\x1bworker notification service\x94"
    "\x8c\x0esource_address\x94\x8c\x08"
    "10.0.0.1\x94ub.";

/* ({'lo': [('127.0.0.1', 40000)], 'eth0': [('10.0.0.1', 40000), ('10.0.0.1', 700)]}, key) */
static const char addresses[] = "\x80\x05\x95\x65\0\0\0\0\0\0\0}\x94(\x8c\x02lo\x94]\x94\x8c\x09"
                                "127.0.0.1\x94M@\x9c\x86\x94"
                                "a\x8c\x04"
                                "eth0\x94]\x94(\x8c\x08"
                                "10.0.0.1\x94M@\x9c\x86\x94h\x07M\xbc\x02\x86\x94"
                                "euC a key of thirty-two bytes, as is\x94\x86\x94.";

static int parse_bytes(struct worker_address *address, const char *bytes, size_t length)
{
    char text[1000];
    struct err err;
    sodium_bin2base64(text, sizeof text, (const unsigned char *)bytes, length,
                      sodium_base64_VARIANT_ORIGINAL);
    return worker_address_parse(address, text, strlen(text), &err);
}

START_TEST(addresses_and_key_are_found)
{
    struct worker_address address;
    ck_assert_int_eq(parse_bytes(&address, addresses, sizeof addresses - 1), HVD_OK);
    ck_assert_int_eq(address.count, 3);
    ck_assert_uint_eq(address.at[0].ip, 0x7f000001);
    ck_assert_uint_eq(address.at[0].port, 40000);
    ck_assert_uint_eq(address.at[1].ip, 0x0a000001);
    ck_assert_uint_eq(address.at[2].ip, 0x0a000001);
    ck_assert_uint_eq(address.at[2].port, 700);
    ck_assert_mem_eq(address.key, key, sizeof key);
}
END_TEST

START_TEST(addresses_that_are_cut_off_are_refused)
{
    struct worker_address address;
    for (size_t length = 0; length < sizeof addresses - 1; length++)
        ck_assert_int_eq(parse_bytes(&address, addresses, length), HVD_ERR_PROTOCOL);
    ck_assert_int_eq(worker_address_parse(&address, "????", 4, NULL), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(instructions_that_the_messages_do_not_have_are_refused)
{
    struct worker_address address;
    char bytes[sizeof addresses];
    memcpy(bytes, addresses, sizeof addresses);
    bytes[11] = 'c'; /* GLOBAL */
    ck_assert_int_eq(parse_bytes(&address, bytes, sizeof bytes - 1), HVD_ERR_PROTOCOL);
}
END_TEST

/* Compares head and body. */
static void expect_request(const unsigned char *request, size_t length, const char *body,
                           size_t body_length)
{
    ck_assert_uint_eq(length, HEAD + body_length);
    ck_assert_mem_eq(request + HEAD, body, body_length);
    ck_assert_uint_eq(request[32] + 256u * request[33], body_length);
    ck_assert_int_eq(crypto_auth_hmacsha256_verify(request, request + HEAD, body_length, key), 0);
}

START_TEST(a_ping_has_the_bytes_of_horovod)
{
    unsigned char request[WORKER_NOTICE_MAX];
    size_t length = worker_notice_put(request, WORKER_PING, key, 0);
    expect_request(request, length, ping, sizeof ping - 1);
}
END_TEST

START_TEST(the_news_of_other_hosts_has_its_time)
{
    static const char body[] = "\x80\x05\x95\x75\0\0\0\0\0\0\0\x8c\x1dhorovod.runner.elastic."
                               "worker\x94\x8c\x13HostsUpdatedRequest\x94\x93\x94)\x81\x94}\x94("
                               "\x8c\x09timestamp\x94J\x00\xf1Se\x8c\x03res\x94h\x00\x8c\x10HostUpd"
                               "ateResult\x94\x93\x94K\x03\x85\x94R\x94ub.";
    unsigned char request[WORKER_NOTICE_MAX];
    size_t length = worker_notice_put(request, WORKER_HOSTS_UPDATED, key, 1700000000);
    expect_request(request, length, body, sizeof body - 1);
}
END_TEST

static int check_answer(enum worker_notice notice, const char *body, size_t body_length, size_t cut)
{
    unsigned char answer[500];
    struct err err;
    memcpy(answer + HEAD, body, body_length);
    crypto_auth_hmacsha256(answer, answer + HEAD, body_length, key);
    const unsigned char length[4] = { (unsigned char)body_length };
    memcpy(answer + 32, length, 4);
    return worker_notice_check(notice, key, answer, HEAD + body_length - cut, &err);
}

START_TEST(each_notice_has_its_answer)
{
    ck_assert_int_eq(check_answer(WORKER_PING, pong, sizeof pong - 1, 0), HVD_OK);
    ck_assert_int_eq(check_answer(WORKER_HOSTS_UPDATED, ack, sizeof ack - 1, 0), HVD_OK);
    ck_assert_int_eq(check_answer(WORKER_PING, ack, sizeof ack - 1, 0), HVD_ERR_PROTOCOL);
    ck_assert_int_eq(check_answer(WORKER_HOSTS_UPDATED, pong, sizeof pong - 1, 0),
                     HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(an_answer_that_is_cut_off_or_not_proved_is_refused)
{
    unsigned char request[WORKER_NOTICE_MAX];
    struct err err;
    for (size_t cut = 1; cut < HEAD + sizeof pong - 1; cut++)
        ck_assert_int_eq(check_answer(WORKER_PING, pong, sizeof pong - 1, cut), HVD_ERR_PROTOCOL);
    size_t length = worker_notice_put(request, WORKER_PING, key, 0);
    request[0] ^= 1;
    ck_assert_int_eq(worker_notice_check(WORKER_PING, key, request, length, &err),
                     HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, "its answer does not prove its key");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("worker_notice");
    TCase *tcase = tcase_create("worker_notice");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, addresses_and_key_are_found);
    tcase_add_test(tcase, addresses_that_are_cut_off_are_refused);
    tcase_add_test(tcase, instructions_that_the_messages_do_not_have_are_refused);
    tcase_add_test(tcase, a_ping_has_the_bytes_of_horovod);
    tcase_add_test(tcase, the_news_of_other_hosts_has_its_time);
    tcase_add_test(tcase, each_notice_has_its_answer);
    tcase_add_test(tcase, an_answer_that_is_cut_off_or_not_proved_is_refused);
    return unit_run(suite);
}
