/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a job when a worker says or does something, or time passes: lobby and membership
 * decide, and here their decisions are carried out on the workers' connections. A worker that a
 * message cannot be sent to for want of memory has broken off. */
#include "rendezvous/server/server_impl.h"

#include "lib/base/rank_end_text.h"
#include "rendezvous/world/membership_text.h"
#include "rendezvous/world/pending_workers_text.h"

#include <stdarg.h>
#include <stdio.h>

/* To the people of a service. */
static void __attribute__((format(printf, 3, 4)))
say(struct hub *hub, const char *job, const char *format, ...)
{
    char text[JOIN_TEXT_MAX];
    va_list args;
    if (!hub->say || hub->closed)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hub->say(hub->context, job, text);
}

static void refuse(struct rendezvous_connection *connection, int status, const char *text)
{
    struct wire_writer out = { 0 };
    join_session_refuse(&connection->join, &out, status, text);
    hub_flush(connection, &out);
    hub_end(connection);
}

static void put_message(const struct meeting *meeting, const struct membership_action *action,
                        struct join_session *session, struct wire_writer *out)
{
    struct join_welcome welcome;
    if (action->act == MEMBERSHIP_WELCOME) {
        membership_welcome(&meeting->membership, action->rank, &welcome);
        join_session_welcome(session, out, &welcome);
    } else if (action->act == MEMBERSHIP_REFUSE) {
        struct err err;
        rank_end_fail(&err, action->cause);
        join_session_refuse(session, out, err.code, err.text);
    } else {
        join_session_news(session, out, action->cause);
    }
}

static void tell_rank(struct hub *hub, struct meeting *meeting,
                      const struct membership_action *action)
{
    struct rendezvous_connection *connection = meeting->ranks[action->rank].connection;
    if (!connection)
        return;
    struct wire_writer out = { 0 };
    put_message(meeting, action, &connection->join, &out);
    bool told = hub_flush(connection, &out);
    if (!told || action->act == MEMBERSHIP_REFUSE)
        hub_end(connection);
    if (!told)
        membership_broke(&meeting->membership, action->rank, hub->now_ms);
}

static void on_complete(struct hub *hub, struct meeting *meeting)
{
    metrics_joined(&hub->metrics, hub->now_ms - meeting->first_ms);
    if (hub->events.complete)
        hub->events.complete(hub->context);
    say(hub, meeting->id, "all %d workers have come", meeting->size);
}

/* Nobody is left of a service's job. */
static void check_over(struct hub *hub, struct meeting *meeting)
{
    if (!meeting_is_over(meeting) || !meeting->store)
        return;
    char cause[MEETING_CAUSE_SIZE];
    say(hub, meeting->id,
        *meeting_cause(meeting, cause) ? "failed: %s" : "ended: all workers have left%s", cause);
    meeting_close(meeting, &hub->service.woken, hub->now_ms);
    hub->trim = true;
}

/* To the launcher, once. */
static void tell_origin(struct hub *hub, struct meeting *meeting)
{
    const struct rank_end *origin = &meeting->membership.origin;
    if (meeting->told_origin || origin->status == HVD_OK || hub->closed)
        return;
    meeting->told_origin = true;
    if (hub->events.origin)
        hub->events.origin(hub->context, origin);
}

/* Does what the last event has made necessary; the launcher's callbacks may cause further events
 * meanwhile, and hub_close(). */
static void carry_out(struct hub *hub, struct meeting *meeting)
{
    struct membership_action action;
    while (meeting->slots && !hub->closed && membership_next(&meeting->membership, &action)) {
        if (action.act == MEMBERSHIP_COMPLETE)
            on_complete(hub, meeting);
        else if (action.act == MEMBERSHIP_TIMED_OUT && hub->events.timed_out)
            hub->events.timed_out(hub->context, action.cause->words);
        else if (action.act != MEMBERSHIP_TIMED_OUT)
            tell_rank(hub, meeting, &action);
    }
    if (meeting->slots)
        tell_origin(hub, meeting);
    hub_due(hub, meeting_deadline(meeting));
    check_over(hub, meeting);
}

/* The lobby has broken: who waits there is told why. */
static void clear_lobby(struct hub *hub, struct meeting *meeting)
{
    struct lobby *lobby = &meeting->lobby;
    for (int i = 0; i < lobby->count && !hub->closed; i++) {
        struct rendezvous_connection *connection = lobby->guests[i].owner;
        if (connection)
            refuse(connection, lobby->cause.code, lobby->cause.text);
    }
    check_over(hub, meeting);
}

static void seat(struct hub *hub, struct meeting *meeting)
{
    struct err err;
    if (meeting_seat(meeting, hub->now_ms, &err) < 0) {
        lobby_end(&meeting->lobby, err.text);
        clear_lobby(hub, meeting);
        return;
    }
    for (int rank = 0; rank < meeting->size; rank++) {
        meeting->ranks[rank].connection->rank = rank;
        meeting->ranks[rank].connection->guest = -1;
    }
    carry_out(hub, meeting);
}

/* It can tell then that we have fallen silent, and what it waited for. One that cannot be told has
 * broken off. */
static void tell_to_wait(struct rendezvous_connection *connection, uint64_t until_ms,
                         struct join_waiting *waiting)
{
    struct wire_writer out = { 0 };
    uint64_t now_ms = connection->hub->now_ms, most_ms = until_ms > now_ms ? until_ms - now_ms : 0;
    waiting->most_ms = most_ms < JOIN_WAITING_MAX_MS ? (uint32_t)most_ms : JOIN_WAITING_MAX_MS;
    join_session_wait(&connection->join, &out, waiting);
    if (!hub_flush(connection, &out))
        hub_send_away(connection);
}

static void tell_member_to_wait(struct rendezvous_connection *connection,
                                const struct membership *membership)
{
    struct join_waiting waiting;
    if (membership->world != WORLD_GATHERING)
        return;
    membership_text_awaited(waiting.text, membership);
    tell_to_wait(connection, membership->start_deadline_ms, &waiting);
}

static void tell_guest_to_wait(struct rendezvous_connection *connection, const struct lobby *lobby)
{
    struct join_waiting waiting;
    lobby_text_awaited(waiting.text, lobby);
    tell_to_wait(connection, lobby->deadline_ms, &waiting);
}

/* From now on it is a worker of the job's. */
static void take_in(struct rendezvous_connection *connection, struct meeting *meeting)
{
    hub_stand(connection, HUB_WORKER);
    connection->meeting = meeting;
    if (meeting->connected++ == 0 && meeting->first_ms == 0)
        meeting->first_ms = connection->hub->now_ms;
}

static int join_planned(struct rendezvous_connection *connection, struct meeting *meeting,
                        const struct join_hello *hello, struct err *err)
{
    uint64_t now_ms = connection->hub->now_ms;
    int rc = membership_join(&meeting->membership, hello, now_ms, err);
    if (rc < 0)
        return rc;
    take_in(connection, meeting);
    connection->rank = hello->rank;
    struct meeting_rank *rank = &meeting->ranks[hello->rank];
    rank->connection = connection;
    rank->pid = hello->pid;
    rank->joined = true;
    rank->joined_ms = rank->heard_ms = now_ms;
    struct hub *hub = connection->hub;
    tell_member_to_wait(connection, &meeting->membership);
    carry_out(hub, meeting);
    return HVD_OK;
}

static int join_lobby(struct rendezvous_connection *connection, struct meeting *meeting,
                      const struct join_hello *hello, struct err *err)
{
    struct hub *hub = connection->hub;
    if (meeting->slots && meeting->membership.world == WORLD_BROKEN)
        return rank_end_fail(err, &meeting->membership.cause);
    int rc = lobby_join(&meeting->lobby, hello, connection, hub->now_ms, &connection->guest, err);
    if (rc < 0)
        return rc;
    take_in(connection, meeting);
    if (meeting->lobby.count == 1)
        say(hub, meeting->id, "a worker on %s is the first of %d", meeting->lobby.guests[0].host,
            meeting->lobby.size);
    if (meeting->lobby.state == LOBBY_FULL) {
        seat(hub, meeting);
        return HVD_OK;
    }
    hub_due(hub, meeting_deadline(meeting));
    tell_guest_to_wait(connection, &meeting->lobby);
    return HVD_OK;
}

/* The job that the worker has proved to belong to; made, if it is a service's and not there yet. */
static struct meeting *find_meeting(struct hub *hub, const char *id, struct err *err)
{
    struct meeting *meeting = meetings_find(&hub->meetings, id);
    if (meeting && !meeting_is_over(meeting))
        return meeting;
    if (!hub->keyring.service || !*id) {
        fail(err, HVD_ERR_ENVIRONMENT, "HVD_JOB_ID: there is no job '%s' here", id);
        return NULL;
    }
    return meetings_make(&hub->meetings, id, 0, 0, hub->now_ms, err);
}

void hub_on_hello(struct rendezvous_connection *connection, const struct join_hello *hello)
{
    struct err err = { 0 };
    struct meeting *meeting = find_meeting(connection->hub, connection->join.job, &err);
    if (meeting && connection->hub->events.met && hello->rank >= 0 && hello->rank < meeting->size)
        connection->hub->events.met(connection->hub->context, hello->rank);
    int rc = !meeting           ? err.code
             : meeting->planned ? join_planned(connection, meeting, hello, &err)
                                : join_lobby(connection, meeting, hello, &err);
    if (rc == HVD_OK)
        return;
    connection->hub->metrics.refused_workers++;
    say(connection->hub, connection->join.job, "refused a worker on %s (pid %d): %s", hello->host,
        hello->pid, err.text);
    refuse(connection, rc, err.text);
}

void hub_on_report(struct rendezvous_connection *connection, const struct join_report *report)
{
    struct meeting *meeting = connection->meeting;
    meeting_heard(meeting, connection->rank, report, connection->hub->now_ms);
    roll_call_answer(&meeting->roll_call, connection->rank, report->text);
}

void hub_worker_gone(struct rendezvous_connection *connection)
{
    struct meeting *meeting = connection->meeting;
    meeting->connected--;
    if (connection->rank >= 0)
        meeting->ranks[connection->rank].connection = NULL;
    else
        meeting->lobby.guests[connection->guest].owner = NULL;
    connection->meeting = NULL;
}

static void lobby_lost(struct hub *hub, struct meeting *meeting, int guest, bool said_goodbye)
{
    if (meeting->lobby.state != LOBBY_OPEN)
        return;
    lobby_leave(&meeting->lobby, guest, said_goodbye);
    clear_lobby(hub, meeting);
}

/* Only who is in a world has one that can break. */
void hub_on_word(struct rendezvous_connection *connection, const struct rank_end *word)
{
    struct hub *hub = connection->hub;
    struct meeting *meeting = connection->meeting;
    int rank = connection->rank;
    if (rank < 0 || !membership_was_complete(&meeting->membership)) {
        hub_send_away(connection);
        return;
    }
    if (hub->events.parted)
        hub->events.parted(hub->context, rank, word);
    membership_word(&meeting->membership, rank, word);
    carry_out(hub, meeting);
}

void hub_on_goodbye(struct rendezvous_connection *connection, const struct rank_end *goodbye)
{
    struct hub *hub = connection->hub;
    struct meeting *meeting = connection->meeting;
    int rank = connection->rank, guest = connection->guest;
    hub_end(connection);
    if (rank < 0) {
        lobby_lost(hub, meeting, guest, true);
        return;
    }
    if (goodbye->status != HVD_OK && hub->events.parted)
        hub->events.parted(hub->context, rank, goodbye);
    membership_goodbye(&meeting->membership, rank, goodbye);
    carry_out(hub, meeting);
}

void hub_on_broken(struct hub *hub, struct meeting *meeting, int rank, int guest)
{
    if (rank < 0) {
        lobby_lost(hub, meeting, guest, false);
        return;
    }
    membership_broke(&meeting->membership, rank, hub->now_ms);
    if (meeting->membership.members[rank].state == MEMBER_BROKEN && hub->events.broke_off)
        hub->events.broke_off(hub->context, rank);
    carry_out(hub, meeting);
}

/* A worker of Horovod's own gives up without saying for whom it has waited. */
static void tell_missing(struct hub *hub, struct meeting *meeting)
{
    char text[JOIN_TEXT_MAX];
    if (membership_text_missing(text, &meeting->membership, false) && hub->events.missing)
        hub->events.missing(hub->context, text);
}

void hub_rank_started(struct hub *hub, int rank, int pid)
{
    hub->meetings.only->ranks[rank].pid = pid;
}

void hub_rank_ended(struct hub *hub, int rank, const struct rank_end_how *how, uint64_t now_ms)
{
    struct meeting *meeting = hub->meetings.only;
    hub_enter(hub, now_ms);
    bool met_elsewhere = meeting->membership.members[rank].state == MEMBER_ELSEWHERE;
    bool gathering = meeting->membership.world == WORLD_GATHERING;
    membership_ended(&meeting->membership, rank, how, now_ms);
    if (met_elsewhere && gathering && meeting->membership.world == WORLD_BROKEN)
        tell_missing(hub, meeting);
    carry_out(hub, meeting);
    hub_leave(hub);
}

void hub_tell_end(struct hub *hub, int rank, const struct rendezvous_end *end, uint64_t now_ms)
{
    struct meeting *meeting = hub->meetings.only;
    hub_enter(hub, now_ms);
    if (launch_end(meeting->launch, rank, end))
        hub_wake_brief(hub, &meeting->onlookers);
    hub_leave(hub);
}

void hub_tell_verdict(struct hub *hub, const struct rendezvous_verdict *verdict, uint64_t now_ms)
{
    struct meeting *meeting = hub->meetings.only;
    hub_enter(hub, now_ms);
    launch_verdict(meeting->launch, verdict);
    meeting->ended_ms = now_ms;
    wait_list_wake(&meeting->onlookers, &hub->service.woken);
    hub_leave(hub);
}

void hub_end_meeting(struct http_service *service, struct meeting *meeting, const char *why,
                     uint64_t now_ms)
{
    struct hub *hub = hub_of(service);
    hub_enter(hub, now_ms);
    if (meeting->slots) {
        membership_end(&meeting->membership, why);
        carry_out(hub, meeting);
    } else {
        lobby_end(&meeting->lobby, why);
        clear_lobby(hub, meeting);
    }
    hub_leave(hub);
}

void hub_meeting_tick(struct hub *hub, struct meeting *meeting)
{
    if (meeting->slots) {
        membership_tick(&meeting->membership, hub->now_ms);
        roll_call_tick(&meeting->roll_call, hub->now_ms);
    } else if (meeting->lobby.state == LOBBY_OPEN) {
        lobby_tick(&meeting->lobby, hub->now_ms);
        meeting_lapse(meeting, hub->now_ms);
        if (meeting->lobby.state == LOBBY_BROKEN)
            clear_lobby(hub, meeting);
    }
    carry_out(hub, meeting);
}
