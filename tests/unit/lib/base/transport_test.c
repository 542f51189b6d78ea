/* SPDX-License-Identifier: Apache-2.0 */
/* HVD_TRANSPORT is read, and a link between ranks of one host is judged by it. */
#include "lib/base/transport.h"
#include "tests/support/unit.h"

#include <strings.h>

static const char *value; /* of the variable */

static const char *get(const char *name)
{
    ck_assert_str_eq(name, "HVD_TRANSPORT");
    return value;
}

static const struct {
    const char *text;
    enum transport transport;
} names[] = {
    { NULL, TRANSPORT_AUTO }, { "auto", TRANSPORT_AUTO }, { "shm", TRANSPORT_SHM },
    { "SHM", TRANSPORT_SHM }, { "unix", TRANSPORT_UNIX }, { "Unix", TRANSPORT_UNIX },
    { "tcp", TRANSPORT_TCP },
};

START_TEST(each_name_is_its_transport_in_any_case)
{
    enum transport transport = TRANSPORT_TCP;
    value = names[_i].text;
    ck_assert_int_eq(transport_read(&transport, get, NULL), HVD_OK);
    ck_assert_int_eq(transport, names[_i].transport);
    if (value)
        ck_assert_int_eq(strcasecmp(transport_name(transport), value), 0);
}
END_TEST

START_TEST(any_other_name_is_refused_with_the_names_that_exist)
{
    static const char *const others[] = { "", "sh", "shmem", "tcp ", "0" };
    enum transport transport;
    struct err err = { 0 };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        value = others[i];
        ck_assert_int_eq(transport_read(&transport, get, &err), HVD_ERR_ENVIRONMENT);
        ck_assert_int_eq(transport, TRANSPORT_AUTO);
    }
    ck_assert_str_eq(err.text, "HVD_TRANSPORT: '0' is not auto, shm, unix or tcp");
}
END_TEST

START_TEST(a_link_is_fine_lesser_or_refused)
{
    static const enum transport_verdict verdicts[][TRANSPORT_TCP + 1] = {
        [TRANSPORT_AUTO] = { [TRANSPORT_SHM] = TRANSPORT_FINE,
                             [TRANSPORT_UNIX] = TRANSPORT_LESSER,
                             [TRANSPORT_TCP] = TRANSPORT_LESSER },
        [TRANSPORT_SHM] = { [TRANSPORT_SHM] = TRANSPORT_FINE,
                            [TRANSPORT_UNIX] = TRANSPORT_REFUSED,
                            [TRANSPORT_TCP] = TRANSPORT_REFUSED },
        [TRANSPORT_UNIX] = { [TRANSPORT_SHM] = TRANSPORT_FINE,
                             [TRANSPORT_UNIX] = TRANSPORT_FINE,
                             [TRANSPORT_TCP] = TRANSPORT_LESSER },
        [TRANSPORT_TCP] = { [TRANSPORT_SHM] = TRANSPORT_FINE,
                            [TRANSPORT_UNIX] = TRANSPORT_FINE,
                            [TRANSPORT_TCP] = TRANSPORT_FINE },
    };
    for (int wanted = TRANSPORT_AUTO; wanted <= TRANSPORT_TCP; wanted++)
        for (int is = TRANSPORT_SHM; is <= TRANSPORT_TCP; is++)
            ck_assert_int_eq(transport_judge((enum transport)wanted, (enum transport)is),
                             verdicts[wanted][is]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport");
    TCase *tcase = tcase_create("transport");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, each_name_is_its_transport_in_any_case, 0,
                        (int)(sizeof names / sizeof *names));
    tcase_add_test(tcase, any_other_name_is_refused_with_the_names_that_exist);
    tcase_add_test(tcase, a_link_is_fine_lesser_or_refused);
    return unit_run(suite);
}
