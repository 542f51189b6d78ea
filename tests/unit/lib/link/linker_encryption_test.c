/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks with settings of encryption: which links are encrypted, what the log says of them, and
 * which ranks an error names. */
#include "tests/support/linkers.h"
#include "tests/support/log_capture.h"
#include "tests/support/unit.h"

#include <string.h>

static void setup(void)
{
    linkers_setup();
    log_capture_start();
}

static void teardown(void)
{
    log_capture_stop();
    linkers_teardown();
}

/* ---- HVD_ENCRYPT ---- */

/* Two ranks on hosts of these names, which use TCP. */
static void open_two(const char *higher_host, enum encryption lower, enum encryption higher)
{
    linkers_encryption = lower;
    open_linker_at("node0", TRANSPORT_TCP);
    linkers_encryption = higher;
    open_linker_at(higher_host, TRANSPORT_TCP);
    want_both_ways(0, 1, 0);
    want_both_ways(0, 1, 1);
}

static const struct {
    enum encryption lower, higher;
    const char *host;
    bool encrypted;
} links[] = {
    { ENCRYPTION_OFF, ENCRYPTION_OFF, "node1", false },
    { ENCRYPTION_OFF, ENCRYPTION_AUTO, "node1", false },
    { ENCRYPTION_AUTO, ENCRYPTION_OFF, "node1", false },
    { ENCRYPTION_AUTO, ENCRYPTION_AUTO, "node0", false },
    { ENCRYPTION_AUTO, ENCRYPTION_AUTO, "node1", true },
    { ENCRYPTION_AUTO, ENCRYPTION_REQUIRE, "node0", true },
    { ENCRYPTION_REQUIRE, ENCRYPTION_AUTO, "node0", true },
    { ENCRYPTION_REQUIRE, ENCRYPTION_REQUIRE, "node0", true },
    { ENCRYPTION_REQUIRE, ENCRYPTION_REQUIRE, "node1", true },
};

START_TEST(links_are_encrypted_as_both_settings_say_and_each_rank_tells_once)
{
    open_two(links[_i].host, links[_i].lower, links[_i].higher);
    link_up();
    check_link(0, 1, 0);
    check_link(0, 1, 1);
    static const char *const lines[] = { "[0]: rank 0 encrypts links with ",
                                         "[1]: rank 1 encrypts links with " };
    const char *text = log_captured();
    for (int rank = 0; rank < 2; rank++) {
        const char *line = strstr(text, lines[rank]);
        ck_assert_msg(!line == !links[_i].encrypted, "%s", text);
        ck_assert(!line || !strstr(line + 1, lines[rank]));
    }
}
END_TEST

START_TEST(links_over_unix_sockets_and_shared_memory_need_no_encryption)
{
    static const enum transport transports[] = { TRANSPORT_SHM, TRANSPORT_UNIX };
    linkers_encryption = ENCRYPTION_REQUIRE;
    open_linker_at("node0", transports[_i]);
    open_linker_at("node0", transports[_i]);
    want_both_ways(0, 1, 0);
    link_up();
    struct link *link = linker_take(linkers[0], 1, 0);
    ck_assert_int_eq(link->type->transport, transports[_i]);
    link_close(link);
    ck_assert_str_eq(log_captured(), "");
}
END_TEST

static const struct {
    enum encryption lower, higher;
    const char *text;
} refusals[] = {
    { ENCRYPTION_REQUIRE, ENCRYPTION_OFF, "HVD_ENCRYPT is require on rank 0 and off on rank 1" },
    { ENCRYPTION_OFF, ENCRYPTION_REQUIRE, "HVD_ENCRYPT is off on rank 0 and require on rank 1" },
};

START_TEST(both_ranks_name_both_settings_if_one_requires_what_the_other_has_turned_off)
{
    struct err errors[2] = { { .code = HVD_OK }, { .code = HVD_OK } };
    open_two("node1", refusals[_i].lower, refusals[_i].higher);
    for (int i = 0; i < MANY && (errors[0].code == HVD_OK || errors[1].code == HVD_OK); i++)
        for (int rank = 0; rank < 2; rank++)
            if (errors[rank].code == HVD_OK)
                linker_move(linkers[rank], (uint64_t)i / 10, &errors[rank]);
    for (int rank = 0; rank < 2; rank++) {
        ck_assert_int_eq(errors[rank].code, HVD_ERR_ENVIRONMENT);
        ck_assert_str_eq(errors[rank].text, refusals[_i].text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("linker_encryption");
    TCase *tcase = tcase_create("linker_encryption");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, links_are_encrypted_as_both_settings_say_and_each_rank_tells_once, 0,
                        sizeof links / sizeof *links);
    tcase_add_loop_test(tcase, links_over_unix_sockets_and_shared_memory_need_no_encryption, 0, 2);
    tcase_add_loop_test(tcase,
                        both_ranks_name_both_settings_if_one_requires_what_the_other_has_turned_off,
                        0, sizeof refusals / sizeof *refusals);
    return unit_run(suite);
}
