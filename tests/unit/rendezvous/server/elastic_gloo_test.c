/* SPDX-License-Identifier: Apache-2.0 */
/* Unmodified Horovod workers of an elastic job at the rendezvous: their requests are held until the
 * next world is made. Each client comes from a host with workers of its own. */
#include "rendezvous/server/server.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* Clients are static in the tests, because the server is closed after the test has returned. */
struct client {
    struct rendezvous_stream stream;
    struct rendezvous_connection *connection;
    char got[2000];
    size_t length;
};

static struct server server;
static char events[500]; /* "met 0|world 0 1|..." */

static void note(const char *format, int number)
{
    size_t length = strlen(events);
    snprintf(events + length, sizeof events - length, format, number);
}

static void on_send(struct rendezvous_stream *stream, const void *data, size_t length)
{
    struct client *client = (struct client *)stream;
    ck_assert_uint_lt(client->length + length, sizeof client->got);
    memcpy(client->got + client->length, data, length);
    client->length += length;
    client->got[client->length] = '\0';
}

static void on_close(struct rendezvous_stream *stream)
{
    ((struct client *)stream)->connection = NULL;
}

static void on_met(void *context, int worker)
{
    (void)context;
    note("met %d|", worker);
}

static void on_met_gloo(void *context, int worker)
{
    (void)context;
    note("gloo %d|", worker);
}

static void on_listens(void *context, int worker, const char *text, size_t length)
{
    (void)context, (void)text, (void)length;
    note("listens %d|", worker);
}

static void on_hosts_updated(void *context, int worker)
{
    (void)context;
    note("notify %d|", worker);
}

static void on_complete(void *context)
{
    (void)context;
}

static void on_world(void *context, int epoch, const int *workers, int size)
{
    (void)context, (void)epoch;
    note("world", 0);
    for (int i = 0; i < size; i++)
        note(" %d", workers[i]);
    note("|", 0);
}

static void intend(const int *workers, int count)
{
    struct rendezvous_member members[4];
    for (int i = 0; i < count; i++)
        members[i] = (struct rendezvous_member){ workers[i], workers[i] < 2 ? "a" : "b" };
    ck_assert_int_eq(server_intend(&server, members, count, 1, NULL), HVD_OK);
}

/* Workers 0 and 1 on host a, 2 and 3 on b, each started for the rank of its number. */
static void setup_gloo(void)
{
    static struct job_key key;
    struct rendezvous_options options = { .id = "job", .elastic = true, .key = &key };
    options.events = (struct rendezvous_events){ .complete = on_complete,
                                                 .met = on_met,
                                                 .met_gloo = on_met_gloo,
                                                 .listens = on_listens,
                                                 .hosts_updated = on_hosts_updated,
                                                 .world = on_world };
    events[0] = '\0';
    ck_assert_int_eq(server_init(&server, &options, 0, 0, NULL), HVD_OK);
    for (int worker = 0; worker < 4; worker++) {
        const struct rank_info place = { .rank = worker, .size = 4 };
        server_place_worker(&server, worker, &place);
    }
}

static void teardown_gloo(void)
{
    server_close(&server);
    server_fini(&server);
}

/* A request of a worker that runs on the host of `worker`. */
static void ask(struct client *client, int worker, const char *method, const char *path,
                const char *body)
{
    char text[300];
    *client = (struct client){
        .stream = { .send = on_send, .close = on_close, .worker = worker / 2 * 2, .workers = 2 }
    };
    client->connection = server_accept(&server, &client->stream, RENDEZVOUS_OWN_UID, 1);
    int length = snprintf(text, sizeof text,
                          "%s %s HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: %zu\r\n\r\n%s",
                          method, path, strlen(body), body);
    server_receive(client->connection, text, (size_t)length, 1);
}

static bool is_answered(const struct client *client, const char *status, const char *end)
{
    size_t length = strlen(end);
    return client->length >= length && strstr(client->got, status) &&
           strcmp(client->got + client->length - length, end) == 0;
}

static const int all[] = { 0, 1, 2, 3 };

static void first_world(struct client clients[4])
{
    intend(all, 4);
    for (int worker = 0; worker < 4; worker++) {
        char path[20];
        snprintf(path, sizeof path, "/global/%d", worker);
        for (int i = 0; i < worker; i++)
            ck_assert_uint_eq(clients[i].length, 0);
        ask(&clients[worker], worker, "PUT", path, "address");
    }
    for (int worker = 0; worker < 4; worker++)
        ck_assert(is_answered(&clients[worker], " 200 ", "\r\n\r\n"));
}

START_TEST(the_first_world_waits_for_the_addresses_of_all)
{
    static struct client clients[4], other;
    first_world(clients);
    ck_assert_str_eq(events, "gloo 0|met 0|gloo 1|met 1|gloo 2|met 2|gloo 3|met 3|world 0 1 2 3|");
    ask(&other, 0, "GET", "/global/3", "");
    ck_assert(is_answered(&other, " 200 ", "address"));
}
END_TEST

START_TEST(workers_that_ask_are_held_until_the_next_world)
{
    static const int left[] = { 2, 3 };
    static struct client clients[4], two, three, key_of_old;
    first_world(clients);
    ask(&two, 2, "GET", "/rank_and_size/b:0", "");
    ask(&three, 3, "GET", "/rank_and_size/b:1", "");
    server_tick(&server, 1000000000);
    ck_assert_uint_eq(two.length + three.length, 0);
    intend(left, 2);
    ck_assert(is_answered(&two, " 200 ", "\r\n0,2,0,2,0,1"));
    ck_assert(is_answered(&three, " 200 ", "\r\n1,2,1,2,0,1"));
    ask(&key_of_old, 2, "GET", "/global/1?wait=0", "");
    ck_assert(is_answered(&key_of_old, " 204 ", "\r\n\r\n"));
}
END_TEST

START_TEST(a_removed_worker_hears_that_it_has_no_place)
{
    static struct client clients[4], waits, comes;
    first_world(clients);
    ask(&waits, 1, "GET", "/rank_and_size/a:1", "");
    server_remove(&server, 1, 1);
    server_remove(&server, 0, 1);
    ask(&comes, 0, "GET", "/rank_and_size/a:0", "");
    ck_assert(is_answered(&waits, " 200 ", "-1,-1,-1,-1,-1,-1"));
    ck_assert(is_answered(&comes, " 200 ", "-1,-1,-1,-1,-1,-1"));
}
END_TEST

START_TEST(a_worker_that_ends_while_it_waits_is_in_no_world)
{
    const struct rank_end_how killed = { .kind = RANK_END_KILLED };
    static const int left[] = { 2, 3 };
    static struct client clients[4], two, three;
    first_world(clients);
    ask(&two, 2, "GET", "/rank_and_size/b:0", "");
    server_rank_ended(&server, 2, &killed, 1);
    ask(&three, 3, "GET", "/rank_and_size/b:1", "");
    intend(left, 2);
    ck_assert_uint_eq(three.length, 0);
    intend(left + 1, 1);
    ck_assert(is_answered(&three, " 200 ", "\r\n0,1,0,1,0,1"));
}
END_TEST

START_TEST(rank_0_of_a_running_world_is_to_be_notified)
{
    static const int left[] = { 2, 3 };
    static struct client clients[4], address;
    first_world(clients);
    ask(&address, 1, "PUT", "/worker_addresses/a:1", "where");
    ck_assert(is_answered(&address, " 200 ", "\r\n\r\n"));
    intend(left, 2);
    ck_assert_ptr_nonnull(strstr(events, "|listens 1|notify 0|"));
}
END_TEST

START_TEST(a_new_worker_that_has_another_rank_is_refused)
{
    static const int wrong[] = { 0, 1, 3 };
    static struct client clients[3];
    intend(wrong, 3);
    ask(&clients[0], 0, "PUT", "/global/0", "address");
    ask(&clients[1], 1, "PUT", "/global/1", "address");
    ask(&clients[2], 3, "PUT", "/global/3", "address");
    ck_assert_ptr_nonnull(strstr(clients[2].got, " 409 "));
    ck_assert(is_answered(&clients[0], " 200 ", "\r\n\r\n"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic_gloo");
    TCase *tcase = tcase_create("elastic_gloo");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup_gloo, teardown_gloo);
    tcase_add_test(tcase, the_first_world_waits_for_the_addresses_of_all);
    tcase_add_test(tcase, workers_that_ask_are_held_until_the_next_world);
    tcase_add_test(tcase, a_removed_worker_hears_that_it_has_no_place);
    tcase_add_test(tcase, a_worker_that_ends_while_it_waits_is_in_no_world);
    tcase_add_test(tcase, rank_0_of_a_running_world_is_to_be_notified);
    tcase_add_test(tcase, a_new_worker_that_has_another_rank_is_refused);
    return unit_run(suite);
}
