/* SPDX-License-Identifier: Apache-2.0 */
/* One job; see meeting.h. */
#include "rendezvous/world/rendezvous_job.h"

#include "lib/base/rank_end_text.h"
#include "rendezvous/world/gloo_scopes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct meeting *create(const char *id, int size, uint64_t now_ms, struct err *err)
{
    struct meeting *meeting = calloc(1, sizeof *meeting);
    if (meeting)
        meeting->store = key_value_create();
    if (!meeting || !meeting->store) {
        fail(err, HVD_ERR_NOMEM, "out of memory for job %s", id);
        free(meeting);
        return NULL;
    }
    snprintf(meeting->id, sizeof meeting->id, "%s", id);
    meeting->size = size;
    meeting->since_ms = now_ms;
    TAILQ_INIT(&meeting->watchers);
    TAILQ_INIT(&meeting->onlookers);
    return meeting;
}

/* The places are known from now on. Nothing has to be undone when it fails. */
static int place(struct meeting *meeting, struct rendezvous_slot *slots, uint64_t start_timeout_ms,
                 struct err *err)
{
    size_t size = (size_t)meeting->size;
    struct meeting_rank *ranks = calloc(size, sizeof *ranks);
    int rc =
        ranks ? membership_init(&meeting->membership, slots, meeting->size, start_timeout_ms, err)
              : fail(err, HVD_ERR_NOMEM, "out of memory for %zu ranks", size);
    if (rc < 0) {
        free(ranks);
        return rc;
    }
    meeting->slots = slots;
    meeting->ranks = ranks;
    return HVD_OK;
}

struct meeting *meeting_create_planned(const struct rendezvous_options *options, uint64_t now_ms,
                                       struct err *err)
{
    int size = options->size;
    struct meeting *meeting = create(options->id, size, now_ms, err);
    if (!meeting)
        return NULL;
    struct rendezvous_slot *own = calloc((size_t)size, sizeof *own);
    if (own)
        memcpy(own, options->slots, (size_t)size * sizeof *own);
    meeting->planned = true;
    meeting->launch = launch_create(options);
    int rc = own && meeting->launch ? place(meeting, own, options->start_timeout_ms, err)
                                    : fail(err, HVD_ERR_NOMEM, "out of memory for %d slots", size);
    if (rc == HVD_OK && gloo_scopes_plan(meeting->store, options->slots, size) < 0)
        rc = fail(err, HVD_ERR_NOMEM, "out of memory for the scopes of %d ranks", size);
    if (rc == HVD_OK)
        return meeting;
    if (!meeting->slots)
        free(own);
    meeting_destroy(meeting);
    return NULL;
}

struct meeting *meeting_create(const char *id, int size, uint64_t start_timeout_ms, uint64_t now_ms,
                               struct err *err)
{
    struct meeting *meeting = create(id, size, now_ms, err);
    if (!meeting)
        return NULL;
    lobby_init(&meeting->lobby, meeting->id, size, start_timeout_ms);
    meeting_declared(meeting, now_ms);
    return meeting;
}

static bool is_empty(const struct meeting *meeting)
{
    return !meeting->slots && meeting->lobby.state == LOBBY_OPEN && meeting->lobby.count == 0;
}

static uint64_t lapse_after_ms(const struct meeting *meeting)
{
    uint64_t times_ms = MEETING_LAPSE_TIMES * meeting->lobby.start_timeout_ms;
    return times_ms > MEETING_LAPSE_MS ? times_ms : MEETING_LAPSE_MS;
}

void meeting_declared(struct meeting *meeting, uint64_t now_ms)
{
    meeting->lapse_ms = now_ms + lapse_after_ms(meeting);
}

void meeting_lapse(struct meeting *meeting, uint64_t now_ms)
{
    char why[64];
    if (!is_empty(meeting) || now_ms < meeting->lapse_ms)
        return;
    snprintf(why, sizeof why, "no worker has come within %llu s",
             (unsigned long long)lapse_after_ms(meeting) / 1000);
    lobby_end(&meeting->lobby, why);
}

static void send_home(struct wait_list *list)
{
    struct waiter *waiter;
    while ((waiter = TAILQ_FIRST(list)))
        waiter_leave(waiter);
}

void meeting_destroy(struct meeting *meeting)
{
    if (!meeting)
        return;
    send_home(&meeting->watchers);
    send_home(&meeting->onlookers);
    launch_destroy(meeting->launch);
    for (int rank = 0; meeting->ranks && rank < meeting->size; rank++) {
        free(meeting->ranks[rank].report);
        wire_writer_fini(&meeting->ranks[rank].said);
    }
    roll_call_fini(&meeting->roll_call);
    if (meeting->slots)
        membership_fini(&meeting->membership);
    if (!meeting->planned)
        lobby_fini(&meeting->lobby);
    key_value_destroy(meeting->store);
    free(meeting->ranks);
    free(meeting->slots);
    free(meeting);
}

static int join_guest(struct meeting *meeting, const struct lobby_guest *guest, uint64_t now_ms,
                      struct err *err)
{
    struct join_hello hello = { .rank = guest->rank, .size = meeting->size, .pid = guest->pid };
    hello.addresses = guest->addresses;
    snprintf(hello.host, sizeof hello.host, "%s", guest->host);
    meeting->ranks[guest->rank] = (struct meeting_rank){ .connection = guest->owner,
                                                         .pid = guest->pid,
                                                         .joined = true,
                                                         .joined_ms = guest->came_ms,
                                                         .heard_ms = guest->came_ms };
    return membership_join(&meeting->membership, &hello, now_ms, err);
}

int meeting_seat(struct meeting *meeting, uint64_t now_ms, struct err *err)
{
    struct lobby *lobby = &meeting->lobby;
    meeting->size = lobby->size;
    struct rendezvous_slot *slots = calloc((size_t)meeting->size, sizeof *slots);
    int rc = slots ? lobby_seat(lobby, slots, err)
                   : fail(err, HVD_ERR_NOMEM, "out of memory for %d ranks", meeting->size);
    if (rc == HVD_OK)
        rc = place(meeting, slots, lobby->start_timeout_ms, err);
    if (rc < 0) {
        free(slots);
        return rc;
    }
    for (int i = 0; i < lobby->count && rc == HVD_OK; i++)
        rc = join_guest(meeting, &lobby->guests[i], now_ms, err);
    return rc;
}

int meeting_expects(const struct meeting *meeting)
{
    if (meeting->slots)
        return meeting->membership.world == WORLD_GATHERING
                   ? meeting->size - meeting->membership.joined
                   : 0;
    return meeting->lobby.state == LOBBY_OPEN ? meeting->lobby.size - meeting->lobby.count : 0;
}

uint64_t meeting_deadline(const struct meeting *meeting)
{
    uint64_t deadline_ms = roll_call_deadline(&meeting->roll_call);
    if (meeting->slots)
        return earlier_deadline(deadline_ms, membership_deadline(&meeting->membership));
    if (is_empty(meeting))
        return earlier_deadline(deadline_ms, meeting->lapse_ms);
    return meeting->lobby.state == LOBBY_OPEN
               ? earlier_deadline(deadline_ms, meeting->lobby.deadline_ms)
               : deadline_ms;
}

void meeting_saw_gloo(struct meeting *meeting, int rank)
{
    if (meeting->slots && rank >= 0 && rank < meeting->size)
        membership_elsewhere(&meeting->membership, rank);
}

void meeting_heard(struct meeting *meeting, int rank, const struct join_report *report,
                   uint64_t now_ms)
{
    struct meeting_rank *at = &meeting->ranks[rank];
    size_t size = (size_t)roll_call_text_size(meeting->size);
    at->heard_ms = now_ms;
    at->silent = false;
    free(at->report);
    at->report = strndup(report->text, size - 1); /* without memory: not known */
    wire_writer_fini(&at->said);
    rank_stats_encode(&at->said, &report->stats); /* likewise */
    rank_waits_encode(&at->said, &report->waits);
}

static bool read_said(const struct meeting *meeting, int rank, struct rank_stats *stats,
                      struct rank_waits *waits)
{
    const struct wire_writer *said = &meeting->ranks[rank].said;
    struct wire_reader reader;
    if (said->failed || said->length == 0)
        return false;
    wire_reader_init(&reader, said->data, said->length);
    rank_stats_decode(stats, &reader);
    rank_waits_decode(waits, &reader);
    return true;
}

bool meeting_rank_stats(const struct meeting *meeting, int rank, struct rank_stats *stats)
{
    struct rank_waits waits;
    return read_said(meeting, rank, stats, &waits);
}

bool meeting_rank_waits(const struct meeting *meeting, int rank, struct rank_waits *waits)
{
    struct rank_stats stats;
    return read_said(meeting, rank, &stats, waits);
}

enum meeting_state meeting_state(const struct meeting *meeting)
{
    static const enum meeting_state of_world[] = { [WORLD_GATHERING] = MEETING_GATHERING,
                                                   [WORLD_COMPLETE] = MEETING_RUNNING,
                                                   [WORLD_BROKEN] = MEETING_FAILED };
    if (meeting->launch && meeting->launch->verdict_text)
        return meeting->launch->verdict.exit_status == 0 ? MEETING_ENDED : MEETING_FAILED;
    if (!meeting->slots)
        return meeting->lobby.state == LOBBY_BROKEN ? MEETING_FAILED : MEETING_GATHERING;
    enum meeting_state state = of_world[meeting->membership.world];
    bool gone = meeting->connected == 0 && meeting->membership.unsettled == 0 &&
                meeting->membership.elsewhere == 0;
    return state == MEETING_RUNNING && gone ? MEETING_ENDED : state;
}

const char *meeting_state_name(enum meeting_state state)
{
    static const char *const names[] = { [MEETING_GATHERING] = "gathering",
                                         [MEETING_RUNNING] = "running",
                                         [MEETING_ENDED] = "ended",
                                         [MEETING_FAILED] = "failed" };
    return names[state];
}

const char *meeting_cause(const struct meeting *meeting, char text[MEETING_CAUSE_SIZE])
{
    const struct membership *membership = &meeting->membership;
    text[0] = '\0';
    if (meeting_state(meeting) != MEETING_FAILED)
        return text;
    if (!meeting->slots)
        snprintf(text, MEETING_CAUSE_SIZE, "%s", meeting->lobby.cause.text);
    else if (membership->world != WORLD_BROKEN) /* the verdict is all that is known */
        snprintf(text, MEETING_CAUSE_SIZE, "%s", meeting->launch->verdict_text);
    else
        rank_end_text(text, MEETING_CAUSE_SIZE,
                      membership->origin.status != HVD_OK ? &membership->origin
                                                          : &membership->cause);
    return text;
}

const char *meeting_rank_state(const struct meeting *meeting, int rank)
{
    const struct membership *membership = &meeting->membership;
    switch (membership->members[rank].state) {
    case MEMBER_EXPECTED:
        return "expected";
    case MEMBER_ELSEWHERE:
        return "gloo";
    case MEMBER_JOINED:
        return membership_was_complete(membership) ? "running" : "waiting";
    case MEMBER_LEFT:
        return "left";
    default:
        return "lost";
    }
}

bool meeting_is_over(const struct meeting *meeting)
{
    enum meeting_state state = meeting_state(meeting);
    return !meeting->planned && meeting->connected == 0 &&
           (state == MEETING_ENDED || state == MEETING_FAILED);
}

void meeting_close(struct meeting *meeting, struct wait_list *woken, uint64_t now_ms)
{
    meeting->ended_ms = now_ms;
    wait_list_wake(&meeting->watchers, woken);
    wait_list_wake(&meeting->onlookers, woken);
    if (meeting->store)
        key_value_wake_all(meeting->store, woken);
    key_value_destroy(meeting->store);
    meeting->store = NULL;
}
