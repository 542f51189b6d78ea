/* SPDX-License-Identifier: Apache-2.0 */
/* Who started us is told on a descriptor and on a datagram socket, both ours here. */
#include "src/service/readiness.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/hvd-readiness-XXXXXX";
static struct sockaddr_un address;
static socklen_t length;
static int manager;
static struct readiness readiness;

/* `name` as systemd writes it. */
static void listen_at(const char *name)
{
    address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    strcpy(address.sun_path, name);
    length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    if (*name == '@')
        address.sun_path[0] = '\0';
    else
        length++;
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(manager, (struct sockaddr *)&address, length), 0);
    setenv("NOTIFY_SOCKET", name, 1);
}

static void set_up(void)
{
    static const char *const variables[] = { "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID" };
    for (size_t i = 0; i < 3; i++)
        unsetenv(variables[i]);
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    signal(SIGPIPE, SIG_IGN);
    manager = -1;
}

static void tear_down(void)
{
    char path[64];
    snprintf(path, sizeof path, "%s/notify", folder);
    readiness_fini(&readiness);
    if (manager >= 0)
        close(manager);
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void start(int ready_fd)
{
    struct err err = { 0 };
    ck_assert_msg(readiness_init(&readiness, ready_fd, &err) == HVD_OK, "%s", err.text);
}

static void expect(const char *text)
{
    char heard[256] = "";
    ssize_t n = recv(manager, heard, sizeof heard - 1, 0);
    ck_assert_str_eq(heard, text);
    ck_assert_int_eq(n, (ssize_t)strlen(text));
}

static void tell_all(void)
{
    readiness_ready(&readiness, "listening on 127.0.0.1:1", NULL);
    readiness_alive(&readiness);
    readiness_stopping(&readiness);
}

static void expect_all(void)
{
    expect("READY=1\nSTATUS=listening on 127.0.0.1:1");
    expect("WATCHDOG=1");
    expect("STOPPING=1\nSTATUS=stopping");
}

START_TEST(nobody_to_tell_is_fine)
{
    start(-1);
    tell_all();
    ck_assert_uint_eq(readiness.watchdog_ms, 0);
}
END_TEST

START_TEST(a_socket_with_a_path_is_told)
{
    char path[64];
    snprintf(path, sizeof path, "%s/notify", folder);
    listen_at(path);
    start(-1);
    tell_all();
    expect_all();
}
END_TEST

START_TEST(a_socket_without_a_file_is_told)
{
    char name[64];
    snprintf(name, sizeof name, "@hvd-readiness-%d", (int)getpid());
    listen_at(name);
    start(-1);
    tell_all();
    expect_all();
}
END_TEST

static const struct {
    const char *name, *text;
} no_sockets[] = {
    { "", "" },
    { "/", "$NOTIFY_SOCKET: cannot reach '/': Destination address required" },
    { "@", "$NOTIFY_SOCKET: cannot reach '@': Destination address required" },
    { "relative", "$NOTIFY_SOCKET: cannot reach 'relative': Destination address required" },
    { "vsock:2:1", "$NOTIFY_SOCKET: cannot reach 'vsock:2:1': Destination address required" },
    { "/nowhere/at/all",
      "$NOTIFY_SOCKET: cannot reach '/nowhere/at/all': No such file or directory" },
    { "@hvd\n", "$NOTIFY_SOCKET: cannot reach '@hvd\\x0a': Connection refused" },
};

START_TEST(what_is_no_socket_is_said_once_and_left_alone)
{
    struct err err = { 0 };
    setenv("NOTIFY_SOCKET", no_sockets[_i].name, 1);
    start(-1);
    int rc = readiness_ready(&readiness, "listening on 127.0.0.1:1", &err);
    ck_assert_int_eq(rc, *no_sockets[_i].text ? HVD_ERR_SYSTEM : HVD_OK);
    ck_assert_str_eq(err.text, no_sockets[_i].text);
    tell_all();
}
END_TEST

START_TEST(a_name_that_is_too_long_is_left_alone)
{
    char name[200];
    memset(name, 'x', sizeof name);
    name[0] = '/';
    name[sizeof name - 1] = '\0';
    setenv("NOTIFY_SOCKET", name, 1);
    start(-1);
    ck_assert_int_eq(readiness.notify_socket, -1);
}
END_TEST

START_TEST(a_manager_that_does_not_listen_holds_nobody_up)
{
    char name[64];
    snprintf(name, sizeof name, "@hvd-readiness-%d", (int)getpid());
    listen_at(name);
    start(-1);
    for (int i = 0; i < 5000; i++)
        readiness_alive(&readiness);
}
END_TEST

START_TEST(a_descriptor_gets_a_newline_and_its_end)
{
    int ends[2];
    char heard[4];
    ck_assert_int_eq(pipe(ends), 0);
    start(ends[1]);
    tell_all();
    readiness_ready(&readiness, "once more", NULL);
    ck_assert_int_eq(read(ends[0], heard, sizeof heard), 1);
    ck_assert_int_eq(heard[0], '\n');
    ck_assert_int_eq(read(ends[0], heard, sizeof heard), 0);
    close(ends[0]);
}
END_TEST

START_TEST(a_descriptor_whose_reader_has_gone_is_no_error)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    start(ends[1]);
    close(ends[0]);
    tell_all();
}
END_TEST

START_TEST(a_descriptor_that_cannot_be_written_to_is_refused)
{
    struct err err = { 0 };
    int fd = open("/dev/null", O_RDONLY);
    char expected[80];
    ck_assert_int_eq(readiness_init(&readiness, fd, &err), HVD_ERR_INVALID);
    snprintf(expected, sizeof expected, "--ready-fd: not open for writing: '%d'", fd);
    ck_assert_str_eq(err.text, expected);
    close(fd);
    ck_assert_int_eq(readiness_init(&readiness, fd, &err), HVD_ERR_INVALID);
}
END_TEST

static const struct {
    const char *usec, *pid; /* "self": ours */
    uint64_t watchdog_ms;
} watchdogs[] = {
    { "30000000", NULL, 15000 },
    { "30000000", "self", 15000 },
    { "30000000", "1", 0 },
    { "30000000", "x", 0 },
    { "1", NULL, 1 },
    { "0", NULL, 0 },
    { "", NULL, 0 },
    { "x", NULL, 0 },
    { "-1", NULL, 0 },
    { " 30000000", NULL, 0 },
    { "30000000x", NULL, 0 },
    { NULL, "self", 0 },
    { "18446744073709551616", NULL, 0 },
};

START_TEST(the_watchdog_wants_a_sign_of_life_at_half_time)
{
    char pid[32];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("NOTIFY_SOCKET", "@nobody", 1);
    if (watchdogs[_i].usec)
        setenv("WATCHDOG_USEC", watchdogs[_i].usec, 1);
    if (watchdogs[_i].pid)
        setenv("WATCHDOG_PID", strcmp(watchdogs[_i].pid, "self") ? watchdogs[_i].pid : pid, 1);
    start(-1);
    ck_assert_uint_eq(readiness.watchdog_ms, watchdogs[_i].watchdog_ms);
}
END_TEST

#define ROWS(table) (int)(sizeof table / sizeof *table)

int main(void)
{
    Suite *suite = suite_create("readiness");
    TCase *tcase = tcase_create("readiness");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, nobody_to_tell_is_fine);
    tcase_add_test(tcase, a_socket_with_a_path_is_told);
    tcase_add_test(tcase, a_socket_without_a_file_is_told);
    tcase_add_loop_test(tcase, what_is_no_socket_is_said_once_and_left_alone, 0, ROWS(no_sockets));
    tcase_add_test(tcase, a_name_that_is_too_long_is_left_alone);
    tcase_add_test(tcase, a_manager_that_does_not_listen_holds_nobody_up);
    tcase_add_test(tcase, a_descriptor_gets_a_newline_and_its_end);
    tcase_add_test(tcase, a_descriptor_whose_reader_has_gone_is_no_error);
    tcase_add_test(tcase, a_descriptor_that_cannot_be_written_to_is_refused);
    tcase_add_loop_test(tcase, the_watchdog_wants_a_sign_of_life_at_half_time, 0, ROWS(watchdogs));
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
