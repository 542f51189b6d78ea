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

/* It has said that its world was broken by the failure of another. */
static bool names_another(const struct report_rank *rank, int number)
{
    return rank->parted_status != HVD_OK && rank->parted_origin >= 0 &&
           rank->parted_origin != number;
}

/* It may have ended after the rank at the origin had, or, if that had not, after it was known. */
static bool knew_origin(const struct job_report *report, const struct report_rank *rank)
{
    const struct report_rank *origin = &report->ranks[report->origin_rank];
    return (origin->ended_us > 0 && may_precede(origin, rank)) ||
           (report->origin_ran_on && report->origin_us <= rank->ended_us + rank->slack_us);
}

static bool has_followed(const struct job_report *report, int number)
{
    const struct report_rank *rank = &report->ranks[number];
    if (rank->parted_status == HVD_ERR_PEER_LOST || fell_with_departure(rank) ||
        names_another(rank, number))
        return true;
    return report->origin_rank >= 0 && report->origin_rank != number && rank->met &&
           gave_up(rank) && knew_origin(report, rank);
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

/* "allreduce 'grad': rank 2 on node1 left (hvd_shutdown or exit)": which rank, and where what it was wanted
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

static void blame_gone(struct job_blame *blame, const struct job_report *report, const char *how)
{
    blame->witness = blame->rank;
    blame->rank = report->origin_rank;
    snprintf(blame->text, sizeof blame->text, "%.100s, and rank %d needed it", how, blame->witness);
}

/* The rank whose loss, or departure before all had come, was the first failure; or NULL. */
static const struct report_rank *origin_gone(const struct job_report *report)
{
    bool gone = report->origin_rank >= 0 && (report->origin_status == HVD_ERR_PEER_LOST ||
                                             report->origin_status == HVD_ERR_PEER_LEFT);
    return gone ? &report->ranks[report->origin_rank] : NULL;
}

/* The same of one that ended well without a word to the others. */
static bool blame_who_ended(struct job_blame *blame, const struct job_report *report)
{
    const struct report_rank *gone = origin_gone(report);
    if (!gone || gone->end != END_BY_ITSELF || gone->wait_status != 0)
        return false;
    const char *how = strstr(report->origin_text, "exited with status 0");
    blame_gone(blame, report, how ? how : "exited with status 0");
    return true;
}

/* Its connection had ended before the first rank failed; that it was this which broke the world
 * may have become known only later, when it had been told to end. */
static bool ran_on(const struct job_report *report, const struct report_rank *rank)
{
    return report->origin_ran_on ? rank->end != END_LOST
                                 : rank->broke_off && rank->end == END_TERMINATED;
}

/* And of one that ran on, as another program maybe, when its connection had ended. */
static bool blame_who_broke_off(struct job_blame *blame, const struct job_report *report)
{
    const struct report_rank *gone = origin_gone(report);
    if (!gone || !ran_on(report, gone) || report->origin_rank == blame->rank)
        return false;
    bool said_so = report->origin_status == HVD_ERR_PEER_LEFT;
    blame_gone(blame, report,
               said_so ? "left before all had come"
                       : "broke off without hvd_shutdown and ran on (exec?)");
    return true;
}

/* What a rank has said, without its own name in front. */
static const char *own_words(const char *text, int rank)
{
    int number, length = 0;
    const char *rest = strstr(text, ": ");
    if (rest && sscanf(text, "rank %9d on %n", &number, &length) == 1 && number == rank && length)
        return rest + 2;
    return text;
}

/* The rank, which has ended in failure, was broken by its own. */
static void quote(struct job_blame *blame, const struct job_report *report)
{
    const struct report_rank *rank = &report->ranks[blame->rank];
    if (rank->parted_status != HVD_OK && rank->parted_origin == blame->rank && rank->parted_text)
        snprintf(blame->text, sizeof blame->text, "%.300s",
                 own_words(rank->parted_text, blame->rank));
}

/* The rank that a failed one has named did not end in failure by itself. */
static bool blame_named(struct job_blame *blame, const struct job_report *report)
{
    const struct report_rank *witness = &report->ranks[blame->rank];
    int origin = witness->parted_origin, status = witness->parted_status;
    if (status == HVD_ERR_PEER_LOST || status == HVD_ERR_PEER_LEFT ||
        !names_another(witness, blame->rank) || origin >= report->nranks || !witness->parted_text)
        return false;
    blame->witness = blame->rank;
    blame->rank = origin;
    blame->by_word = true;
    snprintf(blame->text, sizeof blame->text, "%.300s, and rank %d failed for it",
             own_words(witness->parted_text, origin), blame->witness);
    return true;
}

/* -1: none. */
static int find_deaf(const struct job_report *report)
{
    for (int i = 0; i < report->nhosts; i++)
        if (report->hosts[i].deaf)
            return i;
    return -1;
}

/* One that is deaf, or else the one that was lost; -1: none. */
static int find_host(const struct job_report *report)
{
    int host = find_deaf(report);
    for (int i = 0; i < report->nhosts && host < 0; i++)
        if (report->hosts[i].lost)
            host = i;
    return host;
}

static const char *complaint(const struct report_rank *witness)
{
    if (witness->parted_status == HVD_ERR_PEER_LEFT)
        return "waited in vain";
    return witness->parted_text ? witness->parted_text : "a peer was lost";
}

/* Of those that have lost each other, the first is the witness. */
static bool blame_host(struct job_blame *blame, const struct job_report *report)
{
    blame->host = find_host(report);
    if (blame->host < 0)
        return false;
    if (report->hosts[blame->host].deaf)
        snprintf(blame->text, sizeof blame->text, "host lost: no answer; rank %d: %.300s",
                 blame->rank, complaint(&report->ranks[blame->rank]));
    blame->witness = blame->rank;
    blame->rank = -1;
    return true;
}

static void blame_another(struct job_blame *blame, const struct job_report *report)
{
    int parted = report->ranks[blame->rank].parted_status;
    bool left = parted == HVD_ERR_PEER_LEFT;
    if (blame_named(blame, report) || (left && find_deaf(report) >= 0 && blame_host(blame, report)))
        return;
    if (left)
        blame_who_left(blame, report);
    else if (!blame_who_ended(blame, report) &&
             (parted != HVD_ERR_PEER_LOST || !blame_host(blame, report)))
        blame_who_broke_off(blame, report);
}

/* A host may be lost because of the stop, too, as one whose agent hangs then: so it comes last. One
 * that was deaf before was not; ranks that have lost it know no better than that somebody left, if
 * somebody has. */
bool job_blame_choose(struct job_blame *blame, const struct job_report *report)
{
    *blame = (struct job_blame){ .rank = find_first(report, false), .host = -1, .witness = -1 };
    if (blame->rank >= 0) {
        quote(blame, report);
        return true;
    }
    blame->rank = find_first(report, true);
    if (blame->rank < 0)
        return false;
    blame_another(blame, report);
    return true;
}
