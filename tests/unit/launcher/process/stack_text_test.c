/* SPDX-License-Identifier: Apache-2.0 */
/* What eu-stack, gdb and faulthandler print, whole and cut, and the line that is made of it. */
#include "launcher/process/stack_text.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct stacks native, python;
static char where[1000];

static const char eu_stack[] = "PID 40 - process\n"
                               "TID 40:\n"
                               "#0  0x00007f5c1ad0 __poll\n"
                               "#1  0x00007f5c1ad1 engine_sleep\n"
                               "#2  0x00007f5c1ad2\n"
                               "#3  0x00007f5c1ad3 hvd_wait@@LIBHVD_0\n"
                               "#4  0x00007f5c1ad4 train(int, char**)\n"
                               "#5  0x00007f5c1ad5 main\n"
                               "#6  0x00007f5c1ad6 __libc_start_call_main\n"
                               "TID 41:\n"
                               "#0  0x00007f5c1ad0 read\n"
                               "#1  0x00007f5c1ad1 start_thread\n"
                               "#2  0x00007f5c1ad2 __clone3\n";

static const char gdb[] =
    "[New LWP 41]\n"
    "0x00007f in __poll (fds=0x7ffe, nfds=1) at ../sysdeps/poll.c:29\n"
    "\n"
    "Thread 2 (Thread 0x7f5c (LWP 41) \"loader\"):\n"
    "#0  0x00007f in read () from /lib/libc.so.6\n"
    "#1  0x00007f in start_thread (arg=<optimized out>) at pthread_create.c:442\n"
    "Thread 1 (Thread 0x7f5d (LWP 40) \"train\"):\n"
    "#0  0x00007f in __poll (fds=0x7ffe, nfds=1) at ../sysdeps/poll.c:29\n"
    "#1  0x00007f in ?? () from /lib/libhvd.so.0\n"
    "#2  hvd_wait (handle=3) at hvd.c:9\n"
    "#3  train (argc=1) at train.c:7\n"
    "#4  main () at train.c:12\n"
    "[Inferior 1 (process 40) detached]\n";

static const char faulthandler[] = "Current thread 0x00007f01 (most recent call first):\n"
                                   "  <no Python frame>\n"
                                   "\n"
                                   "Thread 0x00007f02 (most recent call first):\n"
                                   "  File \"/usr/lib/python3.11/queue.py\", line 171 in get\n"
                                   "\n"
                                   "Thread 0x00007f03 [python3] (most recent call first):\n"
                                   "  File \"/a b/train.py\", line 12 in load_batch\n"
                                   "  File \"train.py\", line 40 in <module>\n";

static void setup(void)
{
    native.count = python.count = 0;
}

static void teardown(void)
{
    stacks_fini(&native);
    stacks_fini(&python);
}

/* As memory of just that size, so that a sanitizer sees a read behind it. */
static void read_copy(void (*read)(struct stacks *, const char *, size_t), struct stacks *stacks,
                      const char *text, size_t length)
{
    char *copy = malloc(length + (length == 0));
    memcpy(copy, text, length);
    read(stacks, copy, length);
    free(copy);
}

static const struct {
    const char *text;
    int tid;
    const char *where;
} natives[] = {
    { "", 40, "" },
    { eu_stack, 40, "hvd_wait <- train <- main" },
    { eu_stack, 41, "read" },
    { gdb, 40, "hvd_wait <- train <- main" },
    { gdb, 41, "read" },
    { "Thread 1 (process 40):\n#0  main ()\n", 40, "main" },
    { "#0  0x1 before_any_thread\nTID 40:\n#x  0x1 none\n#1\n#2 0x3", 40, "" },
};

START_TEST(native_frames_are_read_by_thread_and_those_of_the_libraries_left_out)
{
    read_copy(stacks_read_native, &native, natives[_i].text, strlen(natives[_i].text));
    stack_where(stacks_find(&native, natives[_i].tid), NULL, where, sizeof where);
    ck_assert_str_eq(where, natives[_i].where);
}
END_TEST

START_TEST(frames_in_python_are_read_with_file_and_line_and_the_main_thread_is_last)
{
    read_copy(stacks_read_python, &python, faulthandler, sizeof faulthandler - 1);
    ck_assert_uint_eq(python.count, 2);
    stack_where(NULL, &python.threads[0], where, sizeof where);
    ck_assert_str_eq(where, "get (queue.py:171)");
    stack_where(NULL, &python.threads[1], where, sizeof where);
    ck_assert_str_eq(where, "load_batch (train.py:12) <- <module> (train.py:40)");
}
END_TEST

START_TEST(native_frames_come_before_those_in_python_and_the_interpreter_is_left_out)
{
    static const char text[] = "TID 7:\n#0 0x1 read\n#1 0x2 _Py_read\n#2 0x3 cfunction_call\n"
                               "#3 0x4 _PyEval_EvalFrameDefault\n#4 0x5 main\n";
    read_copy(stacks_read_native, &native, text, sizeof text - 1);
    read_copy(stacks_read_python, &python, faulthandler, sizeof faulthandler - 1);
    stack_where(stacks_find(&native, 7), &python.threads[1], where, sizeof where);
    ck_assert_str_eq(where, "read <- load_batch (train.py:12) <- <module> (train.py:40)");
}
END_TEST

START_TEST(text_that_is_cut_anywhere_gives_a_beginning)
{
    for (size_t length = 0; length < sizeof faulthandler; length++) {
        read_copy(stacks_read_python, &python, faulthandler, length);
        ck_assert_uint_le(python.count, 2);
        stacks_fini(&python);
    }
    for (size_t length = 0; length < sizeof gdb; length++) {
        read_copy(stacks_read_native, &native, gdb, length);
        ck_assert_uint_le(native.count, 2);
        stacks_fini(&native);
    }
}
END_TEST

START_TEST(threads_frames_and_bytes_beyond_the_limits_are_dropped)
{
    static char text[STACK_THREADS_MAX * 3 * 2000];
    size_t used = 0;
    for (int tid = 1; tid <= STACK_THREADS_MAX * 2; tid++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "TID %d:\n", tid);
        for (int i = 0; i < STACK_FRAMES_MAX * 2; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "#%d 0x1 f\33%d\n", i, i);
    }
    read_copy(stacks_read_native, &native, text, used);
    ck_assert_uint_eq(native.count, STACK_THREADS_MAX);
    ck_assert_uint_eq(native.threads[0].frames.count, STACK_FRAMES_MAX);
    char small[16];
    stack_where(&native.threads[0], NULL, small, sizeof small);
    ck_assert_str_eq(small, "f?0 <- f?1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stack_text");
    TCase *tcase = tcase_create("stack_text");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, native_frames_are_read_by_thread_and_those_of_the_libraries_left_out,
                        0, sizeof natives / sizeof *natives);
    tcase_add_test(tcase, frames_in_python_are_read_with_file_and_line_and_the_main_thread_is_last);
    tcase_add_test(tcase,
                   native_frames_come_before_those_in_python_and_the_interpreter_is_left_out);
    tcase_add_test(tcase, text_that_is_cut_anywhere_gives_a_beginning);
    tcase_add_test(tcase, threads_frames_and_bytes_beyond_the_limits_are_dropped);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
