/* SPDX-License-Identifier: Apache-2.0 */
/* An agent that is asked for what it can do, and for what it cannot. */
#include "launcher/base/exit_status.h"
#include "launcher/protocol/agent_protocol.h"
#include "lib/base/interfaces.h"
#include "tests/support/agent_fixture.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct agent_fixture agent;

#define COMMAND(...)                                                                               \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

START_TEST(a_job_goes_from_description_to_done)
{
    struct agent_ready ready;
    struct agent_exited exited;
    agent_fixture_start(&agent, NULL);
    agent_fixture_describe(
        &agent, &(struct agent_fixture_job){ .arguments = COMMAND("sh", "-c", "exit 3") });
    struct wire_reader body = agent_fixture_until(&agent, AGENT_READY);
    ck_assert_int_eq(agent_ready_decode(&ready, &body, NULL), HVD_OK);
    ck_assert_uint_gt(ready.ncpus, 0);
    ck_assert_uint_gt(ready.relay_port, 0);
    ck_assert_int_eq(strncmp(ready.machine, "Linux ", 6), 0);
    ck_assert_uint_le(ready.clock_ms / 1000, (uint64_t)time(NULL));
    ck_assert_uint_ge(ready.clock_ms / 1000, (uint64_t)time(NULL) - 3600);
    agent_fixture_send(&agent, AGENT_START, NULL, 0);
    agent_fixture_until(&agent, AGENT_STARTED);
    body = agent_fixture_until(&agent, AGENT_EXITED);
    ck_assert_int_eq(agent_exited_decode(&exited, &body, NULL), HVD_OK);
    ck_assert_int_eq(exited.end.how.kind, RANK_END_EXITED);
    ck_assert_int_eq(exited.end.how.code, 3);
    agent_fixture_until(&agent, AGENT_DONE);
    ck_assert_int_eq(agent_fixture_wait(&agent), 0);
}
END_TEST

static char too_long[200000];

/* What cannot be done, and what is said of it. */
static const struct {
    struct agent_job job;
    const char *arguments[4], *environment[3];
    enum host_step step;
    int exit_status;
    const char *text;
} refusals[] = {
    { { .cwd = "/no/such" }, { "true" }, { 0 }, STEP_DIRECTORY, 127, "directory '/no/such': No" },
    { { .cwd = "/etc/passwd" }, { "true" }, { 0 }, STEP_DIRECTORY, 127, "Not a directory" },
    { { .cwd = "/" }, { "nosuchprogram" }, { 0 }, STEP_COMMAND, 127, "not found: 'nosuchprogram'" },
    { { .cwd = "/" }, { "/etc/passwd" }, { 0 }, STEP_COMMAND, 126, "'/etc/passwd': Permission" },
    { { .cwd = "/" }, { "" }, { 0 }, STEP_COMMAND, 127, "not found: ''" },
    { { .cwd = "/" },
      { "true" },
      { too_long },
      STEP_COMMAND,
      2,
      "variable 'LONG' is 199999 bytes" },
    { { .cwd = "/", .attributes.torch_env = true },
      { "true" },
      { "HVD_PORT_RANGE=7-3" },
      STEP_NETWORK,
      2,
      "HVD_PORT_RANGE: range of ports is empty: '7-3'" },
    { { .cwd = "/", .python_path = "/no/such" },
      { "true" },
      { 0 },
      STEP_COMMAND,
      127,
      "/no/such/horovod/__init__.py: No such file" },
    { { .cwd = "/" }, { "true", "-x", too_long }, { 0 }, STEP_COMMAND, 2, "argument 2 is 199999" },
};

static void check_refusal(const struct agent_fixture_job *job, enum host_step step, int exit_status,
                          const char *text)
{
    struct agent_failed failed;
    agent_fixture_start(&agent, (char *[]){ (char *)(uintptr_t) "PATH=/bin", NULL });
    agent_fixture_describe(&agent, job);
    struct wire_reader body = agent_fixture_until(&agent, AGENT_FAILED);
    ck_assert_int_eq(agent_failed_decode(&failed, &body, NULL), HVD_OK);
    ck_assert_int_eq(failed.rank, -1);
    ck_assert_int_eq(failed.step, step);
    ck_assert_int_eq(failed.exit_status, exit_status);
    ck_assert_msg(strstr(failed.text, text), "'%s'", failed.text);
    agent_fixture_send_numbers(&agent, AGENT_STOP, 2, SIGTERM, 0);
    agent_fixture_until(&agent, AGENT_DONE);
    ck_assert_int_eq(agent_fixture_wait(&agent), 0);
}

START_TEST(what_cannot_be_done_is_said_before_anything_runs)
{
    memset(too_long, 'x', sizeof too_long - 1);
    memcpy(too_long, "LONG=", 5);
    struct agent_fixture_job job = { .job = refusals[_i].job,
                                     .arguments = refusals[_i].arguments,
                                     .environment = refusals[_i].environment };
    check_refusal(&job, refusals[_i].step, refusals[_i].exit_status, refusals[_i].text);
}
END_TEST

START_TEST(an_interface_that_does_not_exist_is_named)
{
    struct agent_fixture_job job = { .arguments = COMMAND("true"),
                                     .interfaces = _i == 0 ? "nosuch0" : "lo,203.0.113.77" };
    check_refusal(&job, STEP_NETWORK, 2, _i == 0 ? "'nosuch0'" : "203.0.113.77");
}
END_TEST

START_TEST(an_agent_of_another_version_says_so_and_ends)
{
    struct agent_failed failed;
    struct frame frame;
    char text[128];
    agent_fixture_start(&agent, NULL);
    agent_fixture_describe(&agent, &(struct agent_fixture_job){ .job.version = AGENT_VERSION + 1,
                                                                .arguments = COMMAND("true") });
    struct wire_reader body = agent_fixture_until(&agent, AGENT_FAILED);
    ck_assert_int_eq(agent_failed_decode(&failed, &body, NULL), HVD_OK);
    ck_assert_int_eq(failed.step, STEP_AGENT);
    ck_assert_int_eq(failed.exit_status, STATUS_UNREACHABLE);
    snprintf(text, sizeof text,
             "hvdagent speaks version %d of the agent protocol, hvdrun needs version %d",
             AGENT_VERSION, AGENT_VERSION + 1);
    ck_assert_str_eq(failed.text, text);
    ck_assert_int_eq(agent_fixture_next(&agent, &frame), 0);
    ck_assert_int_eq(agent_fixture_wait(&agent), 0);
}
END_TEST

/* The environment that a rank finds: each entry with a newline before and behind it. */
static char *environment_of_rank(const struct agent_job *job, const char *const *environment,
                                 const char *interfaces)
{
    static char *own[] = {
        (char *)(uintptr_t) "PATH=/nonexistent",
        (char *)(uintptr_t) "OF_LOGIN=own",
        (char *)(uintptr_t) "OF_BOTH=own",
        (char *)(uintptr_t) "SSH_CONNECTION=a b",
        (char *)(uintptr_t) "OLDPWD=/old",
        (char *)(uintptr_t) "BASH_FUNC_f%%=() { :; }",
        (char *)(uintptr_t) "CUDA_VISIBLE_DEVICES=3",
        (char *)(uintptr_t) "HOROVOD_RANK=7",
        (char *)(uintptr_t) "HOROVOD_GLOO_IFACE=own0",
        (char *)(uintptr_t) "NOT A VARIABLE",
        NULL,
    };
    agent_fixture_start(&agent, own);
    agent_fixture_run(&agent, &(struct agent_fixture_job){
                                  .job = *job,
                                  .arguments = COMMAND("sh", "-c", "echo; env"),
                                  .environment = environment,
                                  .interfaces = interfaces,
                              });
    char *found = agent_fixture_output(&agent);
    ck_assert_int_eq(agent_fixture_wait(&agent), 0);
    return found;
}

static int count(const char *text, const char *what)
{
    int found = 0;
    for (; (text = strstr(text, what)); text++)
        found++;
    return found;
}

START_TEST(the_agents_own_environment_yields_to_hvdruns)
{
    struct agent_job job = { .own_environment = true, .one_machine = true };
    char *found =
        environment_of_rank(&job,
                            COMMAND("PATH=/usr/bin:/bin", "OF_BOTH=first", "OF_BOTH=hvdrun",
                                    "EMPTY=", "BYTES=\001\377 =\"'$", "HOROVOD_RANK=8"),
                            NULL);
    static const char *const there[] = {
        "\nPATH=/usr/bin:/bin\n",
        "\nOF_LOGIN=own\n",
        "\nOF_BOTH=hvdrun\n",
        "\nSSH_CONNECTION=a b\n",
        "\nCUDA_VISIBLE_DEVICES=3\n",
        "\nEMPTY=\n",
        "\nBYTES=\001\377 =\"'$\n",
        "\nHOROVOD_RANK=0\n",
        "\nHOROVOD_GLOO_IFACE=lo\n",
        "\nNCCL_SOCKET_IFNAME=lo\n",
        "\nHOROVOD_GLOO_RENDEZVOUS_ADDR=127.0.0.1\n",
        "\nHOROVOD_GLOO_RENDEZVOUS_PORT=",
    };
    for (size_t i = 0; i < sizeof there / sizeof *there; i++)
        ck_assert_msg(strstr(found, there[i]), "no %s in %s", there[i], found);
    static const char *const once[] = { "\nPATH=", "\nOF_BOTH=", "\nHOROVOD_RANK=" };
    for (size_t i = 0; i < sizeof once / sizeof *once; i++)
        ck_assert_int_eq(count(found, once[i]), 1);
    static const char *const excluded[] = { "OLDPWD", "BASH_FUNC", "NOT A" };
    for (size_t i = 0; i < sizeof excluded / sizeof *excluded; i++)
        ck_assert_msg(!strstr(found, excluded[i]), "%s in %s", excluded[i], found);
    free(found);
}
END_TEST

START_TEST(on_hvdruns_own_machine_the_ranks_get_hvdruns_environment_alone)
{
    struct agent_job job = { .one_machine = true };
    char *found = environment_of_rank(&job, COMMAND("PATH=/usr/bin:/bin"), NULL);
    ck_assert_int_eq(count(found, "\nPATH=/usr/bin:/bin\n"), 1);
    ck_assert_ptr_null(strstr(found, "OF_LOGIN"));
    ck_assert_ptr_null(strstr(found, "SSH_CONNECTION"));
    free(found);
}
END_TEST

/* 300 kB in three thousand variables. */
START_TEST(a_large_environment_arrives_whole)
{
    enum { NVARIABLES = 3000, VALUE_SIZE = 100 };
    static char entries[NVARIABLES][VALUE_SIZE + 32];
    static const char *environment[NVARIABLES + 2] = { "PATH=/usr/bin:/bin" };
    for (int i = 0; i < NVARIABLES; i++) {
        snprintf(entries[i], sizeof entries[i], "V%04d=%0*d", i, VALUE_SIZE, i);
        environment[i + 1] = entries[i];
    }
    struct agent_job job = { .one_machine = true };
    char *found = environment_of_rank(&job, environment, NULL);
    for (int i = 0; i < NVARIABLES; i++)
        ck_assert_ptr_nonnull(strstr(found, entries[i]));
    free(found);
}
END_TEST

/* What is asked for, what hvdrun says, and what a rank finds. */
static const struct {
    struct agent_job job;
    const char *said, *expected[3], *interfaces;
} networks[] = {
    { { .one_machine = true }, "A=b", { "GLOO_IFACE=lo\n", "NCCL_SOCKET_IFNAME=lo\n" }, NULL },
    { { 0 },
      "A=b",
      { "\nHVD_NETWORK_INTERFACES=lo\n", "GLOO_IFACE=lo\n", "NCCL_SOCKET_IFNAME=lo\n" },
      "lo" },
    { { .one_machine = true },
      "HVD_NETWORK_INTERFACES=eth7",
      { "\nHVD_NETWORK_INTERFACES=127.0.0.0/8,lo\n", "NCCL_SOCKET_IFNAME=lo\n" },
      "127.0.0.0/8,lo" },
    { { 0 }, "HOROVOD_GLOO_IFACE=told0", { "GLOO_IFACE=told0\n", "IFNAME=lo\n" }, "lo" },
};

START_TEST(ranks_are_told_the_interfaces_that_were_chosen)
{
    char *found =
        environment_of_rank(&networks[_i].job, COMMAND("PATH=/usr/bin:/bin", networks[_i].said),
                            networks[_i].interfaces);
    for (int i = 0; i < 3 && networks[_i].expected[i]; i++)
        ck_assert_msg(strstr(found, networks[_i].expected[i]), "no %s", networks[_i].expected[i]);
    free(found);
}
END_TEST

/* An interface of this machine that is not the first choice, if it has one. */
static struct interface another_interface(void)
{
    struct interfaces here;
    ck_assert_int_eq(interfaces_read(&here, NULL), HVD_OK);
    int last = here.count - 1;
    while (last > 0 && here.at[last].kind == INTERFACE_LOOPBACK)
        last--;
    return here.at[last];
}

static const char *address_of(const struct interface *interface)
{
    static char text[INET6_ADDRSTRLEN];
    ck_assert_int_eq(getnameinfo((const struct sockaddr *)&interface->address,
                                 sizeof interface->address, text, sizeof text, NULL, 0,
                                 NI_NUMERICHOST),
                     0);
    return text;
}

/* A port at which this test listens for the time of `range`, "PORT-PORT". */
static int take_port(char *range, size_t size)
{
    struct sockaddr_in6 address = { .sin6_family = AF_INET6 };
    socklen_t length = sizeof address;
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    unsigned port = ntohs(address.sin6_port);
    snprintf(range, size, "HVD_PORT_RANGE=%u-%u", port, port);
    return fd;
}

START_TEST(without_a_free_port_for_rank_0_nothing_starts)
{
    char range[40];
    struct agent_failed failed;
    int fd = take_port(range, sizeof range);
    agent_fixture_start(&agent, NULL);
    agent_fixture_describe(&agent, &(struct agent_fixture_job){
                                       .job.attributes.torch_env = true,
                                       .arguments = COMMAND("true"),
                                       .environment = COMMAND("PATH=/usr/bin:/bin", range),
                                   });
    struct wire_reader body = agent_fixture_until(&agent, AGENT_FAILED);
    ck_assert_int_eq(agent_failed_decode(&failed, &body, NULL), HVD_OK);
    ck_assert_int_eq(failed.exit_status, STATUS_RESOURCE);
    ck_assert_int_eq(failed.step, STEP_NETWORK);
    ck_assert_str_eq(failed.text, "no free port for MASTER_PORT: Address already in use");
    agent_fixture_stop(&agent);
    close(fd);
}
END_TEST

START_TEST(the_package_for_horovod_comes_first_in_pythonpath)
{
    char directory[] = "/tmp/agent_test.XXXXXX", package[64], file[96], expected[200];
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(package, sizeof package, "%s/horovod", directory);
    snprintf(file, sizeof file, "%s/__init__.py", package);
    ck_assert_int_eq(mkdir(package, 0700), 0);
    ck_assert_int_eq(close(open(file, O_CREAT | O_WRONLY, 0600)), 0);
    struct agent_fixture_job job = {
        .arguments = COMMAND("sh", "-c", "echo \"$PYTHONPATH\""),
        .environment = COMMAND("PATH=/usr/bin:/bin", "PYTHONPATH=/mine"),
    };
    snprintf(job.job.python_path, sizeof job.job.python_path, "%s", directory);
    agent_fixture_start(&agent, NULL);
    agent_fixture_run(&agent, &job);
    char *found = agent_fixture_output(&agent);
    snprintf(expected, sizeof expected, "%s:/mine\n", directory);
    ck_assert_str_eq(found, expected);
    ck_assert_int_eq(agent_fixture_wait(&agent), 0);
    free(found);
    unlink(file);
    rmdir(package);
    rmdir(directory);
}
END_TEST

/* How a rank finds its interface named; READY is left in `ready`. */
static char *interface_of_rank(bool own_environment, const char *login, const char *address,
                               struct agent_ready *ready)
{
    struct wire_writer start = { 0 };
    agent_fixture_start(&agent, (char *[]){ (char *)(uintptr_t)login, NULL });
    agent_fixture_describe(
        &agent,
        &(struct agent_fixture_job){
            .job.own_environment = own_environment,
            .arguments = COMMAND("sh", "-c", "echo $HOROVOD_GLOO_IFACE $NCCL_SOCKET_IFNAME"),
            .environment = COMMAND("PATH=/usr/bin:/bin", "NCCL_SOCKET_IFNAME=told0"),
        });
    struct wire_reader body = agent_fixture_until(&agent, AGENT_READY);
    ck_assert_int_eq(agent_ready_decode(ready, &body, NULL), HVD_OK);
    if (address) {
        struct agent_start told = { 0 };
        snprintf(told.own_address, sizeof told.own_address, "%s", address);
        agent_start_encode(&start, &told);
    }
    agent_fixture_send(&agent, AGENT_START, start.data, start.length);
    wire_writer_fini(&start);
    char *found = agent_fixture_output(&agent);
    ck_assert_int_eq(agent_fixture_wait(&agent), 0);
    return found;
}

START_TEST(the_interface_by_which_the_login_has_come_is_the_ranks)
{
    struct interface used = another_interface();
    struct agent_ready ready;
    char login[200], expected[64];
    snprintf(login, sizeof login, "SSH_CONNECTION=192.0.2.77 40000 %s 22", address_of(&used));
    snprintf(expected, sizeof expected, "%s told0\n", used.name);
    char *found = interface_of_rank(true, login, NULL, &ready);
    ck_assert_str_eq(found, expected);
    ck_assert_str_eq(ready.caller, used.kind == INTERFACE_LOOPBACK ? "" : "192.0.2.77");
    free(found);
}
END_TEST

START_TEST(on_hvdruns_own_machine_start_says_where_others_see_it)
{
    struct interface used = another_interface();
    struct agent_ready ready;
    char expected[64];
    snprintf(expected, sizeof expected, "%s told0\n", used.name);
    char *found = interface_of_rank(false, "A=b", address_of(&used), &ready);
    ck_assert_str_eq(found, expected);
    ck_assert_str_eq(ready.caller, "");
    free(found);
}
END_TEST

/* What a login and START may say that is no help. */
static const struct {
    const char *login, *address;
} no_help[] = {
    { "SSH_CONNECTION=192.0.2.77 40000 127.0.0.1 22", "127.0.0.1" },
    { "SSH_CONNECTION=::1 40000 ::1 22", "::1" },
    { "SSH_CONNECTION=UNKNOWN 65535 UNKNOWN 65535", "UNKNOWN" },
    { "SSH_CONNECTION=192.0.2.77 40000 192.0.2.78 22", "192.0.2.78" },
    { "SSH_CONNECTION=192.0.2.77 40000 lo 22", "lo" },
    { "SSH_CONNECTION=192.0.2.77 40000", "0.0.0.0/0" },
    { "SSH_CONNECTION=", "" },
    { "SSH_CONNECTION=11111111111111111111111111111111111111111111111111111111111 2 "
      "33333333333333333333333333333333333333333333333333333333333333333333333333 4",
      NULL },
};

START_TEST(what_a_login_does_not_tell_is_left_as_it_is)
{
    struct interfaces here;
    struct agent_ready ready;
    char expected[64];
    ck_assert_int_eq(interfaces_read(&here, NULL), HVD_OK);
    bool leads_out = here.at[0].kind == INTERFACE_REAL;
    snprintf(expected, sizeof expected, "%s told0\n", leads_out ? here.at[0].name : "lo");
    char *found = interface_of_rank(true, no_help[_i].login, no_help[_i].address, &ready);
    ck_assert_str_eq(found, expected);
    ck_assert_str_eq(ready.caller, "");
    free(found);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent");
    TCase *tcase = tcase_create("agent");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_job_goes_from_description_to_done);
    tcase_add_loop_test(tcase, what_cannot_be_done_is_said_before_anything_runs, 0,
                        sizeof refusals / sizeof *refusals);
    tcase_add_test(tcase, an_agent_of_another_version_says_so_and_ends);
    tcase_add_test(tcase, the_agents_own_environment_yields_to_hvdruns);
    tcase_add_test(tcase, on_hvdruns_own_machine_the_ranks_get_hvdruns_environment_alone);
    tcase_add_test(tcase, a_large_environment_arrives_whole);
    tcase_add_loop_test(tcase, an_interface_that_does_not_exist_is_named, 0, 2);
    tcase_add_loop_test(tcase, ranks_are_told_the_interfaces_that_were_chosen, 0,
                        sizeof networks / sizeof *networks);
    tcase_add_test(tcase, without_a_free_port_for_rank_0_nothing_starts);
    tcase_add_test(tcase, the_package_for_horovod_comes_first_in_pythonpath);
    tcase_add_test(tcase, the_interface_by_which_the_login_has_come_is_the_ranks);
    tcase_add_test(tcase, on_hvdruns_own_machine_start_says_where_others_see_it);
    tcase_add_loop_test(tcase, what_a_login_does_not_tell_is_left_as_it_is, 0,
                        sizeof no_help / sizeof *no_help);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
