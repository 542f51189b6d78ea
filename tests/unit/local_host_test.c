/* SPDX-License-Identifier: Apache-2.0 */
/* Which names and addresses are this machine, with interfaces and a resolver made up here. */
#include "launcher/local_host.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

static struct ip_address address(const char *text)
{
    struct ip_address address = { .family = strchr(text, ':') ? AF_INET6 : AF_INET };
    ck_assert_int_eq(inet_pton(address.family, text, address.bytes), 1);
    return address;
}

static int asked; /* how often the resolver was */

/* Names of a small made-up network; the machine is 192.0.2.1 and 2001:db8::1. */
static int resolve(const char *name, struct ip_address *addresses, int max)
{
    static const struct {
        const char *name, *first, *second;
    } known[] = {
        { "alias", "192.0.2.1", NULL },       { "alias6", "2001:db8::1", "192.0.2.1" },
        { "debian", "127.0.1.1", NULL },      { "other", "192.0.2.2", NULL },
        { "both", "192.0.2.1", "192.0.2.2" }, { "node1.elsewhere.org", "192.0.2.3", NULL },
    };
    asked++;
    ck_assert_int_ge(max, 2);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, name) != 0)
            continue;
        addresses[0] = address(known[i].first);
        if (known[i].second)
            addresses[1] = address(known[i].second);
        return known[i].second ? 2 : 1;
    }
    return 0;
}

struct local_case {
    const char *host;
    bool local;
    bool looked_up;
};

START_TEST(names_and_addresses_of_this_machine_are_local)
{
    static const struct local_case cases[] = {
        { "localhost", true, false },
        { "LOCALHOST", true, false },
        { "node1.example.org", true, false },
        { "node1", true, false },
        { "Node1", true, false },
        { "node", false, true },
        { "node1.example", false, true },
        { "node1.elsewhere.org", false, true },
        { "127.0.0.1", true, false },
        { "127.255.3.4", true, false },
        { "128.0.0.1", false, false },
        { "::1", true, false },
        { "[::1]", true, false },
        { "0:0:0:0:0:0:0:1", true, false },
        { "::ffff:127.0.0.1", true, false },
        { "::2", false, false },
        { "192.0.2.1", true, false },
        { "192.0.2.2", false, false },
        { "2001:db8::1", true, false },
        { "[2001:db8::1%eth0]", true, false },
        { "2001:db8::2", false, false },
        { "::ffff:192.0.2.1", true, false },
        { "alias", true, true },
        { "alias6", true, true },
        { "debian", true, true },
        { "other", false, true },
        { "both", false, true },
        { "unknown", false, true },
        { "", false, true },
    };
    struct ip_address own[] = { address("192.0.2.1"), address("2001:db8::1") };
    struct local_host self = { "node1.example.org", own, 2, resolve };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asked = 0;
        ck_assert_msg(local_host_is(&self, cases[i].host) == cases[i].local, "%s", cases[i].host);
        ck_assert_msg((asked > 0) == cases[i].looked_up, "look-up of %s", cases[i].host);
    }
}
END_TEST

START_TEST(a_machine_without_a_name_has_no_empty_name)
{
    struct local_host self = { "", NULL, 0, resolve };
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
    tcase_add_test(hosts, a_machine_without_a_name_has_no_empty_name);
    tcase_add_test(hosts, the_system_knows_itself);
    suite_add_tcase(suite, hosts);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
