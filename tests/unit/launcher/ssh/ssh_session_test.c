/* SPDX-License-Identifier: Apache-2.0 */
/* A session with a host that is no ssh server, what people are told, and the memory of it. */
#include "launcher/ssh/ssh_memory.h"
#include "launcher/ssh/ssh_serve.h"
#include "launcher/ssh/ssh_unreachable_text.h"
#include "tests/support/unit.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static uv_loop_t loop;
static struct ssh_session *session;
static int host; /* the other end */
static int calls, result;

static void setup(void)
{
    int pair[2];
    uv_loop_init(&loop);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    host = pair[1];
    calls = 0;
    session = ssh_session_create(&loop, pair[0]);
}

static void teardown(void)
{
    ssh_session_close(session);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}

static int try_handshake(void *context, LIBSSH2_SESSION *ssh)
{
    (void)context;
    return libssh2_session_handshake(ssh, ssh_session_socket(session));
}

static void on_done(void *context, int rc)
{
    (void)context;
    calls++;
    result = rc;
}

/* As hvdrun says it, which hears of the session by a report. */
static void say_no_handshake(char *text, size_t size)
{
    const struct ssh_report report = ssh_serve_describe(session, result);
    ssh_say_no_handshake(text, size, &report, "ADDRESS");
}

static void say_no_handshake_yet(char *text, size_t size)
{
    const struct ssh_report report = ssh_serve_describe(session, 0);
    ssh_say_no_handshake_yet(text, size, &report);
}

/* What the host says before it hangs up, and what that comes to. */
static const struct {
    const char *says, *text;
    bool has_banner;
} unauthenticated[] = {
    { "", "ADDRESS: closed by the host before an ssh banner", false },
    { "Exceeded MaxStartups\r\n",
      "ADDRESS: closed by the host before an ssh banner; it says 'Exceeded MaxStartups'", false },
    { "half a line", "ADDRESS: closed by the host before an ssh banner; it says 'half a line'",
      false },
    { "HTTP/1.1 400 Bad Request\r\nServer: nginx\r\nConnection: close\r\n\r\n<html>\r\n",
      "ADDRESS: closed by the host before an ssh banner; it says 'HTTP/1.1 400 Bad Request'",
      false },
    { "\n\r\n\033[1mfirst\nsecond\n\nthird",
      "ADDRESS: closed by the host before an ssh banner; it says '\\x1b[1mfirst'", false },
    { "12345678901234567890123456789012345678901234567890123456789012345678901234567890\nnext\n",
      "ADDRESS: closed by the host before an ssh banner; it says "
      "'1234567890123456789012345678901234567890123456789012345678901234...'",
      false },
    { "SSH-2.0-x\r\n", "ADDRESS: exchange of keys: closed by the host", true },
    { "welcome\nSSH-2.0-x\r\n", "ADDRESS: exchange of keys: closed by the host", true },
    { "\r\n", "ADDRESS: closed by the host before an ssh banner", false },
    { "\r\nhi\n\n\r\n\nSSH-2.0-x\r\n", "ADDRESS: exchange of keys: closed by the host", true },
};

START_TEST(a_host_that_hangs_up_is_told_by_what_it_said_before)
{
    char text[300];
    ck_assert_int_ge(write(host, unauthenticated[_i].says, strlen(unauthenticated[_i].says)), 0);
    shutdown(host, SHUT_WR); /* and still listens */
    ssh_session_run(session, try_handshake, on_done, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(calls, 1);
    say_no_handshake(text, sizeof text);
    ck_assert_str_eq(text, unauthenticated[_i].text);
    ck_assert_int_eq(ssh_session_has_banner(session), unauthenticated[_i].has_banner);
    close(host);
}
END_TEST

START_TEST(what_a_host_said_before_it_was_gone_is_read_although_nothing_can_be_sent)
{
    char text[300];
    ck_assert_int_eq(write(host, "SSH-2.0-x\r\n", 11), 11);
    close(host);
    ssh_session_run(session, try_handshake, on_done, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(calls, 1);
    say_no_handshake(text, sizeof text);
    ck_assert_str_eq(text, "ADDRESS: exchange of keys: broken pipe");
}
END_TEST

START_TEST(a_host_that_babbles_is_left)
{
    static char lines[128 * 1024];
    char text[300];
    for (size_t i = 0; i < sizeof lines; i++)
        lines[i] = i % 8 == 7 ? '\n' : i < 8 ? 'a' : 'x';
    int size = sizeof lines;
    setsockopt(host, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    ck_assert_int_gt(send(host, lines, sizeof lines, MSG_DONTWAIT), 64 * 1024);
    ssh_session_run(session, try_handshake, on_done, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(calls, 1);
    ck_assert_ptr_null(ssh_session_lost(session)); /* and so is not tried again */
    say_no_handshake(text, sizeof text);
    ck_assert_str_eq(text, "ADDRESS: no ssh banner, but 'aaaaaaa'");
    close(host);
}
END_TEST

START_TEST(a_host_that_says_something_else_and_waits_is_told_by_that)
{
    char text[300];
    ck_assert_int_eq(write(host, "220 mail ready\r\n250", 19), 19);
    say_no_handshake_yet(text, sizeof text);
    ck_assert_str_eq(text, "no ssh banner");
    ssh_session_run(session, try_handshake, on_done, NULL);
    while (ssh_session_received(session) < 19)
        uv_run(&loop, UV_RUN_ONCE);
    say_no_handshake_yet(text, sizeof text);
    ck_assert_str_eq(text, "no ssh banner, but '220 mail ready'");
    ck_assert_int_eq(calls, 0);
    close(host);
}
END_TEST

START_TEST(nothing_is_reported_of_a_session_that_is_closed)
{
    ssh_session_run(session, try_handshake, on_done, NULL);
    ssh_session_close(session);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(calls, 0);
    session = NULL;
    close(host);
}
END_TEST

static const struct {
    enum ssh_stage stage;
    const char *text;
} late[] = {
    { SSH_STAGE_CONFIG, "ssh -G h: no answer within 10 s" },
    { SSH_STAGE_RESOLVE, "h cannot be resolved: no answer within 10 s" },
    { SSH_STAGE_CONNECT, "192.0.2.1 port 22: no ssh banner within 10 s" },
    { SSH_STAGE_LOGIN, "u@h: no answer within 10 s" },
    { SSH_STAGE_CHANNEL, "ssh connection to 192.0.2.1 port 22: no /bin/sh within 10 s" },
};

START_TEST(who_is_late_is_told_by_what_is_missing)
{
    struct ssh_situation situation = { late[_i].stage, "h", "u", "192.0.2.1 port 22", 10000 };
    char text[200];
    ssh_say_late(text, sizeof text, &situation, "192.0.2.1 port 22: no ssh banner");
    ck_assert_str_eq(text, late[_i].text);
}
END_TEST

START_TEST(an_unknown_name_is_told_with_what_it_stands_for)
{
    char text[200];
    ssh_say_unresolved(text, sizeof text, "a", "a", "unknown");
    ck_assert_str_eq(text, "a cannot be resolved: unknown");
    ssh_say_unresolved(text, sizeof text, "a", "a.example", "unknown");
    ck_assert_str_eq(text, "a (a.example) cannot be resolved: unknown");
}
END_TEST

START_TEST(memory_of_a_session_goes_with_it_and_has_an_end)
{
    struct ssh_memory memory = { 0 };
    char *first = ssh_memory_get(&memory, 10);
    memcpy(first, "0123456789", 10);
    char *second = ssh_memory_get(&memory, 20);
    first = ssh_memory_resize(&memory, first, 1000);
    ck_assert_mem_eq(first, "0123456789", 10);
    ck_assert_uint_eq(memory.held, 1020);
    ssh_memory_put(&memory, second);
    ssh_memory_put(&memory, NULL);
    ck_assert_uint_eq(memory.held, 1000);
    ck_assert_ptr_null(ssh_memory_get(&memory, SSH_MEMORY_MAX));
    ck_assert_ptr_null(ssh_memory_get(&memory, SIZE_MAX));
    ck_assert_ptr_null(ssh_memory_resize(&memory, first, SSH_MEMORY_MAX));
    ck_assert_ptr_nonnull(ssh_memory_resize(&memory, NULL, 5));
    ssh_memory_fini(&memory); /* LeakSanitizer looks */
    ck_assert_uint_eq(memory.held, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ssh_session");
    TCase *hosts = tcase_create("hosts");
    tcase_add_checked_fixture(hosts, setup, teardown);
    tcase_add_loop_test(hosts, a_host_that_hangs_up_is_told_by_what_it_said_before, 0,
                        sizeof unauthenticated / sizeof *unauthenticated);
    tcase_add_test(hosts, what_a_host_said_before_it_was_gone_is_read_although_nothing_can_be_sent);
    tcase_add_test(hosts, a_host_that_babbles_is_left);
    tcase_add_test(hosts, a_host_that_says_something_else_and_waits_is_told_by_that);
    tcase_add_test(hosts, nothing_is_reported_of_a_session_that_is_closed);
    suite_add_tcase(suite, hosts);
    TCase *texts = tcase_create("texts and memory");
    tcase_add_loop_test(texts, who_is_late_is_told_by_what_is_missing, 0,
                        sizeof late / sizeof *late);
    tcase_add_test(texts, an_unknown_name_is_told_with_what_it_stands_for);
    tcase_add_test(texts, memory_of_a_session_goes_with_it_and_has_an_end);
    suite_add_tcase(suite, texts);
    ssh_session_prepare();
    return unit_run(suite);
}
