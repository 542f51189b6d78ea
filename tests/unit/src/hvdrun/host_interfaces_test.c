/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of --network-interfaces concerns which host. */
#include "src/hvdrun/host_interfaces.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct host_list hosts;
static struct rank_plan plan;
static struct string_list items, choices, warnings;
static struct err err;

static void setup(void)
{
    static const char text[] = "a:1,B:2,c:1";
    ck_assert_int_eq(host_list_parse(&hosts, text, strlen(text), "-H", &err), HVD_OK);
    ck_assert_int_eq(rank_plan_make(&plan, &hosts, 4, RANKS_BY_SLOT, &err), HVD_OK);
}

static void teardown(void)
{
    string_list_fini(&items);
    string_list_fini(&choices);
    string_list_fini(&warnings);
    err = (struct err){ 0 };
    rank_plan_fini(&plan);
    host_list_fini(&hosts);
}

static int make(const char *const *texts)
{
    for (; *texts; texts++)
        string_list_add(&items, *texts, strlen(*texts));
    return host_interfaces_make(&choices, &items, &plan, &err);
}

static const struct {
    const char *items[6];
    const char *choices[3];
} rows[] = {
    { { NULL }, { "", "", "" } },
    { { "eth0" }, { "eth0", "eth0", "eth0" } },
    { { "eth0", "10.0.0.0/8" }, { "eth0,10.0.0.0/8", "eth0,10.0.0.0/8", "eth0,10.0.0.0/8" } },
    { { "eth0", "b=ib0" }, { "eth0", "ib0", "eth0" } },
    { { "b=ib0", "b=ib1" }, { "", "ib0,ib1", "" } },
    { { "a=x", "eth0", "B=y", "c=z" }, { "x", "y", "z" } },
};

START_TEST(what_is_said_of_a_host_comes_before_what_is_said_of_all)
{
    ck_assert_int_eq(make(rows[_i].items), HVD_OK);
    ck_assert_uint_eq(choices.count, 3);
    for (int host = 0; host < 3; host++)
        ck_assert_str_eq(choices.items[host], rows[_i].choices[host]);
}
END_TEST

START_TEST(a_host_that_the_job_does_not_have_is_refused)
{
    ck_assert_int_eq(make((const char *[]){ "eth0", "d=ib0", NULL }), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "--network-interfaces: no such host in this job: 'd'");
}
END_TEST

START_TEST(a_host_that_the_job_may_find_later_can_be_named)
{
    string_list_add(&items, "d=ib0", 5);
    string_list_add(&items, "a=eth0", 6);
    ck_assert_int_eq(host_interfaces_choose(&choices, &items, &plan, &err), HVD_OK);
    ck_assert_uint_eq(choices.count, 3);
    ck_assert_str_eq(choices.items[0], "eth0");
    ck_assert_str_eq(choices.items[1], "");
}
END_TEST

START_TEST(a_choice_that_is_too_long_is_refused)
{
    char item[800];
    memset(item, 'e', sizeof item - 1);
    item[sizeof item - 1] = '\0';
    ck_assert_int_eq(make((const char *[]){ item, item, NULL }), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "--network-interfaces: too long for a");
}
END_TEST

/* B is this machine, c an address of another, a anything. */
static enum host_place find_host_place(void *context, const char *host)
{
    (void)context;
    return *host == 'B' ? HOST_HERE : *host == 'c' ? HOST_ELSEWHERE : HOST_UNKNOWN;
}

static enum host_place unknown(void *context, const char *host)
{
    (void)context;
    (void)host;
    return HOST_UNKNOWN;
}

static enum host_place here(void *context, const char *host)
{
    (void)context;
    (void)host;
    return HOST_HERE;
}

static enum host_place elsewhere(void *context, const char *host)
{
    (void)context;
    (void)host;
    return HOST_ELSEWHERE;
}

static const struct {
    const char *items[4];
    const char *refused; /* the host, and one that does not reach it */
    const char *warning;
} loopback_rows[] = {
    { { NULL }, NULL, NULL },
    { { "eth0" }, NULL, NULL },
    { { "lo,eth0" }, NULL, NULL },
    { { "0.0.0.0/0" }, NULL, NULL },
    { { "::/0" }, NULL, NULL },
    { { "lo", "c=eth0", "b=eth0" },
      NULL,
      "only loopback on a, which ranks on B reach only if both are one machine: 'lo'" },
    { { "a=lo", "a=127.0.0.0/8" },
      NULL,
      "only loopback on a, which ranks on B reach only if both are one machine: 'lo,127.0.0.0/8'" },
    { { "eth0", "b=::1", "b=127.0.0.1" },
      "only loopback on B, which ranks on c do not reach: '::1,127.0.0.1'",
      NULL },
    { { "c=lo" }, "only loopback on c, which ranks on B do not reach: 'lo'", NULL },
};

static void check_words(const char *text, const char *wanted)
{
    char line[160] = "";
    if (wanted)
        snprintf(line, sizeof line, "--network-interfaces: %s", wanted);
    ck_assert_str_eq(text, line);
}

START_TEST(a_host_that_others_cannot_connect_to_is_refused_or_if_they_may_warned_of)
{
    const char *refused = loopback_rows[_i].refused;
    ck_assert_int_eq(make(loopback_rows[_i].items), HVD_OK);
    ck_assert_int_eq(host_interfaces_check(&choices, &plan, find_host_place, NULL, &warnings, &err),
                     refused ? HVD_ERR_INVALID : HVD_OK);
    check_words(err.text, refused);
    check_words(warnings.count > 0 ? warnings.items[0] : "", loopback_rows[_i].warning);
}
END_TEST

START_TEST(of_several_hosts_that_may_not_be_reached_one_is_named)
{
    ck_assert_int_eq(make((const char *[]){ "lo", NULL }), HVD_OK);
    ck_assert_int_eq(host_interfaces_check(&choices, &plan, unknown, NULL, &warnings, &err),
                     HVD_OK);
    ck_assert_uint_eq(warnings.count, 1);
}
END_TEST

START_TEST(two_addresses_of_other_machines_may_be_one_machine)
{
    ck_assert_int_eq(make((const char *[]){ "c=lo", NULL }), HVD_OK);
    ck_assert_int_eq(host_interfaces_check(&choices, &plan, elsewhere, NULL, &warnings, &err),
                     HVD_OK);
    ck_assert_uint_eq(warnings.count, 1);
    check_words(warnings.items[0],
                "only loopback on c, which ranks on a reach only if both are one machine: 'lo'");
}
END_TEST

START_TEST(on_one_machine_loopback_will_do)
{
    ck_assert_int_eq(make((const char *[]){ "lo", NULL }), HVD_OK);
    ck_assert_int_eq(host_interfaces_check(&choices, &plan, here, NULL, &warnings, &err), HVD_OK);
    ck_assert_uint_eq(warnings.count, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host_interfaces");
    TCase *tcase = tcase_create("host_interfaces");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase,
                        a_host_that_others_cannot_connect_to_is_refused_or_if_they_may_warned_of, 0,
                        (int)(sizeof loopback_rows / sizeof *loopback_rows));
    tcase_add_test(tcase, of_several_hosts_that_may_not_be_reached_one_is_named);
    tcase_add_test(tcase, two_addresses_of_other_machines_may_be_one_machine);
    tcase_add_test(tcase, on_one_machine_loopback_will_do);
    tcase_add_loop_test(tcase, what_is_said_of_a_host_comes_before_what_is_said_of_all, 0,
                        (int)(sizeof rows / sizeof *rows));
    tcase_add_test(tcase, a_host_that_the_job_does_not_have_is_refused);
    tcase_add_test(tcase, a_host_that_the_job_may_find_later_can_be_named);
    tcase_add_test(tcase, a_choice_that_is_too_long_is_refused);
    return unit_run(suite);
}
