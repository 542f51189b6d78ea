/* SPDX-License-Identifier: Apache-2.0 */
/* Where the ranks of an agent stand (agent_stacks.c), by a debugger that is a script of the test
 * and prints what it is told to. The ranks are "sleep". */
#include "launcher/protocol/agent_protocol.h"
#include "tests/support/agent_fixture.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { QUESTION = 7 };

static struct agent_fixture agent;
static char folder[40], script[60];

/* A folder with this script alone as eu-stack; its last argument is the process. */
static void write_debugger(const char *commands)
{
    snprintf(folder, sizeof folder, "/tmp/agent_stacks.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(script, sizeof script, "%s/eu-stack", folder);
    FILE *file = fopen(script, "we");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "#!/bin/sh\nfor pid; do :; done\n%s\n", commands);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(script, 0700), 0);
}

static void start_rank(const char *commands)
{
    static const char *const arguments[] = { "/bin/sleep", "1000", NULL };
    char path[60];
    write_debugger(commands);
    snprintf(path, sizeof path, "PATH=%s", folder);
    char *environment[] = { path, NULL };
    agent_fixture_start(&agent, environment);
    agent_fixture_run(&agent, &(struct agent_fixture_job){ .arguments = arguments });
}

static void end_rank(void)
{
    agent_fixture_stop(&agent);
    unlink(script);
    rmdir(folder);
}

/* The answers to a question, a line each, until the agent says that nothing more comes. */
static const char *ask_once(void)
{
    static char text[2000];
    struct frame frame;
    struct wire_reader body;
    size_t used = 0;
    text[0] = '\0';
    agent_fixture_send_numbers(&agent, AGENT_STACKS, 1, QUESTION);
    for (;;) {
        struct agent_stack stack;
        ck_assert_int_eq(agent_fixture_next(&agent, &frame), 1);
        wire_reader_init(&body, frame.body, frame.length);
        if (frame.type == AGENT_STACKS_DONE)
            break;
        if (frame.type != AGENT_STACK)
            continue;
        ck_assert_int_eq(agent_stack_decode(&stack, &body, NULL), HVD_OK);
        ck_assert_int_eq(stack.rank, 0);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", stack.where);
        ck_assert_uint_lt(used, sizeof text);
    }
    ck_assert_uint_eq(wire_get_u32(&body), QUESTION);
    return text;
}

/* The machine may be too busy for a script to print in the time that a debugger has. */
static const char *ask(void)
{
    const char *text;
    do
        text = ask_once();
    while (strstr(text, "(the debugger took longer than") || strstr(text, "(no time was left)"));
    return text;
}

/* The place of a rank differs from kernel to kernel; behind it stands why there is no more. */
static void check_place(const char *why)
{
    const char *text = ask(), *open = strrchr(text, '(');
    char expected[120];
    snprintf(expected, sizeof expected, "(%s)\n", why);
    ck_assert_ptr_nonnull(open);
    ck_assert_str_eq(open, expected);
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
}

/* A program in C has no frames in Python beside them. */
START_TEST(the_frames_of_a_debugger_are_the_answer)
{
    start_rank("printf 'TID %d:\\n#0  0x00007f nanosleep\\n#1  0x00007f main\\n' \"$pid\"");
    ck_assert_str_eq(ask(), "nanosleep <- main\n");
    ck_assert_str_eq(ask(), "nanosleep <- main\n");
    end_rank();
}
END_TEST

START_TEST(the_threads_of_a_program_follow_its_main_thread)
{
    start_rank("printf 'TID %d:\\n#0  0x00007f read\\nTID %d:\\n#0  0x00007f main\\n'"
               " $((pid + 100000000)) \"$pid\"");
    ck_assert_str_eq(ask(), "main\nthread of another name: read\n");
    end_rank();
}
END_TEST

START_TEST(the_last_line_of_a_debugger_without_frames_is_told)
{
    start_rank("printf 'one\\ntwo is refused\\n\\n'");
    check_place("two is refused");
    end_rank();
}
END_TEST

START_TEST(a_debugger_that_prints_nothing_is_said_to)
{
    start_rank(":");
    check_place("the debugger printed nothing");
    end_rank();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_stacks");
    TCase *tcase = tcase_create("agent_stacks");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, the_frames_of_a_debugger_are_the_answer);
    tcase_add_test(tcase, the_threads_of_a_program_follow_its_main_thread);
    tcase_add_test(tcase, the_last_line_of_a_debugger_without_frames_is_told);
    tcase_add_test(tcase, a_debugger_that_prints_nothing_is_said_to);
    return unit_run(suite);
}
