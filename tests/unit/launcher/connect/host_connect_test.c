/* SPDX-License-Identifier: Apache-2.0 */
/* Reaching hosts without a network: as a local child, and by commands that run /bin/sh here. A
 * small script stands in for hvdagent. */
#include "launcher/base/exit_status.h"
#include "launcher/base/xalloc.h"
#include "launcher/connect/host_connect_impl.h"
#include "launcher/process/children.h"
#include "launcher/protocol/agent_protocol.h"
#include "launcher/tree/tunnels.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A host as one test sees it. */
struct seen {
    struct host_connect *connect;
    enum host_step steps[16];
    int nsteps;
    char notes[2000];
    struct host_stream reached;
    bool is_reached, has_failed, has_ended, is_closed;
    enum host_step failed_step;
    int exit_status, wait_status;
    char text[1000];
};

static char folder[64], agent[100];
static uv_loop_t loop;
static struct children *children;
static struct connect_settings settings;
static struct running_agent running;
static struct connect_queue *pool;
static struct seen host;

static void (*on_each_step)(void);

static void take_all_descriptors(void)
{
    struct rlimit limit;
    int first_free = dup(STDIN_FILENO);
    close(first_free);
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = (rlim_t)first_free;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void on_step(void *context, enum host_step step)
{
    struct seen *seen = context;
    if (on_each_step)
        on_each_step();
    seen->steps[seen->nsteps++ % 16] = step;
}

static void on_note(void *context, bool important, const char *text)
{
    struct seen *seen = context;
    size_t used = strlen(seen->notes);
    snprintf(seen->notes + used, sizeof seen->notes - used, "%c%s\n", important ? '!' : ' ', text);
}

static void on_connected(void *context, const struct host_stream *reached)
{
    struct seen *seen = context;
    ck_assert(!seen->is_reached && !seen->has_failed);
    seen->is_reached = true;
    seen->reached = *reached;
}

static void on_failed(void *context, enum host_step step, int exit_status, const char *text)
{
    struct seen *seen = context;
    ck_assert(!seen->is_reached && !seen->has_failed);
    seen->has_failed = true;
    seen->failed_step = step;
    seen->exit_status = exit_status;
    snprintf(seen->text, sizeof seen->text, "%s", text);
}

static void on_process_end(void *context, int wait_status)
{
    struct seen *seen = context;
    ck_assert(seen->is_reached);
    seen->has_ended = true;
    seen->wait_status = wait_status;
}

static void on_closed(void *context)
{
    struct seen *seen = context;
    seen->is_closed = true;
}

static const struct connect_events events = { on_step,   on_note,        on_connected,
                                              on_failed, on_process_end, NULL };

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    chmod(path, 0755);
}

/* What the stand-in does when it is neither asked for its version nor for the end of its input. */
static void make_agent(const char *body)
{
    char *text = xasprintf("#!/bin/sh\n[ \"$1\" != --version ] || exit 0\n%s\n", body);
    write_file(agent, text);
    free(text);
}

static void set_up(void)
{
    snprintf(folder, sizeof folder, "/tmp/host_connect_test.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(agent, sizeof agent, "%s/bin", folder);
    mkdir(agent, 0755);
    snprintf(agent, sizeof agent, "%s/hvdagent", folder);
    make_agent("read -r word; echo \"$word $*\"; exec cat");
    signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&loop);
    children = children_create(&loop);
    host = (struct seen){ 0 };
    on_each_step = NULL;
    settings = (struct connect_settings){ .agent = agent,
                                          .job_id = "0123456789",
                                          .remote_shell = "sh -c 'shift; exec \"$@\"' sh",
                                          .remote_shell_source = "--remote-shell",
                                          .timeout_ms = 60000 };
    pool = connect_queue_create(&loop, &settings, children);
}

static void start(const char *name)
{
    struct connect_target target = { .host = name };
    host.connect = host_connect_start(pool, &target, &events, &host);
    ck_assert(!host.is_reached && !host.has_failed && host.nsteps == 0);
}

static void run_until(const bool *what)
{
    while (!*what)
        uv_run(&loop, UV_RUN_ONCE);
}

static void run_until_decided(void)
{
    while (!host.is_reached && !host.has_failed)
        uv_run(&loop, UV_RUN_ONCE);
}

/* Everything is closed, and nothing is left that the loop would wait for. */
static void tear_down(void)
{
    if (host.is_reached)
        close(host.reached.input);
    host_connect_close(host.connect, on_closed, &host);
    if (host.connect)
        run_until(&host.is_closed);
    connect_queue_destroy(pool);
    children_destroy(children);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    char *command = xasprintf("rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
    free(command);
}

/* Says "agent" to the stand-in, which answers with that and its options; waits for the line. */
static const char *ask_agent(void)
{
    static char line[300];
    size_t n = 0;
    fcntl(host.reached.input, F_SETFL, 0);
    ck_assert_int_eq(write(host.reached.output, "agent\n", 6), 6);
    while (n + 1 < sizeof line && read(host.reached.input, line + n, 1) == 1 && line[n] != '\n')
        n++;
    line[n] = '\0';
    return line;
}

static void is_reached(void)
{
    run_until_decided();
    ck_assert_msg(host.is_reached, "%s", host.text);
}

static void fails(const char *text, int exit_status)
{
    run_until_decided();
    ck_assert_msg(host.has_failed, "reached");
    ck_assert_msg(strstr(host.text, text), "'%s'", host.text);
    ck_assert_int_eq(host.exit_status, exit_status);
}

/* ---- local ---- */

START_TEST(a_local_host_is_reached_in_the_next_turn_of_the_loop)
{
    start("localhost");
    uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert(host.is_reached && host.reached.local);
    ck_assert_int_gt(host.reached.pid, 0);
    ck_assert_int_eq(host.nsteps, 1);
    ck_assert_int_eq(host.steps[0], STEP_AGENT);
    ck_assert_str_eq(ask_agent(), "agent ");
}
END_TEST

START_TEST(the_end_of_a_local_agent_is_told)
{
    make_agent("exit 3");
    start("127.0.0.1");
    run_until(&host.has_ended);
    ck_assert_int_eq(WEXITSTATUS(host.wait_status), 3);
}
END_TEST

/* A process that plays an agent which runs already: it ends when its link does. */
static void start_running(void)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    running = (struct running_agent){ fork(), pair[0] };
    if (running.pid == 0) {
        char byte;
        close(pair[0]);
        _exit(read(pair[1], &byte, 1) == 0 ? 0 : 5);
    }
    ck_assert_int_gt(running.pid, 0);
    close(pair[1]);
    settings.running = &running;
}

START_TEST(an_agent_that_runs_already_is_taken)
{
    start_running();
    pid_t pid = running.pid;
    start("localhost");
    is_reached();
    ck_assert(host.reached.local);
    ck_assert_int_eq(host.reached.pid, pid);
    ck_assert_int_eq(running.pid, 0);
    ck_assert_int_eq(write(host.reached.output, "x", 1), 1);
    run_until(&host.has_ended);
    ck_assert_int_eq(WEXITSTATUS(host.wait_status), 5);
}
END_TEST

START_TEST(another_host_does_not_take_it)
{
    start_running();
    start("node2");
    is_reached();
    ck_assert(!host.reached.local);
    ck_assert_int_gt(running.pid, 0);
    close(running.link);
    settings.running = NULL;
}
END_TEST

START_TEST(the_end_of_an_agent_before_it_was_taken_is_told)
{
    siginfo_t info;
    start_running();
    kill(running.pid, SIGKILL);
    ck_assert_int_eq(waitid(P_PID, (id_t)running.pid, &info, WEXITED | WNOWAIT), 0);
    start("localhost");
    run_until(&host.has_ended);
    ck_assert(WIFSIGNALED(host.wait_status));
}
END_TEST

START_TEST(a_local_agent_that_cannot_be_executed_is_named)
{
    unlink(agent);
    start("localhost");
    fails("hvdagent: No such file or directory", STATUS_RESOURCE);
}
END_TEST

START_TEST(a_host_may_be_closed_before_its_turn_is_over)
{
    start(_i == 0 ? "localhost" : "node2");
}
END_TEST

/* ---- by a command ---- */

START_TEST(a_command_reaches_a_host_whose_agent_has_the_same_path)
{
    start("node2");
    is_reached();
    ck_assert(!host.reached.local);
    ck_assert_int_eq(host.nsteps, 2);
    ck_assert_int_eq(host.steps[0], STEP_CONNECT);
    ck_assert_int_eq(host.steps[1], STEP_AGENT);
    ck_assert_str_eq(ask_agent(), "agent --supervise");
    ck_assert_str_eq(ask_agent(), "agent");
}
END_TEST

/* The stderr of a host and its answers are two streams, of which either may be read first: the
 * login shell goes on when its line has been noted. */
START_TEST(a_login_shell_may_talk_and_the_host_be_noisy)
{
    char *gate = xasprintf("%s/gate", folder);
    ck_assert_int_eq(mkfifo(gate, 0600), 0);
    int gate_fd = open(gate, O_RDWR | O_CLOEXEC);
    char *command = xasprintf("sh -c 'shift; echo Welcome; echo \"no\033[1m locale\" >&2; "
                              "read -r go <%s; printf \"motd: hvd-\"; exec \"$@\"' sh",
                              gate);
    settings.remote_shell = command;
    start("node2");
    while (!*host.notes && !host.has_failed)
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert_int_eq(write(gate_fd, "go\n", 3), 3);
    is_reached();
    ck_assert_str_eq(ask_agent(), "agent --supervise");
    ck_assert_str_eq(host.notes, " no locale\n");
    close(gate_fd);
    free(command);
    free(gate);
}
END_TEST

START_TEST(what_the_agent_says_on_stderr_is_noted_and_explains_its_end)
{
    make_agent("echo out of order >&2; exit 5");
    start("node2");
    run_until(&host.has_ended);
    ck_assert_int_eq(WEXITSTATUS(host.wait_status), 5);
    ck_assert_str_eq(host.notes, "!out of order\n");
    ck_assert_str_eq(host_connect_end_text(host.connect),
                     "'sh' exited with status 5: out of order");
}
END_TEST

START_TEST(a_command_that_this_machine_does_not_have_is_named_in_the_words_of_its_option)
{
    settings.remote_shell_missing = "--launcher: pbsdsh: pbsdsh is not found in $PATH";
    settings.remote_shell_program = "no-such-program-here";
    start("node2");
    fails("--launcher: pbsdsh: pbsdsh is not found in $PATH", STATUS_UNREACHABLE);
}
END_TEST

START_TEST(a_command_that_was_missing_at_the_start_reaches_a_host_once_it_is_installed)
{
    settings.remote_shell_missing = "--launcher: pbsdsh: pbsdsh is not found in $PATH";
    settings.remote_shell_program = "sh";
    start("node2");
    is_reached();
}
END_TEST

/* Shell, what it is told to do instead, what is said of it. */
static const struct {
    const char *shell, *text;
    int exit_status;
} failures[] = {
    { "sh -c 'echo refused >&2; exit 255'", "not reached: 'sh' exited with status 255: refused",
      STATUS_UNREACHABLE },
    { "sh -c 'kill -9 $$'", "not reached: 'sh' killed by signal 9 (SIGKILL)", STATUS_UNREACHABLE },
    { "sh -c 'printf \"account locked\"'", "not reached; the host says 'account locked'",
      STATUS_UNREACHABLE },
    { "sh -c 'yes noise'",
      "more than 64 KiB of other output before /bin/sh answers; it begins with"
      " 'noise'",
      STATUS_UNREACHABLE },
    { "no-such-program-here -q", "remote shell: command not found: 'no-such-program-here'",
      STATUS_UNREACHABLE },
    { "/dev/null", "remote shell: ", STATUS_UNREACHABLE },
    { "ssh '", "--remote-shell: a quote is not closed", STATUS_USAGE },
};

START_TEST(a_command_that_cannot_connect_to_its_host_is_explained)
{
    settings.remote_shell = failures[_i].shell;
    start("node2");
    fails(failures[_i].text, failures[_i].exit_status);
}
END_TEST

START_TEST(a_host_that_says_nothing_fails_at_the_deadline_which_names_the_step)
{
    settings.timeout_ms = 100;
    settings.remote_shell = "sh -c 'trap \"\" TERM; while :; do sleep 1; done'";
    start("node2");
    fails("not reached within 0.1 s", STATUS_UNREACHABLE);
}
END_TEST

/* The stream took the last one; the bootstrap wants one more. */
START_TEST(a_host_for_which_no_descriptor_is_left_fails_alone)
{
    struct rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    on_each_step = take_all_descriptors;
    start("node2");
    run_until_decided();
    setrlimit(RLIMIT_NOFILE, &before);
    fails("streams: Too many open files", STATUS_RESOURCE);
}
END_TEST

START_TEST(a_host_whose_ssh_client_cannot_be_started_for_want_of_resources_fails_with_that)
{
    struct rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    settings.remote_shell = NULL;
    settings.ssh = &transport_ssh;
    take_all_descriptors();
    start("node2");
    run_until_decided();
    setrlimit(RLIMIT_NOFILE, &before);
    fails("Too many open files", STATUS_RESOURCE);
}
END_TEST

/* ---- sent ---- */

/* The stand-in does not run where it is, only as a copy, which removes itself. */
static void make_agent_for_elsewhere(int padding)
{
    char *text = xstrdup("#!/bin/sh\n"
                         "if [ \"$1\" = --version ]; then [ \"$0\" != ./hvdagent ]; exit; fi\n"
                         "rm -rf \"$3\"; read -r word; echo \"$word $*\"; exec cat\n");
    write_file(agent, text);
    free(text);
    FILE *file = fopen(agent, "a");
    for (int i = 0; i < padding; i++)
        fprintf(file, "# %09d\n", i);
    fclose(file);
}

/* A machine whose /bin/sh is `shell`, after a `prelude` of commands. */
static char *make_machine(const char *prelude, const char *shell)
{
    return xasprintf("sh -c 'unset XDG_RUNTIME_DIR; TMPDIR=%s; HOME=%s; export TMPDIR HOME; %s; "
                     "exec %s' sh",
                     folder, folder, prelude, shell);
}

static bool works(const char *command)
{
    return system(command) == 0;
}

static const char *const shells[] = { "sh", "dash", "bash", "busybox sh" };

START_TEST(hvdagent_is_sent_where_there_is_none)
{
    char *command = xasprintf("%s -c : 2>/dev/null", shells[_i]);
    char *machine = make_machine(":", shells[_i]);
    char *place = xasprintf("agent --supervise --sent %s/hvdagent.", folder);
    if (works(command)) {
        make_agent_for_elsewhere(0);
        settings.remote_shell = machine;
        start("node2");
        is_reached();
        const char *line = ask_agent();
        ck_assert_msg(strncmp(line, place, strlen(place)) == 0, "%s", line);
    }
    free(place);
    free(machine);
    free(command);
}
END_TEST

/* What makes of $f, in $d, a program that somebody else may have put there. */
static const char *const strange[] = {
    "chmod 777 $d", "chmod 770 $d; chgrp 1 $d",
    "chmod 702 $f", "mv $f $f.real; ln -s $f.real $f",
    "chown 1 $f",   "chown 1 $d",
};

START_TEST(a_program_that_others_can_replace_is_not_run)
{
    char *command = xasprintf("d=%s; f=%s; %s", folder, agent, strange[_i]);
    char *machine = make_machine(":", "sh");
    if (geteuid() == 0 || strncmp(strange[_i], "chown", 5) != 0) {
        ck_assert(works(command));
        settings.remote_shell = machine;
        start("node2");
        is_reached();
        ck_assert_int_eq(strncmp(ask_agent(), "agent --supervise --sent ", 25), 0);
    }
    free(machine);
    free(command);
}
END_TEST

START_TEST(a_large_hvdagent_arrives_complete)
{
    char *machine = make_machine(":", "sh");
    make_agent_for_elsewhere(300000);
    settings.remote_shell = machine;
    start("node2");
    is_reached();
    ck_assert_int_eq(strncmp(ask_agent(), "agent --supervise --sent ", 25), 0);
    free(machine);
}
END_TEST

static void write_program(const char *name, const char *body)
{
    char *program = xasprintf("%s/bin/%s", folder, name);
    char *text = xasprintf("#!/bin/sh\n%s\n", body);
    write_file(program, text);
    free(text);
    free(program);
}

START_TEST(the_deadline_does_not_count_while_hvdagent_is_sent)
{
    char *prelude = xasprintf("PATH=%s/bin:$PATH", folder);
    char *machine = make_machine(prelude, "sh");
    char *go = xasprintf("%s/go", folder);
    write_program("head", "until [ $# = 3 ] || [ -e \"$HOME/go\" ]; do sleep 0.1; done\n"
                          "PATH=/usr/bin:/bin; exec head \"$@\"");
    make_agent_for_elsewhere(300000);
    settings.remote_shell = machine;
    start("node2");
    while (uv_is_active((uv_handle_t *)&host.connect->deadline))
        uv_run(&loop, UV_RUN_ONCE);
    ck_assert(!host.is_reached);
    ck_assert_msg(!host.has_failed, "%s", host.text);
    write_file(go, "");
    is_reached();
    free(go);
    free(machine);
    free(prelude);
}
END_TEST

/* A program of that machine which does not do what it should, and what is said of it. */
static const struct {
    const char *name, *body, *text;
} refusals[] = {
    { "mktemp", "echo no place in $2 >&2; exit 1", "no place in " },
    { "mktemp", "echo no place in $2 >&2; exit 1", "for a copy (tried /tmp/host_connect_test." },
    { "uname", "echo Plan9 vax", "a copy of ours, for Linux " },
    { "uname", "echo Plan9 vax", ", cannot run on Plan9 vax" },
    { "head", "[ $# = 3 ] || set -- -c 100; PATH=/usr/bin:/bin; exec head $@",
      "only 100 bytes of it have come" },
};

START_TEST(a_machine_that_cannot_take_hvdagent_says_why)
{
    char *prelude = xasprintf("PATH=%s/bin:$PATH", folder);
    char *machine = make_machine(prelude, "sh");
    write_program(refusals[_i].name, refusals[_i].body);
    make_agent_for_elsewhere(0);
    settings.remote_shell = machine;
    start("node2");
    fails(refusals[_i].text, STATUS_UNREACHABLE);
    free(machine);
    free(prelude);
}
END_TEST

/* Options of a mount over every place, and what is said of the last. */
static const struct {
    const char *options, *text;
} mounts[] = {
    { "size=64k", "No space left on device" },
    { "noexec", "Permission denied" },
    { "ro", "Read-only file system" },
};

START_TEST(places_that_are_full_noexec_or_read_only_are_left_out)
{
    char *prelude =
        xasprintf("mkdir -p %s/m; for p in %s/m /dev/shm; do "
                  "mount -t tmpfs -o %s none $p || exit 9; done; TMPDIR=%s/m; HOME=$TMPDIR",
                  folder, folder, mounts[_i].options, folder);
    char *inner = make_machine(prelude, "sh");
    char *machine = xasprintf("unshare -m %s", inner);
    if (works("unshare -m mount -t tmpfs none /mnt 2>/dev/null")) {
        make_agent_for_elsewhere(20000);
        settings.remote_shell = machine;
        start("node2");
        fails(mounts[_i].text, STATUS_UNREACHABLE);
        ck_assert_msg(strstr(host.text, "/m, /dev/shm, "), "%s", host.text);
    }
    free(machine);
    free(inner);
    free(prelude);
}
END_TEST

/* ---- many ---- */

START_TEST(at_most_64_hosts_have_their_turn_at_once)
{
    static struct seen many[71];
    static const int in_order[] = { 64, 65, 67, 68, 70 };
    settings.remote_shell = "sh -c 'exec sleep 1000'";
    struct connect_target target = { .host = "node2" };
    for (int i = 0; i < 70; i++)
        many[i].connect = host_connect_start(pool, &target, &events, &many[i]);
    uv_run(&loop, UV_RUN_NOWAIT);
    for (int i = 0; i < 70; i++)
        ck_assert_int_eq(many[i].nsteps, i < 64);
    host_connect_close(many[66].connect, on_closed, &many[66]); /* it has had no turn */
    host_connect_close(many[69].connect, on_closed, &many[69]); /* the last in the queue */
    many[70].connect = host_connect_start(pool, &target, &events, &many[70]);
    uv_run(&loop, UV_RUN_NOWAIT);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(many[in_order[i]].nsteps, 0);
        host_connect_close(many[i].connect, on_closed, &many[i]);
        run_until(&many[i].is_closed);
        uv_run(&loop, UV_RUN_NOWAIT);
        ck_assert_int_eq(many[in_order[i]].nsteps, 1);
    }
    for (int i = 5; i < 71; i++)
        if (i != 66 && i != 69)
            host_connect_close(many[i].connect, on_closed, &many[i]);
    for (int i = 0; i < 71; i++)
        run_until(&many[i].is_closed);
}
END_TEST

/* ---- through the agent of another host ---- */

/* What that agent hears of its tunnel. */
static bool has_script;

static int on_tunnel_frame(void *context, const struct frame *frame, struct err *err)
{
    (void)context, (void)err;
    has_script |= frame->type == AGENT_TUNNEL_SCRIPT;
    return HVD_OK;
}

static void on_tunnel_link_end(void *context, const struct err *err)
{
    (void)context, (void)err;
}

static struct frame_link links[2];
static struct tunnels tunnels;
static char fell_back[200]; /* why the host was not connected through the other one */

static void on_fall_back(void *context, const char *text)
{
    (void)context;
    snprintf(fell_back, sizeof fell_back, "%s", text);
}

static const struct connect_events events_behind = { on_step,   on_note,        on_connected,
                                                     on_failed, on_process_end, on_fall_back };

/* Connects to a host behind another one, whose link is here, until `what`. */
static void connect_behind(const bool *what)
{
    static const struct frame_link_events link_events = { .on_frame = on_tunnel_frame,
                                                          .on_end = on_tunnel_link_end };
    struct connect_target target = { .host = "node2", .below = true };
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(dup2(pair[1], STDIN_FILENO), STDIN_FILENO);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(
            frame_link_open(&links[i], &loop, pair[i], pair[i], &link_events, NULL, NULL), 0);
    tunnels = (struct tunnels){ .link = &links[0] };
    host.connect = host_connect_start(pool, &target, &events_behind, &host);
    host_connect_through(host.connect, &tunnels);
    run_until(what);
}

/* Descriptor 0 is none of the tunnel's. */
static void close_behind(void)
{
    host_connect_close(host.connect, on_closed, &host);
    host.connect = NULL;
    run_until(&host.is_closed);
    ck_assert_int_ne(fcntl(STDIN_FILENO, F_GETFD), -1);
    tunnels_cut(&tunnels, "");
    tunnels_fini(&tunnels);
    for (int i = 0; i < 2; i++)
        frame_link_close(&links[i], NULL);
}

START_TEST(a_host_behind_another_closes_no_descriptor_that_it_has_handed_over)
{
    connect_behind(&has_script);
    close_behind();
}
END_TEST

START_TEST(a_host_behind_another_that_has_no_descriptor_yet_closes_none)
{
    settings.remote_shell = "ssh '";
    connect_behind(&host.has_failed);
    ck_assert_str_eq(fell_back, "--remote-shell: a quote is not closed: 'ssh ''");
    ck_assert_str_eq(host.text, fell_back);
    ck_assert_int_eq(host.exit_status, STATUS_USAGE);
    close_behind();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("host_connect");
    TCase *local = tcase_create("local"), *command = tcase_create("command"),
          *sent = tcase_create("sent"), *many = tcase_create("many"),
          *behind = tcase_create("behind");
    TCase *all[] = { local, command, sent, many, behind };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tcase_add_checked_fixture(all[i], set_up, tear_down);
        tcase_set_timeout(all[i], 60);
        suite_add_tcase(suite, all[i]);
    }
    tcase_add_test(local, a_local_host_is_reached_in_the_next_turn_of_the_loop);
    tcase_add_test(local, the_end_of_a_local_agent_is_told);
    tcase_add_test(local, an_agent_that_runs_already_is_taken);
    tcase_add_test(local, another_host_does_not_take_it);
    tcase_add_test(local, the_end_of_an_agent_before_it_was_taken_is_told);
    tcase_add_test(local, a_local_agent_that_cannot_be_executed_is_named);
    tcase_add_loop_test(local, a_host_may_be_closed_before_its_turn_is_over, 0, 2);
    tcase_add_test(command, a_command_reaches_a_host_whose_agent_has_the_same_path);
    tcase_add_test(command, a_login_shell_may_talk_and_the_host_be_noisy);
    tcase_add_test(command,
                   a_command_that_this_machine_does_not_have_is_named_in_the_words_of_its_option);
    tcase_add_test(command,
                   a_command_that_was_missing_at_the_start_reaches_a_host_once_it_is_installed);
    tcase_add_test(command, what_the_agent_says_on_stderr_is_noted_and_explains_its_end);
    tcase_add_loop_test(command, a_command_that_cannot_connect_to_its_host_is_explained, 0,
                        sizeof failures / sizeof *failures);
    tcase_add_test(command, a_host_that_says_nothing_fails_at_the_deadline_which_names_the_step);
    tcase_add_test(command, a_host_for_which_no_descriptor_is_left_fails_alone);
    tcase_add_test(command,
                   a_host_whose_ssh_client_cannot_be_started_for_want_of_resources_fails_with_that);
    tcase_add_loop_test(sent, hvdagent_is_sent_where_there_is_none, 0,
                        sizeof shells / sizeof *shells);
    tcase_add_loop_test(sent, a_program_that_others_can_replace_is_not_run, 0,
                        sizeof strange / sizeof *strange);
    tcase_add_test(sent, a_large_hvdagent_arrives_complete);
    tcase_add_test(sent, the_deadline_does_not_count_while_hvdagent_is_sent);
    tcase_add_loop_test(sent, a_machine_that_cannot_take_hvdagent_says_why, 0,
                        sizeof refusals / sizeof *refusals);
    tcase_add_loop_test(sent, places_that_are_full_noexec_or_read_only_are_left_out, 0,
                        sizeof mounts / sizeof *mounts);
    tcase_add_test(many, at_most_64_hosts_have_their_turn_at_once);
    tcase_add_test(behind, a_host_behind_another_closes_no_descriptor_that_it_has_handed_over);
    tcase_add_test(behind, a_host_behind_another_that_has_no_descriptor_yet_closes_none);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
