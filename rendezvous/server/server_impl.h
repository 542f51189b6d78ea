/* SPDX-License-Identifier: Apache-2.0 */
/* The server from inside: what server.c (who is connected), server_admission.c (how many may be),
 * server_receive.c (what comes in), server_join.c (who joins), server_job.c (what becomes of jobs),
 * server_elastic.c (of elastic ones) and server_rank_query.c (what their ranks do) share. */
#ifndef RENDEZVOUS_SERVER_SERVER_IMPL_H
#define RENDEZVOUS_SERVER_SERVER_IMPL_H

#include "rendezvous/server/server.h"

/* Around everything that a carrier calls. The outermost call reports on ranks, lets held requests
 * go on, and frees what has been closed meanwhile. */
void server_enter(struct server *server, uint64_t now_ms);
void server_leave(struct server *server);

/* The server that answers HTTP with `service`. */
struct server *server_of(struct http_service *service);

/* As http_workers has them. */
int server_ask_job(struct http_service *service, struct rendezvous_job *job, uint64_t now_ms);
int server_gloo_waits(struct http_service *service, struct rendezvous_job *job, int worker,
                      uint64_t now_ms);
void server_gloo_listens(struct http_service *service, int worker, const char *text, size_t length);
void server_end_job(struct http_service *service, struct rendezvous_job *job, const char *why,
                    uint64_t now_ms);

/* Notes that server_tick() must be called at `deadline_ms`. */
void server_due(struct server *server, uint64_t deadline_ms);

/* Moves a connection among those of another role. */
void server_set_role(struct rendezvous_connection *connection, enum server_role role);

/* Before a connection is added: ends the least wanted unauthenticated clients while there are too
 * many. */
void server_make_room(struct server *server);

/* Sends and frees what was written; false if it could not be written for want of memory. */
bool server_flush(struct rendezvous_connection *connection, struct wire_writer *out);

/* Ends a connection after what was sent; the second also says that its worker, if it has one,
 * disconnected. Its memory stays until server_leave(). */
void server_end(struct rendezvous_connection *connection);
void server_send_away(struct rendezvous_connection *connection);

/* Wakes the requests whose carrier may be gone before the verdict comes. */
void server_wake_brief(struct server *server, struct wait_list *waiters);

/* A session's answer goes out and, unless it `goes_on`, the connection ends. */
void server_http_went(struct rendezvous_connection *connection, bool goes_on,
                      struct wire_writer *out);

/* The messages of a worker, and the end of its connection without GOODBYE. The connection of a
 * worker that is refused ends. */
void server_on_hello(struct rendezvous_connection *connection, const struct join_hello *hello);
void server_on_report(struct rendezvous_connection *connection, const struct join_report *report);
void server_on_word(struct rendezvous_connection *connection, const struct rank_end *word);
void server_on_goodbye(struct rendezvous_connection *connection, const struct rank_end *goodbye);
void server_on_broken(struct server *server, struct rendezvous_job *job, struct server_place place);

/* A connection of a job is over, whatever it has said. */
void server_worker_gone(struct rendezvous_connection *connection);

/* What server_job.c, server_join.c and server_elastic.c share. server_carry_out() does what the
 * last event has made necessary. server_take_in() makes a connection that of a worker of the job.
 * server_refuse() refuses a worker and ends its connection. server_tell_to_wait() tells a worker
 * how long to wait (SERVER_NEVER: without a limit). server_job_say() reports a line to the
 * operator. */
void server_carry_out(struct server *server, struct rendezvous_job *job);
void server_take_in(struct rendezvous_connection *connection, struct rendezvous_job *job,
                    struct server_place place);
void server_refuse(struct rendezvous_connection *connection, int status, const char *text);
void server_tell_to_wait(struct rendezvous_connection *connection, uint64_t until_ms,
                         struct join_waiting *waiting);
void server_job_say(struct server *server, const char *job, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The world of a job is complete: reports it to the launcher. */
void server_on_complete(struct server *server, struct rendezvous_job *job);

/* The start of a job has failed: refuses its pending workers, with the reason. */
void server_clear_pending(struct server *server, struct rendezvous_job *job);

/* The world is about to be replaced: its connections have the place SERVER_NOWHERE from now on. */
void server_leave_world(struct server *server, struct rendezvous_job *job);

/* A HELLO for an elastic job. */
int server_elastic_hello(struct rendezvous_connection *connection, struct rendezvous_job *job,
                         const struct join_hello *hello, struct err *err);

/* Carries out what an elastic job wants: makes worlds, refuses, tells of other members. */
void server_elastic_move(struct server *server, struct rendezvous_job *job);

/* Refuses all workers of an elastic job that wait. */
void server_elastic_refuse_all(struct server *server, struct rendezvous_job *job, int status,
                               const char *text);

/* Ends a rank query that is under way, because the world that it asks is replaced. */
void server_query_end(struct server *server, struct rendezvous_job *job);

/* Time has passed for a job. */
void server_job_tick(struct server *server, struct rendezvous_job *job);

/* Reports the texts of rank queries that the last event has completed. When the watchers of a
 * query have their answer, begins the query that the launcher has asked for meanwhile, and
 * returns true if there was one. */
void server_report(struct server *server);
bool server_ask_again(struct server *server);

#endif
