/* SPDX-License-Identifier: Apache-2.0 */
/* The process of an srun without hosts, for which a shell stands in: what is kept of what it
 * writes, and that nothing is left of it. */
#include "launcher/base/xalloc.h"
#include "launcher/connect/srun_impl.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static uv_loop_t loop;
static struct children *children;
static struct srun_pool pool;
static struct srun *srun;

static void set_up(void)
{
    static const struct connect_settings settings = { .job_id = "0123456789" };
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    children = children_create(&loop);
    srun = xcalloc(1, sizeof *srun);
    *srun = (struct srun){ .pool = &pool,
                           .loop = &loop,
                           .settings = &settings,
                           .children = children,
                           .fds = { -1, -1 },
                           .open_handles = 1 };
    srun->end_of_hosts = &srun->first;
    ck_assert_int_eq(uv_timer_init(&loop, &srun->timer), 0);
    srun->timer.data = srun;
    pool.gathering[0] = srun;
}

/* All handles are closed. */
static void tear_down(void)
{
    srun_process_release(srun);
    ck_assert_ptr_null(pool.gathering[0]);
    children_destroy(children);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}

static int run(const char *path, const char *script, struct err *err)
{
    char *text = xstrdup(script), *words[] = { (char[]){ "sh" }, (char[]){ "-c" }, text, NULL };
    int rc = srun_process_start(srun, path, words, err);
    free(text);
    return rc;
}

START_TEST(the_last_line_of_stderr_is_kept_until_the_process_has_ended)
{
    struct err err;
    ck_assert_int_eq(run("/bin/sh", "cat; echo out; echo first >&2; echo last >&2; exit 3", &err),
                     HVD_OK);
    ck_assert(srun_process_lives(srun));
    while (!srun->ended)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert(!srun_process_lives(srun));
    ck_assert_int_eq(WEXITSTATUS(srun->wait_status), 3);
    ck_assert_str_eq(srun->why, "last");
}
END_TEST

START_TEST(a_process_that_cannot_be_executed_is_an_error)
{
    struct err err;
    ck_assert_int_eq(run("/nowhere/srun", "", &err), HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text, "srun: No such file or directory");
    while (!srun->ended)
        uv_run(&loop, UV_RUN_ONCE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("srun_process");
    TCase *tcase = tcase_create("srun_process");
    descriptors_watch(tcase);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, the_last_line_of_stderr_is_kept_until_the_process_has_ended);
    tcase_add_test(tcase, a_process_that_cannot_be_executed_is_an_error);
    suite_add_tcase(suite, tcase);
    uv_loop_init(&loop); /* libuv keeps what it opens for its first loop */
    uv_loop_close(&loop);
    return unit_run(suite);
}
