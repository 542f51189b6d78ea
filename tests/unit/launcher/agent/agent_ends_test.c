/* SPDX-License-Identifier: Apache-2.0 */
/* An agent leaves nothing behind, whatever becomes of hvdrun: a peer that speaks nonsense, a
 * silent one, one that does not read, one that is gone. */
#include "launcher/agent/agent_impl.h"
#include "launcher/base/exit_status.h"
#include "launcher/process/process_handle.h"
#include "tests/support/agent_fixture.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMAND(...)                                                                               \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static struct agent_fixture agent;

static const struct agent_fixture_job sleeping = { .arguments = COMMAND("sleep", "1000") };

/* How far the job is when the launcher turns out to be none. */
enum stage { NOTHING_SAID, PREPARED, RUNS };

static pid_t bring_to(enum stage stage)
{
    agent_fixture_start(&agent, NULL);
    if (stage == RUNS)
        return agent_fixture_run(&agent, &sleeping);
    if (stage == PREPARED) {
        agent_fixture_describe(&agent, &sleeping);
        agent_fixture_until(&agent, AGENT_READY);
    }
    return 0;
}

#define BODY(bytes) bytes, sizeof bytes - 1
#define JOB_BODY(array) array, sizeof array
#define ZERO4 "\0\0\0\0"

static const char job_cut_off[] = { AGENT_VERSION };
static const char some_rank[4 + 6 * 4 + 32];
static const char job_without_end[] = { AGENT_VERSION, 0, -1, -1, -1, -1, '/' };

/* What a false launcher says, and what the agent says of it. */
static const struct {
    enum stage stage;
    int type;
    const char *body;
    size_t length;
    const char *text;
} frames[] = {
    { NOTHING_SAID, 0, BODY(""), "frame of unknown type 0" },
    { NOTHING_SAID, 99, BODY(""), "frame of unknown type 99" },
    { NOTHING_SAID, AGENT_READY, BODY(""), "frame of unknown type 6" },
    { NOTHING_SAID, AGENT_JOB, BODY(""), "malformed JOB" },
    { NOTHING_SAID, AGENT_JOB, JOB_BODY(job_cut_off), "malformed JOB" },
    { NOTHING_SAID, AGENT_JOB, JOB_BODY(job_without_end), "malformed JOB" },
    { NOTHING_SAID, AGENT_ARGUMENTS, BODY("\5\0\0\0true"), "malformed ARGUMENTS" },
    { NOTHING_SAID, AGENT_ARGUMENTS, BODY("\5\0\0\0tr\0ue"), "malformed ARGUMENTS" },
    { NOTHING_SAID, AGENT_ENVIRONMENT, BODY("\1"), "malformed ENVIRONMENT" },
    { NOTHING_SAID, AGENT_RANK, BODY("\1\0"), "malformed RANK" },
    { NOTHING_SAID, AGENT_RANK, JOB_BODY(some_rank), "RANK before JOB and HOST" },
    { NOTHING_SAID, AGENT_HOST, BODY(ZERO4 ZERO4 ZERO4 ZERO4), "HOST in a job of 0 hosts" },
    { NOTHING_SAID, AGENT_HOST, BODY("\1"), "malformed HOST" },
    { NOTHING_SAID, AGENT_PREPARE, BODY(""), "PREPARE before the job is described" },
    { NOTHING_SAID, AGENT_START, BODY(""), "START frame out of turn" },
    { NOTHING_SAID, AGENT_STDIN, BODY("x"), "STDIN frame out of turn" },
    { PREPARED, AGENT_JOB, BODY(""), "JOB frame out of turn" },
    { PREPARED, AGENT_RANK, BODY(ZERO4), "RANK frame out of turn" },
    { PREPARED, AGENT_PREPARE, BODY(""), "PREPARE frame out of turn" },
    { PREPARED, AGENT_CREDIT, BODY(ZERO4 "\0" ZERO4), "CREDIT frame out of turn" },
    { PREPARED, AGENT_START, BODY("x"), "malformed START" },
    { PREPARED, AGENT_RELAY_DATA, BODY("\1"), "malformed RELAY_DATA" },
    { PREPARED, AGENT_HOST, BODY(ZERO4), "HOST frame out of turn" },
    { PREPARED, AGENT_TUNNEL_SCRIPT, BODY(ZERO4 ZERO4 ZERO4 ZERO4 ZERO4), "was not opened" },
    { PREPARED, AGENT_TUNNEL_DESCRIBE, BODY(ZERO4), "tunnel 0, which was not opened" },
    { PREPARED, AGENT_HEARTBEAT, BODY("1234567"), "malformed HEARTBEAT" },
    { RUNS, AGENT_START, BODY(""), "START frame out of turn" },
    { RUNS, AGENT_CREDIT, BODY("\1\0\0\0\0" ZERO4), "CREDIT for rank 1" },
    { RUNS, AGENT_CREDIT, BODY(ZERO4 "\0\1\0\0\0"), "more CREDIT" },
    { RUNS, AGENT_CREDIT, BODY(ZERO4 "\7" ZERO4), "stream 7 does not exist" },
    { RUNS, AGENT_SIGNAL, BODY(ZERO4), "SIGNAL with signal 0" },
    { RUNS, AGENT_SIGNAL, BODY("\377\377\377\377"), "SIGNAL with signal -1" },
    { RUNS, AGENT_STOP, BODY("\143\0\0\0" ZERO4), "STOP with signal 99" },
    { RUNS, AGENT_STOP, BODY("\17\0\0\0"), "malformed STOP" },
    { RUNS, AGENT_RELAY_END, BODY("\1"), "malformed RELAY_END" },
    { RUNS, AGENT_HEARTBEAT, BODY("123456789"), "malformed HEARTBEAT" },
};

static void check_that_all_is_gone(pid_t rank, const char *text)
{
    ck_assert_int_eq(agent_fixture_wait(&agent), 0);
    ck_assert(rank == 0 || agent_fixture_is_gone(rank));
    char *messages = agent_fixture_messages(&agent);
    ck_assert_msg(strstr(messages, text), "no '%s' in '%s'", text, messages);
    free(messages);
}

START_TEST(a_frame_that_must_not_come_ends_the_agent_and_its_ranks)
{
    pid_t rank = bring_to(frames[_i].stage);
    agent_fixture_send(&agent, frames[_i].type, frames[_i].body, frames[_i].length);
    check_that_all_is_gone(rank, frames[_i].text);
}
END_TEST

static const struct {
    const char *bytes;
    size_t length;
    const char *text;
} noises[] = {
    { BODY("GET / HTTP/1.1\r\n\r\n"), "not a frame: 'GET / HTTP" },
    { BODY("\0\0\0\0\0\0\0\0\0\0\0\0"), "not a frame" },
    { BODY("HVD1\17\0\1\0\0\0\0\0"), "unknown flags 0x0001" },
    { BODY("HVD1\15\0\0\0\377\377\377\377"), "with 4294967295 bytes" },
    { BODY("HVD1\15\0\0\0\1\0\20\0"), "with 1048577 bytes" },
};

START_TEST(what_is_no_frame_ends_the_agent_and_its_ranks)
{
    pid_t rank = bring_to(_i % 2 ? RUNS : NOTHING_SAID);
    agent_fixture_send_bytes(&agent, noises[_i / 2].bytes, noises[_i / 2].length);
    check_that_all_is_gone(rank, noises[_i / 2].text);
}
END_TEST

START_TEST(more_stdin_than_there_is_credit_for_ends_the_agent_and_its_ranks)
{
    static const char zeros[STDIN_WINDOW + 1];
    pid_t rank = bring_to(RUNS);
    agent_fixture_send(&agent, AGENT_STDIN, zeros, sizeof zeros);
    check_that_all_is_gone(rank, "more STDIN than there is credit for");
}
END_TEST

/* A frame is cut off by the end of the link, at every stage. */
START_TEST(half_a_frame_is_the_end_of_the_link)
{
    pid_t rank = bring_to((enum stage)_i);
    agent_fixture_send_bytes(&agent, BODY("HVD1\17\0\0\0\10\0\0\0abc"));
    ck_assert_int_eq(agent_fixture_stop(&agent), 0);
    ck_assert(rank == 0 || agent_fixture_is_gone(rank));
}
END_TEST

/* Rank 0 says the number of a process that left its session, its parent and its output. */
START_TEST(who_hid_is_found_when_the_link_ends)
{
    agent_fixture_start(&agent, NULL);
    agent_fixture_run(&agent, &(struct agent_fixture_job){
                                  .arguments = COMMAND(
                                      "sh", "-c",
                                      "(setsid sh -c 'trap \"\" TERM HUP; echo $$; exec >&- 2>&-; "
                                      "while :; do sleep 1; done' &) & sleep 1000"),
                              });
    struct wire_reader body = agent_fixture_until(&agent, AGENT_OUTPUT);
    char text[16] = "";
    ck_assert_uint_gt(body.left, 13);
    memcpy(text, body.at + 13, body.left - 13 < 15 ? body.left - 13 : 15);
    pid_t hidden = (pid_t)atoi(text);
    ck_assert(!agent_fixture_is_gone(hidden));
    ck_assert_int_eq(agent_fixture_stop(&agent), 0);
    ck_assert(agent_fixture_is_gone(hidden));
}
END_TEST

static void send_rank(int rank)
{
    struct agent_worker worker = { rank, { rank, 2, rank, 2, 0, 1 }, { { 0 } } };
    struct wire_writer body = { 0 };
    agent_worker_encode(&body, &worker);
    agent_fixture_send(&agent, AGENT_RANK, body.data, body.length);
    wire_writer_fini(&body);
}

START_TEST(ranks_come_in_order)
{
    static const struct {
        int rank;
        const char *text;
    } wrong[] = { { -1, "rank -1 after rank 5" },
                  { 5, "rank 5 after rank 5" },
                  { INT_MAX, "rank 2147483647 after rank 5" } };
    struct agent_job job = { .version = AGENT_VERSION, .cwd = "/" };
    struct agent_host host = { .name = "node1", .nhosts = 1 };
    struct wire_writer body = { 0 };
    agent_fixture_start(&agent, NULL);
    agent_job_encode(&body, &job);
    agent_fixture_send(&agent, AGENT_JOB, body.data, body.length);
    body.length = 0;
    agent_host_encode(&body, &host);
    agent_fixture_send(&agent, AGENT_HOST, body.data, body.length);
    wire_writer_fini(&body);
    send_rank(5);
    send_rank(wrong[_i].rank);
    check_that_all_is_gone(0, wrong[_i].text);
}
END_TEST

START_TEST(ranks_die_with_an_agent_that_is_killed)
{
    pid_t rank = bring_to(RUNS);
    kill(agent.pid, SIGKILL);
    agent_fixture_wait(&agent);
    agent_fixture_until_gone(rank);
}
END_TEST

static void send_heartbeat(uint64_t stamp)
{
    struct wire_writer body = { 0 };
    wire_put_u64(&body, stamp);
    agent_fixture_send(&agent, AGENT_HEARTBEAT, body.data, body.length);
    wire_writer_fini(&body);
}

START_TEST(a_heartbeat_is_echoed_at_every_stage)
{
    bring_to((enum stage)_i);
    send_heartbeat(UINT64_MAX - 1);
    struct wire_reader body = agent_fixture_until(&agent, AGENT_HEARTBEAT);
    struct agent_heartbeat echo;
    ck_assert_int_eq(agent_heartbeat_decode(&echo, &body, NULL), HVD_OK);
    ck_assert_uint_eq(echo.stamp, UINT64_MAX - 1);
    ck_assert_uint_gt(echo.clock_us, 0);
    ck_assert_int_eq(agent_fixture_stop(&agent), 0);
}
END_TEST

static const struct agent_fixture_job flooding = {
    .arguments = COMMAND("sh", "-c", "case $HOROVOD_RANK in 9) exit 5;; *) exec yes;; esac"),
    .nranks = 10,
};

/* Until nothing more comes, since nothing is read: the agent's link is full. On a busy machine the
 * ranks may pause before that, so nothing must come for half a second. */
static void wait_until_full(void)
{
    int before = -1, now = 0;
    for (int unchanged = 0; unchanged < 10; unchanged = now == before ? unchanged + 1 : 0) {
        before = now >= 64 * 1024 ? now : -1;
        nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
        ck_assert_int_eq(ioctl(agent.link, FIONREAD, &now), 0);
    }
}

/* Nine ranks may have 2 MB on their way. What the agent holds back in its own memory is less. */
START_TEST(a_heartbeat_overtakes_what_ranks_write)
{
    struct frame frame;
    size_t before = 0;
    agent_fixture_start(&agent, NULL);
    agent_fixture_run(&agent, &flooding);
    wait_until_full();
    int in_socket;
    ck_assert_int_eq(ioctl(agent.link, FIONREAD, &in_socket), 0);
    send_heartbeat(1);
    while (agent_fixture_next(&agent, &frame) && frame.type != AGENT_HEARTBEAT)
        before += frame.length;
    ck_assert_int_eq(frame.type, AGENT_HEARTBEAT);
    /* what lay in the socket, what waits in the agent, a read by it and a write of it under way */
    ck_assert_uint_le(before, (size_t)in_socket + AGENT_LINK_QUEUE_MAX + 512 * 1024);
    ck_assert_int_eq(agent_fixture_stop(&agent), 0);
}
END_TEST

/* Nobody gives credit: the flood stands still, the end of another rank is said. */
START_TEST(the_end_of_a_rank_does_not_wait_for_a_flood_of_another)
{
    struct agent_exited exited;
    agent_fixture_start(&agent, NULL);
    agent_fixture_run(&agent, &flooding);
    struct wire_reader body = agent_fixture_until(&agent, AGENT_EXITED);
    ck_assert_int_eq(agent_exited_decode(&exited, &body, NULL), HVD_OK);
    ck_assert_int_eq(exited.end.rank, 9);
    ck_assert_int_eq(exited.end.how.kind, RANK_END_EXITED);
    ck_assert_int_eq(exited.end.how.code, 5);
    ck_assert_int_eq(agent_fixture_stop(&agent), 0);
}
END_TEST

static void open_tunnel(const char *const *words)
{
    struct wire_writer body = { 0 };
    wire_put_u32(&body, 0);
    for (; *words; words++)
        wire_put_string(&body, *words);
    agent_fixture_send(&agent, AGENT_TUNNEL_OPEN, body.data, body.length);
    wire_writer_fini(&body);
}

/* Reads from tunnel 0 until so many bytes have come; returns how many there are. */
static size_t read_tunnel(size_t have, size_t wanted)
{
    while (have < wanted) {
        struct wire_reader body = agent_fixture_until(&agent, AGENT_TUNNEL_DATA);
        ck_assert_uint_eq(wire_get_u32(&body), 0);
        have += body.left;
    }
    return have;
}

static void feed_from_tunnel(struct frame_reader *reader)
{
    struct wire_reader body = agent_fixture_until(&agent, AGENT_TUNNEL_DATA);
    size_t room;
    ck_assert_uint_eq(wire_get_u32(&body), 0);
    while (body.left > 0) {
        void *space = frame_reader_space(reader, &room);
        size_t length = body.left < room ? body.left : room;
        memcpy(space, wire_get_bytes(&body, length), length);
        frame_reader_commit(reader, length);
    }
}

static void read_tunnel_end(char why[TUNNEL_TEXT_SIZE])
{
    struct wire_reader body = agent_fixture_until(&agent, AGENT_TUNNEL_END);
    ck_assert_uint_eq(wire_get_u32(&body), 0);
    wire_get_string(&body, why, TUNNEL_TEXT_SIZE);
    ck_assert(wire_reader_finished(&body));
}

/* Another process has the pipe. The agent does not wait for its timer, which no test can see. */
START_TEST(output_that_ends_after_all_ranks_ends_the_job)
{
    char path[64];
    pid_t rank = bring_to(RUNS);
    snprintf(path, sizeof path, "/proc/%d/fd/1", (int)rank);
    int held = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(held, 0);
    kill(rank, SIGKILL);
    agent_fixture_until(&agent, AGENT_EXITED);
    close(held);
    agent_fixture_until(&agent, AGENT_DONE);
    check_that_all_is_gone(rank, "");
}
END_TEST

/* A byte that is no ASCII takes four in a message. */
START_TEST(a_long_reason_why_a_command_did_not_start_is_cut)
{
    char name[100] = "", why[TUNNEL_TEXT_SIZE];
    memset(name, 0xc3, sizeof name - 1);
    bring_to(PREPARED);
    open_tunnel(COMMAND(name));
    read_tunnel_end(why);
    ck_assert_ptr_eq(strstr(why, "command not found: '"), why);
    ck_assert_int_eq(agent_fixture_stop(&agent), 0);
}
END_TEST

/* hvdrun gives credit only when the command has ended for longer than an agent waits for the end of
 * its stream. */
START_TEST(what_a_command_has_written_waits_for_a_slow_hvdrun)
{
    enum { REST = 60000 };
    char script[64];
    snprintf(script, sizeof script, "exec head -c %d /dev/zero", TUNNEL_WINDOW + REST);
    bring_to(PREPARED);
    open_tunnel(COMMAND("sh", "-c", script));
    ck_assert_uint_eq(read_tunnel(0, TUNNEL_WINDOW), TUNNEL_WINDOW);
    struct pollfd link = { agent.link, POLLIN, 0 };
    ck_assert_int_eq(poll(&link, 1, 1500), 0);
    agent_fixture_send_numbers(&agent, AGENT_TUNNEL_CREDIT, 2, 0, TUNNEL_WINDOW);
    ck_assert_uint_eq(read_tunnel(TUNNEL_WINDOW, TUNNEL_WINDOW + REST), TUNNEL_WINDOW + REST);
    char why[TUNNEL_TEXT_SIZE];
    read_tunnel_end(why);
    ck_assert_str_eq(why, "");
    ck_assert_int_eq(agent_fixture_stop(&agent), 0);
}
END_TEST

START_TEST(a_tunnel_that_waits_for_credit_ends_when_hvdrun_hangs_up)
{
    char script[64];
    snprintf(script, sizeof script, "exec head -c %d /dev/zero", TUNNEL_WINDOW + 60000);
    bring_to(PREPARED);
    open_tunnel(COMMAND("sh", "-c", script));
    read_tunnel(0, TUNNEL_WINDOW);
    agent_fixture_send(&agent, AGENT_TUNNEL_CLOSE, "\0\0\0\0\0", 5);
    agent_fixture_until(&agent, AGENT_TUNNEL_END);
    agent_fixture_send_numbers(&agent, AGENT_STOP, 2, SIGTERM, 0);
    agent_fixture_until(&agent, AGENT_DONE);
    ck_assert_int_eq(agent_fixture_wait(&agent), 0);
}
END_TEST

/* The tunnel keeps the agent from ending before it has read START, and the heartbeat shows that it
 * has. */
START_TEST(a_start_that_crosses_the_end_of_an_agent_breaks_no_link)
{
    struct wire_writer start = { 0 };
    agent_start_encode(&start, &(struct agent_start){ .master_address = "127.0.0.1" });
    bring_to(PREPARED);
    open_tunnel(COMMAND("cat"));
    kill(agent.pid, SIGTERM);
    agent_fixture_until(&agent, AGENT_FAILED);
    agent_fixture_send(&agent, AGENT_START, start.data, start.length);
    agent_fixture_send(&agent, AGENT_HEARTBEAT, "12345678", 8);
    agent_fixture_until(&agent, AGENT_HEARTBEAT);
    agent_fixture_send(&agent, AGENT_TUNNEL_CLOSE, "\0\0\0\0\0", 5);
    agent_fixture_until(&agent, AGENT_DONE);
    wire_writer_fini(&start);
    check_that_all_is_gone(0, "");
}
END_TEST

/* The agent of a child gets the frames that are the same for all hosts, and what hvdrun sends it
 * itself comes behind them. */
START_TEST(an_agent_passes_the_description_of_the_job_on)
{
    static const int expected[] = { AGENT_JOB, AGENT_ARGUMENTS, AGENT_ARGUMENTS, AGENT_ENVIRONMENT,
                                    AGENT_HEARTBEAT };
    struct wire_writer heartbeat = { 0 };
    struct frame_reader reader;
    struct frame frame;
    bring_to(PREPARED);
    open_tunnel(COMMAND("cat"));
    agent_fixture_send(&agent, AGENT_TUNNEL_DESCRIBE, ZERO4, 4);
    wire_put_u32(&heartbeat, 0);
    frame_put(&heartbeat, AGENT_HEARTBEAT, "12345678", 8);
    agent_fixture_send(&agent, AGENT_TUNNEL_DATA, heartbeat.data, heartbeat.length);
    wire_writer_fini(&heartbeat);
    frame_reader_init(&reader, FRAME_BODY_MAX);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        int rc;
        while ((rc = frame_reader_next(&reader, &frame, NULL)) == 0)
            feed_from_tunnel(&reader);
        ck_assert_int_gt(rc, 0);
        ck_assert_int_eq(frame.type, expected[i]);
    }
    ck_assert_mem_eq(frame.body, "12345678", 8);
    frame_reader_fini(&reader);
    agent_fixture_send(&agent, AGENT_TUNNEL_DESCRIBE, ZERO4, 4);
    check_that_all_is_gone(0, "a second TUNNEL_DESCRIBE of tunnel 0");
}
END_TEST

static void send_script(const char *nonce)
{
    struct wire_writer body = { 0 };
    wire_put_u32(&body, 0);
    wire_put_string(&body, nonce);
    wire_put_string(&body, "/opt/hvdagent");
    wire_put_u64(&body, UINT64_C(5000000000));
    agent_fixture_send(&agent, AGENT_TUNNEL_SCRIPT, body.data, body.length);
    wire_writer_fini(&body);
}

START_TEST(an_agent_writes_the_script_for_the_shell_of_a_tunnel)
{
    static const char begin[] = "{\numask 077\nset -f\nnonce=0123456789abcdef\n"
                                "size=5000000000\nnode=\nagent='/opt/hvdagent'\n";
    bring_to(PREPARED);
    open_tunnel(COMMAND("cat"));
    send_script("0123456789abcdef");
    struct wire_reader body = agent_fixture_until(&agent, AGENT_TUNNEL_DATA);
    ck_assert_uint_eq(wire_get_u32(&body), 0);
    ck_assert_uint_gt(body.left, sizeof begin);
    ck_assert_mem_eq(body.at, begin, sizeof begin - 1);
    send_script("0123456789abcdef");
    check_that_all_is_gone(0, "a second TUNNEL_SCRIPT of tunnel 0");
}
END_TEST

START_TEST(what_is_no_nonce_does_not_get_into_a_script)
{
    static const char *const nonces[] = { "", "0123456789abcde", "0123456789abcde;" };
    bring_to(PREPARED);
    open_tunnel(COMMAND("cat"));
    send_script(nonces[_i]);
    check_that_all_is_gone(0, "TUNNEL_SCRIPT without a nonce");
}
END_TEST

START_TEST(who_asks_and_does_not_read_is_not_answered_for_ever)
{
    pid_t rank = bring_to(RUNS);
    struct wire_writer out = { 0 };
    for (int i = 0; i < 1000; i++)
        frame_put(&out, AGENT_HEARTBEAT, "12345678", 8);
    for (int i = 0; i < 200; i++) /* twice what may wait */
        agent_fixture_send_bytes(&agent, out.data, out.length);
    wire_writer_fini(&out);
    size_t echoes = 0;
    struct frame frame;
    shutdown(agent.link, SHUT_WR);
    while (agent_fixture_next(&agent, &frame))
        echoes++;
    ck_assert_uint_lt(echoes, 200000);
    ck_assert_int_eq(agent_fixture_wait(&agent), 0);
    ck_assert(agent_fixture_is_gone(rank));
}
END_TEST

static const struct agent_fixture_job impatient = { .job.heartbeat_timeout_ms = 1000,
                                                    .arguments = COMMAND("sleep", "1000") };

START_TEST(a_missing_heartbeat_ends_the_agent_and_its_ranks)
{
    struct agent_failed failed;
    struct frame frame;
    agent_fixture_start(&agent, NULL);
    agent_fixture_hold(&agent);
    agent_fixture_describe(&agent, &impatient);
    agent_fixture_send(&agent, AGENT_START, NULL, 0);
    agent_fixture_release(&agent);
    pid_t rank = agent_fixture_until_started(&agent);
    struct wire_reader body = agent_fixture_until(&agent, AGENT_FAILED);
    ck_assert_int_eq(agent_failed_decode(&failed, &body, NULL), HVD_OK);
    ck_assert_int_eq(failed.exit_status, STATUS_HOST_LOST);
    ck_assert_ptr_nonnull(strstr(failed.text, "nothing came from hvdrun for 1 s"));
    send_heartbeat(1); /* too late, and no reason to complain */
    while (agent_fixture_next(&agent, &frame))
        ck_assert_int_ne(frame.type, AGENT_DONE);
    check_that_all_is_gone(rank, "");
}
END_TEST

START_TEST(a_missing_heartbeat_before_the_start_ends_the_agent)
{
    agent_fixture_start(&agent, NULL);
    agent_fixture_hold(&agent);
    agent_fixture_describe(&agent, &impatient);
    agent_fixture_release(&agent);
    agent_fixture_until(&agent, AGENT_FAILED);
    ck_assert_int_eq(agent_fixture_wait(&agent), 0);
}
END_TEST

/* Nothing comes for longer than hvdrun may be silent. */
START_TEST(a_hvdrun_that_is_stopped_may_be_silent)
{
    agent_fixture_start(&agent, NULL);
    agent_fixture_hold(&agent);
    agent_fixture_describe(&agent, &impatient);
    agent_fixture_send(&agent, AGENT_START, NULL, 0);
    agent_fixture_send_numbers(&agent, AGENT_SIGNAL, 1, SIGSTOP);
    send_heartbeat(1); /* crossed it on the way */
    agent_fixture_release(&agent);
    pid_t rank = agent_fixture_until_started(&agent);
    agent_fixture_until(&agent, AGENT_HEARTBEAT);
    struct pollfd link = { agent.link, POLLIN, 0 };
    ck_assert_int_eq(poll(&link, 1, 2000), 0);
    ck_assert(!agent_fixture_is_gone(rank));
    agent_fixture_send_numbers(&agent, AGENT_SIGNAL, 1, SIGCONT);
    agent_fixture_until(&agent, AGENT_FAILED);
    check_that_all_is_gone(rank, "");
}
END_TEST

static void until_state(pid_t pid, bool stopped)
{
    while ((process_state(pid) == 'T') != stopped)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* hvdrun has sent SIGSTOP before it knew that all hosts are ready. The second SIGSTOP is of a
 * second Ctrl-Z. */
START_TEST(a_stop_of_hvdrun_that_crosses_the_start_stops_the_ranks)
{
    bring_to(PREPARED);
    agent_fixture_send_numbers(&agent, AGENT_SIGNAL, 1, SIGSTOP);
    agent_fixture_send(&agent, AGENT_START, NULL, 0);
    pid_t rank = agent_fixture_until_started(&agent);
    until_state(rank, true);
    if (_i == 1)
        agent_fixture_send_numbers(&agent, AGENT_SIGNAL, 1, SIGSTOP);
    agent_fixture_send_numbers(&agent, AGENT_SIGNAL, 1, SIGCONT);
    until_state(rank, false);
    ck_assert_int_eq(agent_fixture_stop(&agent), 0);
    ck_assert(agent_fixture_is_gone(rank));
}
END_TEST

/* Between the two orders hvdrun goes on. */
START_TEST(a_stop_that_is_over_before_the_start_stops_no_rank)
{
    bring_to(PREPARED);
    agent_fixture_send_numbers(&agent, AGENT_SIGNAL, 1, SIGSTOP);
    agent_fixture_send_numbers(&agent, AGENT_SIGNAL, 1, SIGCONT);
    agent_fixture_send(&agent, AGENT_START, NULL, 0);
    pid_t rank = agent_fixture_until_started(&agent);
    send_heartbeat(1);
    agent_fixture_until(&agent, AGENT_HEARTBEAT); /* START has been done */
    ck_assert_int_ne(process_state(rank), 'T');
    ck_assert_int_eq(agent_fixture_stop(&agent), 0);
}
END_TEST

/* A window that is resized, and SIGUSR1, are passed on while hvdrun waits for its own stop. */
START_TEST(a_signal_that_is_passed_on_does_not_end_the_pause)
{
    static const int passed_on[] = { SIGWINCH, SIGUSR1 };
    static struct agent state;
    agent_watch_told(&state, passed_on[_i]);
    ck_assert(!state.watch.heartbeat.paused);
    agent_watch_told(&state, SIGSTOP);
    ck_assert(state.watch.heartbeat.paused);
    agent_watch_told(&state, passed_on[_i]);
    ck_assert(state.watch.heartbeat.paused);
    agent_watch_told(&state, SIGCONT);
    ck_assert(!state.watch.heartbeat.paused);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_ends");
    TCase *tcase = tcase_create("ends");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_frame_that_must_not_come_ends_the_agent_and_its_ranks, 0,
                        sizeof frames / sizeof *frames);
    tcase_add_loop_test(tcase, what_is_no_frame_ends_the_agent_and_its_ranks, 0,
                        2 * sizeof noises / sizeof *noises);
    tcase_add_test(tcase, more_stdin_than_there_is_credit_for_ends_the_agent_and_its_ranks);
    tcase_add_loop_test(tcase, half_a_frame_is_the_end_of_the_link, NOTHING_SAID, RUNS + 1);
    tcase_add_test(tcase, who_hid_is_found_when_the_link_ends);
    tcase_add_loop_test(tcase, ranks_come_in_order, 0, 3);
    tcase_add_test(tcase, ranks_die_with_an_agent_that_is_killed);
    tcase_add_loop_test(tcase, a_heartbeat_is_echoed_at_every_stage, NOTHING_SAID, RUNS + 1);
    tcase_add_test(tcase, a_heartbeat_overtakes_what_ranks_write);
    tcase_add_test(tcase, the_end_of_a_rank_does_not_wait_for_a_flood_of_another);
    tcase_add_test(tcase, output_that_ends_after_all_ranks_ends_the_job);
    tcase_add_test(tcase, a_long_reason_why_a_command_did_not_start_is_cut);
    tcase_add_test(tcase, what_a_command_has_written_waits_for_a_slow_hvdrun);
    tcase_add_test(tcase, an_agent_passes_the_description_of_the_job_on);
    tcase_add_test(tcase, an_agent_writes_the_script_for_the_shell_of_a_tunnel);
    tcase_add_loop_test(tcase, what_is_no_nonce_does_not_get_into_a_script, 0, 3);
    tcase_add_test(tcase, a_tunnel_that_waits_for_credit_ends_when_hvdrun_hangs_up);
    tcase_add_test(tcase, a_start_that_crosses_the_end_of_an_agent_breaks_no_link);
    tcase_add_test(tcase, who_asks_and_does_not_read_is_not_answered_for_ever);
    tcase_add_test(tcase, a_missing_heartbeat_ends_the_agent_and_its_ranks);
    tcase_add_test(tcase, a_missing_heartbeat_before_the_start_ends_the_agent);
    tcase_add_test(tcase, a_hvdrun_that_is_stopped_may_be_silent);
    tcase_add_loop_test(tcase, a_stop_of_hvdrun_that_crosses_the_start_stops_the_ranks, 0, 2);
    tcase_add_test(tcase, a_stop_that_is_over_before_the_start_stops_no_rank);
    tcase_add_loop_test(tcase, a_signal_that_is_passed_on_does_not_end_the_pause, 0, 2);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
