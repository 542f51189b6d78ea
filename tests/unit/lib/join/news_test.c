/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that listens to the rendezvous, which the test plays on a socket pair: what it records
 * and whom it wakes, and that it answers, whatever else is being said meanwhile. */
#include "lib/join/news.h"

#include "lib/base/quiet_thread.h"
#include "lib/join/bootstrap.h"
#include "lib/link/socket.h"
#include "tests/support/mini_rendezvous.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

static struct join_connection connection;
static struct failure failure;
static struct news news;
static struct err err;
static const char *said; /* by this rank when it is asked */
static size_t asked_size;
static int wake_fd;

/* The rendezvous' end. */
static int fd;
static struct seal seal;
static struct frame_reader reader;

static void report(void *arg, struct join_report *report, size_t size)
{
    ck_assert_ptr_eq(arg, &failure);
    asked_size = size;
    snprintf(report->text, size, "%s", said);
    report->stats = (struct rank_stats){ .uptime_ns = 3000, .waiting_ns = 1000 };
    report->stats.operations[STATS_BROADCAST] = (struct operation_stats){ .count = 5, .bytes = 80 };
}

static void pair(void)
{
    unsigned char client_nonce[NONCE_SIZE] = "client", server_nonce[NONCE_SIZE] = "server";
    struct job_key key = { "not much of a secret" };
    int ends[2], small = 4096; /* less than a report */
    auth_init(NULL);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    ck_assert_int_eq(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    connection = (struct join_connection){ .fd = ends[0],
                                           .server_name = "the launcher",
                                           .sending = PTHREAD_MUTEX_INITIALIZER };
    frame_reader_init(&connection.reader, JOIN_RENDEZVOUS_MAX);
    seal_init(&connection.seal, SEAL_CLIENT, &key, client_nonce, server_nonce);
    fd = ends[1];
    frame_reader_init(&reader, JOIN_PROVEN_MAX);
    seal_init(&seal, SEAL_SERVER, &key, client_nonce, server_nonce);
}

static void setup(void)
{
    pair();
    failure_init(&failure);
    wake_fd = eventfd(0, EFD_CLOEXEC);
    said = "waiting for allreduce 'a'\n";
}

static void start(void)
{
    int rc = news_start(&news, &connection, &failure, report, &failure, wake_fd, &err);
    ck_assert_msg(rc == HVD_OK, "%s", err.text);
}

static void close_server(void)
{
    if (fd >= 0)
        close(fd);
    fd = -1;
}

static void teardown(void)
{
    news_stop(&news);
    join_close(&connection);
    failure_fini(&failure);
    close(wake_fd);
    close_server();
    frame_reader_fini(&reader);
}

static const struct rank_end well = { .rank = RANK_NONE, .because_of = RANK_NONE };

static void put(struct wire_writer *out, enum join_type type, struct wire_writer *body)
{
    seal_put(&seal, out, (uint16_t)type, body->data, body->length);
    wire_writer_fini(body);
}

static void put_news(struct wire_writer *out, int status, const char *text)
{
    struct wire_writer body = { 0 };
    struct rank_end message = {
        .how.kind = RANK_END_FAILED, .status = status, .rank = RANK_NONE, .because_of = 1
    };
    snprintf(message.words, sizeof message.words, "%s", text);
    rank_end_encode(&body, &message);
    put(out, JOIN_NEWS, &body);
}

static void put_ask(struct wire_writer *out, int size)
{
    struct wire_writer body = { 0 };
    join_ask_encode(&body, &(struct join_ask){ size });
    put(out, JOIN_ASK, &body);
}

static void send_out(struct wire_writer *out)
{
    ck_assert_int_eq(write(fd, out->data, out->length), (ssize_t)out->length);
    wire_writer_fini(out);
}

static void send_news(int status, const char *text)
{
    struct wire_writer out = { 0 };
    put_news(&out, status, text);
    send_out(&out);
}

static void send_ask(int size)
{
    struct wire_writer out = { 0 };
    put_ask(&out, size);
    send_out(&out);
}

/* The worker's next frame, or false at the end of what it says. */
static bool next(struct frame *frame, struct wire_reader *body)
{
    int rc;
    while ((rc = frame_reader_next(&reader, frame, &err)) == 0) {
        size_t size;
        void *space = frame_reader_space(&reader, &size);
        ssize_t nbytes = read(fd, space, size);
        if (nbytes <= 0)
            return false;
        frame_reader_commit(&reader, (size_t)nbytes);
    }
    ck_assert_msg(rc == 1 && seal_check(&seal, frame, body, &err) == HVD_OK, "%s", err.text);
    return true;
}

static void expect_report(const char *text)
{
    static struct join_report message;
    struct frame frame;
    struct wire_reader body;
    ck_assert(next(&frame, &body));
    ck_assert_uint_eq(frame.type, JOIN_REPORT);
    ck_assert_int_eq(join_report_decode(&message, &body, NULL), HVD_OK);
    ck_assert_str_eq(message.text, text);
    ck_assert_uint_eq(message.stats.uptime_ns, 3000);
    ck_assert_uint_eq(message.stats.operations[STATS_BROADCAST].bytes, 80);
}

static void expect_goodbye(int status, const char *text)
{
    struct rank_end message;
    struct frame frame;
    struct wire_reader body;
    ck_assert(next(&frame, &body));
    ck_assert_uint_eq(frame.type, JOIN_GOODBYE);
    ck_assert_int_eq(join_goodbye_decode(&message, &body, NULL), HVD_OK);
    ck_assert_int_eq(message.status, status);
    ck_assert_str_eq(message.words, text);
}

static void wait_awake(void)
{
    struct pollfd awake = { .fd = wake_fd, .events = POLLIN };
    ck_assert_int_eq(poll(&awake, 1, -1), 1);
}

static bool is_awake(void)
{
    struct pollfd awake = { .fd = wake_fd, .events = POLLIN };
    return poll(&awake, 1, 0) == 1;
}

START_TEST(what_was_not_started_can_be_stopped)
{
    struct news nothing = { 0 };
    news_stop(&nothing);
}
END_TEST

START_TEST(nothing_happens_while_there_is_no_news)
{
    start();
    news_stop(&news);
    ck_assert_int_eq(failure_check(&failure, &err), HVD_OK);
    ck_assert_int_eq(failure_departure(&failure, NULL), HVD_OK);
}
END_TEST

START_TEST(a_loss_is_recorded_and_wakes_who_waits)
{
    start();
    send_news(HVD_ERR_PEER_LOST, "rank 1 on b was killed");
    wait_awake();
    ck_assert_int_eq(failure_check(&failure, &err), HVD_ERR_PEER_LOST);
    ck_assert_str_eq(err.text, "rank 1 on b was killed");
}
END_TEST

START_TEST(a_departure_is_noted_and_breaks_nothing)
{
    struct rank_end end;
    start();
    send_news(HVD_ERR_PEER_LEFT, "rank 1 on b left");
    wait_awake();
    ck_assert_int_eq(failure_check(&failure, &err), HVD_OK);
    ck_assert_int_eq(failure_departure(&failure, &end), HVD_ERR_PEER_LEFT);
    ck_assert_str_eq(end.words, "rank 1 on b left");
}
END_TEST

START_TEST(the_end_of_the_rendezvous_is_a_failure)
{
    start();
    close_server();
    wait_awake();
    ck_assert_int_eq(failure_check(&failure, &err), HVD_ERR_PEER_LOST);
    ck_assert_ptr_nonnull(strstr(err.text, "the launcher is gone"));
}
END_TEST

/* Rank 0 serves the rendezvous. */
static void serve_by_rank_0(void)
{
    connection.served_by_rank = true;
    connection.server_rank = 0;
    snprintf(connection.server_host, sizeof connection.server_host, "node1");
}

START_TEST(the_end_of_a_rendezvous_that_a_rank_serves_is_the_loss_of_that_rank)
{
    struct rank_end end;
    serve_by_rank_0();
    start();
    close_server();
    wait_awake();
    ck_assert_int_eq(failure_check(&failure, &err), HVD_ERR_PEER_LOST);
    ck_assert_str_eq(err.text, "the connection to rank 0 on node1 broke");
    ck_assert_int_eq(failure_reason(&failure, &end), HVD_ERR_PEER_LOST);
    ck_assert_int_eq(end.rank, 0);
    ck_assert_int_eq(end.because_of, 0);
}
END_TEST

static void send_departure_of(int rank)
{
    struct wire_writer out = { 0 }, body = { 0 };
    struct rank_end end = rank_end_none();
    end.how.kind = RANK_END_LEFT;
    end.status = HVD_ERR_PEER_LEFT;
    end.rank = rank;
    rank_end_encode(&body, &end);
    put(&out, JOIN_NEWS, &body);
    send_out(&out);
}

START_TEST(after_that_rank_has_left_the_end_of_its_rendezvous_is_no_failure)
{
    serve_by_rank_0();
    start();
    send_departure_of(2);
    send_departure_of(0);
    wait_awake(); /* the thread runs */
    close_server();
    while (quiet_thread_count() > 0)
        sched_yield();
    ck_assert_int_eq(failure_check(&failure, NULL), HVD_OK);
}
END_TEST

START_TEST(after_another_rank_has_left_it_still_is_one)
{
    serve_by_rank_0();
    start();
    send_departure_of(2);
    close_server();
    while (!failure_is_there(&failure))
        sched_yield();
    ck_assert_int_eq(failure_check(&failure, &err), HVD_ERR_PEER_LOST);
    ck_assert_str_eq(err.text, "the connection to rank 0 on node1 broke");
}
END_TEST

static void send_garbage(void)
{
    ck_assert_int_eq(write(fd, "garbage, and more of it", 23), 23);
}

static void send_forgery(void)
{
    seal.send_key[0] ^= 1;
    send_news(HVD_ERR_PEER_LOST, "a forgery");
}

static void send_goodbye(void)
{
    struct wire_writer body = { 0 }, out = { 0 };
    rank_end_encode(&body, &well);
    put(&out, JOIN_GOODBYE, &body);
    send_out(&out);
}

static void send_bad_ask(void)
{
    send_ask(JOIN_REPORT_MAX + 1);
}

static void send_too_much(void)
{
    unsigned char header[FRAME_HEADER_SIZE];
    frame_header_encode(header, JOIN_NEWS, JOIN_RENDEZVOUS_MAX + 1);
    ck_assert_int_eq(write(fd, header, sizeof header), sizeof header);
}

static const struct {
    void (*send)(void);
    int status;
} wrongs[] = {
    { send_garbage, HVD_ERR_PROTOCOL },  { send_forgery, HVD_ERR_AUTH },
    { send_goodbye, HVD_ERR_PROTOCOL },  { send_bad_ask, HVD_ERR_PROTOCOL },
    { send_too_much, HVD_ERR_PROTOCOL },
};

START_TEST(what_the_rendezvous_must_not_say_is_a_failure_that_names_it)
{
    start();
    wrongs[_i].send();
    wait_awake();
    ck_assert_int_eq(failure_check(&failure, &err), wrongs[_i].status);
    ck_assert_msg(strncmp(err.text, "the launcher: ", 14) == 0, "%s", err.text);
}
END_TEST

START_TEST(who_is_asked_answers_and_wakes_nobody)
{
    start();
    for (int i = 0; i < 3; i++) {
        send_ask(1000 + i);
        expect_report(said);
        ck_assert_uint_eq(asked_size, 1000 + (size_t)i);
    }
    ck_assert(!is_awake());
}
END_TEST

START_TEST(an_answer_is_as_long_as_it_may_be)
{
    static char text[JOIN_REPORT_MAX + 1000], cut[JOIN_REPORT_MAX];
    memset(text, 'x', sizeof text - 1);
    memset(cut, 'x', sizeof cut - 1);
    said = text;
    start();
    send_ask(JOIN_REPORT_MAX);
    expect_report(cut);
    send_ask(1);
    expect_report("");
}
END_TEST

/* As if it had been received together with WELCOME. */
START_TEST(what_came_before_the_thread_is_not_overlooked)
{
    struct wire_writer out = { 0 };
    size_t size;
    put_ask(&out, 100);
    put_news(&out, HVD_ERR_PEER_LOST, "rank 1 on b was killed");
    memcpy(frame_reader_space(&connection.reader, &size), out.data, out.length);
    frame_reader_commit(&connection.reader, out.length);
    wire_writer_fini(&out);
    start();
    expect_report(said);
    wait_awake();
    ck_assert_int_eq(failure_check(&failure, &err), HVD_ERR_PEER_LOST);
}
END_TEST

static void *ask_often(void *argument)
{
    for (int i = 0; i < 200; i++)
        send_ask(JOIN_REPORT_MAX);
    return argument;
}

static void *say_goodbye(void *argument)
{
    join_goodbye(&connection, &well);
    return argument;
}

/* In whatever order: each frame comes whole and in the order of its proof, which next() checks. */
START_TEST(a_goodbye_may_be_said_while_answers_are_given)
{
    static char text[JOIN_REPORT_MAX];
    struct frame frame;
    struct wire_reader body;
    pthread_t asker, leaver;
    int reports = 0, goodbyes = 0;
    memset(text, 'y', 5000);
    said = text;
    start();
    pthread_create(&asker, NULL, ask_often, NULL);
    pthread_create(&leaver, NULL, say_goodbye, NULL);
    while (reports + goodbyes < 201) {
        ck_assert(next(&frame, &body));
        reports += frame.type == JOIN_REPORT;
        goodbyes += frame.type == JOIN_GOODBYE;
    }
    pthread_join(asker, NULL);
    pthread_join(leaver, NULL);
    ck_assert_int_eq(goodbyes, 1);
}
END_TEST

START_TEST(a_goodbye_tells_why)
{
    start();
    struct rank_end end = rank_end_none();
    end.how.kind = RANK_END_RENDEZVOUS_LOST;
    end.status = HVD_ERR_PROTOCOL;
    strcpy(end.words, "a wrong frame");
    join_goodbye(&connection, &end);
    expect_goodbye(HVD_ERR_PROTOCOL, "a wrong frame");
}
END_TEST

START_TEST(a_goodbye_without_a_failure_says_nothing)
{
    start();
    join_goodbye(&connection, &well);
    expect_goodbye(HVD_OK, "");
}
END_TEST

static void fill_up(void)
{
    char bytes[4096] = { 0 };
    while (write(connection.fd, bytes, sizeof bytes) > 0)
        ;
}

START_TEST(a_rendezvous_that_does_not_read_does_not_keep_a_rank_from_leaving)
{
    fill_up();
    start();
    send_ask(JOIN_REPORT_MAX);
    join_goodbye(&connection, &well);
    news_stop(&news);
    ck_assert_int_eq(failure_check(&failure, &err), HVD_OK);
}
END_TEST

START_TEST(after_half_a_frame_nothing_is_sent)
{
    static char text[JOIN_REPORT_MAX];
    char bytes[65536];
    fill_up();
    memset(text, 'z', sizeof text - 1);
    said = text;
    ck_assert_int_gt(read(fd, bytes, 8192), 0); /* room for some of it */
    struct join_report half = { .text = "" };
    memcpy(half.text, text, sizeof text);
    join_report(&connection, &half);
    ck_assert(connection.cut_off);
    while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        ;
    join_goodbye(&connection, &well);
    ck_assert_int_lt(recv(fd, bytes, sizeof bytes, MSG_DONTWAIT), 0);
}
END_TEST

/* --- with a rendezvous that is one --- */

START_TEST(an_answer_arrives)
{
    struct mini_rendezvous mini;
    struct rank_assignment assignment;
    struct environment environment = { .bootstrap.kind = BOOTSTRAP_HVDRUN,
                                       .rank_info = { .size = 1, .local_size = 1, .cross_size = 1 },
                                       .has_rendezvous = true,
                                       .rendezvous_host = "127.0.0.1",
                                       .join_timeout_s = JOIN_TIMEOUT_S,
                                       .host = "here" };
    char text[100] = "";
    mini_rendezvous_start(&mini, &(struct mini_options){ .size = 1, .asks = true });
    environment.rendezvous_port = mini.port;
    ck_assert_int_eq(job_key_parse(&environment.key, mini.key, &err), HVD_OK);
    ck_assert_msg(bootstrap_join(&assignment, &environment, 1, &err) == HVD_OK, "%s", err.text);
    int rc = news_start(&news, &assignment.connection, &failure, report, &failure, wake_fd, &err);
    ck_assert_msg(rc == HVD_OK, "%s", err.text);
    ck_assert_int_eq(read(mini.reports, text, sizeof text - 1), (ssize_t)strlen(said));
    ck_assert_str_eq(text, said);
    join_goodbye(&assignment.connection, &well);
    news_stop(&news);
    rank_assignment_fini(&assignment);
    mini_rendezvous_stop(&mini);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("news");
    TCase *tcase = tcase_create("news");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, what_was_not_started_can_be_stopped);
    tcase_add_test(tcase, nothing_happens_while_there_is_no_news);
    tcase_add_test(tcase, a_loss_is_recorded_and_wakes_who_waits);
    tcase_add_test(tcase, a_departure_is_noted_and_breaks_nothing);
    tcase_add_test(tcase, the_end_of_the_rendezvous_is_a_failure);
    tcase_add_test(tcase, the_end_of_a_rendezvous_that_a_rank_serves_is_the_loss_of_that_rank);
    tcase_add_test(tcase, after_that_rank_has_left_the_end_of_its_rendezvous_is_no_failure);
    tcase_add_test(tcase, after_another_rank_has_left_it_still_is_one);
    tcase_add_loop_test(tcase, what_the_rendezvous_must_not_say_is_a_failure_that_names_it, 0,
                        sizeof wrongs / sizeof *wrongs);
    tcase_add_test(tcase, who_is_asked_answers_and_wakes_nobody);
    tcase_add_test(tcase, an_answer_is_as_long_as_it_may_be);
    tcase_add_test(tcase, what_came_before_the_thread_is_not_overlooked);
    tcase_add_test(tcase, a_goodbye_may_be_said_while_answers_are_given);
    tcase_add_test(tcase, a_goodbye_tells_why);
    tcase_add_test(tcase, a_goodbye_without_a_failure_says_nothing);
    tcase_add_test(tcase, a_rendezvous_that_does_not_read_does_not_keep_a_rank_from_leaving);
    tcase_add_test(tcase, after_half_a_frame_nothing_is_sent);
    tcase_add_test(tcase, an_answer_arrives);
    return unit_run(suite);
}
