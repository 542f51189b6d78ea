/* SPDX-License-Identifier: Apache-2.0 */
/* A job as JSON; see status_json.h. */
#include "rendezvous/api/status_json.h"

#include "lib/base/rank_end_text.h"

#include "rendezvous/base/host_groups.h"
#include "rendezvous/base/json_build.h"
#include "rendezvous/world/membership_text.h"
#include "rendezvous/world/rank_states.h"
#include "rendezvous/world/rendezvous_job.h"
#include "rendezvous/world/stalls.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What all parts need. */
struct view {
    struct json_build build;
    const struct meeting *meeting;
    uint64_t epoch_ms, now_ms;
    struct stalls stalls;
    bool output; /* the last lines of the ranks are wanted */
};

static uint64_t ago(const struct view *view, uint64_t then_ms)
{
    return view->now_ms > then_ms ? view->now_ms - then_ms : 0;
}

/* RFC 3339 in UTC. */
static void put_instant(struct view *view, const char *name, uint64_t instant_ms)
{
    time_t seconds = (time_t)(instant_ms / 1000);
    struct tm utc = { 0 };
    char date[32], text[48] = "";
    gmtime_r(&seconds, &utc);
    if (strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc) > 0)
        snprintf(text, sizeof text, "%s.%03dZ", date, (int)(instant_ms % 1000));
    json_string(&view->build, view->build.root, name, text);
}

static void put_null(struct view *view, cJSON *object, const char *name)
{
    json_number_if(&view->build, object, name, false, 0);
}

static void put_text(struct view *view, cJSON *object, const char *name, const char *text)
{
    if (text)
        json_string(&view->build, object, name, text);
    else
        put_null(view, object, name);
}

static void put_states(struct view *view, cJSON *parent, const int counts[RANK_STATES])
{
    cJSON *states = json_object(&view->build, parent, "states");
    for (int state = 0; state < RANK_STATES; state++)
        json_number(&view->build, states, rank_state_name(state), counts[state]);
}

/* The workers that have a name: ranks, or guests. */
static int known(const struct meeting *meeting)
{
    return meeting->ranks ? meeting->size : meeting->lobby.count;
}

static const char *host_of(const struct meeting *meeting, int i)
{
    return meeting->ranks ? meeting->slots[i].host : meeting->lobby.guests[i].host;
}

static int group(const struct meeting *meeting, struct host_groups *groups)
{
    int count = known(meeting);
    const char **names = calloc((size_t)count + 1, sizeof *names);
    if (!names)
        return HVD_ERR_NOMEM;
    for (int i = 0; i < count; i++)
        names[i] = host_of(meeting, i);
    int rc = host_groups_init(groups, names, count);
    free(names);
    return rc;
}

static void put_times(struct view *view, cJSON *job)
{
    const struct meeting *meeting = view->meeting;
    put_instant(view, "since", view->epoch_ms + meeting->since_ms);
    json_seconds(&view->build, job, "age_s", ago(view, meeting->since_ms));
    if (meeting->ended_ms)
        put_instant(view, "ended", view->epoch_ms + meeting->ended_ms);
    else
        put_null(view, job, "ended");
}

/* What the launcher has told. */
static void put_launch(struct view *view, cJSON *job)
{
    static const struct launch none = { 0 };
    const struct launch *launch = view->meeting->launch ? view->meeting->launch : &none;
    const struct rendezvous_verdict *verdict = &launch->verdict;
    bool over = launch->verdict_text;
    put_text(view, job, "command", launch->command);
    put_text(view, job, "user", launch->user);
    if (launch->started_ms)
        put_instant(view, "started", launch->started_ms);
    else
        put_null(view, job, "started");
    put_text(view, job, "verdict", launch->verdict_text);
    json_number_if(&view->build, job, "exit_status", over, verdict->exit_status);
    json_number_if(&view->build, job, "failed_rank", over && verdict->rank >= 0, verdict->rank);
}

static void put_head(struct view *view, cJSON *job, int nhosts)
{
    const struct meeting *meeting = view->meeting;
    struct json_build *build = &view->build;
    char cause[MEETING_CAUSE_SIZE];
    int size = rank_states_size(meeting);
    int counts[RANK_STATES] = { 0 };
    rank_states_count(meeting, counts);
    json_string(build, job, "id", meeting->id);
    json_string(build, job, "state", meeting_state_name(meeting_state(meeting)));
    json_bool(build, job, "planned", meeting->planned);
    json_number_if(build, job, "size", size > 0, size);
    json_number(build, job, "connected", meeting->connected);
    json_number_if(build, job, "missing", size > 0, counts[RANK_EXPECTED]);
    json_number(build, job, "host_count", nhosts);
    put_states(view, job, counts);
    put_times(view, job);
    json_string(build, job, "cause", meeting_cause(meeting, cause));
    put_launch(view, job);
}

static void put_host(struct view *view, cJSON *hosts, const int *ranks, int count)
{
    struct json_build *build = &view->build;
    cJSON *host = json_object(build, hosts, NULL);
    int counts[RANK_STATES] = { 0 };
    json_string(build, host, "host", host_of(view->meeting, ranks[0]));
    cJSON *list = json_array(build, host, "ranks");
    for (int i = 0; i < count; i++) {
        json_number(build, list, NULL, ranks[i]);
        counts[rank_state_of(view->meeting, ranks[i])]++;
    }
    put_states(view, host, counts);
}

static void put_hosts(struct view *view, const struct host_groups *groups)
{
    cJSON *hosts = json_array(&view->build, view->build.root, "hosts");
    for (int h = 0; view->meeting->ranks && h < groups->count; h++)
        put_host(view, hosts, groups->order + groups->starts[h],
                 groups->starts[h + 1] - groups->starts[h]);
}

/* Why it cannot say itself what it is doing is known better here. */
static void put_doing(struct view *view, cJSON *object, int rank)
{
    char absent[MEMBERSHIP_TEXT_MAX + 1];
    const struct meeting_rank *at = &view->meeting->ranks[rank];
    const char *text = at->silent ? "did not answer" : at->report ? at->report : "";
    if (membership_text_absent(absent, &view->meeting->membership, rank))
        text = absent;
    json_lines(&view->build, object, "doing", text);
}

static void put_times_of_rank(struct view *view, cJSON *object, const struct meeting_rank *rank)
{
    struct json_build *build = &view->build;
    bool joined = rank->joined;
    json_number_if(build, object, "pid", rank->pid != 0, rank->pid);
    json_seconds_if(build, object, "joined_s_ago", joined, ago(view, rank->joined_ms));
    json_seconds_if(build, object, "heard_s_ago", joined, ago(view, rank->heard_ms));
}

static void put_operations(struct view *view, cJSON *parent, const struct rank_stats *stats)
{
    struct json_build *build = &view->build;
    cJSON *operations = json_object(build, parent, "operations");
    for (int i = 0; i < STATS_OPERATIONS; i++) {
        const struct operation_stats *at = &stats->operations[i];
        if (at->count == 0)
            continue;
        cJSON *operation = json_object(build, operations, stats_operation_name(i));
        json_number(build, operation, "collectives", (double)at->count);
        json_number(build, operation, "bytes", (double)at->bytes);
    }
}

static void put_stats(struct view *view, cJSON *object, int rank)
{
    struct json_build *build = &view->build;
    struct rank_stats stats;
    if (!meeting_rank_stats(view->meeting, rank, &stats)) {
        json_number_if(build, object, "stats", false, 0);
        return;
    }
    cJSON *parent = json_object(build, object, "stats");
    struct operation_stats total = stats_total(&stats);
    json_number(build, parent, "collectives", (double)total.count);
    json_number(build, parent, "bytes", (double)total.bytes);
    json_seconds(build, parent, "waiting_s", stats.waiting_ns / 1000000);
    json_seconds(build, parent, "uptime_s", stats.uptime_ns / 1000000);
    put_operations(view, parent, &stats);
}

static void put_stalled(struct view *view, cJSON *object, int rank)
{
    struct json_build *build = &view->build;
    struct rank_waits waits;
    const struct stall_found *found = stalls_find(&view->stalls, rank, &waits);
    if (!found) {
        json_number_if(build, object, "stalled", false, 0);
        return;
    }
    int named = found->count < STALLED_RANKS_MAX ? found->count : STALLED_RANKS_MAX;
    cJSON *stalled = json_object(build, object, "stalled");
    json_string(build, stalled, "tensor", waits.name);
    json_seconds(build, stalled, "since_s", waits.age_ms);
    cJSON *ranks = json_array(build, stalled, "waits_for");
    for (int i = 0; i < named; i++)
        json_number(build, ranks, NULL, found->ranks[i]);
    json_number(build, stalled, "waits_for_more", found->count - named);
}

static void put_stream(struct view *view, cJSON *output, int rank, bool of_stderr)
{
    char *text = launch_output(view->meeting->launch, rank, of_stderr);
    json_lines(&view->build, output, of_stderr ? "stderr" : "stdout", text ? text : "");
    free(text);
}

static void put_output(struct view *view, cJSON *object, int rank)
{
    if (!view->output || !view->meeting->launch) {
        put_null(view, object, "output");
        return;
    }
    cJSON *output = json_object(&view->build, object, "output");
    put_stream(view, output, rank, false);
    put_stream(view, output, rank, true);
}

static void put_end(struct view *view, cJSON *object, int rank)
{
    static const struct launch_rank none = { 0 };
    const struct launch *launch = view->meeting->launch;
    const struct launch_rank *at = launch ? &launch->ranks[rank] : &none;
    int exit_status = rank_end_exit_status(&at->how);
    char text[MEMBERSHIP_TEXT_MAX + 1];
    rank_end_how_text(text, sizeof text, &at->how, RANK_END_PASSIVE);
    put_text(view, object, "end", at->how.kind == RANK_END_NONE ? NULL : text);
    json_number_if(&view->build, object, "exit_status", exit_status >= 0, exit_status);
    json_bool(&view->build, object, "terminated", at->terminated);
    put_output(view, object, rank);
}

static void put_rank(struct view *view, cJSON *ranks, int rank)
{
    const struct rendezvous_slot *slot = &view->meeting->slots[rank];
    struct json_build *build = &view->build;
    cJSON *object = json_object(build, ranks, NULL);
    json_number(build, object, "rank", rank);
    json_string(build, object, "host", slot->host);
    json_number(build, object, "local_rank", slot->place.local_rank);
    json_number(build, object, "cross_rank", slot->place.cross_rank);
    json_string(build, object, "state", meeting_rank_state(view->meeting, rank));
    put_times_of_rank(view, object, &view->meeting->ranks[rank]);
    put_doing(view, object, rank);
    put_stats(view, object, rank);
    put_stalled(view, object, rank);
    put_end(view, object, rank);
}

static void put_ranks(struct view *view)
{
    cJSON *ranks = json_array(&view->build, view->build.root, "ranks");
    for (int rank = 0; view->meeting->ranks && rank < view->meeting->size; rank++)
        put_rank(view, ranks, rank);
}

static void put_guest(struct view *view, cJSON *guests, const struct lobby_guest *guest)
{
    struct json_build *build = &view->build;
    cJSON *object = json_object(build, guests, NULL);
    json_string(build, object, "host", guest->host);
    json_number(build, object, "pid", guest->pid);
    json_number_if(build, object, "wanted_rank", guest->wanted >= 0, guest->wanted);
    json_seconds(build, object, "came_s_ago", ago(view, guest->came_ms));
}

static void put_guests(struct view *view)
{
    const struct meeting *meeting = view->meeting;
    cJSON *guests = json_array(&view->build, view->build.root, "guests");
    for (int i = 0; !meeting->ranks && i < meeting->lobby.count; i++)
        put_guest(view, guests, &meeting->lobby.guests[i]);
}

static void put_job(struct view *view, bool in_full)
{
    struct host_groups groups;
    if (group(view->meeting, &groups) < 0) {
        view->build.failed = true;
        return;
    }
    put_head(view, view->build.root, groups.count);
    if (in_full) {
        put_hosts(view, &groups);
        put_ranks(view);
        put_guests(view);
    }
    host_groups_fini(&groups);
}

static cJSON *make(struct view *view, bool in_full)
{
    json_build_init(&view->build);
    stalls_init(&view->stalls, view->meeting);
    put_job(view, in_full);
    return json_build_finish(&view->build);
}

cJSON *status_json_job(const struct meeting *meeting, uint64_t epoch_ms, uint64_t now_ms)
{
    struct view view = { .meeting = meeting, .epoch_ms = epoch_ms, .now_ms = now_ms };
    return make(&view, false);
}

cJSON *status_json_job_in_full(const struct meeting *meeting, bool output, uint64_t epoch_ms,
                               uint64_t now_ms)
{
    struct view view = {
        .meeting = meeting, .epoch_ms = epoch_ms, .now_ms = now_ms, .output = output
    };
    return make(&view, true);
}
