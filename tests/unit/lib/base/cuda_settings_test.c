/* SPDX-License-Identifier: Apache-2.0 */
/* The variables of NVIDIA GPUs are read, and bad values are refused. */
#include "lib/base/cuda_settings.h"
#include "tests/support/unit.h"

#include <string.h>

static const char *set_name, *set_value; /* the only variable that is set */

static const char *get(const char *name)
{
    return set_name && strcmp(name, set_name) == 0 ? set_value : NULL;
}

static struct cuda_settings settings;
static struct err err;

static int read_with(const char *name, const char *value)
{
    set_name = name;
    set_value = value;
    memset(&settings, 0x5a, sizeof settings);
    return cuda_settings_read(&settings, get, &err);
}

START_TEST(nothing_is_demanded_where_nothing_is_set)
{
    ck_assert_int_eq(read_with(NULL, NULL), HVD_OK);
    ck_assert_int_eq(settings.nccl, CUDA_SWITCH_UNSET);
    ck_assert_int_eq(settings.ipc, CUDA_SWITCH_UNSET);
    ck_assert_int_eq(settings.share, CUDA_SWITCH_UNSET);
    ck_assert(!settings.hierarchical);
}
END_TEST

static const struct {
    const char *name, *value;
    int nccl, ipc, share;
    bool hierarchical;
} good[] = {
    { "HVD_CUDA_NCCL", "0", 0, -1, -1, false },
    { "HVD_CUDA_NCCL", "1", 1, -1, -1, false },
    { "HVD_CUDA_IPC", "0", -1, 0, -1, false },
    { "HVD_CUDA_IPC", "1", -1, 1, -1, false },
    { "HVD_CUDA_SHARE", "0", -1, -1, 0, false },
    { "HVD_CUDA_SHARE", "1", -1, -1, 1, false },
    { "HOROVOD_HIERARCHICAL_ALLREDUCE", "", -1, -1, -1, false },
    { "HOROVOD_HIERARCHICAL_ALLREDUCE", "False", -1, -1, -1, false },
    { "HOROVOD_HIERARCHICAL_ALLREDUCE", "true", -1, -1, -1, true },
    { "HOROVOD_HIERARCHICAL_ALLREDUCE", "2", -1, -1, -1, true },
};

START_TEST(each_variable_sets_its_own_field)
{
    ck_assert_int_eq(read_with(good[_i].name, good[_i].value), HVD_OK);
    ck_assert_int_eq(settings.nccl, good[_i].nccl);
    ck_assert_int_eq(settings.ipc, good[_i].ipc);
    ck_assert_int_eq(settings.share, good[_i].share);
    ck_assert(settings.hierarchical == good[_i].hierarchical);
}
END_TEST

static const struct {
    const char *name, *value, *text;
} bad[] = {
    { "HVD_CUDA_NCCL", "2", "HVD_CUDA_NCCL: '2' is not 0 or 1" },
    { "HVD_CUDA_NCCL", "true", "HVD_CUDA_NCCL: 'true' is not 0 or 1" },
    { "HVD_CUDA_IPC", "", "HVD_CUDA_IPC: '' is not 0 or 1" },
    { "HVD_CUDA_IPC", " 1", "HVD_CUDA_IPC: ' 1' is not 0 or 1" },
    { "HVD_CUDA_SHARE", "01", "HVD_CUDA_SHARE: '01' is not 0 or 1" },
    { "HOROVOD_HIERARCHICAL_ALLREDUCE", "yes",
      "HOROVOD_HIERARCHICAL_ALLREDUCE: 'yes' is not 0, 1, true or false" },
};

START_TEST(any_other_value_is_refused_by_name)
{
    ck_assert_int_eq(read_with(bad[_i].name, bad[_i].value), HVD_ERR_ENVIRONMENT);
    ck_assert_str_eq(err.text, bad[_i].text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_settings");
    TCase *tcase = tcase_create("cuda_settings");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, nothing_is_demanded_where_nothing_is_set);
    tcase_add_loop_test(tcase, each_variable_sets_its_own_field, 0, sizeof good / sizeof *good);
    tcase_add_loop_test(tcase, any_other_value_is_refused_by_name, 0, sizeof bad / sizeof *bad);
    return unit_run(suite);
}
