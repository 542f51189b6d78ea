/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a report as JSON; see report_json.h. Fails only when out of memory. */
#include <config.h>

#include "src/hvdrun/report_json.h"

#include "launcher/base/xalloc.h"
#include "rendezvous/base/json_build.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The version of the keys and their meaning. */
enum { REPORT_VERSION = 1 };

void report_time(char text[REPORT_TIME_SIZE], uint64_t epoch_ms)
{
    time_t seconds = (time_t)(epoch_ms / 1000);
    struct tm utc;
    size_t used = 0;
    if (gmtime_r(&seconds, &utc))
        used = strftime(text, REPORT_TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + used, REPORT_TIME_SIZE - used, ".%03uZ", (unsigned)(epoch_ms % 1000));
}

/* ---- members ---- */

static void add_null(struct json_build *build, cJSON *parent, const char *name)
{
    json_number_if(build, parent, name, false, 0);
}

static void add_text(struct json_build *build, cJSON *parent, const char *name, const char *text)
{
    if (text && *text)
        json_string(build, parent, name, text);
    else
        add_null(build, parent, name);
}

/* 0 for a time before the job began, which clocks may give. */
static uint64_t since_begin_ms(const struct job_report *report, uint64_t at_ms)
{
    return at_ms > report->began_ms ? at_ms - report->began_ms : 0;
}

/* Seconds since the job began, and the wall time, as far as known. */
static void add_time(struct json_build *build, cJSON *parent, const char *name, const char *wall,
                     const struct job_report *report, uint64_t at_ms)
{
    char text[REPORT_TIME_SIZE] = "";
    uint64_t since_ms = since_begin_ms(report, at_ms);
    if (at_ms > 0)
        report_time(text, report->epoch_ms + since_ms);
    json_seconds_if(build, parent, name, at_ms > 0, since_ms);
    add_text(build, parent, wall, text);
}

static const char *cause_name(enum job_cause cause)
{
    static const char *const names[] = {
        [CAUSE_NONE] = "none",     [CAUSE_LEFT] = "left",       [CAUSE_RANK] = "rank",
        [CAUSE_HOST] = "host",     [CAUSE_SIGNAL] = "signal",   [CAUSE_JOB] = "job",
        [CAUSE_OUTPUT] = "output", [CAUSE_TIMEOUT] = "timeout",
    };
    return names[cause];
}

static const char *host_name(const struct job_report *report, int host)
{
    return host >= 0 ? report->hosts[host].name : NULL;
}

static void add_verdict(struct json_build *build, const struct job_report *report)
{
    cJSON *verdict = json_object(build, build->root, "verdict");
    json_number(build, verdict, "exit_status", report->exit_status);
    json_string(build, verdict, "cause", cause_name(report->cause));
    add_text(build, verdict, "text", report->text);
    json_number_if(build, verdict, "rank", report->rank >= 0, report->rank);
    add_text(build, verdict, "host", host_name(report, report->host));
    json_number_if(build, verdict, "pid", report->pid > 0, report->pid);
}

/* ---- ranks ---- */

static void add_how(struct json_build *build, cJSON *parent, const struct report_rank *rank)
{
    bool known = rank->end == END_BY_ITSELF || rank->end == END_TERMINATED;
    bool signalled = known && rank->how.kind == RANK_END_KILLED;
    int signum = signalled ? rank->how.code : 0;
    const char *abbreviation = signalled ? sigabbrev_np(signum) : NULL;
    char name[32] = "";
    if (abbreviation)
        snprintf(name, sizeof name, "SIG%s", abbreviation);
    json_string(build, parent, "end", report_end_name(rank->end));
    json_number_if(build, parent, "exit_status", known && !signalled, rank->how.code);
    json_number_if(build, parent, "signal", signalled, signum);
    add_text(build, parent, "signal_name", name);
    json_bool(build, parent, "core_dumped", signalled && rank->how.core_dumped);
    json_bool(build, parent, "oom", rank->how.oom);
}

/* The members that only workers of an elastic job have. */
static void add_worker(struct json_build *build, cJSON *object, const struct job_report *report,
                       int worker)
{
    const struct report_rank *rank = &report->ranks[worker];
    json_number(build, object, "worker", worker);
    json_bool(build, object, "removed", rank->removed);
    add_time(build, object, "lost", "lost_at", report, rank->loss_ms);
    add_text(build, object, "loss", rank->loss);
}

static void add_rank(struct json_build *build, cJSON *ranks, const struct job_report *report,
                     int number)
{
    const struct report_rank *rank = &report->ranks[number];
    cJSON *object = json_object(build, ranks, NULL);
    json_number(build, object, "rank", report->elastic ? rank->rank : number);
    if (report->elastic)
        add_worker(build, object, report, number);
    add_text(build, object, "host", host_name(report, rank->host));
    json_number_if(build, object, "pid", rank->pid > 0, rank->pid);
    add_time(build, object, "started", "started_at", report, rank->started_ms);
    add_time(build, object, "ended", "ended_at", report, rank->ended_ms);
    add_how(build, object, rank);
    bool said = rank->said && *rank->said;
    add_text(build, object, "last_lines_of",
             !said                  ? NULL
             : rank->said_on_stdout ? "stdout"
                                    : "stderr");
    json_lines(build, object, "last_lines", said ? rank->said : "");
}

/* ---- hosts ---- */

static void add_heartbeat_gaps(struct json_build *build, cJSON *parent,
                               const struct job_report *report, const struct link_history *history)
{
    cJSON *array = json_array(build, parent, "heartbeat_gaps");
    for (int i = 0; i < history->ngaps && i < HEARTBEAT_GAPS && !build->failed; i++) {
        const struct heartbeat_gap *gap = &history->gaps[i];
        cJSON *object = json_object(build, array, NULL);
        json_seconds(build, object, "since", since_begin_ms(report, gap->since_ms));
        json_seconds_if(build, object, "until", gap->until_ms > 0,
                        since_begin_ms(report, gap->until_ms));
    }
    json_number(build, parent, "heartbeat_gaps_count", history->ngaps);
}

static void add_host(struct json_build *build, cJSON *hosts, const struct job_report *report,
                     int number)
{
    const struct report_host *host = &report->hosts[number];
    const struct link_history *history = &host->history;
    cJSON *object = json_object(build, hosts, NULL);
    add_text(build, object, "host", host->name);
    add_text(build, object, "way", report_transport_name(host->transport));
    json_number_if(build, object, "agent_pid", host->agent > 0, host->agent);
    add_time(build, object, "reached", "reached_at", report, history->reached_ms);
    add_time(build, object, "ready", "ready_at", report, history->ready_ms);
    add_time(build, object, "done", "done_at", report, history->done_ms);
    add_time(build, object, "lost", "lost_at", report, history->lost_ms);
    add_text(build, object, "reason", host->reason);
    add_heartbeat_gaps(build, object, report, history);
}

/* ---- worlds ---- */

static void add_world(struct json_build *build, cJSON *worlds, const struct job_report *report,
                      const struct report_world *world)
{
    cJSON *object = json_object(build, worlds, NULL);
    json_number(build, object, "epoch", world->epoch);
    json_number(build, object, "size", world->size);
    cJSON *workers = json_array(build, object, "workers");
    for (int rank = 0; rank < world->size && !build->failed; rank++)
        json_number(build, workers, NULL, world->workers[rank]);
    add_time(build, object, "began", "began_at", report, world->began_ms);
    add_time(build, object, "ended", "ended_at", report, world->ended_ms);
    add_text(build, object, "why", world->why);
}

static cJSON *build_report(const struct job_report *report)
{
    struct json_build build;
    json_build_init(&build);
    json_number(&build, build.root, "version", REPORT_VERSION);
    json_string(&build, build.root, "hvdrun", PACKAGE_VERSION);
    json_string(&build, build.root, "job", report->job);
    add_verdict(&build, report);
    add_time(&build, build.root, "began", "began_at", report, report->began_ms);
    add_time(&build, build.root, "ended", "ended_at", report, report->ended_ms);
    cJSON *ranks = json_array(&build, build.root, "ranks");
    for (int i = 0; i < report->nranks && !build.failed; i++)
        add_rank(&build, ranks, report, i);
    cJSON *hosts = json_array(&build, build.root, "hosts");
    for (int i = 0; i < report->nhosts && !build.failed; i++)
        add_host(&build, hosts, report, i);
    cJSON *worlds = report->elastic ? json_array(&build, build.root, "worlds") : NULL;
    for (int i = 0; i < report->nworlds && !build.failed; i++)
        add_world(&build, worlds, report, &report->worlds[i]);
    return json_build_finish(&build);
}

char *report_json(const struct job_report *report)
{
    cJSON *json = build_report(report);
    char *text = json ? cJSON_Print(json) : NULL;
    cJSON_Delete(json);
    char *line = text ? xasprintf("%s\n", text) : NULL;
    cJSON_free(text);
    return line;
}
