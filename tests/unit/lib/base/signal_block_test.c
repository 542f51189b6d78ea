/* SPDX-License-Identifier: Apache-2.0 */
/* A signal that a write raises is discarded; everything else about the signals of the thread stays
 * as it was. */
#include "lib/base/signal_block.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <unistd.h>

/* Leaves bits where the next function that is called has its local variables. */
__attribute__((noinline)) static void fill_stack(void)
{
    volatile unsigned char bytes[2048];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = 0xff;
}

static bool is_blocked(int signal)
{
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    return sigismember(&mask, signal) == 1;
}

static bool is_pending(int signal)
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, signal) == 1;
}

static void block(int signal)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* Raises SIGPIPE in this thread. */
static void write_to_nobody(void)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[0]);
    ck_assert_int_eq(write(ends[1], "x", 1), -1);
    ck_assert_int_eq(errno, EPIPE);
    close(ends[1]);
}

START_TEST(a_write_that_fails_ends_nobody)
{
    struct signal_block blocked;
    signal_block_begin(&blocked, SIGPIPE);
    write_to_nobody();
    errno = EPIPE;
    signal_block_end(&blocked);
    ck_assert_int_eq(errno, EPIPE);
    ck_assert(!is_pending(SIGPIPE));
}
END_TEST

START_TEST(only_this_signal_is_blocked)
{
    struct signal_block blocked;
    fill_stack();
    signal_block_begin(&blocked, SIGPIPE);
    ck_assert(is_blocked(SIGPIPE));
    ck_assert(!is_blocked(SIGINT) && !is_blocked(SIGUSR1) && !is_blocked(SIGXFSZ));
    signal_block_end(&blocked);
}
END_TEST

START_TEST(afterwards_what_was_blocked_before_is_blocked)
{
    struct signal_block blocked;
    signal_block_begin(&blocked, SIGPIPE);
    signal_block_end(&blocked);
    ck_assert(!is_blocked(SIGPIPE));
    block(SIGPIPE);
    signal_block_begin(&blocked, SIGPIPE);
    signal_block_end(&blocked);
    ck_assert(is_blocked(SIGPIPE));
}
END_TEST

START_TEST(a_signal_that_was_pending_before_stays)
{
    struct signal_block blocked;
    block(SIGPIPE);
    write_to_nobody();
    signal_block_begin(&blocked, SIGPIPE);
    write_to_nobody();
    signal_block_end(&blocked);
    ck_assert(is_pending(SIGPIPE));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("signal_block");
    TCase *tcase = tcase_create("signal_block");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, a_write_that_fails_ends_nobody);
    tcase_add_test(tcase, only_this_signal_is_blocked);
    tcase_add_test(tcase, afterwards_what_was_blocked_before_is_blocked);
    tcase_add_test(tcase, a_signal_that_was_pending_before_stays);
    return unit_run(suite);
}
