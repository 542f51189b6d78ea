/* SPDX-License-Identifier: Apache-2.0 */
/* The connections that an agent relays, between frames on one side and the rendezvous' calls on the
 * other: a rendezvous that keeps what it hears, a link whose other end is read here. */
#include "tests/support/host_link_fixture.h"

#include <string.h>

/* A connection of the rendezvous, found by when it came. */
struct rendezvous_connection {
    struct rendezvous_stream *stream;
    enum rendezvous_origin origin;
    char received[64];
    bool hung_up;
};

static struct rendezvous_connection connections[4];
static int nconnections;
static bool refuses;

static struct rendezvous_connection *accept_connection(struct rendezvous *rendezvous,
                                                       struct rendezvous_stream *stream,
                                                       enum rendezvous_origin origin)
{
    ck_assert_ptr_eq(rendezvous, &connections);
    if (refuses)
        return NULL;
    struct rendezvous_connection *connection = &connections[nconnections++];
    *connection = (struct rendezvous_connection){ .stream = stream, .origin = origin };
    return connection;
}

static void receive(struct rendezvous_connection *connection, const void *data, size_t length)
{
    ck_assert(!connection->hung_up);
    strncat(connection->received, data, length);
    if (strcmp(connection->received, "bye") == 0)
        connection->stream->close(connection->stream);
}

static void hang_up(struct rendezvous_connection *connection)
{
    ck_assert(!connection->hung_up);
    connection->hung_up = true;
}

static const struct rendezvous_server server = { (struct rendezvous *)&connections,
                                                 accept_connection, receive, hang_up };

static void set_up(void)
{
    static const struct job_options options = { .verbose = false };
    static const int ranks[] = { 0 };
    host_link_set_up((struct job_host){ .phase = HOST_READY,
                                        .linked = true,
                                        .where = { .ranks = ranks, .local_size = 1 },
                                        .options = &options,
                                        .rendezvous = &server });
    nconnections = 0;
    refuses = false;
}

static void tear_down(void)
{
    job_host_hang_up_relay(&host);
    host_link_tear_down();
}

static int hear(uint16_t type, struct wire_writer *body)
{
    struct err err;
    struct frame frame = { .type = type, .length = (uint32_t)body->length, .body = body->data };
    int rc = job_host_on_frame(&host, &frame, &err);
    wire_writer_fini(body);
    return rc;
}

static void hear_open(uint32_t id, bool own)
{
    struct agent_relay_client client = { id, own };
    struct wire_writer body = { 0 };
    agent_relay_client_encode(&body, &client);
    ck_assert_int_eq(hear(AGENT_RELAY_OPEN, &body), HVD_OK);
}

static void hear_data(uint32_t id, const char *text)
{
    struct wire_writer body = { 0 };
    wire_put_u32(&body, id);
    wire_put_bytes(&body, text, strlen(text));
    ck_assert_int_eq(hear(AGENT_RELAY_DATA, &body), HVD_OK);
}

static void hear_end(uint32_t id)
{
    struct wire_writer body = { 0 };
    wire_put_u32(&body, id);
    ck_assert_int_eq(hear(AGENT_RELAY_END, &body), HVD_OK);
}

/* What hvdrun says next is such a frame, about that connection. Returns its bytes. */
static size_t said(uint16_t type, uint32_t id, const void **bytes)
{
    struct frame frame;
    struct wire_reader body;
    while (!host_link_comes(&frame))
        ;
    wire_reader_init(&body, frame.body, frame.length);
    ck_assert_int_eq(frame.type, type);
    ck_assert_uint_eq(wire_get_u32(&body), id);
    size_t length = body.left;
    *bytes = wire_get_bytes(&body, length);
    return length;
}

static void said_end(uint32_t id)
{
    const void *nothing;
    ck_assert_uint_eq(said(AGENT_RELAY_END, id, &nothing), 0);
}

START_TEST(bytes_go_to_the_rendezvous_and_what_it_sends_to_the_agent)
{
    const void *bytes;
    hear_open(7, true);
    hear_open(7 + JOB_HOST_RELAY_LISTS, false);
    ck_assert_int_eq(connections[0].origin, RENDEZVOUS_OWN_UID);
    ck_assert_int_eq(connections[1].origin, RENDEZVOUS_ELSEWHERE);
    hear_data(7 + JOB_HOST_RELAY_LISTS, "second");
    hear_data(7, "fi");
    hear_data(7, "rst");
    ck_assert_str_eq(connections[0].received, "first");
    ck_assert_str_eq(connections[1].received, "second");
    connections[0].stream->send(connections[0].stream, "answer", 6);
    ck_assert_uint_eq(said(AGENT_RELAY_DATA, 7, &bytes), 6);
    ck_assert_mem_eq(bytes, "answer", 6);
}
END_TEST

START_TEST(a_large_answer_leaves_in_pieces_and_in_order)
{
    enum { SIZE = 600 * 1024 };
    static char answer[SIZE];
    const void *bytes;
    size_t length = 0;
    for (size_t i = 0; i < SIZE; i++)
        answer[i] = (char)(i * 31 / 7);
    hear_open(1, true);
    connections[0].stream->send(connections[0].stream, answer, SIZE);
    while (length < SIZE) {
        size_t piece = said(AGENT_RELAY_DATA, 1, &bytes);
        ck_assert_uint_le(piece, SIZE - length);
        ck_assert_uint_lt(piece, SIZE);
        ck_assert_mem_eq(bytes, answer + length, piece);
        length += piece;
    }
}
END_TEST

START_TEST(a_connection_that_is_not_wanted_ends_at_once)
{
    refuses = true;
    hear_open(3, false);
    said_end(3);
    hear_data(3, "is not heard");
    refuses = false;
    hear_open(3, false); /* the number is free again */
    ck_assert_int_eq(nconnections, 1);
}
END_TEST

START_TEST(without_a_rendezvous_no_connection_is_wanted)
{
    static const struct rendezvous_server none = { 0 };
    host.rendezvous = &none;
    hear_open(3, true);
    said_end(3);
}
END_TEST

START_TEST(a_number_that_is_taken_opens_nothing)
{
    hear_open(3, false);
    hear_open(3, true);
    ck_assert_int_eq(nconnections, 1);
    hear_data(3, "hello");
    ck_assert_str_eq(connections[0].received, "hello");
}
END_TEST

START_TEST(the_rendezvous_may_end_a_connection_while_it_receives)
{
    hear_open(5, true);
    hear_data(5, "bye");
    said_end(5);
    hear_data(5, "is not heard");
    hear_end(5); /* had been said before it heard of the other */
    said_end(5);
    ck_assert(!connections[0].hung_up);
}
END_TEST

START_TEST(the_end_that_the_agent_tells_is_answered)
{
    hear_open(5, true);
    hear_end(5);
    ck_assert(connections[0].hung_up);
    said_end(5);
}
END_TEST

START_TEST(a_host_that_is_lost_takes_its_connections_along)
{
    hear_open(1, true);
    hear_open(1 + JOB_HOST_RELAY_LISTS, true);
    hear_open(2, true);
    host.phase = HOST_LOST;
    connections[2].stream->send(connections[2].stream, "too late", 8);
    job_host_hang_up_relay(&host);
    for (int i = 0; i < 3; i++)
        ck_assert(connections[i].hung_up);
    ck_assert_uint_eq(frame_link_queued(&host.link), 0);
}
END_TEST

START_TEST(a_malformed_frame_breaks_the_link)
{
    static const uint16_t types[] = { AGENT_RELAY_OPEN, AGENT_RELAY_DATA, AGENT_RELAY_END };
    struct wire_writer body = { 0 };
    wire_put_u8(&body, 1);
    ck_assert_int_eq(hear(types[_i], &body), HVD_ERR_PROTOCOL);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("job_host_relay");
    TCase *relay = tcase_create("relay");
    tcase_add_checked_fixture(relay, set_up, tear_down);
    tcase_add_test(relay, bytes_go_to_the_rendezvous_and_what_it_sends_to_the_agent);
    tcase_add_test(relay, a_large_answer_leaves_in_pieces_and_in_order);
    tcase_add_test(relay, a_connection_that_is_not_wanted_ends_at_once);
    tcase_add_test(relay, without_a_rendezvous_no_connection_is_wanted);
    tcase_add_test(relay, a_number_that_is_taken_opens_nothing);
    tcase_add_test(relay, the_rendezvous_may_end_a_connection_while_it_receives);
    tcase_add_test(relay, the_end_that_the_agent_tells_is_answered);
    tcase_add_test(relay, a_host_that_is_lost_takes_its_connections_along);
    tcase_add_loop_test(relay, a_malformed_frame_breaks_the_link, 0, 3);
    suite_add_tcase(suite, relay);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
