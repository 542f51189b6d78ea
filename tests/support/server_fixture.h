/* SPDX-License-Identifier: Apache-2.0 */
/* A server (rendezvous/server/server.h) with a job of ranks on localhost, clients in memory, and a
 * clock that the test turns. One per test program. */
#ifndef TESTS_SUPPORT_SERVER_FIXTURE_H
#define TESTS_SUPPORT_SERVER_FIXTURE_H

#include "rendezvous/server/server.h"
#include "tests/support/join_client.h"

enum { FIXTURE_RANKS_MAX = 1000, FIXTURE_REPORTS_MAX = 64 * 1024, START_TIMEOUT_MS = 30000 };

extern struct server server;
extern struct job_key key;
extern uint64_t now_ms;
extern int completed, timeouts; /* events that the launcher got */
extern char timeout_text[JOIN_TEXT_MAX], missing_text[JOIN_TEXT_MAX];
extern char service_said[FIXTURE_REPORTS_MAX];        /* by a service: "job: text|job: text|..." */
extern char reports[FIXTURE_REPORTS_MAX];             /* "0: text|1: text|..." */
extern enum rank_waits_for reported_waits_for;        /* of the last of them */
extern struct join_client clients[FIXTURE_RANKS_MAX]; /* of each rank */

/* A job of `size` ranks; a service with room for `max_jobs`, whose key is `key`; closes and frees
 * everything. */
void setup(int size);
void setup_service(int max_jobs);
void setup_service_within(int max_jobs, size_t memory_max);
void teardown(void);

/* Opens a connection, with the job's key or another one; closes it. */
void dial(struct join_client *client);
void dial_with(struct join_client *client, const struct job_key *with_key);
void dial_from(struct join_client *client, enum rendezvous_origin origin);
void hang_up(struct join_client *client);

/* For client->deliver: each byte on its own. */
void deliver_bytes(struct join_client *client, const void *data, size_t length);

/* Rank `rank`, or each of ranks 0 to count - 1, dials and says HELLO. */
void join(int rank);
void join_first(int count);

void tick_at(uint64_t at_ms);

/* The next message of the rendezvous, or that there is none. */
void expect_nothing(struct join_client *client);
void expect_welcome(struct join_client *client, int rank, int size);
void expect_refused(struct join_client *client, int status, const char *text);
void expect_news(struct join_client *client, int status, int rank, const char *text);
void expect_ask(struct join_client *client);

/* A world of two still comes about, whatever has happened to the unauthenticated clients before. */
void expect_undisturbed(void);

#endif
