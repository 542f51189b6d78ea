/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks find in their environment. */
#include "launcher/process/worker_environment.h"
#include "tests/support/unit.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static struct string_list list;

static void setup(void)
{
    list = (struct string_list){ 0 };
}
static void teardown(void)
{
    string_list_fini(&list);
}

/* An entry of the launcher's environment, and whether the ranks get it. */
static const struct {
    const char *entry;
    bool travels;
} rows[] = {
    { "PATH=/bin", true },
    { "EMPTY=", true },
    { "TWO=a\nb", true },
    { "BYTES=\xff\x01=", true },
    { "HOROVOD_FUSION_THRESHOLD=1", true },
    { "HOROVOD_RANKS=1", true },
    { "HOROVOD_RAN=1", true },
    { "HOROVOD_RANK=1", false },
    { "HOROVOD_SIZE=2", false },
    { "HOROVOD_GLOO_RENDEZVOUS_PORT=3", false },
    { "HVD_JOB_KEY=4", false },
    { "HVD_JOB_ID=outer", false },
    { "HVD_RENDEZVOUS=198.51.100.1:29400", false },
    { "HOROVOD_GLOO_IFACE=eth9", false },
    { "NCCL_SOCKET_IFNAME=eth9", false },
    { "HVD_NETWORK_INTERFACES=host1=eth0", false },
    { "HVD_PROCESSORS=2", false },
    { "HVD_PORT_RANGE=5-6", true },
    { "HVD_TRANSPORT=tcp", true },
    { "BASH_FUNC_x%%=() { :; }", false },
    { "OLDPWD=/", false },
    { "CUDA_VISIBLE_DEVICES=0", false },
    { "MY_CUDA_VISIBLE_DEVICES=0", false },
    { "ROCR_VISIBLE_DEVICES=0", false },
    { "HIP_VISIBLE_DEVICES=0", false },
    { "GPU_DEVICE_ORDINAL=0", false },
    { "ZE_AFFINITY_MASK=0", false },
    { "NVIDIA_VISIBLE_DEVICES=all", true }, /* for the runtime of containers */
    { "VALUE=CUDA_VISIBLE_DEVICES", true },
    { "_HOROVOD_SECRET_KEY=x", false },
    { "no equals sign", false },
    { "=C:=C:\\", false },
    { "", false },
};

START_TEST(what_belongs_to_the_user_travels_and_nothing_else)
{
    char *environment[] = { (char *)(uintptr_t)rows[_i].entry, NULL };
    worker_environment_common(&list, environment);
    bool found = strcmp(list.items[0], rows[_i].entry) == 0;
    ck_assert_int_eq(found, rows[_i].travels);
}
END_TEST

START_TEST(accelerators_are_those_of_one_machine)
{
    char *environment[] = { "PATH=/bin", "CUDA_VISIBLE_DEVICES=3", "ZE_AFFINITY_MASK=", NULL };
    struct string_list devices = { 0 };
    worker_environment_devices(&devices, environment);
    ck_assert_uint_eq(devices.count, 2);
    ck_assert_str_eq(devices.items[0], "CUDA_VISIBLE_DEVICES=3");
    ck_assert_str_eq(devices.items[1], "ZE_AFFINITY_MASK=");
    string_list_fini(&devices);
    worker_environment_inherit(&list, environment);
    ck_assert_str_eq(string_list_variable(&list, "CUDA_VISIBLE_DEVICES"), "3");
    ck_assert_uint_eq(list.count, 3);
}
END_TEST

START_TEST(interfaces_are_chosen_where_the_rank_runs)
{
    char *environment[] = { NULL };
    worker_environment_common(&list, environment);
    ck_assert_ptr_null(string_list_variable(&list, "HOROVOD_GLOO_IFACE"));
    ck_assert_ptr_null(string_list_variable(&list, "NCCL_SOCKET_IFNAME"));
    ck_assert_str_eq(string_list_variable(&list, "HOROVOD_CONTROLLER"), "gloo");
}
END_TEST

static void add(struct string_list *to, const char *entry)
{
    string_list_add(to, entry, strlen(entry));
}

START_TEST(of_a_name_that_comes_again_the_last_one_stays)
{
    static const char *const entries[] = { "B=1", "A=1",      "B=2",     "AB=1",
                                           "A=",  "A=\n\xff", "BYTES==", "B=3" };
    static const char *const finished[] = { "A=\n\xff", "AB=1", "B=3", "BYTES==" };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        add(&list, entries[i]);
    worker_environment_finish(&list);
    ck_assert_uint_eq(list.count, 4);
    for (size_t i = 0; i < list.count; i++)
        ck_assert_str_eq(list.items[i], finished[i]);
    ck_assert_ptr_null(list.items[4]);
}
END_TEST

START_TEST(an_empty_environment_stays_empty)
{
    struct string_list own = { 0 };
    worker_environment_finish(&list);
    char **envp = worker_environment_over(&list, &own);
    ck_assert_ptr_null(envp[0]);
    free(envp);
}
END_TEST

START_TEST(what_a_rank_has_itself_replaces_what_all_have)
{
    struct string_list own = { 0 };
    add(&list, "C=all");
    add(&list, "A=all");
    worker_environment_finish(&list);
    add(&own, "B=own");
    add(&own, "C=own");
    char **envp = worker_environment_over(&list, &own);
    ck_assert_str_eq(envp[0], "A=all");
    ck_assert_str_eq(envp[1], "C=own");
    ck_assert_str_eq(envp[2], "B=own");
    ck_assert_ptr_null(envp[3]);
    free(envp);
    string_list_fini(&own);
}
END_TEST

START_TEST(every_rank_is_told_its_place_and_its_job)
{
    struct rank_info rank_info = { 5, 7, 3, 4, 0, 1 };
    struct job_key key = { { 0xc0, 0xff, 0xee } };
    worker_environment_rank(&list, &rank_info, "h2", "job-7", &key, 5);
    ck_assert_str_eq(string_list_variable(&list, "HOROVOD_HOSTNAME"), "h2");
    ck_assert_str_eq(string_list_variable(&list, "HOROVOD_RANK"), "5");
    ck_assert_str_eq(string_list_variable(&list, "HOROVOD_SIZE"), "7");
    ck_assert_str_eq(string_list_variable(&list, "HOROVOD_LOCAL_RANK"), "3");
    ck_assert_str_eq(string_list_variable(&list, "HOROVOD_LOCAL_SIZE"), "4");
    ck_assert_str_eq(string_list_variable(&list, "HOROVOD_CROSS_RANK"), "0");
    ck_assert_str_eq(string_list_variable(&list, "HOROVOD_CROSS_SIZE"), "1");
    ck_assert_str_eq(string_list_variable(&list, "HVD_JOB_ID"), "job-7");
    ck_assert_str_eq(string_list_variable(&list, "HVD_JOB_KEY"),
                     "c0ffee0000000000000000000000000000000000000000000000000000000000");
    ck_assert_str_eq(string_list_variable(&list, "HVD_KEY_OF"), "5");
    ck_assert_ptr_null(string_list_variable(&list, "HOROVOD"));
}
END_TEST

START_TEST(a_command_of_hvdrun_is_marked_once)
{
    char *environment[] = { "A=1", "HVD_COMMAND_OF=outer", "B=2", NULL };
    worker_environment_command(&list, environment, "job-7");
    ck_assert_uint_eq(list.count, 3);
    ck_assert_str_eq(list.items[0], "A=1");
    ck_assert_str_eq(list.items[1], "B=2");
    ck_assert_str_eq(list.items[2], "HVD_COMMAND_OF=job-7");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("worker_environment");
    TCase *tcase = tcase_create("environment");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, what_belongs_to_the_user_travels_and_nothing_else, 0,
                        sizeof rows / sizeof *rows);
    tcase_add_test(tcase, accelerators_are_those_of_one_machine);
    tcase_add_test(tcase, interfaces_are_chosen_where_the_rank_runs);
    tcase_add_test(tcase, of_a_name_that_comes_again_the_last_one_stays);
    tcase_add_test(tcase, an_empty_environment_stays_empty);
    tcase_add_test(tcase, what_a_rank_has_itself_replaces_what_all_have);
    tcase_add_test(tcase, every_rank_is_told_its_place_and_its_job);
    tcase_add_test(tcase, a_command_of_hvdrun_is_marked_once);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
