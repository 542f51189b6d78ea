/* SPDX-License-Identifier: Apache-2.0 */
/* The same short job again and again, each time with another allocation failing: it may not come
 * about, but nothing leaks, nothing crashes, and whoever was let in is answered or closed. Linked
 * with -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc. */
#include "rendezvous/server/server.h"
#include "tests/support/join_client.h"
#include "tests/support/rank_ends.h"
#include "tests/support/unit.h"

#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static int countdown;  /* to the allocation that fails; 0 when none does */
static bool in_server; /* the test's own allocations do not fail */

static bool fails(void)
{
    return in_server && countdown > 0 && --countdown == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails() ? NULL : __real_realloc(memory, size);
}

static struct server server;
static struct job_key key;
static struct join_client clients[3];
static int nreported;

static void deliver(struct join_client *client, const void *data, size_t length)
{
    in_server = true;
    server_receive(client->connection, data, length, 0);
    in_server = false;
}

/* The client's stream keeps what it is sent, which must not fail. */
static void keep(struct rendezvous_stream *stream, const void *data, size_t length)
{
    in_server = false;
    wire_put_bytes(&((struct join_client *)stream)->received, data, length);
    in_server = true;
}

static void on_complete(void *context)
{
    ++*(int *)context;
}

static void on_timed_out(void *context, const char *text)
{
    ck_abort_msg("%s %p", text, context);
}

static void on_report(void *context, int rank, enum rank_waits_for waits_for, const char *text)
{
    (void)context;
    (void)waits_for;
    in_server = false;
    ck_assert_int_eq(rank, nreported++);
    ck_assert_str_ne(text, "");
    in_server = true;
}

static bool dial(struct join_client *client)
{
    join_client_init(client, &key, deliver);
    client->stream.send = keep;
    in_server = true;
    client->connection = server_accept(&server, &client->stream, RENDEZVOUS_ELSEWHERE, 0);
    in_server = false;
    client->closed = !client->connection;
    return client->connection;
}

/* Size 0 for an elastic job. */
static void join(int rank, int size)
{
    struct join_client *client = &clients[rank];
    struct wire_writer hello = { 0 };
    if (!dial(client) || !join_client_open(client))
        return;
    join_client_put_hello(client, &hello, rank, size);
    join_client_send(client, hello.data, hello.length);
    wire_writer_fini(&hello);
}

static void answer(int rank)
{
    struct join_client *client = &clients[rank];
    struct join_reply reply;
    while (!client->closed && join_client_next(client, &reply))
        if (reply.type == JOIN_ASK)
            join_client_report(client, "waiting\n");
}

/* Every rank is reported, or none for want of memory. */
static void ask(void)
{
    struct err err = { 0 };
    nreported = 0;
    in_server = true;
    int rc = server_ask(&server, 0, &err);
    in_server = false;
    answer(0);
    answer(1);
    in_server = true;
    server_tick(&server, RANK_QUERY_MS);
    in_server = false;
    ck_assert_int_eq(rc, nreported == 2 ? HVD_OK : HVD_ERR_NOMEM);
}

static void play(void)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    join(0, 2);
    if (dial(&clients[2]))
        join_client_send(&clients[2], request, sizeof request - 1);
    join(1, 2);
    ask();
    in_server = true;
    if (!clients[1].closed)
        server_hangup(clients[1].connection, RANK_QUERY_MS);
    server_rank_ended(&server, 1, KILLED_BY(9), RANK_QUERY_MS);
    server_tick(&server, RANK_QUERY_MS + MEMBERSHIP_GRACE_MS);
    in_server = false;
}

/* Whoever got a WELCOME, which ask() has read, has learned of the loss or was closed; before,
 * everybody was closed or waits for nothing. */
static void check_outcome(int completed)
{
    struct join_reply reply;
    if (clients[0].closed)
        return;
    ck_assert_int_eq(completed, 1);
    ck_assert(join_client_next(&clients[0], &reply));
    ck_assert_int_eq(reply.news.status, HVD_ERR_PEER_LOST);
}

/* Returns whether the allocation existed. */
static bool run_with_failure(int which)
{
    static const struct rendezvous_slot slots[2] = { { { 0, 2, 0, 2, 0, 1 }, "a" },
                                                     { { 1, 2, 1, 2, 0, 1 }, "a" } };
    int completed = 0;
    struct rendezvous_options options = { .id = "job",
                                          .slots = slots,
                                          .size = 2,
                                          .key = &key,
                                          .start_timeout_ms = 100000,
                                          .events = { on_complete, on_timed_out, NULL, on_report },
                                          .context = &completed };
    struct err err = { 0 };
    countdown = which;
    in_server = true;
    int rc = server_init(&server, &options, 0, 0, &err);
    in_server = false;
    if (rc != HVD_OK) {
        ck_assert_int_eq(err.code, HVD_ERR_NOMEM);
        return true;
    }
    play();
    check_outcome(completed);
    server_close(&server);
    server_fini(&server);
    for (int i = 0; i < 3; i++)
        join_client_fini(&clients[i]);
    return countdown == 0;
}

START_TEST(any_allocation_may_fail)
{
    struct err err;
    ck_assert_int_eq(auth_init(&err), HVD_OK);
    job_key_generate(&key);
    int which = 1;
    while (run_with_failure(which))
        which++;
    ck_assert_int_gt(which, 20);
}
END_TEST

static void on_elastic_world(void *context, int epoch, const int *workers, int size)
{
    (void)epoch;
    in_server = false;
    ck_assert_int_eq(size, 2);
    ck_assert_int_eq(workers[0] + workers[1], 1);
    in_server = true;
    ++*(int *)context;
}

static bool is_welcomed(int rank)
{
    struct join_reply reply;
    bool welcomed = false;
    while (join_client_next(&clients[rank], &reply))
        welcomed |= reply.type == JOIN_WELCOME;
    return welcomed;
}

/* The same with an elastic job. The launcher hears of every world of which a worker hears. */
static bool run_elastic_with_failure(int which)
{
    static const struct rendezvous_member members[2] = { { 0, "a" }, { 1, "a" } };
    int worlds = 0;
    struct rendezvous_options options = { .id = "job",
                                          .elastic = true,
                                          .key = &key,
                                          .events = { .world = on_elastic_world },
                                          .context = &worlds };
    struct err err = { 0 };
    countdown = 0;
    ck_assert_int_eq(server_init(&server, &options, 0, 0, &err), HVD_OK);
    countdown = which;
    in_server = true;
    bool intended = server_intend(&server, members, 2, 0, &err) == HVD_OK;
    in_server = false;
    join(0, 0);
    join(1, 0);
    bool welcomed = is_welcomed(0) || is_welcomed(1);
    if (intended && countdown > 0)
        ck_assert(welcomed);
    ck_assert_int_eq(worlds, welcomed);
    server_close(&server);
    server_fini(&server);
    for (int i = 0; i < 2; i++)
        join_client_fini(&clients[i]);
    return countdown == 0;
}

START_TEST(the_launcher_hears_of_every_world_whichever_allocation_fails)
{
    struct err err;
    ck_assert_int_eq(auth_init(&err), HVD_OK);
    job_key_generate(&key);
    int which = 1;
    while (run_elastic_with_failure(which))
        which++;
    ck_assert_int_gt(which, 10);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("memory");
    tcase_add_test(tcase, any_allocation_may_fail);
    tcase_add_test(tcase, the_launcher_hears_of_every_world_whichever_allocation_fails);
    Suite *all = suite_create("rendezvous_memory");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
