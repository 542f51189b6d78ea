/* SPDX-License-Identifier: Apache-2.0 */
/* Which variables of an environment get a warning, and its text. */
#include "lib/base/unknown_variable.h"
#include "tests/support/unit.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define UNREAD ": neither hvdrun nor libhvd reads this variable"

START_TEST(a_name_that_nothing_reads_is_said_with_one_that_is_near)
{
    static const struct {
        const char *entry, *text;
    } cases[] = {
        { "HVD_ENCRPYT=require", "HVD_ENCRPYT" UNREAD " (did you mean HVD_ENCRYPT?)" },
        { "HVD_CYCLETIME=5", "HVD_CYCLETIME" UNREAD " (did you mean HOROVOD_CYCLE_TIME?)" },
        { "HVD_LOG_LEVEL=", "HVD_LOG_LEVEL" UNREAD " (did you mean HOROVOD_LOG_LEVEL?)" },
        { "HVD_PORTRANGE=1-2", "HVD_PORTRANGE" UNREAD " (did you mean HVD_PORT_RANGE?)" },
        { "HVD_TUNNING=file", "HVD_TUNNING" UNREAD " (did you mean HVD_TUNING?)" },
        { "HVD_TUNE=file", "HVD_TUNE" UNREAD },
        { "HOROVOD_CYCLETIME=5", "HOROVOD_CYCLETIME" UNREAD " (did you mean HOROVOD_CYCLE_TIME?)" },
        { "HOROVOD_LOG_LEVL=5", "HOROVOD_LOG_LEVL" UNREAD " (did you mean HOROVOD_LOG_LEVEL?)" },
        { "HOROVOD_FUSION_TRESHOLD=0",
          "HOROVOD_FUSION_TRESHOLD" UNREAD " (did you mean HOROVOD_FUSION_THRESHOLD?)" },
        { "HOROVOD_FUSION_TRESHHOLD=0",
          "HOROVOD_FUSION_TRESHHOLD" UNREAD " (did you mean HOROVOD_FUSION_THRESHOLD?)" },
        { "HVD_DATA_DIRECTORY=secret", "HVD_DATA_DIRECTORY" UNREAD },
        { "HVD_=", "HVD_" UNREAD },
        { "HVD_X", "HVD_X" UNREAD },
        { "HVD_PORTAL=1", "HVD_PORTAL" UNREAD },
        { "HVD_PORTAL_PORT=80", "HVD_PORTAL_PORT" UNREAD },
        /* hvdrun would not pass the near one on */
        { "HVD_WORKERS=2", "HVD_WORKERS" UNREAD },
        { "HVD_JOBID=7", "HVD_JOBID" UNREAD },
        { "HVD_RANK=0", "HVD_RANK" UNREAD },
    };
    char text[UNKNOWN_VARIABLE_TEXT];
    for (size_t i = 0; i < COUNT(cases); i++) {
        ck_assert_msg(unknown_variable_text(text, cases[i].entry), "%s", cases[i].entry);
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

START_TEST(other_names_get_no_warning)
{
    static const char *const cases[] = {
        "",
        "=",
        "PATH=/bin",
        "HVD=1",
        "HVDRUN=hvdrun",
        "hvd_encrpyt=1",
        "HVD_ENCRYPT=maybe",
        "HVD_JOB_KEY=",
        "HVD_BANDWIDTH=hvd-bandwidth",
        "HVD_TEST_JOB=1",
        "HVD_TEST_ENCRPYT=1",
        "HVD_TEST_TUNE=hvd-tune",
        "HOROVOD_RANK=0",
        "HOROVOD_GLOO_TIMEOUT_SECONDS=60",
        "HOROVOD_HIERARCHICAL_ALLREDUCE=1",
        "HOROVOD_GPU_OPERATIONS=NCCL",
        "HOROVOD_WITH_PYTORCH=1",
        "HOROVOD_NCCL_HOME=/usr",
        "HOROVOD_=",
        "HOROVOD_JOB_ID=7",
        "HOROVOD_WORKERS=2",
        "HOROVOD_DEVICE=cuda",
        "HOROVOD_RUNNING=1",
        "HOROVOD_ENCRYPT=auto",
        "HOROVOD_RANKS=2",
        "HOROVOD_TIMELESS=1",
        "HVD_SERVICE_HOST=10.0.0.1",
        "HVD_SERVICE_PORT_RENDEZVOUS=29400",
        "HVD_PORT=tcp://10.0.0.1:29400",
        "HVD_PORT_29400_TCP_ADDR=10.0.0.1",
        "HVD_RENDEZVOUS_PORT_29400_TCP=tcp://10.0.0.1:29400",
        "HVD_PORTAL_PORT=tcp://10.0.0.1:80",
        "HVD_PORTAL_PORT_80_TCP_PROTO=tcp",
        "HVD_PORT_X_PORT=tcp://10.0.0.1:80",
        "HVD_PORT_X_PORT_80_TCP=tcp://10.0.0.1:80",
        "HVD_A_SERVICE_WHOSE_NAME_HAS_ITS_SIXTY_THREE_CHARACTERS_SERVICE_HOST=10.0.0.1",
        "HVD_A_SERVICE_WHOSE_NAME_HAS_ITS_SIXTY_THREE_CHARACTERS_PORT_80_TCP_ADDR=",
    };
    char text[UNKNOWN_VARIABLE_TEXT] = "kept";
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_msg(!unknown_variable_text(text, cases[i]), "%s: %s", cases[i], text);
    ck_assert_str_eq(text, "kept");
}
END_TEST

START_TEST(a_long_or_strange_name_is_one_short_line)
{
    char text[UNKNOWN_VARIABLE_TEXT], entry[5000] = "HVD_\n\x1b[0m";
    ck_assert(unknown_variable_text(text, entry));
    ck_assert_ptr_null(strpbrk(text, "\n\x1b"));
    memset(entry + 4, 'A', sizeof entry - 5);
    ck_assert(unknown_variable_text(text, entry));
    ck_assert_uint_lt(strlen(text), sizeof text - 1);
    memcpy(entry, "HOROVOD_", 8);
    ck_assert(!unknown_variable_text(text, entry));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unknown_variable");
    TCase *tcase = tcase_create("unknown_variable");
    tcase_add_test(tcase, a_name_that_nothing_reads_is_said_with_one_that_is_near);
    tcase_add_test(tcase, other_names_get_no_warning);
    tcase_add_test(tcase, a_long_or_strange_name_is_one_short_line);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
