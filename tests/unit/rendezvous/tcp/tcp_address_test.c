/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses that a port can be opened at: read, refused, and written. */
#include "rendezvous/tcp/tcp_address.h"
#include "tests/support/unit.h"

#include <string.h>

static const char *const no_addresses[] = {
    "",
    ":",
    ":29400",
    "29400",
    "127.0.0.1",
    "127.0.0.1:",
    "127.1:1",
    "0x7f.0.0.1:1",
    "127.0.0.1:-1",
    "127.0.0.1:+1",
    "127.0.0.1:65536",
    "127.0.0.1:1x",
    "127.0.0.1: 1",
    "127.0.0.1:000001",
    "host0:1",
    "::1:1",
    "[::1]",
    "[::1:1",
    "::1]:1",
    "[]:1",
    "[127.0.0.1]:1",
    "*:1",
    "[::1]]:1",
    "127.0.0.1 :1",
    "999.0.0.1:1",
    "1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111:1",
};

START_TEST(what_is_no_address_is_refused)
{
    struct sockaddr_storage address;
    struct err err = { 0 };
    const char *text = no_addresses[_i];
    ck_assert_msg(tcp_address_parse(&address, text, &err) == HVD_ERR_INVALID, "%s", text);
    ck_assert_ptr_nonnull(strstr(err.text, "expected ADDRESS:PORT"));
}
END_TEST

START_TEST(an_address_of_many_machines_is_refused)
{
    static const char *const texts[] = { "224.0.0.1:1", "255.255.255.255:1", "[ff02::1]:1",
                                         "[::ffff:224.0.0.1]:1", "[::ffff:255.255.255.255]:1" };
    struct sockaddr_storage address;
    struct err err = { 0 };
    ck_assert_msg(tcp_address_parse(&address, texts[_i], &err) == HVD_ERR_INVALID, "%s", texts[_i]);
    ck_assert_ptr_nonnull(strstr(err.text, "not an address of one machine"));
}
END_TEST

static const struct {
    const char *text, *again;
    bool is_loopback;
} addresses[] = {
    { "127.0.0.1:0", "127.0.0.1:0", true },
    { "127.9.9.9:65535", "127.9.9.9:65535", true },
    { "localhost:29400", "127.0.0.1:29400", true },
    { "0.0.0.0:1", "0.0.0.0:1", false },
    { "10.0.0.1:29400", "10.0.0.1:29400", false },
    { "[::1]:29400", "[::1]:29400", true },
    { "[::]:29400", "[::]:29400", false },
    { "[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1", true },
    { "[::ffff:10.0.0.1]:1", "[::ffff:10.0.0.1]:1", false },
    { "[fe80::1%lo]:1", "[fe80::1%lo]:1", false },
};

START_TEST(addresses_are_read_and_written)
{
    struct sockaddr_storage address;
    struct err err = { 0 };
    char again[TCP_ADDRESS_SIZE];
    ck_assert_msg(tcp_address_parse(&address, addresses[_i].text, &err) == HVD_OK, "%s", err.text);
    tcp_address_format(again, &address);
    ck_assert_str_eq(again, addresses[_i].again);
    ck_assert(tcp_address_is_loopback(&address) == addresses[_i].is_loopback);
}
END_TEST

#define ROWS(table) (int)(sizeof table / sizeof *table)

int main(void)
{
    Suite *suite = suite_create("tcp_address");
    TCase *tcase = tcase_create("addresses");
    tcase_add_loop_test(tcase, what_is_no_address_is_refused, 0, ROWS(no_addresses));
    tcase_add_loop_test(tcase, an_address_of_many_machines_is_refused, 0, 5);
    tcase_add_loop_test(tcase, addresses_are_read_and_written, 0, ROWS(addresses));
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
