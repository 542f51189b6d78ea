/* SPDX-License-Identifier: Apache-2.0 */
/* The variables of torchrun that ranks get. */
#include "launcher/process/torch_environment.h"
#include "tests/support/unit.h"

static struct string_list list;

static void setup(void)
{
    list = (struct string_list){ 0 };
}
static void teardown(void)
{
    string_list_fini(&list);
}

static void is(const char *name, const char *value)
{
    const char *found = string_list_variable(&list, name);
    ck_assert_msg(found, "no %s", name);
    ck_assert_str_eq(found, value);
}

START_TEST(a_rank_learns_its_numbers_and_those_of_its_host)
{
    struct rank_info info = {
        .rank = 5, .size = 7, .local_rank = 1, .local_size = 3, .cross_rank = 9, .cross_size = 9
    };
    torch_environment_rank(&list, &info, 2, 4);
    is("RANK", "5");
    is("WORLD_SIZE", "7");
    is("LOCAL_RANK", "1");
    is("LOCAL_WORLD_SIZE", "3");
    is("GROUP_RANK", "2");
    is("GROUP_WORLD_SIZE", "4");
    ck_assert_uint_eq(list.count, 6);
}
END_TEST

START_TEST(ranks_learn_where_rank_0_listens)
{
    torch_environment_common(&list, "2001:db8::1", 65535, "eth0");
    is("MASTER_ADDR", "2001:db8::1");
    is("MASTER_PORT", "65535");
    is("GLOO_SOCKET_IFNAME", "eth0");
}
END_TEST

START_TEST(values_of_the_user_stay_and_unknown_ones_are_left_out)
{
    string_list_add(&list, "MASTER_PORT=1", 13);
    torch_environment_common(&list, "host-a", 2, "");
    is("MASTER_ADDR", "host-a");
    is("MASTER_PORT", "1");
    ck_assert_ptr_null(string_list_variable(&list, "GLOO_SOCKET_IFNAME"));
    ck_assert_uint_eq(list.count, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("torch_environment");
    TCase *tcase = tcase_create("torch_environment");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_rank_learns_its_numbers_and_those_of_its_host);
    tcase_add_test(tcase, ranks_learn_where_rank_0_listens);
    tcase_add_test(tcase, values_of_the_user_stay_and_unknown_ones_are_left_out);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
