/* SPDX-License-Identifier: Apache-2.0 */
/* The frames between hvdrun and its agents: what is encoded is decoded, and anything shorter,
 * longer or out of range is refused. */
#include "launcher/protocol/agent_protocol.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static struct wire_writer out;
static struct wire_reader in;

static void teardown(void)
{
    wire_writer_fini(&out);
}

/* Reads the message again with `length` bytes of it. */
static struct wire_reader *first(size_t length)
{
    wire_reader_init(&in, out.data, length);
    return &in;
}

/* Every proper prefix of the message, and one byte too many, is refused. */
#define CHECK_LENGTHS(decode, message)                                                             \
    do {                                                                                           \
        for (size_t length = 0; length < out.length; length++)                                     \
            ck_assert_int_eq(decode(message, first(length), NULL), HVD_ERR_PROTOCOL);              \
        wire_put_u8(&out, 0);                                                                      \
        ck_assert_int_eq(decode(message, first(out.length), NULL), HVD_ERR_PROTOCOL);              \
    } while (0)

START_TEST(job_is_read_as_it_was_written)
{
    struct agent_job job = {
        .version = AGENT_VERSION,
        .cwd = "/some where",
        .own_environment = _i & 1,
        .one_machine = _i & 2,
        .elastic = _i & 4,
        .heartbeat_timeout_ms = 5000,
        .answer_ms = 6000,
        .attributes = { .umask = 027, .bind_to = _i },
        .check_libraries = _i & 1,
        .check_cuda = _i & 2,
        .python_path = "/usr/share/x",
        .id = "job-1",
    };
    struct agent_job read;
    agent_job_encode(&out, &job);
    ck_assert_int_eq(agent_job_decode(&read, first(out.length), NULL), HVD_OK);
    ck_assert_str_eq(read.cwd, "/some where");
    ck_assert_int_eq(read.own_environment, job.own_environment);
    ck_assert_int_eq(read.one_machine, job.one_machine);
    ck_assert_int_eq(read.elastic, job.elastic);
    ck_assert_uint_eq(read.attributes.umask, 027);
    ck_assert_uint_eq(read.heartbeat_timeout_ms, 5000);
    ck_assert_uint_eq(read.answer_ms, 6000);
    ck_assert_int_eq(read.attributes.bind_to, _i);
    ck_assert_int_eq(read.check_libraries, job.check_libraries);
    ck_assert_int_eq(read.check_cuda, job.check_cuda);
    ck_assert_str_eq(read.python_path, "/usr/share/x");
    ck_assert_str_eq(read.id, "job-1");
    CHECK_LENGTHS(agent_job_decode, &read);
}
END_TEST

START_TEST(host_is_read_as_it_was_written)
{
    struct agent_host host = { "node7", 6, 9, "eth0,198.51.100.0/24" }, read;
    agent_host_encode(&out, &host);
    ck_assert_int_eq(agent_host_decode(&read, first(out.length), NULL), HVD_OK);
    ck_assert_str_eq(read.interfaces, "eth0,198.51.100.0/24");
    ck_assert_str_eq(read.name, "node7");
    ck_assert_int_eq(read.index, 6);
    ck_assert_int_eq(read.nhosts, 9);
    CHECK_LENGTHS(agent_host_decode, &read);
}
END_TEST

START_TEST(rank_is_read_as_it_was_written)
{
    struct agent_worker worker = { 4711, { 1, 2, 3, 4, 5, 6 }, { "a key" } }, read;
    agent_worker_encode(&out, &worker);
    ck_assert_int_eq(agent_worker_decode(&read, first(out.length), NULL), HVD_OK);
    ck_assert_mem_eq(&read, &worker, sizeof read);
    CHECK_LENGTHS(agent_worker_decode, &read);
}
END_TEST

START_TEST(a_binding_that_does_not_exist_is_refused)
{
    struct agent_job job = { .version = AGENT_VERSION };
    struct err err;
    job.attributes.bind_to = BIND_TO_COUNT;
    agent_job_encode(&out, &job);
    ck_assert_int_eq(agent_job_decode(&job, first(out.length), &err), HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, "binding 7 does not exist");
}
END_TEST

START_TEST(bound_is_read_as_it_was_written)
{
    struct agent_bound bound = { 65535, "bound to core 1 (cpu 1)" }, read;
    agent_bound_encode(&out, &bound);
    ck_assert_int_eq(agent_bound_decode(&read, first(out.length), NULL), HVD_OK);
    ck_assert_int_eq(read.rank, 65535);
    ck_assert_str_eq(read.text, "bound to core 1 (cpu 1)");
    CHECK_LENGTHS(agent_bound_decode, &read);
}
END_TEST

/* Whatever else the versions differ in: only the version is read. */
START_TEST(another_version_is_named)
{
    struct agent_job job;
    struct err err;
    char text[128];
    wire_put_u16(&out, AGENT_VERSION + 1);
    ck_assert_int_eq(agent_job_decode(&job, first(out.length), &err), HVD_ERR_PROTOCOL);
    snprintf(text, sizeof text,
             "hvdagent speaks version %d of the agent protocol, hvdrun needs version %d",
             AGENT_VERSION, AGENT_VERSION + 1);
    ck_assert_str_eq(err.text, text);
    ck_assert_uint_eq(job.version, AGENT_VERSION + 1);
}
END_TEST

START_TEST(ready_is_read_as_it_was_written)
{
    struct agent_ready ready = { UINT64_MAX - 1, 96,          "Linux x86_64", 65535,
                                 "::1",          "192.0.2.9", 4711,           "no driver" },
                       read;
    agent_ready_encode(&out, &ready);
    ck_assert_int_eq(agent_ready_decode(&read, first(out.length), NULL), HVD_OK);
    ck_assert_uint_eq(read.clock_ms, UINT64_MAX - 1);
    ck_assert_uint_eq(read.ncpus, 96);
    ck_assert_str_eq(read.machine, "Linux x86_64");
    ck_assert_uint_eq(read.relay_port, 65535);
    ck_assert_str_eq(read.caller, "::1");
    ck_assert_str_eq(read.address, "192.0.2.9");
    ck_assert_uint_eq(read.torch_port, 4711);
    ck_assert_str_eq(read.cuda, "no driver");
    CHECK_LENGTHS(agent_ready_decode, &read);
}
END_TEST

START_TEST(start_is_read_as_it_was_written_or_is_empty)
{
    struct agent_start start = { "192.0.2.1", "host-a.example", 40999 }, read;
    agent_start_encode(&out, &start);
    ck_assert_int_eq(agent_start_decode(&read, first(out.length), NULL), HVD_OK);
    ck_assert_str_eq(read.own_address, "192.0.2.1");
    ck_assert_str_eq(read.master_address, "host-a.example");
    ck_assert_uint_eq(read.master_port, 40999);
    for (size_t length = 1; length < out.length; length++)
        ck_assert_int_eq(agent_start_decode(&read, first(length), NULL), HVD_ERR_PROTOCOL);
    ck_assert_int_eq(agent_start_decode(&read, first(0), NULL), HVD_OK);
    ck_assert_str_eq(read.own_address, "");
    ck_assert_str_eq(read.master_address, "");
    ck_assert_uint_eq(read.master_port, 0);
}
END_TEST

START_TEST(failed_is_read_as_it_was_written)
{
    struct agent_failed failed = { -1, STEP_NETWORK, 127, "no such thing" }, read;
    agent_failed_encode(&out, &failed);
    ck_assert_int_eq(agent_failed_decode(&read, first(out.length), NULL), HVD_OK);
    ck_assert_int_eq(read.rank, -1);
    ck_assert_int_eq(read.step, STEP_NETWORK);
    ck_assert_int_eq(read.exit_status, 127);
    ck_assert_str_eq(read.text, "no such thing");
    CHECK_LENGTHS(agent_failed_decode, &read);
}
END_TEST

START_TEST(a_step_that_does_not_exist_is_refused)
{
    struct agent_failed failed = { -1, HOST_STEPS, 127, "" };
    agent_failed_encode(&out, &failed);
    ck_assert_int_eq(agent_failed_decode(&failed, first(out.length), NULL), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(a_failure_with_an_exit_status_that_is_none_is_refused)
{
    static const int statuses[] = { 0, -1, 256 };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct agent_failed failed = { -1, STEP_NETWORK, statuses[i], "" };
        out.length = 0;
        agent_failed_encode(&out, &failed);
        ck_assert_int_eq(agent_failed_decode(&failed, first(out.length), NULL), HVD_ERR_PROTOCOL);
    }
}
END_TEST

START_TEST(exited_is_read_as_it_was_written)
{
    struct agent_exited exited = { { .how = { RANK_END_KILLED, SIGSEGV, true, true },
                                     .rank = 65535,
                                     .because_of = RANK_NONE,
                                     .at_us = 1 << 30 },
                                   UINT64_MAX,
                                   true },
                        read;
    agent_exited_encode(&out, &exited);
    ck_assert_int_eq(agent_exited_decode(&read, first(out.length), NULL), HVD_OK);
    ck_assert_int_eq(read.end.rank, 65535);
    ck_assert_int_eq(read.end.how.kind, RANK_END_KILLED);
    ck_assert_int_eq(read.end.how.code, SIGSEGV);
    ck_assert(read.end.how.core_dumped && read.end.how.oom);
    ck_assert_uint_eq(read.end.at_us, 1 << 30);
    ck_assert_uint_eq(read.after_ms, UINT64_MAX);
    ck_assert(read.told);
    CHECK_LENGTHS(agent_exited_decode, &read);
}
END_TEST

START_TEST(stopped_is_read_as_it_was_written)
{
    struct rank_end stopped = rank_end_none(), read;
    stopped.rank = 7;
    stopped.how = (struct rank_end_how){ RANK_END_STOPPED, .code = SIGSTOP };
    agent_stopped_encode(&out, &stopped);
    ck_assert_int_eq(agent_stopped_decode(&read, first(out.length), NULL), HVD_OK);
    ck_assert_int_eq(read.rank, 7);
    ck_assert_int_eq(read.how.kind, RANK_END_STOPPED);
    ck_assert_int_eq(read.how.code, SIGSTOP);
    CHECK_LENGTHS(agent_stopped_decode, &read);
}
END_TEST

/* Which kinds of end EXITED and STOPPED may say: each has the code that the kind needs. */
static const struct {
    struct rank_end_how how;
    bool exited, stopped;
} kinds[] = {
    { { RANK_END_NONE, .code = 0 }, false, true }, /* it goes on */
    { { RANK_END_EXITED, .code = 0 }, true, false },
    { { RANK_END_EXITED, .code = 255 }, true, false },
    { { RANK_END_EXITED, .code = 256 }, false, false },
    { { RANK_END_KILLED, .code = SIGKILL }, true, false },
    { { RANK_END_KILLED, .code = 64 }, true, false },
    { { RANK_END_KILLED, .code = 65 }, false, false },
    { { RANK_END_KILLED, .code = 0 }, false, false },
    { { RANK_END_STOPPED, .code = SIGSTOP }, false, true },
    { { RANK_END_STOPPED, .code = 65 }, false, false },
    { { RANK_END_HOST_LOST, .code = 0 }, false, false },
    { { RANK_END_LEFT, .code = 0 }, false, false },
};

START_TEST(only_what_waitpid_says_is_an_end_or_a_stop)
{
    struct agent_exited exited = { .end = rank_end_none() };
    exited.end.how = kinds[_i].how;
    agent_exited_encode(&out, &exited);
    ck_assert_int_eq(agent_exited_decode(&exited, first(out.length), NULL),
                     kinds[_i].exited ? HVD_OK : HVD_ERR_PROTOCOL);
    struct rank_end stopped = rank_end_none();
    stopped.how = kinds[_i].how;
    out.length = 0;
    agent_stopped_encode(&out, &stopped);
    ck_assert_int_eq(agent_stopped_decode(&stopped, first(out.length), NULL),
                     kinds[_i].stopped ? HVD_OK : HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(a_heartbeat_is_read_as_it_was_written)
{
    struct agent_heartbeat echo = { UINT64_MAX, 12345678 }, read;
    agent_heartbeat_encode(&out, &echo);
    ck_assert_int_eq(agent_heartbeat_decode(&read, first(out.length), NULL), HVD_OK);
    ck_assert_uint_eq(read.stamp, UINT64_MAX);
    ck_assert_uint_eq(read.clock_us, 12345678);
    CHECK_LENGTHS(agent_heartbeat_decode, &read);
}
END_TEST

START_TEST(a_note_is_read_as_it_was_written)
{
    struct agent_note note = { "process 4711 (cat) cannot be killed" }, read;
    agent_note_encode(&out, &note);
    ck_assert_int_eq(agent_note_decode(&read, first(out.length), NULL), HVD_OK);
    ck_assert_str_eq(read.text, note.text);
    CHECK_LENGTHS(agent_note_decode, &read);
}
END_TEST

START_TEST(a_stack_is_read_as_it_was_written)
{
    struct agent_stack stack = { .rank = 7, .where = "read <- load" }, read;
    agent_stack_encode(&out, &stack);
    ck_assert_int_eq(agent_stack_decode(&read, first(out.length), NULL), HVD_OK);
    ck_assert_int_eq(read.rank, 7);
    ck_assert_str_eq(read.where, stack.where);
    CHECK_LENGTHS(agent_stack_decode, &read);
}
END_TEST

START_TEST(stop_is_read_as_it_was_written)
{
    struct agent_stop stop = { 15, 5000 }, read;
    agent_stop_encode(&out, &stop);
    ck_assert_int_eq(agent_stop_decode(&read, first(out.length), NULL), HVD_OK);
    ck_assert_int_eq(read.signum, 15);
    ck_assert_uint_eq(read.grace_ms, 5000);
    CHECK_LENGTHS(agent_stop_decode, &read);
}
END_TEST

START_TEST(a_relays_client_is_read_as_it_was_written)
{
    struct agent_relay_client client = { UINT32_MAX, _i }, read;
    agent_relay_client_encode(&out, &client);
    ck_assert_int_eq(agent_relay_client_decode(&read, first(out.length), NULL), HVD_OK);
    ck_assert_uint_eq(read.id, UINT32_MAX);
    ck_assert_int_eq(read.own, _i);
    CHECK_LENGTHS(agent_relay_client_decode, &read);
}
END_TEST

START_TEST(whose_a_client_is_is_yes_or_no)
{
    struct agent_relay_client read = { .own = true };
    struct err err;
    for (int own = 2; own < 256; own++) {
        out.length = 0;
        wire_put_u32(&out, 1);
        wire_put_u8(&out, (uint8_t)own);
        int rc = agent_relay_client_decode(&read, first(out.length), &err);
        ck_assert_int_eq(rc, HVD_ERR_PROTOCOL);
        ck_assert_ptr_nonnull(strstr(err.text, "RELAY_OPEN"));
        ck_assert(!read.own);
    }
}
END_TEST

START_TEST(rank_number_is_read_as_it_was_written)
{
    struct agent_rank_number number = { 3, STREAM_STDERR, STREAM_WINDOW }, read;
    agent_rank_number_encode(&out, &number);
    ck_assert_int_eq(agent_rank_number_decode(&read, first(out.length), NULL), HVD_OK);
    ck_assert_int_eq(read.rank, 3);
    ck_assert_uint_eq(read.stream, STREAM_STDERR);
    ck_assert_uint_eq(read.number, STREAM_WINDOW);
    CHECK_LENGTHS(agent_rank_number_decode, &read);
}
END_TEST

START_TEST(a_stream_that_does_not_exist_is_refused)
{
    struct agent_rank_number number = { 3, OUTPUT_STREAMS, 1 };
    agent_rank_number_encode(&out, &number);
    ck_assert_int_eq(agent_rank_number_decode(&number, first(out.length), NULL), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(every_frame_has_a_name)
{
    for (int type = 1; type < AGENT_FRAME_TYPES; type++)
        ck_assert_str_ne(agent_frame_name(type), "unknown");
    ck_assert_str_eq(agent_frame_name(0), "unknown");
    ck_assert_str_eq(agent_frame_name(AGENT_FRAME_TYPES), "unknown");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_protocol");
    TCase *tcase = tcase_create("frames");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_loop_test(tcase, job_is_read_as_it_was_written, 0, 4);
    tcase_add_test(tcase, host_is_read_as_it_was_written);
    tcase_add_test(tcase, rank_is_read_as_it_was_written);
    tcase_add_test(tcase, a_binding_that_does_not_exist_is_refused);
    tcase_add_test(tcase, bound_is_read_as_it_was_written);
    tcase_add_test(tcase, another_version_is_named);
    tcase_add_test(tcase, ready_is_read_as_it_was_written);
    tcase_add_test(tcase, start_is_read_as_it_was_written_or_is_empty);
    tcase_add_test(tcase, failed_is_read_as_it_was_written);
    tcase_add_test(tcase, a_step_that_does_not_exist_is_refused);
    tcase_add_test(tcase, a_failure_with_an_exit_status_that_is_none_is_refused);
    tcase_add_test(tcase, exited_is_read_as_it_was_written);
    tcase_add_test(tcase, stopped_is_read_as_it_was_written);
    tcase_add_loop_test(tcase, only_what_waitpid_says_is_an_end_or_a_stop, 0,
                        sizeof kinds / sizeof *kinds);
    tcase_add_test(tcase, a_heartbeat_is_read_as_it_was_written);
    tcase_add_test(tcase, a_note_is_read_as_it_was_written);
    tcase_add_test(tcase, a_stack_is_read_as_it_was_written);
    tcase_add_test(tcase, stop_is_read_as_it_was_written);
    tcase_add_loop_test(tcase, a_relays_client_is_read_as_it_was_written, 0, 2);
    tcase_add_test(tcase, whose_a_client_is_is_yes_or_no);
    tcase_add_test(tcase, rank_number_is_read_as_it_was_written);
    tcase_add_test(tcase, a_stream_that_does_not_exist_is_refused);
    tcase_add_test(tcase, every_frame_has_a_name);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
