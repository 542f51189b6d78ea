/* SPDX-License-Identifier: Apache-2.0 */
/* hvdssh and its processes: what they are told and report, and how they end. A host is the other
 * end of a socket. */
#include "launcher/base/syscall_filter.h"
#include "launcher/process/children.h"
#include "launcher/ssh/ssh_connect.h"
#include "launcher/ssh/ssh_helper_impl.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 };

struct seen {
    struct ssh_process *process;
    int host;                 /* the host's end of the connection */
    struct ssh_report report; /* the last one */
    int reports;
    char dead[160];
    bool no_resource; /* said when it died */
};

static uv_loop_t loop;
static struct children *children;
static void *shared;
static struct ssh_helper *helper;
static struct seen seen[2];
static bool released;

static void on_report(void *context, const struct ssh_report *report)
{
    struct seen *of = context;
    of->report = *report;
    of->reports++;
}

static void on_dead(void *context, bool no_resource, const char *text)
{
    struct seen *of = context;
    ck_assert_str_eq(of->dead, "");
    of->no_resource = no_resource;
    snprintf(of->dead, sizeof of->dead, "%s", text);
}

static const struct ssh_process_events events = { on_report, on_dead };

static void on_released(void *context)
{
    (void)context;
    released = true;
}

static void use_helper(void)
{
    const char *folder = getenv("builddir");
    char path[1000];
    snprintf(path, sizeof path, "%s/hvdssh", folder ? folder : ".");
    uv_loop_init(&loop);
    children = children_create(&loop);
    shared = NULL;
    released = false;
    memset(seen, 0, sizeof seen);
    setenv("HVD_JOB_KEY", "secret", 1);
    setenv("SSH_AUTH_SOCK", "/nowhere", 1);
    setenv("OPENSSL_MODULES", "/nowhere", 1);
    helper = ssh_helper_use(&shared, &loop, children, path);
    ck_assert_msg(helper->err.code == HVD_OK, "%s", helper->err.text);
}

static void leave_helper(void)
{
    for (int i = 0; i < 2; i++)
        ssh_process_close(seen[i].process);
    ssh_helper_release(helper, on_released, NULL);
    while (!released)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_ptr_null(shared);
    children_destroy(children);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}

static void start(struct seen *of)
{
    struct err err = { 0 };
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    of->host = pair[1];
    of->process = ssh_process_start(helper, pair[0], &events, of, &err);
    ck_assert_msg(of->process, "%s", err.text);
}

static void shake_for(struct seen *of, const char *kinds)
{
    const struct ssh_bytes names = { (const unsigned char *)kinds, strlen(kinds) };
    ssh_process_order(of->process, SSH_ORDER_SHAKE, names, (struct ssh_bytes){ 0 });
}

static void shake(struct seen *of)
{
    shake_for(of, "ssh-ed25519");
}

/* The process has sent its banner: it is confined, and waits for the host. */
static void greets(struct seen *of)
{
    char banner[8] = "";
    for (size_t n = 0; n < 4; n++)
        ck_assert_int_eq(read(of->host, banner + n, 1), 1);
    ck_assert_str_eq(banner, "SSH-");
}

static void host_says(const struct seen *of, const char *text)
{
    ck_assert_int_eq(write(of->host, text, strlen(text)), (ssize_t)strlen(text));
}

static void run_until_dead(const struct seen *of)
{
    while (!*of->dead)
        uv_run(&loop, UV_RUN_ONCE);
}

/* The processes of the helper: their number, and the first. */
static int list_processes(pid_t *first)
{
    char path[64], line[200] = "";
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)helper->pid, (int)helper->pid);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    if (!fgets(line, sizeof line, file))
        line[0] = '\0';
    fclose(file);
    for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n"))
        if (count++ == 0)
            *first = (pid_t)strtol(word, NULL, 10);
    return count;
}

static pid_t only_process(void)
{
    pid_t pid = 0;
    ck_assert_int_eq(list_processes(&pid), 1);
    return pid;
}

/* ---- orders and reports ---- */

START_TEST(what_a_host_says_that_is_no_ssh_server_is_reported)
{
    struct seen *of = &seen[0];
    start(of);
    shake(of);
    greets(of);
    host_says(of, "220 mail ready\r\n");
    while (of->reports == 0)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_int_eq(of->report.type, SSH_REPORT_STATE);
    ck_assert_str_eq(of->report.noise, "220 mail ready");
    ck_assert(!of->report.has_banner);
    close(of->host);
    while (of->report.type != SSH_REPORT_SHAKEN)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert(of->report.is_lost && !of->report.has_banner);
    ck_assert_int_eq(of->report.result, SSH_RESULT_ERROR);
    ck_assert_int_eq(of->report.is_confined, syscall_filter_exists());
    ck_assert_str_ne(of->report.version, "");
}
END_TEST

START_TEST(kinds_of_host_keys_that_libssh2_does_not_have_are_reported)
{
    struct seen *of = &seen[0];
    start(of);
    shake_for(of, "ssh-no-such-kind");
    while (of->reports == 0)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_int_eq(of->report.type, SSH_REPORT_SHAKEN);
    ck_assert_int_eq(of->report.result, SSH_RESULT_LACKS);
    ck_assert(!of->report.is_lost);
    close(of->host);
}
END_TEST

START_TEST(the_host_hears_the_end_when_the_process_is_closed)
{
    char byte;
    start(&seen[0]);
    shake(&seen[0]);
    greets(&seen[0]);
    ssh_process_close(seen[0].process);
    seen[0].process = NULL;
    while (helper->first)
        uv_run(&loop, UV_RUN_ONCE);
    while (read(seen[0].host, &byte, 1) == 1)
        ;
    close(seen[0].host);
}
END_TEST

/* ---- the end ---- */

START_TEST(a_process_that_crashes_costs_its_host_only)
{
    static const struct {
        int signum;
        const char *text;
    } ends[] = { { SIGSEGV, "hvdssh killed by signal 11 (SIGSEGV)" },
                 { SIGKILL, "hvdssh killed by signal 9 (SIGKILL)" } };
    start(&seen[0]);
    shake(&seen[0]);
    greets(&seen[0]);
    pid_t pid = only_process();
    start(&seen[1]);
    int stream = ssh_process_take_stream(seen[0].process);
    ck_assert_int_eq(kill(pid, ends[_i].signum), 0);
    run_until_dead(&seen[0]);
    if (ends[_i].signum == SIGKILL || syscall_filter_exists()) /* a sanitizer catches SIGSEGV */
        ck_assert_str_eq(seen[0].dead, ends[_i].text);
    char byte; /* the reader of the stream has not met the end yet */
    ck_assert_int_eq(recv(stream, &byte, 1, MSG_DONTWAIT), -1);
    ck_assert_int_eq(errno, EAGAIN);
    ssh_process_end_stream(seen[0].process);
    ck_assert_int_eq(recv(stream, &byte, 1, MSG_DONTWAIT), 0);
    close(stream);
    while (read(seen[0].host, &byte, 1) == 1) /* the rest of the banner, then the end */
        ;
    shake(&seen[1]);
    greets(&seen[1]);
    ck_assert_str_eq(seen[1].dead, "");
    close(seen[0].host);
    close(seen[1].host);
}
END_TEST

static char unconnected[200];

static void on_connect_end(void *context, const struct ssh_connected *connected)
{
    (void)context;
    ck_assert_ptr_null(connected->process);
    ck_assert(!connected->no_resource && !connected->no_common);
    snprintf(unconnected, sizeof unconnected, "%s", connected->text);
}

START_TEST(a_process_that_crashes_ends_the_attempt_to_connect)
{
    struct string_list none = { 0 };
    struct sockaddr_in port = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    struct addrinfo address = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
    socklen_t length = sizeof port;
    const struct ssh_connect_request request = { .helper = helper,
                                                 .addresses = &address,
                                                 .known_types = &none };
    char expected[200];
    pid_t pid = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&port, length), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&port, &length), 0);
    address.ai_addr = (struct sockaddr *)&port;
    address.ai_addrlen = length;
    snprintf(expected, sizeof expected,
             "127.0.0.1 port %d: exchange of keys: hvdssh killed by signal 9 (SIGKILL)",
             ntohs(port.sin_port));
    unconnected[0] = '\0';
    ssh_connect_start(&loop, &request, on_connect_end, NULL);
    while (list_processes(&pid) == 0)
        uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    while (!*unconnected)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_str_eq(unconnected, expected);
    close(fd);
}
END_TEST

START_TEST(without_hvdssh_its_hosts_end_and_none_can_be_started)
{
    struct err err = { 0 };
    start(&seen[0]);
    shake(&seen[0]);
    greets(&seen[0]);
    kill(helper->pid, SIGKILL);
    run_until_dead(&seen[0]);
    ck_assert_str_eq(seen[0].dead, "hvdssh killed by signal 9 (SIGKILL)");
    ck_assert(!seen[0].no_resource);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ck_assert_ptr_null(ssh_process_start(helper, fd, &events, &seen[1], &err));
    ck_assert_str_eq(err.text, "hvdssh killed by signal 9 (SIGKILL)");
    close(seen[0].host);
}
END_TEST

START_TEST(a_report_that_is_none_ends_the_process)
{
    int pair[2];
    start(&seen[0]);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    dup2(pair[0], seen[0].process->control);
    ck_assert_int_eq(write(pair[1], "nonsense", 8), 8);
    run_until_dead(&seen[0]);
    ck_assert_str_eq(seen[0].dead, "hvdssh sends what is no report");
    close(pair[0]);
    close(pair[1]);
    close(seen[0].host);
}
END_TEST

START_TEST(hvdssh_that_is_not_there_is_named)
{
    struct err err = { 0 };
    ssh_helper_release(helper, on_released, NULL);
    while (!released)
        uv_run(&loop, UV_RUN_ONCE);
    released = false;
    helper = ssh_helper_use(&shared, &loop, children, "/nowhere/hvdssh");
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ck_assert_ptr_null(ssh_process_start(helper, fd, &events, &seen[0], &err));
    ck_assert_str_eq(err.text, "/nowhere/hvdssh: No such file or directory");
}
END_TEST

/* hvdssh gets fewer descriptors than were sent. */
START_TEST(a_process_that_hvdssh_cannot_make_is_a_lack_of_resources)
{
    struct rlimit before, no_more;
    start(&seen[1]);
    shake(&seen[1]);
    greets(&seen[1]); /* hvdssh is loaded */
    ck_assert_int_eq(prlimit(helper->pid, RLIMIT_NOFILE, NULL, &before), 0);
    no_more = (struct rlimit){ 3, before.rlim_max };
    ck_assert_int_eq(prlimit(helper->pid, RLIMIT_NOFILE, &no_more, NULL), 0);
    start(&seen[0]);
    run_until_dead(&seen[0]);
    ck_assert_int_eq(prlimit(helper->pid, RLIMIT_NOFILE, &before, NULL), 0);
    ck_assert_str_eq(seen[0].dead, "hvdssh cannot make a process: Too many open files");
    ck_assert(seen[0].no_resource);
    close(seen[0].host);
    close(seen[1].host);
}
END_TEST

START_TEST(a_process_that_does_not_end_is_killed)
{
    char byte;
    start(&seen[0]);
    shake(&seen[0]);
    greets(&seen[0]);
    pid_t pid = only_process();
    struct pollfd ended = { .fd = pidfd_open(pid, 0), .events = POLLIN };
    ck_assert(ended.fd >= 0);
    kill(pid, SIGSTOP);
    ssh_process_close(seen[0].process);
    seen[0].process = NULL;
    while (helper->first)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_int_eq(poll(&ended, 1, PATIENCE_MS), 1);
    while (read(seen[0].host, &byte, 1) == 1) /* the rest of the banner, then the end */
        ;
    start(&seen[1]); /* hvdssh lives */
    shake(&seen[1]);
    greets(&seen[1]);
    close(ended.fd);
    close(seen[0].host);
    close(seen[1].host);
}
END_TEST

/* Runs in a process of its own, which is then killed: writes the pids of hvdssh and of the host's
 * process. */
static void be_hvdrun(int answer)
{
    use_helper();
    start(&seen[0]);
    shake(&seen[0]);
    greets(&seen[0]);
    const pid_t pids[] = { helper->pid, only_process() };
    ck_assert_int_eq(write(answer, pids, sizeof pids), sizeof pids);
    pause();
}

START_TEST(nothing_is_left_when_hvdrun_is_killed)
{
    int answer[2];
    pid_t pids[2];
    ck_assert_int_eq(pipe(answer), 0);
    pid_t hvdrun = fork();
    if (hvdrun == 0)
        be_hvdrun(answer[1]);
    ck_assert_int_eq(read(answer[0], pids, sizeof pids), sizeof pids);
    struct pollfd ended[] = { { .fd = pidfd_open(pids[0], 0), .events = POLLIN },
                              { .fd = pidfd_open(pids[1], 0), .events = POLLIN } };
    ck_assert(ended[0].fd >= 0 && ended[1].fd >= 0);
    kill(hvdrun, SIGKILL);
    ck_assert_int_eq(waitpid(hvdrun, NULL, 0), hvdrun);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(poll(&ended[i], 1, PATIENCE_MS), 1);
        close(ended[i].fd);
    }
    close(answer[0]);
    close(answer[1]);
}
END_TEST

/* ---- what a process has and may do ---- */

static size_t read_proc(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

START_TEST(a_process_has_variables_of_libcrypto_and_none_of_the_job)
{
    char text[4000], mode[32];
    start(&seen[0]);
    shake(&seen[0]);
    greets(&seen[0]);
    pid_t pid = only_process();
    size_t n = read_proc(pid, "environ", text, sizeof text); /* nothing, if this is not root */
    ck_assert_ptr_null(memmem(text, n, "HVD_JOB_KEY", 11));
    ck_assert_ptr_null(memmem(text, n, "SSH_AUTH_SOCK", 13));
    ck_assert_ptr_null(memmem(text, n, "HOME=", 5));
    ck_assert(n == 0 || memmem(text, n, "OPENSSL_MODULES=/nowhere", 24));
    read_proc(pid, "status", text, sizeof text);
    snprintf(mode, sizeof mode, "\nSeccomp:\t%d\n", syscall_filter_exists() ? 2 : 0);
    ck_assert_msg(!syscall_filter_exists() || strstr(text, mode), "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "\nNoNewPrivs:\t1\n"));
    close(seen[0].host);
}
END_TEST

/* ---- messages ---- */

START_TEST(a_report_is_read_as_it_was_written_and_its_texts_are_printable)
{
    struct text_buffer message = { 0 };
    struct ssh_report read, report = { .type = SSH_REPORT_SHAKEN,
                                       .result = SSH_RESULT_ERROR,
                                       .code = -43,
                                       .has_banner = true,
                                       .is_dismissed = true,
                                       .signs_sha2 = true,
                                       .version = "1.10.0",
                                       .noise = "\033[1mhi",
                                       .lost = "closed \033[2J",
                                       .bytes = { (const unsigned char *)"key", 3 } };
    ssh_report_encode(&message, &report);
    const struct ssh_bytes whole = { (unsigned char *)message.data, message.length };
    ck_assert(ssh_report_decode(&read, whole));
    ck_assert_int_eq(read.type, SSH_REPORT_SHAKEN);
    ck_assert_int_eq(read.code, -43);
    ck_assert(read.has_banner && !read.is_lost && read.is_dismissed && read.signs_sha2);
    ck_assert_str_eq(read.version, "1.10.0");
    ck_assert_str_eq(read.noise, "\033[1mhi"); /* shown by show_token() */
    ck_assert_str_eq(read.lost, "closed ?[2J");
    ck_assert(ssh_bytes_are(read.bytes, "key"));
    for (size_t n = 0; n < message.length; n++)
        ck_assert(!ssh_report_decode(&read, (struct ssh_bytes){ whole.data, n }));
    message.data[1] = SSH_RESULTS;
    ck_assert(!ssh_report_decode(&read, whole));
    message.data[1] = SSH_RESULT_OK;
    message.data[0] = SSH_REPORTS;
    ck_assert(!ssh_report_decode(&read, whole));
    text_buffer_fini(&message);
}
END_TEST

START_TEST(an_order_is_read_as_it_was_written)
{
    struct text_buffer message = { 0 };
    const struct ssh_order order = { SSH_ORDER_LOGIN_FILE,
                                     { (const unsigned char *)"me", 2 },
                                     { (const unsigned char *)"a key", 5 } };
    struct ssh_order read;
    ssh_order_encode(&message, &order);
    const struct ssh_bytes whole = { (unsigned char *)message.data, message.length };
    ck_assert(ssh_order_decode(&read, whole));
    ck_assert_int_eq(read.type, SSH_ORDER_LOGIN_FILE);
    ck_assert(ssh_bytes_are(read.first, "me") && ssh_bytes_are(read.second, "a key"));
    for (size_t n = 0; n < message.length; n++)
        ck_assert(!ssh_order_decode(&read, (struct ssh_bytes){ whole.data, n }));
    message.data[0] = SSH_ORDERS;
    ck_assert(!ssh_order_decode(&read, whole));
    text_buffer_fini(&message);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ssh_process");
    TCase *hosts = tcase_create("hosts");
    tcase_add_checked_fixture(hosts, use_helper, leave_helper);
    tcase_add_test(hosts, what_a_host_says_that_is_no_ssh_server_is_reported);
    tcase_add_test(hosts, kinds_of_host_keys_that_libssh2_does_not_have_are_reported);
    tcase_add_test(hosts, the_host_hears_the_end_when_the_process_is_closed);
    tcase_add_loop_test(hosts, a_process_that_crashes_costs_its_host_only, 0, 2);
    tcase_add_test(hosts, a_process_that_crashes_ends_the_attempt_to_connect);
    tcase_add_test(hosts, without_hvdssh_its_hosts_end_and_none_can_be_started);
    tcase_add_test(hosts, a_report_that_is_none_ends_the_process);
    tcase_add_test(hosts, hvdssh_that_is_not_there_is_named);
    tcase_add_test(hosts, a_process_that_hvdssh_cannot_make_is_a_lack_of_resources);
    tcase_add_test(hosts, a_process_that_does_not_end_is_killed);
    tcase_add_test(hosts, a_process_has_variables_of_libcrypto_and_none_of_the_job);
    suite_add_tcase(suite, hosts);
    TCase *alone = tcase_create("alone");
    tcase_add_test(alone, nothing_is_left_when_hvdrun_is_killed);
    tcase_add_test(alone, a_report_is_read_as_it_was_written_and_its_texts_are_printable);
    tcase_add_test(alone, an_order_is_read_as_it_was_written);
    suite_add_tcase(suite, alone);
    return unit_run(suite);
}
