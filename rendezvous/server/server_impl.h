/* SPDX-License-Identifier: Apache-2.0 */
/* The hub from inside: what hub.c (who is connected), hub_receive.c (what comes in), hub_meeting.c
 * (what becomes of jobs) and hub_roll_call.c (what their ranks do) share. */
#ifndef RENDEZVOUS_SERVER_HUB_IMPL_H
#define RENDEZVOUS_SERVER_HUB_IMPL_H

#include "rendezvous/server/server.h"

/* Around everything that a carrier calls. The outermost call reports on ranks, lets held requests
 * go on, and frees what has been closed meanwhile. */
void hub_enter(struct hub *hub, uint64_t now_ms);
void hub_leave(struct hub *hub);

/* The hub that answers HTTP with `service`. */
struct hub *hub_of(struct http_service *service);

/* As http_workers has them. */
int hub_ask_meeting(struct http_service *service, struct meeting *meeting, uint64_t now_ms);
void hub_end_meeting(struct http_service *service, struct meeting *meeting, const char *why,
                     uint64_t now_ms);

/* Something wants hub_tick() at `deadline_ms`. */
void hub_due(struct hub *hub, uint64_t deadline_ms);

/* Moves a connection among those of another standing. */
void hub_stand(struct rendezvous_connection *connection, enum hub_standing standing);

/* Sends and frees what was written; false if it could not be written for want of memory. */
bool hub_flush(struct rendezvous_connection *connection, struct wire_writer *out);

/* Ends a connection after what was sent; the second also says that its worker, if it has one, broke
 * off. Its memory stays until hub_leave(). */
void hub_end(struct rendezvous_connection *connection);
void hub_send_away(struct rendezvous_connection *connection);

/* Requests go on whose carrier goes before the verdict comes. */
void hub_wake_brief(struct hub *hub, struct wait_list *waiters);

/* A session's answer goes out and, unless it `goes_on`, the connection ends. */
void hub_http_went(struct rendezvous_connection *connection, bool goes_on, struct wire_writer *out);

/* What a worker says, or that its connection is over without a word. The connection of a worker
 * that is refused ends. */
void hub_on_hello(struct rendezvous_connection *connection, const struct join_hello *hello);
void hub_on_report(struct rendezvous_connection *connection, const struct join_report *report);
void hub_on_word(struct rendezvous_connection *connection, const struct rank_end *word);
void hub_on_goodbye(struct rendezvous_connection *connection, const struct rank_end *goodbye);
void hub_on_broken(struct hub *hub, struct meeting *meeting, int rank, int guest);

/* A connection of a job is over, whatever it has said. */
void hub_worker_gone(struct rendezvous_connection *connection);

/* Time has passed for a job. */
void hub_meeting_tick(struct hub *hub, struct meeting *meeting);

/* Tells the texts of roll calls as far as they are known: whatever has happened may have settled
 * some. Then, once those that watched have their answer, begins what the launcher asked meanwhile;
 * says whether it did. */
void hub_report(struct hub *hub);
bool hub_ask_again(struct hub *hub);

#endif
