/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing who is to blame; see job_blame.h. Looks at all ranks when the job is over, so that it
 * does not matter in which order their ends became known. */
#include "launcher/job_blame.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* So long may one that has left because of another's departure take to fail of it. */
enum { FOLLOWS_WITHIN_MS = 60000 };

static bool has_failed(const struct report_rank *rank)
{
    return rank->end == END_BY_ITSELF && rank->wait_status != 0;
}

/* It chose to end, as one does that has lost somebody. */
static bool gave_up(const struct report_rank *rank)
{
    return WIFEXITED(rank->wait_status) || WTERMSIG(rank->wait_status) == SIGABRT;
}

/* May have ended before the other, as far as the clocks can tell. */
static bool may_precede(const struct report_rank *rank, const struct report_rank *other)
{
    uint64_t slack_us = rank->host == other->host ? 0 : rank->slack_us + other->slack_us;
    return rank->ended_us <= other->ended_us + slack_us;
}

/* Without a rank that has left one may go on, and fail for a reason of its own later. */
static bool fell_with_departure(const struct report_rank *rank)
{
    return rank->parted_status == HVD_ERR_PEER_LEFT &&
           rank->ended_us / 1000 <= rank->parted_ms + FOLLOWS_WITHIN_MS;
}

static bool has_followed(const struct job_report *report, int number)
{
    const struct report_rank *rank = &report->ranks[number];
    if (rank->parted_status == HVD_ERR_PEER_LOST || fell_with_departure(rank))
        return true;
    int lost = report->lost_rank;
    return lost >= 0 && lost != number && rank->met && gave_up(rank) &&
           report->ranks[lost].ended_us > 0 && may_precede(&report->ranks[lost], rank);
}

/* The earliest of those that have followed, or have not; of all (`before` NULL), or of those that
 * did not give up and may have ended before that one. -1: none. */
static int find_earliest(const struct job_report *report, bool followed,
                         const struct report_rank *before)
{
    int earliest = -1;
    for (int i = 0; i < report->nranks; i++) {
        const struct report_rank *rank = &report->ranks[i];
        if (!has_failed(rank) || has_followed(report, i) != followed)
            continue;
        if (before && (gave_up(rank) || !may_precede(rank, before)))
            continue;
        if (earliest < 0 || rank->ended_us < report->ranks[earliest].ended_us)
            earliest = i;
    }
    return earliest;
}

/* All are compared with the earliest only: that two may have ended in either order is no order
 * among three. */
static int find_first(const struct job_report *report, bool followed)
{
    int earliest = find_earliest(report, followed, NULL);
    if (earliest < 0 || !gave_up(&report->ranks[earliest]))
        return earliest;
    int killed = find_earliest(report, followed, &report->ranks[earliest]);
    return killed >= 0 ? killed : earliest;
}

/* "allreduce 'grad': rank 2 on node1 left (hvd_shutdown)": which rank, and where what it was wanted
 * for ends in the text; -1 if it is another text. */
static int parse_left(const char *text, const char **label_end)
{
    int rank = -1;
    *label_end = text;
    if (!strstr(text, " left"))
        return -1;
    for (const char *at = text; (at = strstr(at, "rank ")); at++) {
        int number;
        bool begins = at == text || (at - text >= 2 && at[-2] == ':');
        if (!begins || sscanf(at, "rank %9d on ", &number) != 1 || number < 0)
            continue;
        rank = number;
        *label_end = at == text ? text : at - 2;
    }
    return rank;
}

/* The rank did not wait for the others: blames it, if it did not fail itself. */
static bool blame_who_left(struct job_blame *blame, const struct job_report *report)
{
    const char *text = report->ranks[blame->rank].parted_text, *label_end;
    int left = text ? parse_left(text, &label_end) : -1;
    if (left < 0 || left >= report->nranks || left == blame->rank)
        return false;
    blame->witness = blame->rank;
    blame->rank = left;
    if (label_end > text)
        snprintf(blame->text, sizeof blame->text, "left before %.*s, for which rank %d waited",
                 (int)(label_end - text), text, blame->witness);
    else
        snprintf(blame->text, sizeof blame->text, "left before rank %d, which needed it",
                 blame->witness);
    return true;
}

/* The same of one that ended well without a word to the others. */
static bool blame_who_ended(struct job_blame *blame, const struct job_report *report)
{
    int lost = report->lost_rank;
    const char *how;
    if (lost < 0 || report->ranks[lost].end != END_BY_ITSELF ||
        report->ranks[lost].wait_status != 0)
        return false;
    how = strstr(report->lost_text, "exited with status 0");
    blame->witness = blame->rank;
    blame->rank = lost;
    snprintf(blame->text, sizeof blame->text, "%.100s, and rank %d needed it",
             how ? how : "exited with status 0", blame->witness);
    return true;
}

/* One that is deaf, or else the one that was lost; -1: none. */
static int find_host(const struct job_report *report)
{
    int lost = -1;
    for (int i = 0; i < report->nhosts; i++) {
        if (report->hosts[i].deaf)
            return i;
        if (report->hosts[i].lost)
            lost = i;
    }
    return lost;
}

/* Of those that have lost each other, the first is the witness. */
static void blame_host(struct job_blame *blame, const struct job_report *report)
{
    const struct report_rank *witness = &report->ranks[blame->rank];
    blame->host = find_host(report);
    if (blame->host < 0)
        return;
    if (report->hosts[blame->host].deaf)
        snprintf(blame->text, sizeof blame->text, "host lost: no answer; rank %d: %.300s",
                 blame->rank, witness->parted_text ? witness->parted_text : "a peer was lost");
    blame->witness = blame->rank;
    blame->rank = -1;
}

/* A host may be lost because of the stop, too, as one whose agent hangs then: so it comes last. */
bool job_blame_choose(struct job_blame *blame, const struct job_report *report)
{
    *blame = (struct job_blame){ .rank = find_first(report, false), .host = -1, .witness = -1 };
    if (blame->rank >= 0)
        return true;
    blame->rank = find_first(report, true);
    if (blame->rank < 0)
        return false;
    int parted = report->ranks[blame->rank].parted_status;
    if (parted == HVD_ERR_PEER_LEFT)
        blame_who_left(blame, report);
    else if (!blame_who_ended(blame, report) && parted == HVD_ERR_PEER_LOST)
        blame_host(blame, report);
    return true;
}
