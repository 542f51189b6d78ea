/* SPDX-License-Identifier: Apache-2.0 */
/* Which names and addresses are this machine, with interfaces made up here. */
#include "launcher/hosts/local_host.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static struct ip_address address(const char *text)
{
    struct ip_address address = { .family = strchr(text, ':') ? AF_INET6 : AF_INET };
    ck_assert_int_eq(inet_pton(address.family, text, address.bytes), 1);
    return address;
}

struct local_case {
    const char *host;
    bool local;
};

START_TEST(names_and_addresses_of_this_machine_are_local)
{
    static const struct local_case cases[] = {
        { "localhost", true },
        { "LOCALHOST", true },
        { "node1.example.org", true },
        { "node1", true },
        { "Node1", true },
        { "node", false },
        { "node1.example", false },
        { "node1.elsewhere.org", false },
        { "127.0.0.1", true },
        { "127.255.3.4", true },
        { "128.0.0.1", false },
        { "::1", true },
        { "[::1]", true },
        { "0:0:0:0:0:0:0:1", true },
        { "::ffff:127.0.0.1", true },
        { "::2", false },
        { "192.0.2.1", true },
        { "192.0.2.2", false },
        { "2001:db8::1", true },
        { "[2001:db8::1%eth0]", true },
        { "2001:db8::2", false },
        { "::ffff:192.0.2.1", true },
        { "alias", false },
        { "alias6", false },
        { "debian", false },
        { "other", false },
        { "both", false },
        { "unknown", false },
        { "", false },
    };
    struct ip_address own[] = { address("192.0.2.1"), address("2001:db8::1") };
    struct local_host self = { "node1.example.org", own, 2 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(local_host_is(&self, cases[i].host) == cases[i].local, "%s", cases[i].host);
    }
}
END_TEST

START_TEST(only_an_address_is_certain_to_be_of_another_machine)
{
    static const struct {
        const char *host;
        bool other;
    } cases[] = {
        { "localhost", false },     { "other", false },      { "", false },
        { "127.0.0.1", false },     { "[::1]", false },      { "192.0.2.1", false },
        { "192.0.2.2", true },      { "2001:db8::2", true }, { "[2001:db8::2%eth0]", true },
        { "192.0.2.2.org", false }, { "0.0.0.0", false },    { "[::]", false },
    };
    struct ip_address own[] = { address("192.0.2.1"), address("2001:db8::1") };
    struct local_host self = { "node1.example.org", own, 2 }, unknown = { "node1", own, 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(local_host_is_not(&self, cases[i].host) == cases[i].other, "%s",
                      cases[i].host);
        ck_assert_msg(!local_host_is_not(&unknown, cases[i].host), "%s", cases[i].host);
    }
}
END_TEST

START_TEST(an_address_that_a_name_resolves_to_may_be_ours)
{
    struct ip_address own[] = { address("192.0.2.1") };
    struct local_host self = { "node1", own, 1 };
    struct sockaddr_in ours = { .sin_family = AF_INET }, other = ours;
    struct sockaddr_in6 loopback = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    struct sockaddr_un socket_file = { .sun_family = AF_UNIX };
    inet_pton(AF_INET, "192.0.2.1", &ours.sin_addr);
    inet_pton(AF_INET, "192.0.2.2", &other.sin_addr);
    ck_assert(local_host_has_address(&self, (struct sockaddr *)&ours));
    ck_assert(local_host_has_address(&self, (struct sockaddr *)&loopback));
    ck_assert(!local_host_has_address(&self, (struct sockaddr *)&other));
    ck_assert(!local_host_has_address(&self, (struct sockaddr *)&socket_file));
}
END_TEST

START_TEST(a_machine_without_a_name_has_no_empty_name)
{
    struct local_host self = { "", NULL, 0 };
    ck_assert(!local_host_is(&self, ""));
    ck_assert(local_host_is(&self, "localhost"));
}
END_TEST

START_TEST(the_system_knows_itself)
{
    struct local_host self;
    local_host_init(&self);
    ck_assert(local_host_is(&self, "localhost"));
    ck_assert(local_host_is(&self, "127.0.0.2"));
    if (*self.name)
        ck_assert(local_host_is(&self, self.name));
    ck_assert(!local_host_is(&self, "192.0.2.77"));
    local_host_fini(&self);
    local_host_fini(&self);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("local_host");
    TCase *hosts = tcase_create("hosts");
    tcase_add_test(hosts, names_and_addresses_of_this_machine_are_local);
    tcase_add_test(hosts, only_an_address_is_certain_to_be_of_another_machine);
    tcase_add_test(hosts, an_address_that_a_name_resolves_to_may_be_ours);
    tcase_add_test(hosts, a_machine_without_a_name_has_no_empty_name);
    tcase_add_test(hosts, the_system_knows_itself);
    suite_add_tcase(suite, hosts);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
