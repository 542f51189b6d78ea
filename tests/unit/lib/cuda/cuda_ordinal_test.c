/* SPDX-License-Identifier: Apache-2.0 */
/* A rank gets the GPU of its local rank, or one line that says why there is none for it. */
#include "lib/cuda/cuda_ordinal.h"

#include "lib/base/env_names.h"
#include "lib/cuda/cuda_device.h"
#include "tests/support/unit.h"

#include <string.h>

static const struct trial {
    int ordinal, local_rank, gpus;
    const char *visible, *share;
    int chosen; /* or a status */
    const char *text;
} trials[] = {
    { 0, -1, 1, NULL, NULL, 0, NULL },
    { 3, -1, 4, NULL, NULL, 3, NULL },
    { 1, 0, 1, NULL, NULL, HVD_ERR_INVALID, "there is no GPU 1, the driver shows 1" },
    { 2, 0, 2, "4,7", NULL, HVD_ERR_INVALID,
      "there is no GPU 2, the driver shows 2 (CUDA_VISIBLE_DEVICES is '4,7')" },
    { -1, 0, 1, NULL, NULL, 0, NULL },
    { -1, 3, 4, NULL, NULL, 3, NULL },
    { -1, 2, 2, NULL, NULL, HVD_ERR_ENVIRONMENT,
      "local rank 2 of 8 has no GPU of its own, the driver shows 2; HVD_CUDA_SHARE=1 lets ranks "
      "share "
      "a GPU" },
    { -1, 5, 2, NULL, "1", 1, NULL },
    { -1, 5, 2, NULL, "0", HVD_ERR_ENVIRONMENT, "local rank 5 of 8 has no GPU of its own" },
    { -1, 5, 1, "3", NULL, 0, NULL },
    { -1, 5, 1, "MIG-c7384736-a75d-5afc-978f-d2f1294409fd", NULL, 0, NULL },
    { -1, 1, 1, "MIG-a,MIG-b", NULL, HVD_ERR_ENVIRONMENT,
      "the driver shows 1 (CUDA_VISIBLE_DEVICES is 'MIG-a,MIG-b')" },
    { -1, 1, 1, NULL, NULL, HVD_ERR_ENVIRONMENT, "local rank 1 of 8 has no GPU" },
    { 0, 0, 1, NULL, "yes", HVD_ERR_ENVIRONMENT, "HVD_CUDA_SHARE: 'yes' is not 0 or 1" },
};

static const struct trial *current;

static const char *variable(const char *name)
{
    return strcmp(name, ENV_CUDA_SHARE) == 0     ? current->share
           : strcmp(name, CUDA_ENV_VISIBLE) == 0 ? current->visible
                                                 : NULL;
}

START_TEST(a_rank_gets_the_gpu_of_its_local_rank_or_a_reason)
{
    struct err err;
    current = &trials[_i];
    const struct device_module_options options = { .ordinal = current->ordinal,
                                                   .local_rank = current->local_rank,
                                                   .local_size = 8,
                                                   .get = variable };
    ck_assert_int_eq(cuda_ordinal_choose(&options, current->gpus, &err), current->chosen);
    if (current->text)
        ck_assert_msg(strstr(err.text, current->text), "%s", err.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_ordinal");
    TCase *tcase = tcase_create("cuda_ordinal");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, a_rank_gets_the_gpu_of_its_local_rank_or_a_reason, 0,
                        sizeof trials / sizeof *trials);
    return unit_run(suite);
}
