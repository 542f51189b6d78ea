/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the ranks of a job what they are doing: for the launcher, which hears each answer in order
 * of rank, and for those that look over HTTP, who are woken when all have been heard. One roll call
 * serves both kinds only if the launcher began it; what it asks while another one is under way
 * begins after that. A rank that cannot be asked for want of memory has broken off. */
#include "rendezvous/server/server_impl.h"

static void ask_rank(struct meeting *meeting, int rank)
{
    struct rendezvous_connection *connection = meeting->ranks[rank].connection;
    struct wire_writer out = { 0 };
    if (!connection || !roll_call_wants(&meeting->roll_call, &meeting->membership, rank))
        return;
    join_session_ask(&connection->join, &out, roll_call_text_size(meeting->size));
    if (!hub_flush(connection, &out))
        hub_send_away(connection);
}

static int ask_all(struct hub *hub, struct meeting *meeting, struct err *err)
{
    int rc = roll_call_start(&meeting->roll_call, meeting->size, hub->now_ms, err);
    if (rc < 0)
        return rc;
    hub->roll_calls++;
    meeting->asked_ms = hub->now_ms;
    hub_due(hub, roll_call_deadline(&meeting->roll_call));
    for (int rank = 0; rank < meeting->size; rank++)
        ask_rank(meeting, rank);
    return HVD_OK;
}

int hub_ask(struct hub *hub, uint64_t now_ms, struct err *err)
{
    struct meeting *meeting = hub->meetings.only;
    if (hub->closed || meeting->asked_by_launcher)
        return HVD_OK;
    if (roll_call_is_open(&meeting->roll_call)) {
        meeting->ask_again = true;
        return HVD_OK;
    }
    hub_enter(hub, now_ms);
    meeting->asked_by_launcher = true;
    int rc = ask_all(hub, meeting, err);
    if (rc < 0)
        meeting->asked_by_launcher = false;
    hub_leave(hub);
    return rc;
}

int hub_ask_meeting(struct http_service *service, struct meeting *meeting, uint64_t now_ms)
{
    struct hub *hub = hub_of(service);
    struct err err;
    if (!meeting->slots)
        return HVD_ERR_INVALID;
    if (roll_call_is_open(&meeting->roll_call))
        return HVD_OK;
    hub_enter(hub, now_ms);
    int rc = ask_all(hub, meeting, &err);
    hub_leave(hub);
    return rc;
}

static void report_of(struct hub *hub, struct meeting *meeting)
{
    int rank;
    const char *text;
    if (!roll_call_is_open(&meeting->roll_call))
        return;
    while (!hub->closed &&
           roll_call_next(&meeting->roll_call, &meeting->membership, &rank, &text)) {
        meeting->ranks[rank].silent = meeting->ranks[rank].heard_ms < meeting->asked_ms;
        if (meeting->asked_by_launcher)
            hub->events.report(hub->context, rank, text);
    }
    if (!roll_call_is_open(&meeting->roll_call)) {
        meeting->asked_by_launcher = false;
        wait_list_wake(&meeting->watchers, &hub->service.woken);
    }
}

void hub_report(struct hub *hub)
{
    struct meeting *at;
    if (hub->roll_calls == 0 || hub->closed)
        return;
    hub->roll_calls = 0; /* some may have been forgotten with their jobs */
    TAILQ_FOREACH(at, &hub->meetings.list, link)
    {
        report_of(hub, at);
        hub->roll_calls += roll_call_is_open(&at->roll_call);
    }
}

bool hub_ask_again(struct hub *hub)
{
    struct meeting *meeting = hub->meetings.only;
    if (hub->closed || !meeting || !meeting->ask_again || roll_call_is_open(&meeting->roll_call))
        return false;
    meeting->ask_again = false;
    hub_ask(hub, hub->now_ms, NULL); /* without memory: not answered */
    return true;
}
