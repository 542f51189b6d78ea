/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to an ssh-agent that answers, lies, hangs up or is not there. */
#include "launcher/ssh/ssh_agent.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static uv_loop_t loop;
static char directory[] = "/tmp/ssh_agent_XXXXXX", path[100];
static uv_pipe_t server, client;
static struct text_buffer asked; /* of the client */
static const char *reply;        /* what the agent says, once it has been asked */
static size_t reply_length;
static int calls;
static char answer[100], problem[100];
static size_t answer_length;

static void on_close_client(uv_write_t *write, int status)
{
    (void)status;
    free(write);
    uv_close((uv_handle_t *)&client, NULL);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)handle, (void)suggested;
    *buffer = uv_buf_init(text_buffer_reserve(&asked, 1000), 1000);
}

/* Answers and hangs up. */
static void on_asked(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buffer)
{
    (void)buffer;
    ck_assert_int_gt(nread, 0);
    asked.length += (size_t)nread;
    uv_read_stop(stream);
    uv_buf_t data = uv_buf_init((char *)reply, (unsigned)reply_length);
    uv_write(malloc(sizeof(uv_write_t)), stream, &data, 1, on_close_client);
}

static void on_connection(uv_stream_t *stream, int status)
{
    ck_assert_int_eq(status, 0);
    uv_pipe_init(&loop, &client, 0);
    ck_assert_int_eq(uv_accept(stream, (uv_stream_t *)&client), 0);
    uv_read_start((uv_stream_t *)&client, on_alloc, on_asked);
}

static void on_answer(void *context, struct ssh_bytes bytes, const char *why)
{
    (void)context;
    calls++;
    answer_length = bytes.length;
    if (bytes.length > 0)
        memcpy(answer, bytes.data, bytes.length < sizeof answer ? bytes.length : sizeof answer);
    snprintf(problem, sizeof problem, "%s", why ? why : "");
    if (uv_is_active((uv_handle_t *)&server))
        uv_close((uv_handle_t *)&server, NULL);
}

static void setup(void)
{
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/agent", directory);
    uv_loop_init(&loop);
    uv_pipe_init(&loop, &server, 0);
    ck_assert_int_eq(uv_pipe_bind(&server, path), 0);
    ck_assert_int_eq(uv_listen((uv_stream_t *)&server, 5, on_connection), 0);
    asked = (struct text_buffer){ 0 };
    calls = 0;
}

static void teardown(void)
{
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    text_buffer_fini(&asked);
    unlink(path);
    rmdir(directory);
}

#define SAY(text) text, sizeof text - 1

static const struct {
    const char *reply;
    size_t length, answer_length;
    const char *problem;
} replies[] = {
    { SAY("\0\0\0\5\14\0\0\0\0"), 5, "" },
    { SAY("\0\0\0\1\5 and more"), 1, "" },
    { SAY("\0\0\0\0"), 0, "" },
    { SAY("\0\0\0\5\14\0"), 0, "hung up without an answer" },
    { SAY("\0\0"), 0, "hung up without an answer" },
    { SAY("\0\3\xff\xfc\14"), 0, "hung up without an answer" }, /* 256 KiB */
    { SAY("\0\3\xff\xfd\14"), 0, "an answer that is too long" },
    { SAY("\xff\xff\xff\xff\14"), 0, "an answer that is too long" },
};

START_TEST(an_answer_is_taken_when_it_is_whole)
{
    reply = replies[_i].reply;
    reply_length = replies[_i].length;
    ssh_agent_ask_keys(&loop, path, on_answer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(calls, 1);
    ck_assert_str_eq(problem, replies[_i].problem);
    ck_assert_uint_eq(answer_length, replies[_i].answer_length);
    ck_assert_mem_eq(answer, replies[_i].reply + 4, answer_length);
    ck_assert_uint_eq(asked.length, 5);
    ck_assert_mem_eq(asked.data, "\0\0\0\1\13", 5);
}
END_TEST

START_TEST(a_signature_is_asked_for_with_key_and_data)
{
    static const unsigned char key[] = "key", data[] = "data";
    static const char question[] = "\0\0\0\24\15\0\0\0\3key\0\0\0\4data\0\0\0\0";
    reply = "\0\0\0\1\5";
    reply_length = 5;
    ssh_agent_ask_signature(&loop, path, (struct ssh_bytes){ key, 3 },
                            (struct ssh_bytes){ data, 4 }, on_answer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_uint_eq(asked.length, sizeof question - 1);
    ck_assert_mem_eq(asked.data, question, sizeof question - 1);
}
END_TEST

/* An RSA key signs with SHA-2 only if the agent is asked for it: flags 2 or 4. */
static const struct {
    const char *algorithm;
    unsigned char flags;
} algorithms[] = { { "ssh-ed25519", 0 }, { "rsa-sha2-256", 2 }, { "rsa-sha2-512", 4 } };

START_TEST(a_signature_with_sha_2_is_asked_for_by_flags)
{
    struct text_buffer data = { 0 };
    ssh_put_string(&data, "session", 7);
    ssh_put_u8(&data, 50);
    ssh_put_string(&data, "me", 2);
    ssh_put_string(&data, "ssh-connection", 14);
    ssh_put_string(&data, "publickey", 9);
    ssh_put_u8(&data, 1);
    ssh_put_string(&data, algorithms[_i].algorithm, strlen(algorithms[_i].algorithm));
    reply = "\0\0\0\1\5";
    reply_length = 5;
    ssh_agent_ask_signature(&loop, path, (struct ssh_bytes){ (const unsigned char *)"key", 3 },
                            (struct ssh_bytes){ (unsigned char *)data.data, data.length },
                            on_answer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_uint_gt(asked.length, 4);
    ck_assert_uint_eq((unsigned char)asked.data[asked.length - 1], algorithms[_i].flags);
    text_buffer_fini(&data);
}
END_TEST

START_TEST(an_agent_that_is_not_there_is_told)
{
    char missing[200];
    memset(missing, 'x', sizeof missing - 1);
    missing[sizeof missing - 1] = '\0';
    ssh_agent_ask_keys(&loop, "/tmp/ssh_agent_test_none/agent", on_answer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_str_eq(problem, "no such file or directory");
    ssh_agent_ask_keys(&loop, missing, on_answer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_str_eq(problem, "the path is too long for a socket");
    ck_assert_int_eq(calls, 2);
}
END_TEST

START_TEST(nothing_is_called_after_cancel)
{
    ssh_agent_cancel(ssh_agent_ask_keys(&loop, path, on_answer, NULL));
    ssh_agent_cancel(NULL);
    uv_close((uv_handle_t *)&server, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(calls, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ssh_agent");
    TCase *tcase = tcase_create("questions");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, an_answer_is_taken_when_it_is_whole, 0,
                        sizeof replies / sizeof *replies);
    tcase_add_test(tcase, a_signature_is_asked_for_with_key_and_data);
    tcase_add_loop_test(tcase, a_signature_with_sha_2_is_asked_for_by_flags, 0,
                        sizeof algorithms / sizeof *algorithms);
    tcase_add_test(tcase, an_agent_that_is_not_there_is_told);
    tcase_add_test(tcase, nothing_is_called_after_cancel);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
