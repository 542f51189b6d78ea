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

/* Arguments that all parts use. */
struct view {
    struct json_build build;
    const struct rendezvous_job *job;
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

/* The workers that have a name: ranks, or pending workers. */
static int known(const struct rendezvous_job *job)
{
    return job->ranks ? job->size : job->pending.count;
}

static const char *host_of(const struct rendezvous_job *job, int i)
{
    return job->ranks ? job->slots[i].host : job->pending.workers[i].host;
}

static int group(const struct rendezvous_job *job, struct host_groups *groups)
{
    int count = known(job);
    const char **names = calloc((size_t)count + 1, sizeof *names);
    if (!names)
        return HVD_ERR_NOMEM;
    for (int i = 0; i < count; i++)
        names[i] = host_of(job, i);
    int rc = host_groups_init(groups, names, count);
    free(names);
    return rc;
}

static void put_times(struct view *view, cJSON *json)
{
    const struct rendezvous_job *job = view->job;
    put_instant(view, "since", view->epoch_ms + job->since_ms);
    json_seconds(&view->build, json, "age_s", ago(view, job->since_ms));
    if (job->ended_ms)
        put_instant(view, "ended", view->epoch_ms + job->ended_ms);
    else
        put_null(view, json, "ended");
}

/* The members that only a launcher knows. */
static void put_launch(struct view *view, cJSON *json)
{
    static const struct launcher_view none = { 0 };
    const struct launcher_view *launch = view->job->launch ? view->job->launch : &none;
    const struct rendezvous_verdict *verdict = &launch->verdict;
    bool over = launch->verdict_text;
    put_text(view, json, "command", launch->command);
    put_text(view, json, "user", launch->user);
    if (launch->started_ms)
        put_instant(view, "started", launch->started_ms);
    else
        put_null(view, json, "started");
    put_text(view, json, "verdict", launch->verdict_text);
    json_number_if(&view->build, json, "exit_status", over, verdict->exit_status);
    json_number_if(&view->build, json, "failed_rank", over && verdict->rank >= 0, verdict->rank);
}

static void put_elastic(struct view *view, cJSON *json)
{
    const struct rendezvous_job *job = view->job;
    const struct elastic_service *service = &job->elastic_service;
    json_bool(&view->build, json, "elastic", job->elastic);
    json_number_if(&view->build, json, "epoch", job->was_complete, job->membership.epoch);
    json_number_if(&view->build, json, "min", service->min > 0, service->min);
    json_number_if(&view->build, json, "max", service->max > 0, service->max);
}

static void status_json_put_head(struct view *view, cJSON *json, int nhosts)
{
    const struct rendezvous_job *job = view->job;
    struct json_build *build = &view->build;
    char cause[RENDEZVOUS_JOB_CAUSE_SIZE];
    int size = rank_states_size(job);
    int counts[RANK_STATES] = { 0 };
    rank_states_count(job, counts);
    json_string(build, json, "id", job->id);
    json_string(build, json, "state", rendezvous_job_state_name(rendezvous_job_state(job)));
    json_bool(build, json, "planned", job->planned);
    json_number_if(build, json, "size", size > 0, size);
    put_elastic(view, json);
    json_number(build, json, "connected", job->connected);
    json_number_if(build, json, "missing", size > 0, counts[RANK_EXPECTED]);
    json_number(build, json, "host_count", nhosts);
    put_states(view, json, counts);
    put_times(view, json);
    json_string(build, json, "cause", rendezvous_job_cause(job, cause));
    put_launch(view, json);
}

static void status_json_put_host(struct view *view, cJSON *hosts, const int *ranks, int count)
{
    struct json_build *build = &view->build;
    cJSON *host = json_object(build, hosts, NULL);
    int counts[RANK_STATES] = { 0 };
    json_string(build, host, "host", host_of(view->job, ranks[0]));
    cJSON *list = json_array(build, host, "ranks");
    for (int i = 0; i < count; i++) {
        json_number(build, list, NULL, ranks[i]);
        counts[rank_state_of(view->job, ranks[i])]++;
    }
    put_states(view, host, counts);
}

static void put_hosts(struct view *view, const struct host_groups *groups)
{
    cJSON *hosts = json_array(&view->build, view->build.root, "hosts");
    for (int h = 0; view->job->ranks && h < groups->count; h++)
        status_json_put_host(view, hosts, groups->order + groups->starts[h],
                             groups->starts[h + 1] - groups->starts[h]);
}

/* If a rank cannot answer, membership knows the reason. */
static void put_status_text(struct view *view, cJSON *object, int rank)
{
    char absent[MEMBERSHIP_TEXT_MAX + 1];
    const struct rendezvous_job_rank *at = &view->job->ranks[rank];
    const char *text = at->silent ? "did not answer" : at->report ? at->report : "";
    if (membership_text_absent(absent, &view->job->membership, rank))
        text = absent;
    json_lines(&view->build, object, "status_text", text);
}

static void put_times_of_rank(struct view *view, cJSON *object,
                              const struct rendezvous_job_rank *rank)
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
    if (!rendezvous_job_rank_stats(view->job, rank, &stats)) {
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
    int worker = view->job->ranks[rank].worker;
    char *text = launcher_view_output(view->job->launch, worker, of_stderr);
    json_lines(&view->build, output, of_stderr ? "stderr" : "stdout", text ? text : "");
    free(text);
}

static void put_output(struct view *view, cJSON *object, int rank)
{
    if (!view->output || !view->job->launch) {
        put_null(view, object, "output");
        return;
    }
    cJSON *output = json_object(&view->build, object, "output");
    put_stream(view, output, rank, false);
    put_stream(view, output, rank, true);
}

static void put_end(struct view *view, cJSON *object, int rank)
{
    static const struct launcher_view_rank none = { 0 };
    int worker = view->job->ranks[rank].worker;
    const struct launcher_view_rank *at = launcher_view_rank_of(view->job->launch, worker);
    if (!at)
        at = &none;
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
    const struct rendezvous_slot *slot = &view->job->slots[rank];
    struct json_build *build = &view->build;
    cJSON *object = json_object(build, ranks, NULL);
    json_number(build, object, "rank", rank);
    json_number(build, object, "worker", view->job->ranks[rank].worker);
    json_string(build, object, "host", slot->host);
    json_number(build, object, "local_rank", slot->rank_info.local_rank);
    json_number(build, object, "cross_rank", slot->rank_info.cross_rank);
    json_string(build, object, "state", rank_state_name(rank_state_of(view->job, rank)));
    put_times_of_rank(view, object, &view->job->ranks[rank]);
    put_status_text(view, object, rank);
    put_stats(view, object, rank);
    put_stalled(view, object, rank);
    put_end(view, object, rank);
}

static void put_ranks(struct view *view)
{
    cJSON *ranks = json_array(&view->build, view->build.root, "ranks");
    for (int rank = 0; view->job->ranks && rank < view->job->size; rank++)
        put_rank(view, ranks, rank);
}

static void put_pending_worker(struct view *view, cJSON *workers,
                               const struct pending_worker *worker)
{
    struct json_build *build = &view->build;
    cJSON *object = json_object(build, workers, NULL);
    json_string(build, object, "host", worker->host);
    json_number(build, object, "pid", worker->pid);
    json_number_if(build, object, "wanted_rank", worker->wanted >= 0, worker->wanted);
    json_number_if(build, object, "worker", false, 0);
    json_seconds(build, object, "came_s_ago", ago(view, worker->came_ms));
}

static void put_waiting_worker(struct view *view, cJSON *workers, int worker)
{
    struct json_build *build = &view->build;
    const struct elastic_hello *hello = elastic_hello_of(view->job->elastic, worker);
    cJSON *object = json_object(build, workers, NULL);
    json_string(build, object, "host", hello->host);
    json_number(build, object, "pid", hello->pid);
    json_number_if(build, object, "wanted_rank", false, 0);
    json_number(build, object, "worker", worker);
    json_seconds(build, object, "came_s_ago", ago(view, hello->came_ms));
}

static void put_pending_workers(struct view *view)
{
    const struct rendezvous_job *job = view->job;
    cJSON *workers = json_array(&view->build, view->build.root, "pending_workers");
    for (int i = 0; job->elastic && i < job->elastic->numbered; i++)
        if (elastic_state_of(job->elastic, i) == ELASTIC_WAITING)
            put_waiting_worker(view, workers, i);
    for (int i = 0; !job->ranks && i < job->pending.count; i++)
        put_pending_worker(view, workers, &job->pending.workers[i]);
}

static void put_job(struct view *view, bool in_full)
{
    struct host_groups groups;
    if (group(view->job, &groups) < 0) {
        view->build.failed = true;
        return;
    }
    status_json_put_head(view, view->build.root, groups.count);
    if (in_full) {
        put_hosts(view, &groups);
        put_ranks(view);
        put_pending_workers(view);
    }
    host_groups_fini(&groups);
}

static cJSON *make(struct view *view, bool in_full)
{
    json_build_init(&view->build);
    stalls_init(&view->stalls, view->job);
    put_job(view, in_full);
    return json_build_finish(&view->build);
}

cJSON *status_json_job(const struct rendezvous_job *job, uint64_t epoch_ms, uint64_t now_ms)
{
    struct view view = { .job = job, .epoch_ms = epoch_ms, .now_ms = now_ms };
    return make(&view, false);
}

cJSON *status_json_job_in_full(const struct rendezvous_job *job, bool output, uint64_t epoch_ms,
                               uint64_t now_ms)
{
    struct view view = { .job = job, .epoch_ms = epoch_ms, .now_ms = now_ms, .output = output };
    return make(&view, true);
}
