/* SPDX-License-Identifier: Apache-2.0 */
/* Unauthenticated clients at the rendezvous: whatever they send, however long they take and however
 * many they are, they get nothing that they should not and the world comes about beside them. */
#include "tests/support/server_fixture.h"
#include "tests/support/unit.h"

#include <string.h>

/* Closed, and not told why. */
static void expect_silently_closed(struct join_client *client)
{
    ck_assert(client->closed);
    expect_nothing(client);
    join_client_fini(client);
}

START_TEST(an_unauthenticated_client_with_another_key_is_closed_without_a_word)
{
    setup(2);
    struct job_key other;
    struct join_client unauthenticated;
    job_key_generate(&other);
    dial_with(&unauthenticated, &other);
    join_client_join(&unauthenticated, 0, 2);
    expect_silently_closed(&unauthenticated);
    expect_undisturbed();
    teardown();
}
END_TEST

START_TEST(a_recorded_HELLO_is_worth_nothing_on_a_new_connection)
{
    setup(2);
    struct join_client worker, replay;
    struct wire_writer hello = { 0 };
    dial(&worker);
    ck_assert(join_client_open(&worker));
    join_client_put_hello(&worker, &hello, 0, 2);

    dial(&replay);
    memcpy(replay.nonce, worker.nonce, NONCE_SIZE);
    ck_assert(join_client_open(&replay));
    join_client_send(&replay, hello.data, hello.length);
    expect_silently_closed(&replay);

    hang_up(&worker);
    join_client_fini(&worker);
    wire_writer_fini(&hello);
    expect_undisturbed();
    teardown();
}
END_TEST

START_TEST(a_HELLO_is_worth_nothing_twice_on_its_own_connection)
{
    setup(2);
    struct wire_writer hello = { 0 };
    dial(&clients[0]);
    ck_assert(join_client_open(&clients[0]));
    join_client_put_hello(&clients[0], &hello, 0, 2);
    join_client_send(&clients[0], hello.data, hello.length);
    ck_assert(!clients[0].closed);
    join_client_send(&clients[0], hello.data, hello.length);
    ck_assert(clients[0].closed);
    wire_writer_fini(&hello);
    teardown();
}
END_TEST

/* What an unauthenticated client sends first, in frames. */
static const struct {
    const char *sentence;
    uint16_t type;
    size_t length; /* of a body of zeroes */
} strange_frames[] = {
    { "HELLO before OPEN", JOIN_HELLO, 100 },
    { "GOODBYE before OPEN", JOIN_GOODBYE, 40 },
    { "what only a rendezvous says", JOIN_CHALLENGE, 34 },
    { "type 0", 0, 0 },
    { "the highest type", 0xffff, 0 },
    { "an empty OPEN", JOIN_OPEN, 0 },
    { "an OPEN without a version", JOIN_OPEN, 34 },
    { "an OPEN that is too long", JOIN_OPEN, 35 },
    { "the longest frame", JOIN_OPEN, JOIN_UNPROVEN_MAX },
};

START_TEST(a_frame_out_of_order_is_closed_without_a_word)
{
    setup(2);
    struct join_client unauthenticated;
    struct wire_writer frame = { 0 };
    char *body = calloc(1, strange_frames[_i].length + 1);
    frame_put(&frame, strange_frames[_i].type, body, strange_frames[_i].length);
    dial(&unauthenticated);
    join_client_send(&unauthenticated, frame.data, frame.length);
    expect_silently_closed(&unauthenticated);
    ck_assert_int_eq(unauthenticated.sends, 0);
    free(body);
    wire_writer_fini(&frame);
    expect_undisturbed();
    teardown();
}
END_TEST

static const struct {
    const char *sentence;
    const char *bytes;
    size_t length;
} strange_bytes[] = {
    { "a frame with flags", "HVD1\1\0\1\0\0\0\0\0", 12 },
    { "a frame one byte too long", "HVD1\1\0\0\0\1\x10\0\0", 12 },
    { "a frame of 4 GiB", "HVD1\1\0\0\0\xff\xff\xff\xff", 12 },
    { "almost the magic", "HVD2", 4 },
    { "a TLS hello", "\x16\x03\x01\x02\x00\x01\x00", 7 },
    { "zeroes", "\0\0\0\0", 4 },
    { "the magic and zeroes", "HVD1\0\0\0\0\0\0\0\0", 12 },
};

START_TEST(bytes_that_are_no_frame_are_closed)
{
    setup(2);
    struct join_client unauthenticated;
    dial(&unauthenticated);
    if (_i % 2)
        unauthenticated.deliver = deliver_bytes;
    join_client_send(&unauthenticated, strange_bytes[_i / 2].bytes, strange_bytes[_i / 2].length);
    tick_at(SERVER_UNAUTHENTICATED_MS);
    ck_assert_msg(unauthenticated.closed, "%s", strange_bytes[_i / 2].sentence);
    join_client_fini(&unauthenticated);
    expect_undisturbed();
    teardown();
}
END_TEST

START_TEST(an_OPEN_of_another_version_is_told_ours)
{
    setup(2);
    struct join_client unauthenticated;
    struct wire_writer body = { 0 }, frame = { 0 };
    join_open_encode(&body, &(struct join_open){ .version = JOIN_VERSION + 1 });
    wire_put_string(&body, "something new");
    frame_put(&frame, JOIN_OPEN, body.data, body.length);
    dial(&unauthenticated);
    join_client_send(&unauthenticated, frame.data, frame.length);
    ck_assert(unauthenticated.closed);
    ck_assert_uint_eq(unauthenticated.received.length, FRAME_HEADER_SIZE + 2 + NONCE_SIZE);
    ck_assert_uint_eq(unauthenticated.received.data[FRAME_HEADER_SIZE], JOIN_VERSION);
    join_client_fini(&unauthenticated);
    wire_writer_fini(&frame);
    wire_writer_fini(&body);
    teardown();
}
END_TEST

/* OPEN as it stands, the HELLO that follows with one byte or bit changed or cut off. */
static struct join_client *half_joined(struct wire_writer *hello)
{
    static struct join_client unauthenticated;
    join_client_fini(&unauthenticated); /* the one before */
    wire_writer_fini(hello);
    dial(&unauthenticated);
    ck_assert(join_client_open(&unauthenticated));
    join_client_put_hello(&unauthenticated, hello, 0, 2);
    return &unauthenticated;
}

START_TEST(a_connection_may_end_after_any_byte_before_it_has_joined)
{
    setup(2);
    struct wire_writer open = { 0 }, hello = { 0 };
    join_client_put_open(&clients[0], &open);
    for (size_t length = 0; length <= open.length; length++) {
        struct join_client unauthenticated;
        dial(&unauthenticated);
        join_client_send(&unauthenticated, open.data, length);
        hang_up(&unauthenticated);
        join_client_fini(&unauthenticated);
    }
    hang_up(half_joined(&hello));
    for (size_t length = 0, end = hello.length; length < end; length++) {
        struct join_client *unauthenticated = half_joined(&hello);
        join_client_send(unauthenticated, hello.data, length);
        ck_assert(!unauthenticated->closed);
        hang_up(unauthenticated);
    }
    wire_writer_fini(&hello);
    wire_writer_fini(&open);
    expect_undisturbed();
    teardown();
}
END_TEST

START_TEST(a_HELLO_with_any_bit_changed_does_not_join)
{
    setup(2);
    struct wire_writer hello = { 0 };
    hang_up(half_joined(&hello));
    size_t nbits = hello.length * 8;
    for (size_t bit = 0; bit < nbits; bit++) {
        struct join_client *unauthenticated = half_joined(&hello);
        hello.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        join_client_send(unauthenticated, hello.data, hello.length);
        expect_nothing(unauthenticated);
        hang_up(unauthenticated); /* a longer length waits for more */
    }
    wire_writer_fini(&hello);
    expect_undisturbed();
    teardown();
}
END_TEST

START_TEST(people_get_their_health_check_in_one_write)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    setup(2);
    struct join_client person;
    dial(&person);
    join_client_send(&person, request, sizeof request - 1);
    ck_assert_int_eq(person.sends, 1);
    ck_assert_mem_eq(person.received.data, "HTTP/1.1 200 OK\r\n", 17);
    ck_assert_mem_eq(person.received.data + person.received.length - 16, "{\"status\":\"ok\"}\n",
                     16);
    ck_assert(!person.closed);
    ck_assert_uint_eq(server_deadline(&server), HTTP_IDLE_MS);
    tick_at(HTTP_IDLE_MS);
    ck_assert(person.closed);
    ck_assert_int_eq(person.sends, 1);
    join_client_fini(&person);
    teardown();
}
END_TEST

START_TEST(HEAD_is_not_mistaken_for_a_frame)
{
    static const char request[] = "HEAD /healthz HTTP/1.0\r\n\r\n";
    setup(2);
    struct join_client person;
    dial(&person);
    person.deliver = deliver_bytes;
    join_client_send(&person, request, sizeof request - 1);
    ck_assert_mem_eq(person.received.data, "HTTP/1.1 200 OK\r\n", 17);
    ck_assert(person.closed);
    join_client_fini(&person);
    teardown();
}
END_TEST

START_TEST(an_unauthenticated_client_that_dawdles_is_closed_after_5_seconds)
{
    static const char *const said[] = { "", "H", "HVD1", "HVD1\1", "GET /" };
    setup(2);
    struct join_client unauthenticated;
    now_ms = 1000;
    dial(&unauthenticated);
    now_ms = 3000;
    join_client_send(&unauthenticated, said[_i], strlen(said[_i]));
    ck_assert_uint_eq(server_deadline(&server), 1000 + SERVER_UNAUTHENTICATED_MS);
    tick_at(5999);
    ck_assert(!unauthenticated.closed);
    tick_at(6000);
    ck_assert(unauthenticated.closed);
    ck_assert_int_eq(unauthenticated.received.length > 0, *said[_i] == 'G');
    ck_assert_uint_eq(server_deadline(&server), SERVER_NEVER);
    join_client_fini(&unauthenticated);
    teardown();
}
END_TEST

START_TEST(an_OPEN_buys_no_time)
{
    setup(2);
    struct join_client unauthenticated;
    dial(&unauthenticated);
    now_ms = 4000;
    ck_assert(join_client_open(&unauthenticated));
    tick_at(SERVER_UNAUTHENTICATED_MS);
    ck_assert(unauthenticated.closed);
    join_client_fini(&unauthenticated);
    teardown();
}
END_TEST

START_TEST(the_oldest_unauthenticated_client_makes_room_for_the_newest_and_no_rank_does)
{
    enum { LIMIT = SERVER_UNAUTHENTICATED_MAX + 1 }; /* rank 1 is expected */
    static struct join_client unauthenticated[LIMIT + 2];
    setup(2);
    join(0);
    for (int i = 0; i < LIMIT; i++)
        dial(&unauthenticated[i]);
    ck_assert(!unauthenticated[0].closed);
    dial(&unauthenticated[LIMIT]);
    ck_assert(unauthenticated[0].closed && !unauthenticated[1].closed);
    hang_up(&unauthenticated[2]);
    dial(&unauthenticated[LIMIT + 1]);
    ck_assert(!unauthenticated[1].closed);
    ck_assert(!clients[0].closed);
    join(1);
    expect_welcome(&clients[0], 0, 2);
    teardown();
}
END_TEST

/* The room of those ranks that are expected is not for heads without an end. */
START_TEST(long_heads_have_no_place_in_a_crowd)
{
    static struct join_client unauthenticated[SERVER_UNAUTHENTICATED_MAX];
    static const char start[] = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
    char letters[SERVER_CROWDED_HEAD_MAX];
    struct join_client early, late, brief;
    memset(letters, 'x', sizeof letters);
    setup(1000);
    dial(&early);
    join_client_send(&early, start, sizeof start - 1);
    join_client_send(&early, letters, sizeof letters);
    ck_assert(!early.closed);
    for (int i = 0; i < SERVER_UNAUTHENTICATED_MAX; i++)
        dial(&unauthenticated[i]);
    dial(&late);
    dial(&brief);
    join_client_send(&brief, start, sizeof start - 1);
    join_client_send(&late, start, sizeof start - 1);
    join_client_send(&late, letters, sizeof letters);
    ck_assert(late.closed && !brief.closed && !early.closed && !unauthenticated[0].closed);
    join_client_send(&brief, "y\r\n\r\n", 5);
    ck_assert_uint_gt(brief.received.length, 0);
    server_close(&server);
    join_client_fini(&early);
    join_client_fini(&late);
    join_client_fini(&brief);
    for (int i = 0; i < SERVER_UNAUTHENTICATED_MAX; i++)
        join_client_fini(&unauthenticated[i]);
    teardown();
}
END_TEST

START_TEST(a_flood_of_connections_leaves_nothing_behind)
{
    static struct join_client unauthenticated[5000];
    setup(2);
    join(0);
    for (int i = 0; i < 5000; i++) {
        dial(&unauthenticated[i]);
        join_client_send(&unauthenticated[i], "GET / HT", (size_t)(i % 9));
    }
    join(1);
    expect_welcome(&clients[1], 1, 2);
    ck_assert_int_eq(server.count[SERVER_UNAUTHENTICATED], SERVER_UNAUTHENTICATED_MAX);
    tick_at(SERVER_UNAUTHENTICATED_MS);
    ck_assert_int_eq(server.count[SERVER_UNAUTHENTICATED], 0);
    for (int i = 0; i < 5000; i++)
        join_client_fini(&unauthenticated[i]);
    teardown();
}
END_TEST

/* Workers that have said OPEN stay while there is anybody else to send away. */
START_TEST(a_flood_of_connections_does_not_push_out_who_has_said_OPEN)
{
    static struct join_client unauthenticated[2000];
    setup(2);
    for (int rank = 0; rank < 2; rank++) {
        dial(&clients[rank]);
        ck_assert(join_client_open(&clients[rank]));
    }
    for (int i = 0; i < 2000; i++) {
        dial(&unauthenticated[i]);
        join_client_send(&unauthenticated[i], i % 2 ? "GET / HT" : "HVD1\1", (size_t)(i % 6));
    }
    for (int rank = 0; rank < 2; rank++) {
        struct wire_writer hello = { 0 };
        join_client_put_hello(&clients[rank], &hello, rank, 2);
        join_client_send(&clients[rank], hello.data, hello.length);
        wire_writer_fini(&hello);
    }
    ck_assert_int_eq(completed, 1);
    server_close(&server);
    for (int i = 0; i < 2000; i++)
        join_client_fini(&unauthenticated[i]);
    teardown();
}
END_TEST

#define COUNT(table) ((int)(sizeof table / sizeof *table))

static TCase *unauthenticated(void)
{
    TCase *tcase = tcase_create("unauthenticated");
    tcase_add_test(tcase, an_unauthenticated_client_with_another_key_is_closed_without_a_word);
    tcase_add_test(tcase, a_recorded_HELLO_is_worth_nothing_on_a_new_connection);
    tcase_add_test(tcase, a_HELLO_is_worth_nothing_twice_on_its_own_connection);
    tcase_add_loop_test(tcase, a_frame_out_of_order_is_closed_without_a_word, 0,
                        COUNT(strange_frames));
    tcase_add_loop_test(tcase, bytes_that_are_no_frame_are_closed, 0, 2 * COUNT(strange_bytes));
    tcase_add_test(tcase, an_OPEN_of_another_version_is_told_ours);
    tcase_add_test(tcase, a_connection_may_end_after_any_byte_before_it_has_joined);
    tcase_add_test(tcase, a_HELLO_with_any_bit_changed_does_not_join);
    tcase_add_test(tcase, people_get_their_health_check_in_one_write);
    tcase_add_test(tcase, HEAD_is_not_mistaken_for_a_frame);
    tcase_add_loop_test(tcase, an_unauthenticated_client_that_dawdles_is_closed_after_5_seconds, 0,
                        5);
    tcase_add_test(tcase, an_OPEN_buys_no_time);
    tcase_add_test(tcase,
                   the_oldest_unauthenticated_client_makes_room_for_the_newest_and_no_rank_does);
    tcase_add_test(tcase, long_heads_have_no_place_in_a_crowd);
    tcase_add_test(tcase, a_flood_of_connections_leaves_nothing_behind);
    tcase_add_test(tcase, a_flood_of_connections_does_not_push_out_who_has_said_OPEN);
    return tcase;
}

static Suite *suite(void)
{
    Suite *all = suite_create("rendezvous_unauthenticated");
    suite_add_tcase(all, unauthenticated());
    return all;
}

int main(void)
{
    return unit_run(suite());
}
