/* SPDX-License-Identifier: Apache-2.0 */
/* Where a rank says that it can be dialled, in which order it tries another one's addresses, and
 * whom it lets in; on machines that are made up here. */
#include "lib/link/network.h"

#include "lib/link/socket.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* "NAME KIND ADDRESS/BITS ...", with r, v and l for the kinds. */
static void make_machine(struct interfaces *all, const char *text)
{
    int length;
    char kind, address[64], with_port[80];
    struct interface *at;
    for (all->count = 0; *text; text += length) {
        at = &all->at[all->count++];
        ck_assert_int_eq(sscanf(text, "%15s %c %63[^/]/%u %n", at->name, &kind, address,
                                &at->prefix_bits, &length),
                         4);
        at->kind = kind == 'r'   ? INTERFACE_REAL
                   : kind == 'v' ? INTERFACE_VIRTUAL
                                 : INTERFACE_LOOPBACK;
        struct socket_address parsed;
        snprintf(with_port, sizeof with_port, strchr(address, ':') ? "[%s]:1" : "%s:1", address);
        ck_assert_int_eq(socket_address_parse(&parsed, with_port, NULL), HVD_OK);
        at->address = parsed.storage;
    }
}

static void make_network(struct network *network, const char *machine, const char *choice)
{
    struct interfaces all;
    struct err err;
    make_machine(&all, machine);
    ck_assert_int_eq(network_init(network, "node0", &all, choice, &err), HVD_OK);
}

static void split(struct join_addresses *addresses, const char *text)
{
    int length;
    for (addresses->count = 0; *text; text += length)
        ck_assert_int_eq(sscanf(text, "%63s %n", addresses->text[addresses->count++], &length), 1);
}

static const char *list(const struct join_addresses *addresses)
{
    static char text[JOIN_ADDRESSES_MAX * (JOIN_ADDRESS_MAX + 1)];
    int used = 0;
    text[0] = '\0';
    for (int i = 0; i < addresses->count; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", i ? " " : "",
                         addresses->text[i]);
    return text;
}

#define ETH0 "eth0 r 198.51.100.10/24 eth0 r 2001:db8::10/64 "
#define IB0 "ib0 r 203.0.113.10/24 "
#define DOCKER0 "docker0 v 172.17.0.1/16 "
#define LO "lo l 127.0.0.1/8 lo l ::1/128 "
#define SOCKET "unix:00112233445566778899aabbccddeeff"

/* ---- where a rank can be dialled ---- */

static const struct {
    const char *machine, *choice;
    struct listener listener;
    const char *addresses;
} offers[] = {
    { ETH0 IB0 DOCKER0 LO,
      "",
      { 3, 42, true, false, -1, "", { 0 }, 0 },
      "198.51.100.10:42 [2001:db8::10]:42 203.0.113.10:42 172.17.0.1:42 127.0.0.1:42" },
    { ETH0 IB0 DOCKER0 LO,
      "",
      { 3, 42, false, false, -1, "", { 0 }, 0 },
      "198.51.100.10:42 203.0.113.10:42 172.17.0.1:42 127.0.0.1:42" },
    { ETH0 IB0 DOCKER0 LO, "", { 3, 42, false, true, -1, "", { 0 }, 0 }, "127.0.0.1:42" },
    { ETH0 IB0 DOCKER0 LO,
      "ib0",
      { 3, 42, true, false, -1, "", { 0 }, 0 },
      "203.0.113.10:42 127.0.0.1:42" },
    { ETH0 IB0 DOCKER0 LO,
      "ib0,2001:db8::/32",
      { 3, 42, true, false, -1, "", { 0 }, 0 },
      "203.0.113.10:42 [2001:db8::10]:42 127.0.0.1:42" },
    { ETH0 IB0 DOCKER0 LO, "lo", { 3, 42, true, false, -1, "", { 0 }, 0 }, "127.0.0.1:42" },
    { ETH0 "lo l ::1/128",
      "",
      { 3, 42, true, false, -1, "", { 0 }, 0 },
      "198.51.100.10:42 [2001:db8::10]:42 [::1]:42" },
    { ETH0, "", { 3, 42, true, false, -1, "", { 0 }, 0 }, "198.51.100.10:42 [2001:db8::10]:42" },
    { "", "", { 3, 42, true, false, -1, "", { 0 }, 0 }, "" },
    { ETH0 LO,
      "",
      { 3, 42, false, false, 4, SOCKET, { 0 }, 0 },
      "198.51.100.10:42 127.0.0.1:42 " SOCKET },
    { "", "", { 3, 42, false, false, 4, SOCKET, { 0 }, 0 }, SOCKET },
};

START_TEST(a_rank_offers_what_it_listens_at_best_first)
{
    struct network network;
    struct join_addresses addresses;
    make_network(&network, offers[_i].machine, offers[_i].choice);
    network_addresses(&network, &offers[_i].listener, &addresses);
    ck_assert_str_eq(list(&addresses), offers[_i].addresses);
}
END_TEST

START_TEST(of_too_many_addresses_those_of_this_host_are_kept)
{
    static struct network network;
    struct join_addresses addresses;
    struct interfaces all = { .count = 0 };
    char machine[INTERFACES_MAX * 32] = "";
    for (int i = 0; i < INTERFACES_MAX - 1; i++)
        sprintf(machine + strlen(machine), "ib%d r 10.0.%d.1/24 ", i, i);
    strcat(machine, "lo l 127.0.0.1/8");
    make_machine(&all, machine);
    ck_assert_int_eq(network_init(&network, "node0", &all, "", NULL), HVD_OK);
    network_addresses(&network,
                      &(struct listener){ .fd = 3, .port = 42, .has_ipv6 = true, .unix_fd = -1 },
                      &addresses);
    ck_assert_int_eq(addresses.count, JOIN_ADDRESSES_MAX);
    ck_assert_str_eq(addresses.text[0], "10.0.0.1:42");
    ck_assert_str_eq(addresses.text[JOIN_ADDRESSES_MAX - 1], "127.0.0.1:42");
    network_addresses(
        &network,
        &(struct listener){
            .fd = 3, .port = 42, .has_ipv6 = true, .unix_fd = 4, .unix_address = SOCKET },
        &addresses);
    ck_assert_int_eq(addresses.count, JOIN_ADDRESSES_MAX);
    ck_assert_str_eq(addresses.text[JOIN_ADDRESSES_MAX - 2], "127.0.0.1:42");
    ck_assert_str_eq(addresses.text[JOIN_ADDRESSES_MAX - 1], SOCKET);
}
END_TEST

START_TEST(an_interface_that_is_not_there_is_named_with_its_host)
{
    struct network network;
    struct interfaces all;
    struct err err;
    make_machine(&all, "eth0 r 198.51.100.10/24 " LO);
    ck_assert_int_eq(network_init(&network, "node7", &all, "eth0,ib0", &err), HVD_ERR_ENVIRONMENT);
    ck_assert_str_eq(err.text, "HVD_NETWORK_INTERFACES on node7: no interface 'ib0' "
                               "(have: eth0 198.51.100.10, lo 127.0.0.1 ::1)");
}
END_TEST

/* ---- where another rank is tried ---- */

static const struct {
    const char *machine, *host, *said, *tried;
} orders[] = {
    /* the same host */
    { ETH0 LO, "node0", "198.51.100.10:1 172.17.0.1:1 127.0.0.1:1",
      "127.0.0.1:1 198.51.100.10:1 172.17.0.1:1" },
    { ETH0 LO, "node0", "198.51.100.10:1 [::1]:1", "[::1]:1 198.51.100.10:1" },
    /* one network */
    { ETH0 LO, "node1", "198.51.100.11:1 127.0.0.1:1", "198.51.100.11:1 127.0.0.1:1" },
    /* two networks: the one that both are in */
    { ETH0 LO, "node1", "203.0.113.11:1 198.51.100.11:1 127.0.0.1:1",
      "198.51.100.11:1 203.0.113.11:1 127.0.0.1:1" },
    { ETH0 IB0 LO, "node1", "203.0.113.11:1 198.51.100.11:1 127.0.0.1:1",
      "203.0.113.11:1 198.51.100.11:1 127.0.0.1:1" },
    /* behind a router */
    { ETH0 LO, "node1", "192.0.2.1:1 10.0.0.1:1 127.0.0.1:1",
      "192.0.2.1:1 10.0.0.1:1 127.0.0.1:1" },
    /* docker0 everywhere */
    { ETH0 DOCKER0 LO, "node1", "172.17.0.1:1 127.0.0.1:1 198.51.100.11:1",
      "198.51.100.11:1 172.17.0.1:1 127.0.0.1:1" },
    { ETH0 DOCKER0 LO, "node1", "172.17.0.9:1 192.0.2.1:1 198.51.100.11:1",
      "198.51.100.11:1 192.0.2.1:1 172.17.0.9:1" },
    /* a virtual network within a real one */
    { "eth0 r 10.0.0.1/8 docker0 v 10.1.0.1/16 " LO, "node1", "10.1.0.2:1 10.2.0.2:1",
      "10.2.0.2:1 10.1.0.2:1" },
    /* an address that is ours, too, on an interface whose name says nothing */
    { "eth0 r 198.51.100.10/24 pan0 r 10.9.0.1/24 " LO, "node1",
      "10.9.0.1:1 192.0.2.1:1 198.51.100.11:1", "198.51.100.11:1 192.0.2.1:1 10.9.0.1:1" },
    /* IPv6 */
    { ETH0 LO, "node1", "192.0.2.1:1 [2001:db8::11]:1 [::1]:1",
      "[2001:db8::11]:1 192.0.2.1:1 [::1]:1" },
    /* what is no address */
    { ETH0 LO, "node1", "nonsense 198.51.100.11:1", "198.51.100.11:1 nonsense" },
    { "", "node1", "198.51.100.11:1 127.0.0.1:1", "198.51.100.11:1 127.0.0.1:1" },
};

START_TEST(addresses_are_tried_in_order)
{
    struct network network;
    struct join_peer peer = { .rank = 1 };
    make_network(&network, orders[_i].machine, "");
    snprintf(peer.host, sizeof peer.host, "%s", orders[_i].host);
    split(&peer.addresses, orders[_i].said);
    network_order(&network, &peer);
    ck_assert_str_eq(list(&peer.addresses), orders[_i].tried);
}
END_TEST

#define PLACES "198.51.100.11:1 127.0.0.1:1 "

/* What HVD_TRANSPORT makes of the ways to a rank of this host, and of another. */
static const struct {
    enum transport transport;
    const char *host, *said, *tried;
} ways[] = {
    { TRANSPORT_AUTO, "node0", PLACES SOCKET, SOCKET " 127.0.0.1:1 198.51.100.11:1" },
    { TRANSPORT_UNIX, "node0", PLACES SOCKET, SOCKET " 127.0.0.1:1 198.51.100.11:1" },
    { TRANSPORT_SHM, "node0", PLACES SOCKET, SOCKET },
    { TRANSPORT_SHM, "node0", "198.51.100.11:1 127.0.0.1:1", "" },
    { TRANSPORT_TCP, "node0", PLACES SOCKET, "127.0.0.1:1 198.51.100.11:1" },
    { TRANSPORT_AUTO, "node1", PLACES SOCKET, "198.51.100.11:1 127.0.0.1:1" },
    { TRANSPORT_SHM, "node1", PLACES SOCKET, "198.51.100.11:1 127.0.0.1:1" },
    { TRANSPORT_AUTO, "node1", SOCKET, "" },
    { TRANSPORT_AUTO, "node0", "nonsense unix:12 " SOCKET, "unix:12 " SOCKET " nonsense" },
};

START_TEST(a_unix_socket_is_for_the_ranks_of_its_host)
{
    struct network network;
    struct join_peer peer = { .rank = 1 };
    make_network(&network, ETH0 LO, "");
    network.transport = ways[_i].transport;
    snprintf(peer.host, sizeof peer.host, "%s", ways[_i].host);
    split(&peer.addresses, ways[_i].said);
    network_order(&network, &peer);
    ck_assert_str_eq(list(&peer.addresses), ways[_i].tried);
}
END_TEST

/* ---- who is let in ---- */

static const struct {
    const char *choice, *address;
    bool admitted;
} doors[] = {
    { "", "198.51.100.10", true },          { "", "192.0.2.77", true },
    { "ib0", "203.0.113.10", true },        { "ib0", "198.51.100.10", false },
    { "ib0", "172.17.0.1", false },         { "ib0", "127.0.0.1", true },
    { "ib0", "127.0.1.1", true },           { "ib0", "::1", true },
    { "ib0", "::ffff:203.0.113.10", true }, { "ib0", "::ffff:198.51.100.10", false },
    { "ib0", "2001:db8::10", false },       { "2001:db8::/64", "2001:db8::10", true },
};

START_TEST(a_choice_shuts_the_other_doors)
{
    struct network network;
    struct socket_address address;
    char text[80];
    make_network(&network, ETH0 IB0 DOCKER0 LO, doors[_i].choice);
    snprintf(text, sizeof text, strchr(doors[_i].address, ':') ? "[%s]:1" : "%s:1",
             doors[_i].address);
    ck_assert_int_eq(socket_address_parse(&address, text, NULL), HVD_OK);
    ck_assert_int_eq(network_admits(&network, &address.storage), doors[_i].admitted);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("network");
    TCase *tcase = tcase_create("network");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, a_rank_offers_what_it_listens_at_best_first, 0,
                        sizeof offers / sizeof *offers);
    tcase_add_test(tcase, of_too_many_addresses_those_of_this_host_are_kept);
    tcase_add_test(tcase, an_interface_that_is_not_there_is_named_with_its_host);
    tcase_add_loop_test(tcase, addresses_are_tried_in_order, 0, sizeof orders / sizeof *orders);
    tcase_add_loop_test(tcase, a_unix_socket_is_for_the_ranks_of_its_host, 0,
                        sizeof ways / sizeof *ways);
    tcase_add_loop_test(tcase, a_choice_shuts_the_other_doors, 0, sizeof doors / sizeof *doors);
    return unit_run(suite);
}
