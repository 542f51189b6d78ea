/* SPDX-License-Identifier: Apache-2.0 */
/* Which interfaces ranks are reached at, in which order, and a choice among them; of machines that
 * are made up here. Linked with -Wl,--wrap=getifaddrs. */
#include "lib/base/interfaces.h"

#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum { UP = IFF_UP | IFF_RUNNING, LOOP = UP | IFF_LOOPBACK, TOLD_MAX = 100 };

struct told {
    const char *name;
    unsigned flags;
    const char *address; /* NULL: none, as of a packet socket */
    unsigned bits;
};

static struct {
    struct ifaddrs list;
    struct sockaddr_storage address, mask;
} store[TOLD_MAX];

static void fill(struct sockaddr_storage *address, const char *text)
{
    *address = (struct sockaddr_storage){ .ss_family = strchr(text, ':') ? AF_INET6 : AF_INET };
    void *bytes = address->ss_family == AF_INET
                      ? (void *)&((struct sockaddr_in *)address)->sin_addr
                      : (void *)&((struct sockaddr_in6 *)address)->sin6_addr;
    ck_assert_int_eq(inet_pton(address->ss_family, text, bytes), 1);
}

static void fill_mask(struct sockaddr_storage *mask, int family, unsigned bits)
{
    mask->ss_family = (sa_family_t)family;
    unsigned char *bytes = family == AF_INET
                               ? (unsigned char *)&((struct sockaddr_in *)mask)->sin_addr
                               : (unsigned char *)&((struct sockaddr_in6 *)mask)->sin6_addr;
    for (unsigned bit = 0; bit < bits; bit++)
        bytes[bit / 8] = (unsigned char)(bytes[bit / 8] | 0x80u >> bit % 8);
}

static const struct ifaddrs *tell(const struct told *told)
{
    int n = 0;
    memset(store, 0, sizeof store);
    for (; told[n].name; n++) {
        store[n].list = (struct ifaddrs){ .ifa_next = told[n + 1].name ? &store[n + 1].list : NULL,
                                          .ifa_name = (char *)(uintptr_t)told[n].name,
                                          .ifa_flags = told[n].flags };
        if (!told[n].address)
            continue;
        fill(&store[n].address, told[n].address);
        fill_mask(&store[n].mask, store[n].address.ss_family, told[n].bits);
        store[n].list.ifa_addr = (struct sockaddr *)&store[n].address;
        store[n].list.ifa_netmask = (struct sockaddr *)&store[n].mask;
    }
    return n > 0 ? &store[0].list : NULL;
}

/* "eth0 192.0.2.1/24, lo 127.0.0.1/8" */
static const char *show(const struct interfaces *interfaces)
{
    static char text[4096];
    int used = 0;
    text[0] = '\0';
    for (int i = 0; i < interfaces->count; i++) {
        const struct interface *at = &interfaces->at[i];
        char address[INET6_ADDRSTRLEN];
        const void *bytes =
            at->address.ss_family == AF_INET
                ? (const void *)&((const struct sockaddr_in *)&at->address)->sin_addr
                : &((const struct sockaddr_in6 *)&at->address)->sin6_addr;
        inet_ntop(at->address.ss_family, bytes, address, sizeof address);
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s %s/%u", i ? ", " : "",
                         at->name, address, at->prefix_bits);
    }
    return text;
}

static const struct {
    struct told told[10];
    const char *order;
} machines[] = {
    { { { 0 } }, "" },
    { { { "lo", LOOP, "127.0.0.1", 8 } }, "lo 127.0.0.1/8" },
    { { { "lo", LOOP, NULL, 0 },
        { "eth0", UP, NULL, 0 },
        { "lo", LOOP, "127.0.0.1", 8 },
        { "eth0", UP, "192.0.2.1", 24 },
        { "eth1", UP, "203.0.113.1", 25 },
        { "lo", LOOP, "::1", 128 },
        { "eth0", UP, "2001:db8::1", 64 },
        { "eth0", UP, "fe80::1", 64 } },
      "eth0 192.0.2.1/24, eth0 2001:db8::1/64, eth1 203.0.113.1/25, lo 127.0.0.1/8, lo ::1/128" },
    /* what is down, and what has no carrier */
    { { { "eth0", IFF_RUNNING, "192.0.2.1", 24 }, { "eth1", UP, "192.0.2.2", 24 } },
      "eth1 192.0.2.2/24" },
    { { { "eth0", IFF_UP, "192.0.2.1", 24 }, { "eth1", UP, "192.0.2.2", 24 } },
      "eth1 192.0.2.2/24, eth0 192.0.2.1/24" },
    { { { "lo", IFF_UP | IFF_LOOPBACK, "127.0.0.1", 8 }, { "docker0", IFF_UP, "172.17.0.1", 16 } },
      "docker0 172.17.0.1/16, lo 127.0.0.1/8" },
    /* what containers and virtual machines make */
    { { { "docker0", UP, "172.17.0.1", 16 },
        { "virbr0", UP, "192.168.122.1", 24 },
        { "br-3f2a", UP, "172.18.0.1", 16 },
        { "veth12", UP, "10.1.0.1", 32 },
        { "cni0", UP, "10.2.0.1", 24 },
        { "lxcbr0", UP, "10.0.3.1", 24 },
        { "br0", UP, "192.0.2.1", 24 },
        { "ib0", UP, "203.0.113.1", 24 } },
      "br0 192.0.2.1/24, ib0 203.0.113.1/24, docker0 172.17.0.1/16, virbr0 192.168.122.1/24, "
      "br-3f2a 172.18.0.1/16, veth12 10.1.0.1/32, cni0 10.2.0.1/24, lxcbr0 10.0.3.1/24" },
    /* an address that is there twice */
    { { { "cali1", UP, "169.254.1.1", 32 },
        { "cali2", UP, "169.254.1.1", 32 },
        { "eth0", UP, "192.0.2.1", 24 },
        { "eth0:1", UP, "192.0.2.1", 32 } },
      "eth0 192.0.2.1/24, cali1 169.254.1.1/32" },
    /* several on one interface */
    { { { "eth0", UP, "2001:db8::1", 64 },
        { "eth1", UP, "203.0.113.1", 24 },
        { "eth0", UP, "192.0.2.1", 24 },
        { "eth0", UP, "192.0.2.2", 32 } },
      "eth0 192.0.2.1/24, eth0 192.0.2.2/32, eth0 2001:db8::1/64, eth1 203.0.113.1/24" },
};

START_TEST(interfaces_are_put_in_order)
{
    struct interfaces interfaces;
    interfaces_sort_out(&interfaces, tell(machines[_i].told));
    ck_assert_str_eq(show(&interfaces), machines[_i].order);
}
END_TEST

START_TEST(of_too_many_the_best_are_kept)
{
    struct told told[TOLD_MAX + 1] = { { 0 } };
    char addresses[TOLD_MAX][24];
    struct interfaces interfaces;
    for (int i = 0; i < TOLD_MAX; i++) {
        snprintf(addresses[i], sizeof addresses[i], "10.0.0.%d", i + 1);
        told[i] = (struct told){ i < TOLD_MAX - 1 ? "veth0" : "eth0", UP, addresses[i], 24 };
    }
    interfaces_sort_out(&interfaces, tell(told));
    ck_assert_int_eq(interfaces.count, INTERFACES_MAX);
    ck_assert_str_eq(interfaces.at[0].name, "eth0");
}
END_TEST

static const struct told machine[] = {
    { "lo", LOOP, "127.0.0.1", 8 },     { "eth0", UP, "198.51.100.10", 24 },
    { "ib0", UP, "203.0.113.10", 24 },  { "docker0", UP, "172.17.0.1", 16 },
    { "eth0", UP, "2001:db8::10", 64 }, { 0 },
};

static const struct {
    const char *choice;
    int status;
    const char *text; /* what is left, or the error */
} choices[] = {
    { "", HVD_OK,
      "eth0 198.51.100.10/24, eth0 2001:db8::10/64, ib0 203.0.113.10/24, docker0 172.17.0.1/16, "
      "lo 127.0.0.1/8" },
    { "eth0", HVD_OK, "eth0 198.51.100.10/24, eth0 2001:db8::10/64" },
    { "ib0,eth0", HVD_OK, "ib0 203.0.113.10/24, eth0 198.51.100.10/24, eth0 2001:db8::10/64" },
    { "198.51.100.10", HVD_OK, "eth0 198.51.100.10/24" },
    { "2001:db8::10", HVD_OK, "eth0 2001:db8::10/64" },
    { "203.0.113.0/24", HVD_OK, "ib0 203.0.113.10/24" },
    { "203.0.113.77/24", HVD_OK, "ib0 203.0.113.10/24" },
    { "203.0.113.8/30", HVD_OK, "ib0 203.0.113.10/24" },
    { "2001:db8::/32", HVD_OK, "eth0 2001:db8::10/64" },
    { "0.0.0.0/0", HVD_OK,
      "eth0 198.51.100.10/24, ib0 203.0.113.10/24, docker0 172.17.0.1/16, lo 127.0.0.1/8" },
    { "::/0", HVD_OK, "eth0 2001:db8::10/64" },
    { "eth0,198.51.100.0/24,eth0", HVD_OK, "eth0 198.51.100.10/24, eth0 2001:db8::10/64" },
    { "lo,docker0", HVD_OK, "lo 127.0.0.1/8, docker0 172.17.0.1/16" },
    { "ib1", HVD_ERR_INVALID,
      "no interface 'ib1' (have: eth0 198.51.100.10 2001:db8::10, ib0 203.0.113.10, docker0 "
      "172.17.0.1, lo 127.0.0.1)" },
    { "eth", HVD_ERR_INVALID,
      "no interface 'eth' (have: eth0 198.51.100.10 2001:db8::10, ib0 203.0.113.10, docker0 "
      "172.17.0.1, lo 127.0.0.1)" },
    { "eth0,192.0.2.1", HVD_ERR_INVALID,
      "no interface '192.0.2.1' (have: eth0 198.51.100.10 2001:db8::10, ib0 203.0.113.10, docker0 "
      "172.17.0.1, lo 127.0.0.1)" },
    { "203.0.113.8/31", HVD_ERR_INVALID,
      "no interface '203.0.113.8/31' (have: eth0 198.51.100.10 2001:db8::10, ib0 203.0.113.10, "
      "docker0 172.17.0.1, lo 127.0.0.1)" },
};

START_TEST(a_choice_keeps_what_it_names)
{
    struct interfaces interfaces;
    struct err err = { 0 };
    interfaces_sort_out(&interfaces, tell(machine));
    int rc = interfaces_choose(&interfaces, choices[_i].choice, &err);
    ck_assert_int_eq(rc, choices[_i].status);
    ck_assert_str_eq(rc == HVD_OK ? show(&interfaces) : err.text, choices[_i].text);
}
END_TEST

static const struct {
    const char *address, *name;
} found[] = {
    { "198.51.100.10", "eth0" },
    { "2001:db8:0::10", "eth0" },
    { "::ffff:203.0.113.10", "ib0" },
    { "172.17.0.1", "docker0" },
    { "127.0.0.1", "lo" },
    { "127.0.0.2", NULL },
    { "203.0.113.11", NULL },
    { "0.0.0.0", NULL },
    { "203.0.113.10/32", NULL },
    { "2001:db8::10%eth0", NULL },
    { "eth0", NULL },
    { "UNKNOWN", NULL },
    { "", NULL },
};

START_TEST(an_interface_is_found_by_its_address)
{
    struct interfaces interfaces;
    interfaces_sort_out(&interfaces, tell(machine));
    const struct interface *at = interfaces_find(&interfaces, found[_i].address);
    ck_assert_pstr_eq(at ? at->name : NULL, found[_i].name);
}
END_TEST

START_TEST(a_machine_with_many_interfaces_is_told_in_one_short_line)
{
    struct told told[TOLD_MAX + 1] = { { 0 } };
    char addresses[TOLD_MAX][INET6_ADDRSTRLEN];
    struct interfaces interfaces;
    struct err err = { 0 };
    for (int i = 0; i < TOLD_MAX; i++) {
        snprintf(addresses[i], sizeof addresses[i], "2001:db8:1111:2222:3333:4444:5555:%x", i);
        told[i] =
            (struct told){ i % 2 ? "interface-name-" : "interface-nom-", UP, addresses[i], 64 };
    }
    interfaces_sort_out(&interfaces, tell(told));
    ck_assert_int_eq(interfaces_choose(&interfaces, "ib0", &err), HVD_ERR_INVALID);
    ck_assert_uint_le(strlen(err.text), 400);
    ck_assert_ptr_nonnull(strstr(err.text, ", ...)"));
}
END_TEST

static const char *const wrong[] = {
    "",
    "eth0,",
    ",eth0",
    "eth0,,ib0",
    "eth 0",
    "eth0/24",
    "192.0.2.1/33",
    "192.0.2.1/",
    "::/129",
    "192.0.2.1/-1",
    "192.0.2/8",
    "a-name-of-16-chr",
    "192.0.2.1/8/8",
    "[::1]/8",
    "\x1b[2J",
    ".",
    "..",
    "192.0.2.1/0x8",
    "/",
    "2001:db8::1/1111",
};

START_TEST(what_is_no_choice_is_named)
{
    struct err err = { 0 };
    ck_assert_int_eq(interfaces_check_choice(wrong[_i], &err), HVD_ERR_INVALID);
    ck_assert_ptr_nonnull(
        strstr(err.text, "' is not the name of a network interface, an address, or ADDRESS/BITS"));
    ck_assert_int_eq(err.text[0], '\'');
    ck_assert_ptr_null(strchr(err.text, '\x1b'));
}
END_TEST

START_TEST(a_choice_may_name_what_is_not_here)
{
    struct err err;
    ck_assert_int_eq(interfaces_check_choice("ib7,10.0.0.0/8,eth0.100,fd00::/8,::1", &err), HVD_OK);
}
END_TEST

START_TEST(ipv4_inside_ipv6_is_ipv4)
{
    struct sockaddr_storage plain, mapped, loopback, other;
    fill(&plain, "192.0.2.1");
    fill(&mapped, "::ffff:192.0.2.1");
    fill(&loopback, "::ffff:127.3.4.5");
    fill(&other, "2001:db8::1");
    ck_assert(address_equal(&plain, &mapped));
    ck_assert(address_is_loopback(&loopback));
    ck_assert(!address_is_loopback(&mapped));
    ck_assert(!address_equal(&plain, &other));
    ck_assert(!address_in_network(&plain, &other, 0));
}
END_TEST

/* The sandbox that builds this may have nothing but loopback. */
START_TEST(this_machine_has_interfaces)
{
    struct interfaces interfaces;
    struct err err;
    ck_assert_int_eq(interfaces_read(&interfaces, &err), HVD_OK);
    ck_assert_int_gt(interfaces.count, 0);
}
END_TEST

/* The next list of the kernel fails with this errno (--wrap); 0: it does not. */
static int refused;
int __real_getifaddrs(struct ifaddrs **list);
int __wrap_getifaddrs(struct ifaddrs **list);

int __wrap_getifaddrs(struct ifaddrs **list)
{
    errno = refused;
    return refused ? -1 : __real_getifaddrs(list);
}

START_TEST(without_a_list_of_the_kernel_there_are_none)
{
    struct interfaces interfaces = { .count = 7 };
    struct err err;
    refused = EMFILE;
    int rc = interfaces_read(&interfaces, &err);
    refused = 0;
    ck_assert_int_eq(rc, HVD_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(err.text, "getifaddrs"));
    ck_assert_int_eq(interfaces.count, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interfaces");
    TCase *tcase = tcase_create("interfaces");
    descriptors_watch(tcase);
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, interfaces_are_put_in_order, 0, sizeof machines / sizeof *machines);
    tcase_add_test(tcase, of_too_many_the_best_are_kept);
    tcase_add_loop_test(tcase, a_choice_keeps_what_it_names, 0, sizeof choices / sizeof *choices);
    tcase_add_loop_test(tcase, an_interface_is_found_by_its_address, 0,
                        sizeof found / sizeof *found);
    tcase_add_test(tcase, a_machine_with_many_interfaces_is_told_in_one_short_line);
    tcase_add_loop_test(tcase, what_is_no_choice_is_named, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(tcase, a_choice_may_name_what_is_not_here);
    tcase_add_test(tcase, ipv4_inside_ipv6_is_ipv4);
    tcase_add_test(tcase, this_machine_has_interfaces);
    tcase_add_test(tcase, without_a_list_of_the_kernel_there_are_none);
    return unit_run(suite);
}
