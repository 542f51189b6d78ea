/* SPDX-License-Identifier: Apache-2.0 */
/* A server for tests; see server_fixture.h. */
#include "tests/support/server_fixture.h"

#include "lib/base/rank_end_text.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct server server;
struct job_key key;
uint64_t now_ms;
int completed, timeouts;
char timeout_text[JOIN_TEXT_MAX], missing_text[JOIN_TEXT_MAX];
char reports[FIXTURE_REPORTS_MAX];
enum rank_waits_for reported_waits_for;
char service_said[FIXTURE_REPORTS_MAX];
struct join_client clients[FIXTURE_RANKS_MAX];

static void on_complete(void *context)
{
    ck_assert_ptr_eq(context, &server);
    completed++;
}

static void on_timed_out(void *context, const char *text)
{
    ck_assert_ptr_eq(context, &server);
    timeouts++;
    snprintf(timeout_text, sizeof timeout_text, "%s", text);
}

static void on_missing(void *context, const char *text)
{
    ck_assert_ptr_eq(context, &server);
    snprintf(missing_text, sizeof missing_text, "%s", text);
}

static void on_report(void *context, int rank, enum rank_waits_for waits_for, const char *text)
{
    ck_assert_ptr_eq(context, &server);
    size_t used = strlen(reports);
    int length = snprintf(reports + used, sizeof reports - used, "%d: %s|", rank, text);
    ck_assert_uint_lt(used + (size_t)length, sizeof reports);
    reported_waits_for = waits_for;
}

static void on_say(void *context, const char *job, const char *text)
{
    ck_assert_ptr_eq(context, &server);
    size_t used = strlen(service_said);
    int length = snprintf(service_said + used, sizeof service_said - used, "%s: %s|", job, text);
    ck_assert_uint_lt(used + (size_t)length, sizeof service_said);
}

static void deliver_whole(struct join_client *client, const void *data, size_t length)
{
    server_receive(client->connection, data, length, now_ms);
}

void deliver_bytes(struct join_client *client, const void *data, size_t length)
{
    for (size_t i = 0; i < length && !client->closed; i++) {
        char *byte = malloc(1); /* so that a read beyond it is seen */
        memcpy(byte, (const char *)data + i, 1);
        server_receive(client->connection, byte, 1, now_ms);
        free(byte);
    }
}

void setup(int size)
{
    static struct rendezvous_slot slots[FIXTURE_RANKS_MAX];
    struct err err;
    now_ms = 0;
    completed = timeouts = 0;
    reports[0] = '\0';
    for (int rank = 0; rank < size; rank++)
        slots[rank] = (struct rendezvous_slot){ { rank, size, rank, size, 0, 1 }, "localhost" };
    struct rendezvous_options options = { .id = "job",
                                          .slots = slots,
                                          .size = size,
                                          .key = &key,
                                          .start_timeout_ms = START_TIMEOUT_MS,
                                          .events = { on_complete, on_timed_out, on_missing,
                                                      on_report },
                                          .context = &server };
    ck_assert_int_eq(auth_init(&err), HVD_OK);
    job_key_generate(&key);
    ck_assert_int_eq(server_init(&server, &options, 0, now_ms, &err), HVD_OK);
}

void setup_service(int max_jobs)
{
    setup_service_within(max_jobs, 0);
}

void setup_service_within(int max_jobs, size_t memory_max)
{
    struct err err;
    now_ms = 0;
    service_said[0] = '\0';
    ck_assert_int_eq(auth_init(&err), HVD_OK);
    job_key_generate(&key);
    struct rendezvous_service_options options = { .key = &key,
                                                  .max_jobs = max_jobs,
                                                  .memory_max = memory_max,
                                                  .start_timeout_ms = START_TIMEOUT_MS,
                                                  .say = on_say,
                                                  .context = &server };
    server_init_service(&server, &options, 0, now_ms);
}

void teardown(void)
{
    server_close(&server);
    server_fini(&server);
    for (int rank = 0; rank < FIXTURE_RANKS_MAX; rank++) {
        join_client_fini(&clients[rank]);
        clients[rank] = (struct join_client){ 0 };
    }
}

static void connect_client(struct join_client *client, const struct job_key *with_key,
                           enum rendezvous_origin origin)
{
    join_client_init(client, with_key, deliver_whole);
    client->connection = server_accept(&server, &client->stream, origin, now_ms);
    ck_assert_ptr_nonnull(client->connection);
}

void dial_with(struct join_client *client, const struct job_key *with_key)
{
    connect_client(client, with_key, RENDEZVOUS_ELSEWHERE);
}

void dial_from(struct join_client *client, enum rendezvous_origin origin)
{
    connect_client(client, &key, origin);
}

void dial(struct join_client *client)
{
    dial_with(client, &key);
}

void hang_up(struct join_client *client)
{
    if (!client->closed)
        server_hangup(client->connection, now_ms);
    client->closed = true;
}

void join(int rank)
{
    dial(&clients[rank]);
    join_client_join(&clients[rank], rank, server.job_table.only->size);
}

void join_first(int count)
{
    for (int rank = 0; rank < count; rank++)
        join(rank);
}

void tick_at(uint64_t at_ms)
{
    now_ms = at_ms;
    server_tick(&server, now_ms);
}

void expect_nothing(struct join_client *client)
{
    struct join_reply reply;
    ck_assert(!join_client_next(client, &reply));
}

void expect_welcome(struct join_client *client, int rank, int size)
{
    struct join_reply reply;
    ck_assert(join_client_next(client, &reply));
    ck_assert_int_eq(reply.type, JOIN_WELCOME);
    const struct join_welcome *welcome = &reply.welcome;
    int ranks[NEIGHBOURS_MAX];
    ck_assert_int_eq(welcome->rank_info.rank, rank);
    ck_assert_int_eq(welcome->rank_info.local_size, size);
    ck_assert(welcome->homogeneous);
    ck_assert_uint_eq(welcome->epoch, 0);
    ck_assert_int_eq(welcome->nneighbours, neighbours(ranks, rank, size, welcome->star));
    for (int i = 0; i < welcome->nneighbours; i++) {
        char address[JOIN_ADDRESS_MAX];
        join_client_address(address, ranks[i]);
        ck_assert_int_eq(welcome->neighbours[i].rank, ranks[i]);
        ck_assert_str_eq(welcome->neighbours[i].addresses.text[0], address);
        ck_assert_str_eq(welcome->neighbours[i].host, "localhost");
    }
}

void expect_refused(struct join_client *client, int status, const char *text)
{
    struct join_reply reply;
    ck_assert(join_client_next(client, &reply));
    ck_assert_int_eq(reply.type, JOIN_REFUSED);
    ck_assert_int_eq(reply.refused.status, status);
    ck_assert_str_eq(reply.refused.text, text);
    ck_assert(client->closed);
}

void expect_news(struct join_client *client, int status, int rank, const char *text)
{
    struct join_reply reply;
    ck_assert(join_client_next(client, &reply));
    ck_assert_int_eq(reply.type, JOIN_NEWS);
    char words[500];
    rank_end_text(words, sizeof words, &reply.news);
    ck_assert_int_eq(reply.news.status, status);
    ck_assert_int_eq(reply.news.rank, rank);
    ck_assert_str_eq(words, text);
}

void expect_ask(struct join_client *client)
{
    struct join_reply reply;
    ck_assert(join_client_next(client, &reply));
    ck_assert_int_eq(reply.type, JOIN_ASK);
    ck_assert_int_eq(reply.ask.size, JOIN_REPORT_MAX);
}

void expect_undisturbed(void)
{
    join_first(2);
    expect_welcome(&clients[0], 0, 2);
    expect_welcome(&clients[1], 1, 2);
    ck_assert_int_eq(completed, 1);
}
