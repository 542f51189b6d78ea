/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the library: their stack and their signals. */
#include "lib/base/quiet_thread.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stddef.h>

/* What a thread finds. */
struct found {
    size_t stack_size;
    sigset_t blocked;
};

static void *look(void *arg)
{
    struct found *found = arg;
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstacksize(&attributes, &found->stack_size);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, NULL, &found->blocked);
    return NULL;
}

/* Starts a thread in a process whose default is as ulimit -s makes it. */
static struct found found_with_default(size_t stack_size)
{
    struct found found;
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_size);
    ck_assert_int_eq(pthread_setattr_default_np(&attributes), 0);
    pthread_attr_destroy(&attributes);
    ck_assert_int_eq(quiet_thread_start(&thread, "test", look, &found), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    return found;
}

START_TEST(a_small_stack_of_the_process_is_not_that_of_a_thread)
{
    ck_assert_uint_ge(found_with_default(64 << 10).stack_size, QUIET_THREAD_STACK_MIN);
}
END_TEST

START_TEST(a_large_one_is)
{
    ck_assert_uint_ge(found_with_default(8 << 20).stack_size, 8 << 20);
}
END_TEST

START_TEST(signals_are_blocked)
{
    struct found found = found_with_default(8 << 20);
    ck_assert(sigismember(&found.blocked, SIGTERM));
    ck_assert(sigismember(&found.blocked, SIGUSR1));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("quiet_thread");
    TCase *tcase = tcase_create("threads");
    tcase_add_test(tcase, a_small_stack_of_the_process_is_not_that_of_a_thread);
    tcase_add_test(tcase, a_large_one_is);
    tcase_add_test(tcase, signals_are_blocked);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
