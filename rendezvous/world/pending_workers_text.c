/* SPDX-License-Identifier: Apache-2.0 */
/* Texts about pending workers; see pending_workers_text.h. They allocate no memory, so that they
 * cannot fail. */
#include "rendezvous/world/pending_workers_text.h"

#include "lib/base/text.h"

#include <string.h>

static void write_line(char text[JOIN_TEXT_MAX], const struct text_line *line)
{
    memcpy(text, line->text, sizeof line->text);
}

void pending_workers_text_left(char text[JOIN_TEXT_MAX], const struct pending_workers *pending,
                               int worker, bool said_goodbye)
{
    const struct pending_worker *who = &pending->workers[worker];
    struct text_line line = { 0 };
    text_line_add(&line, "worker on %.*s (pid %d) %s before all had come", HOST_SHOWN_MAX,
                  who->host, who->pid, said_goodbye ? "left" : "disconnected");
    write_line(text, &line);
}

void pending_workers_text_ended(char text[JOIN_TEXT_MAX], const char *why)
{
    struct text_line line = { 0 };
    text_line_add(&line, "%s", why);
    text_make_line(line.text);
    write_line(text, &line);
}

/* ---- who is missing ---- */

static bool all_have_asked(const struct pending_workers *pending)
{
    for (int i = 0; i < pending->count; i++)
        if (pending->workers[i].wanted < 0)
            return false;
    return true;
}

static struct text_line missing_line(const struct pending_workers *pending,
                                     const struct rank_runs *missing, int shown)
{
    struct text_line line = { 0 };
    int named = 0;
    text_line_add(&line, "%s ", missing->ranks == 1 ? "rank" : "ranks");
    for (int i = 0; i < shown; i++) {
        text_line_add(&line, i > 0 ? ", " : "");
        text_line_add_run(&line, &missing->shown[i]);
        named += missing->shown[i].end - missing->shown[i].first;
    }
    text_line_add_others(&line, missing->ranks - named);
    text_line_add(&line, " of %d %s not come within ", pending->size,
                  missing->ranks == 1 ? "has" : "have");
    text_line_add_time(&line, pending->start_timeout_ms);
    return line;
}

static void write_missing(char text[JOIN_TEXT_MAX], const struct pending_workers *pending)
{
    struct rank_runs missing = { 0 };
    for (int rank = 0; rank < pending->size; rank++)
        if (pending_workers_find(pending, rank) < 0)
            rank_runs_add(&missing, rank, true);
    int shown = missing.count;
    struct text_line line = missing_line(pending, &missing, shown);
    while (line.full && shown > 1)
        line = missing_line(pending, &missing, --shown);
    write_line(text, &line);
}

/* ---- who has come ---- */

enum { HOSTS_MAX = 16 }; /* nobody reads more */

struct hosts {
    int count;
    struct {
        const char *name;
        int workers;
    } shown[HOSTS_MAX]; /* the first that came */
};

static void count_worker(struct hosts *hosts, const char *name)
{
    int i = 0;
    while (i < hosts->count && strcmp(hosts->shown[i].name, name) != 0)
        i++;
    if (i == HOSTS_MAX)
        return;
    if (i == hosts->count)
        hosts->shown[hosts->count++].name = name;
    hosts->shown[i].workers++;
}

static struct text_line come_line(const struct pending_workers *pending, const struct hosts *hosts,
                                  int shown)
{
    struct text_line line = { 0 };
    int others = pending->count;
    text_line_add(&line, "%d of %d workers %s come within ", pending->count, pending->size,
                  pending->count == 1 ? "has" : "have");
    text_line_add_time(&line, pending->start_timeout_ms);
    for (int i = 0; i < shown; i++) {
        text_line_add(&line, "%s%d from %.*s", i > 0 ? ", " : ": ", hosts->shown[i].workers,
                      HOST_SHOWN_MAX, hosts->shown[i].name);
        others -= hosts->shown[i].workers;
    }
    if (others > 0)
        text_line_add(&line, " and %d from other hosts", others);
    return line;
}

static void write_come(char text[JOIN_TEXT_MAX], const struct pending_workers *pending)
{
    struct hosts hosts = { 0 };
    for (int i = 0; i < pending->count; i++)
        count_worker(&hosts, pending->workers[i].host);
    int shown = hosts.count;
    struct text_line line = come_line(pending, &hosts, shown);
    while (line.full && shown > 1)
        line = come_line(pending, &hosts, --shown);
    write_line(text, &line);
}

void pending_workers_text_timeout(char text[JOIN_TEXT_MAX], const struct pending_workers *pending)
{
    if (all_have_asked(pending))
        write_missing(text, pending);
    else
        write_come(text, pending);
}

void pending_workers_text_awaited(char text[JOIN_TEXT_MAX], const struct pending_workers *pending)
{
    struct text_line line = { 0 };
    text_line_add(&line, "%d of %d workers", pending->size - pending->count, pending->size);
    write_line(text, &line);
}
