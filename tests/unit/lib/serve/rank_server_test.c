/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous that rank 0 serves, without sockets: the test plays the ranks, and the time. */
#include "lib/serve/rank_server.h"

#include "lib/hvd.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

enum { SIZE = 4, TIMEOUT_MS = 5000 };

/* A rank's end of a connection. */
struct client {
    struct rank_server_connection *connection;
    struct seal seal;
    struct frame_reader reader;
    struct join_welcome welcome;
    struct rank_end news;
    struct join_refused refused;
};

static struct rank_server server;
static struct job_key key, other_key;
static struct client clients[SIZE + 1];
static uint64_t now_ms;

static void setup(void)
{
    struct err err;
    auth_init(NULL);
    job_key_generate(&key);
    job_key_generate(&other_key);
    now_ms = 1000;
    memset(clients, 0, sizeof clients);
    ck_assert_int_eq(rank_server_init(&server, "(unnamed)", SIZE, &key, TIMEOUT_MS, &err), HVD_OK);
}

static void hang_up(struct client *client)
{
    rank_server_closed(client->connection, now_ms);
    client->connection = NULL;
}

static void teardown(void)
{
    for (int i = 0; i <= SIZE; i++) {
        if (clients[i].connection)
            hang_up(&clients[i]);
        frame_reader_fini(&clients[i].reader);
    }
    rank_server_fini(&server);
}

static void receive_all(struct client *client)
{
    struct wire_writer *out = &client->connection->out;
    for (size_t at = 0; at < out->length;) {
        size_t room;
        void *space = frame_reader_space(&client->reader, &room);
        size_t part = room < out->length - at ? room : out->length - at;
        memcpy(space, out->data + at, part);
        frame_reader_commit(&client->reader, part);
        at += part;
    }
    wire_writer_fini(out);
}

/* The type of the next message, whose body is decoded; 0: there is none. */
static int next_message(struct client *client)
{
    struct frame frame;
    struct wire_reader body;
    struct join_waiting waiting;
    if (client->connection)
        receive_all(client);
    if (frame_reader_next(&client->reader, &frame, NULL) <= 0)
        return 0;
    ck_assert_int_eq(seal_check(&client->seal, &frame, &body, NULL), HVD_OK);
    int rc = frame.type == JOIN_WELCOME   ? join_welcome_decode(&client->welcome, &body, NULL)
             : frame.type == JOIN_NEWS    ? join_news_decode(&client->news, &body, NULL)
             : frame.type == JOIN_REFUSED ? join_refused_decode(&client->refused, &body, NULL)
                                          : join_waiting_decode(&waiting, &body, NULL);
    ck_assert_int_eq(rc, HVD_OK);
    return frame.type;
}

static void say_open(struct client *client, const struct job_key *with)
{
    struct wire_writer body = { 0 }, frame = { 0 };
    struct join_open open = { .version = JOIN_VERSION };
    struct join_challenge challenge;
    struct frame answer;
    struct wire_reader reader;
    nonce_generate(open.nonce);
    client->connection = rank_server_accept(&server, -1, now_ms);
    frame_reader_init(&client->reader, JOIN_RENDEZVOUS_MAX);
    join_open_encode(&body, &open);
    frame_put(&frame, JOIN_OPEN, body.data, body.length);
    rank_server_receive(client->connection, frame.data, frame.length, now_ms);
    wire_writer_fini(&body);
    wire_writer_fini(&frame);
    receive_all(client);
    ck_assert_int_eq(frame_reader_next(&client->reader, &answer, NULL), 1);
    wire_reader_init(&reader, answer.body, answer.length);
    ck_assert_int_eq(join_challenge_decode(&challenge, &reader, NULL), HVD_OK);
    seal_init(&client->seal, SEAL_CLIENT, with, open.nonce, challenge.nonce);
}

static void say(struct client *client, enum join_type type, struct wire_writer *body)
{
    struct wire_writer frame = { 0 };
    seal_put(&client->seal, &frame, (uint16_t)type, body->data, body->length);
    rank_server_receive(client->connection, frame.data, frame.length, now_ms);
    wire_writer_fini(&frame);
    wire_writer_fini(body);
}

static void say_hello(struct client *client, int rank, int size, const char *host)
{
    struct wire_writer body = { 0 };
    struct join_hello hello = { .rank = rank, .size = size, .pid = 100 + rank };
    snprintf(hello.host, sizeof hello.host, "%s", host);
    join_hello_encode(&body, &hello);
    say(client, JOIN_HELLO, &body);
}

static void say_goodbye(struct client *client)
{
    struct wire_writer body = { 0 };
    struct rank_end end = rank_end_none();
    rank_end_encode(&body, &end);
    say(client, JOIN_GOODBYE, &body);
}

static void come(int rank)
{
    say_open(&clients[rank], &key);
    say_hello(&clients[rank], rank, SIZE, rank < 2 ? "a" : "b");
}

static void all_come(void)
{
    for (int rank = SIZE - 1; rank >= 0; rank--)
        come(rank);
    for (int rank = SIZE - 1; rank > 0; rank--)
        ck_assert_int_eq(next_message(&clients[rank]), JOIN_WAITING);
    for (int rank = 0; rank < SIZE; rank++)
        ck_assert_int_eq(next_message(&clients[rank]), JOIN_WELCOME);
}

START_TEST(all_ranks_come_and_learn_their_places)
{
    all_come();
    for (int rank = 0; rank < SIZE; rank++) {
        const struct rank_info *rank_info = &clients[rank].welcome.rank_info;
        ck_assert_int_eq(rank_info->rank, rank);
        ck_assert_int_eq(rank_info->local_rank, rank % 2);
        ck_assert_int_eq(rank_info->local_size, 2);
        ck_assert_int_eq(rank_info->cross_rank, rank / 2);
    }
    ck_assert_uint_eq(rank_server_deadline(&server), MEMBERSHIP_NEVER);
}
END_TEST

START_TEST(a_rank_that_does_not_come_is_named)
{
    come(0), come(1), come(3);
    now_ms = rank_server_deadline(&server);
    ck_assert_uint_eq(now_ms, 1000 + TIMEOUT_MS);
    rank_server_tick(&server, now_ms);
    for (int rank = 0; rank < SIZE; rank += rank == 1 ? 2 : 1) {
        ck_assert_int_eq(next_message(&clients[rank]), JOIN_WAITING);
        ck_assert_int_eq(next_message(&clients[rank]), JOIN_REFUSED);
        ck_assert_int_eq(clients[rank].refused.status, HVD_ERR_TIMEOUT);
        ck_assert_str_eq(clients[rank].refused.text, "rank 2 of 4 has not come within 5 s");
        ck_assert(clients[rank].connection->ending);
    }
}
END_TEST

START_TEST(a_rank_whose_connection_ends_is_lost_to_the_others)
{
    all_come();
    hang_up(&clients[2]);
    ck_assert_int_eq(next_message(&clients[0]), 0);
    now_ms = rank_server_deadline(&server);
    rank_server_tick(&server, now_ms);
    for (int rank = 0; rank < SIZE; rank++) {
        if (rank == 2)
            continue;
        ck_assert_int_eq(next_message(&clients[rank]), JOIN_NEWS);
        ck_assert_int_eq(clients[rank].news.status, HVD_ERR_PEER_LOST);
        ck_assert_int_eq(clients[rank].news.rank, 2);
        ck_assert_str_eq(clients[rank].news.host, "b");
    }
}
END_TEST

START_TEST(a_rank_that_ends_before_all_have_come_ends_the_start)
{
    come(0), come(1);
    hang_up(&clients[1]);
    ck_assert_int_eq(next_message(&clients[0]), JOIN_WAITING);
    ck_assert_int_eq(next_message(&clients[0]), JOIN_REFUSED);
    ck_assert_int_eq(clients[0].refused.status, HVD_ERR_PEER_LOST);
    ck_assert_str_eq(clients[0].refused.text,
                     "worker on a (pid 101) disconnected before all had come");
    come(2);
    ck_assert_int_eq(next_message(&clients[2]), JOIN_REFUSED);
}
END_TEST

START_TEST(rank_0_leaves_and_all_others_know_that_it_left)
{
    all_come();
    say_goodbye(&clients[3]); /* the first departure, of which alone membership tells */
    ck_assert_int_eq(next_message(&clients[1]), JOIN_NEWS);
    say_goodbye(&clients[0]);
    ck_assert(clients[0].connection->ending);
    ck_assert_int_eq(next_message(&clients[1]), 0);
    ck_assert(rank_server_is_left(&server));
    rank_server_farewell(&server);
    for (int rank = 1; rank <= 2; rank++) {
        while (clients[rank].news.rank != 0 || clients[rank].news.status == HVD_OK)
            ck_assert_int_eq(next_message(&clients[rank]), JOIN_NEWS);
        ck_assert_int_eq(clients[rank].news.status, HVD_ERR_PEER_LEFT);
        ck_assert_str_eq(clients[rank].news.host, "a");
    }
}
END_TEST

START_TEST(a_lost_rank_is_told_before_rank_0_is_gone)
{
    all_come();
    hang_up(&clients[0]);
    ck_assert(!rank_server_is_left(&server));
    rank_server_tick(&server, rank_server_deadline(&server));
    ck_assert(rank_server_is_left(&server));
    ck_assert_int_eq(next_message(&clients[1]), JOIN_NEWS);
    ck_assert_int_eq(clients[1].news.rank, 0);
    ck_assert_int_eq(clients[1].news.status, HVD_ERR_PEER_LOST);
}
END_TEST

START_TEST(when_rank_0_fails_first_those_that_wait_are_refused)
{
    come(1);
    ck_assert(rank_server_is_left(&server));
    rank_server_farewell(&server);
    ck_assert_int_eq(next_message(&clients[1]), JOIN_WAITING);
    ck_assert_int_eq(next_message(&clients[1]), JOIN_REFUSED);
    ck_assert_ptr_nonnull(strstr(clients[1].refused.text, "rank 0, which served"));
}
END_TEST

START_TEST(another_size_and_a_rank_that_is_there_are_refused)
{
    come(1);
    say_open(&clients[2], &key);
    say_hello(&clients[2], 1, SIZE, "b");
    ck_assert_int_eq(next_message(&clients[2]), JOIN_REFUSED);
    ck_assert_ptr_nonnull(
        strstr(clients[2].refused.text, "rank 1 of job (unnamed) has been taken"));
    say_open(&clients[3], &key);
    say_hello(&clients[3], 1, SIZE + 1, "b");
    ck_assert_int_eq(next_message(&clients[3]), JOIN_REFUSED);
    ck_assert_ptr_nonnull(strstr(clients[3].refused.text, "a size of 5"));
}
END_TEST

START_TEST(without_the_key_there_is_no_answer)
{
    say_open(&clients[1], &other_key);
    say_hello(&clients[1], 1, SIZE, "b");
    ck_assert(clients[1].connection->ending);
    ck_assert_int_eq(next_message(&clients[1]), 0);
    ck_assert_int_eq(server.pending.count, 0);
    hang_up(&clients[1]);
    ck_assert_int_eq(server.unproven, 0);
}
END_TEST

/* A report is sent only by who was asked for it, and nobody asks. */
START_TEST(a_report_that_nobody_asked_for_ends_the_connection)
{
    struct wire_writer body = { 0 };
    static struct join_report report = { .text = "" };
    all_come();
    join_report_encode(&body, &report);
    say(&clients[1], JOIN_REPORT, &body);
    ck_assert(clients[1].connection->ending);
}
END_TEST

START_TEST(who_says_nothing_is_sent_away_after_some_time)
{
    struct client *mute = &clients[SIZE];
    mute->connection = rank_server_accept(&server, -1, now_ms);
    now_ms += RANK_SERVER_HELLO_MS;
    ck_assert_uint_eq(rank_server_deadline(&server), now_ms);
    rank_server_tick(&server, now_ms - 1);
    ck_assert(!mute->connection->ending);
    rank_server_tick(&server, now_ms);
    ck_assert(mute->connection->ending);
    ck_assert_int_eq(server.unproven, 0);
}
END_TEST

START_TEST(very_many_that_say_nothing_keep_no_rank_away)
{
    struct rank_server_connection *mute[2 * RANK_SERVER_UNPROVEN_MAX];
    int ended = 0;
    say_open(&clients[0], &key);
    for (int i = 0; i < 2 * RANK_SERVER_UNPROVEN_MAX; i++)
        mute[i] = rank_server_accept(&server, -1, now_ms);
    ck_assert_int_le(server.unproven, RANK_SERVER_UNPROVEN_MAX + SIZE);
    ck_assert(!clients[0].connection->ending);
    say_hello(&clients[0], 0, SIZE, "a");
    ck_assert_int_eq(next_message(&clients[0]), JOIN_WAITING);
    for (int i = 0; i < 2 * RANK_SERVER_UNPROVEN_MAX; i++) {
        ended += mute[i]->ending;
        rank_server_closed(mute[i], now_ms);
    }
    ck_assert_int_gt(ended, 0);
    ck_assert_int_eq(server.unproven, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rank_server");
    TCase *tcase = tcase_create("rank_server");
    descriptors_watch(tcase);
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, all_ranks_come_and_learn_their_places);
    tcase_add_test(tcase, a_rank_that_does_not_come_is_named);
    tcase_add_test(tcase, a_rank_whose_connection_ends_is_lost_to_the_others);
    tcase_add_test(tcase, a_rank_that_ends_before_all_have_come_ends_the_start);
    tcase_add_test(tcase, rank_0_leaves_and_all_others_know_that_it_left);
    tcase_add_test(tcase, a_lost_rank_is_told_before_rank_0_is_gone);
    tcase_add_test(tcase, when_rank_0_fails_first_those_that_wait_are_refused);
    tcase_add_test(tcase, another_size_and_a_rank_that_is_there_are_refused);
    tcase_add_test(tcase, without_the_key_there_is_no_answer);
    tcase_add_test(tcase, a_report_that_nobody_asked_for_ends_the_connection);
    tcase_add_test(tcase, who_says_nothing_is_sent_away_after_some_time);
    tcase_add_test(tcase, very_many_that_say_nothing_keep_no_rank_away);
    return unit_run(suite);
}
