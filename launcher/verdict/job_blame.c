/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing the rank to blame; see job_blame.h. Examines all ranks when the job is over, so that the
 * order in which their ends became known does not matter. */
#include "launcher/verdict/job_blame.h"

#include "launcher/verdict/unresponsive_host.h"

/* The longest time that a rank may take to fail because another rank has left. */
enum { FOLLOWS_WITHIN_MS = 60000 };

static bool has_failed(const struct report_rank *rank)
{
    return rank->end == END_BY_ITSELF && !rank_end_is_clean_exit(&rank->how);
}

static bool gave_up(const struct report_rank *rank)
{
    return rank_end_gave_up(&rank->how);
}

/* `rank` may have ended before `other`, as far as the clocks can tell. */
static bool may_precede(const struct report_rank *rank, const struct report_rank *other)
{
    uint64_t slack_us = rank->host == other->host ? 0 : rank->slack_us + other->slack_us;
    return rank->ended_us <= other->ended_us + slack_us;
}

static int left_status(const struct report_rank *rank)
{
    return rank->left_because ? rank->left_because->status : HVD_OK;
}

/* After a rank has left, another rank may go on, and fail later for a reason of its own. */
static bool fell_with_departure(const struct report_rank *rank)
{
    return left_status(rank) == HVD_ERR_PEER_LEFT &&
           rank->ended_us / 1000 <= rank->left_ms + FOLLOWS_WITHIN_MS;
}

/* The rank has reported that its world was broken by the failure of another. */
static bool names_another(const struct report_rank *rank, int number)
{
    return rank->left_because && rank->left_because->because_of >= 0 &&
           rank->left_because->because_of != number;
}

static int origin_rank(const struct job_report *report)
{
    return report->origin.status != HVD_OK ? report->origin.because_of : RANK_NONE;
}

/* The origin is a rank that hvdrun has ended: another rank had failed before. */
static bool origin_was_ended(const struct job_report *report)
{
    const struct report_rank *origin = &report->ranks[origin_rank(report)];
    return origin->end == END_TERMINATED && report->origin.how.kind == RANK_END_KILLED;
}

/* The rank may have ended after the origin had, or, if the origin had not ended, after its failure
 * was known. The end of a rank may be dated too late, if its agent got no processor meanwhile, so
 * that of one that aborted an origin that hvdrun has ended says nothing. */
static bool knew_origin(const struct job_report *report, const struct report_rank *rank)
{
    const struct report_rank *origin = &report->ranks[origin_rank(report)];
    bool aborted = rank->how.kind == RANK_END_KILLED;
    return (origin->ended_us > 0 && !(aborted && origin_was_ended(report)) &&
            may_precede(origin, rank)) ||
           (report->origin_ran_on && report->origin_us <= rank->ended_us + rank->slack_us);
}

/* What the rank has written of its failure, if its own end, or that of another, at `end_us` may
 * come from that. The records of libhvd say more than words. */
static enum stderr_failure_kind explained(const struct report_rank *rank, uint64_t end_us)
{
    bool recent = end_us <= rank->wrote.began_us + STDERR_FAILURE_LASTS_US;
    return rank->met || !recent ? STDERR_NO_FAILURE : rank->wrote.kind;
}

static bool wrote_of_another(const struct report_rank *rank)
{
    return gave_up(rank) && explained(rank, rank->ended_us) == STDERR_CONSEQUENCE;
}

static bool wrote_of_itself(const struct report_rank *rank)
{
    return gave_up(rank) && explained(rank, rank->ended_us) == STDERR_OWN_FAILURE;
}

static bool has_followed(const struct job_report *report, int number)
{
    const struct report_rank *rank = &report->ranks[number];
    if (left_status(rank) == HVD_ERR_PEER_LOST || fell_with_departure(rank) ||
        names_another(rank, number) || wrote_of_another(rank))
        return true;
    return origin_rank(report) >= 0 && origin_rank(report) != number && rank->met &&
           gave_up(rank) && knew_origin(report, rank);
}

/* The earliest failed rank among those that have followed (`followed`), or have not. With `before`:
 * only ranks that did not give up and may have ended before `before`. -1: none. */
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

/* `rank` has written of its failure before `other` has written of its own, as the clocks can
 * tell. */
static bool wrote_before(const struct report_rank *rank, const struct report_rank *other)
{
    uint64_t slack_us =
        rank->host == other->host ? 0 : rank->wrote_slack_us + other->wrote_slack_us;
    return wrote_of_itself(rank) && rank->wrote.began_us + slack_us < other->wrote.began_us;
}

/* The first to write among the failed ranks, if `earliest` is one that wrote; or `earliest`. */
static int find_first_to_write(const struct job_report *report, bool followed, int earliest)
{
    int first = earliest;
    if (!wrote_of_itself(&report->ranks[earliest]))
        return earliest;
    for (int i = 0; i < report->nranks; i++) {
        const struct report_rank *rank = &report->ranks[i];
        if (has_failed(rank) && has_followed(report, i) == followed &&
            wrote_before(rank, &report->ranks[earliest]) &&
            rank->wrote.began_us < report->ranks[first].wrote.began_us)
            first = i;
    }
    return first;
}

/* All ranks are compared with the earliest only: "may have ended in either order" is no order among
 * three. */
static int find_first(const struct job_report *report, bool followed)
{
    int earliest = find_earliest(report, followed, NULL);
    if (earliest < 0 || !gave_up(&report->ranks[earliest]))
        return earliest;
    int killed = find_earliest(report, followed, &report->ranks[earliest]);
    return killed >= 0 ? killed : find_first_to_write(report, followed, earliest);
}

/* A rank left without waiting for the others: blames it, if it did not fail itself. */
static bool blame_who_left(struct job_blame *blame, const struct job_report *report)
{
    const struct rank_end *left_because = report->ranks[blame->rank].left_because;
    if (!left_because || left_because->how.kind != RANK_END_LEFT || left_because->rank < 0 ||
        left_because->rank >= report->nranks || left_because->rank == blame->rank)
        return false;
    blame->reason = BLAME_LEFT;
    blame->said = left_because;
    blame->reporter = blame->rank;
    blame->rank = left_because->rank;
    return true;
}

static void blame_gone(struct job_blame *blame, const struct job_report *report,
                       enum blame_reason reason)
{
    blame->reason = reason;
    blame->said = &report->origin;
    blame->reporter = blame->rank;
    blame->rank = origin_rank(report);
}

/* The rank whose loss, or departure before all had come, was the first failure; or NULL. */
static const struct report_rank *origin_gone(const struct job_report *report)
{
    bool gone =
        report->origin.status == HVD_ERR_PEER_LOST || report->origin.status == HVD_ERR_PEER_LEFT;
    return gone ? &report->ranks[origin_rank(report)] : NULL;
}

/* Blames an origin that exited with status 0 without leaving. */
static bool blame_who_ended(struct job_blame *blame, const struct job_report *report)
{
    const struct report_rank *gone = origin_gone(report);
    if (!gone || gone->end != END_BY_ITSELF || !rank_end_is_clean_exit(&gone->how))
        return false;
    blame_gone(blame, report, BLAME_ENDED_WELL);
    return true;
}

/* The connection of the rank had ended before the first rank failed. The report that this broke the
 * world may have come only later, when the rank had been told to end. */
static bool ran_on(const struct job_report *report, const struct report_rank *rank)
{
    return report->origin_ran_on ? rank->end != END_LOST
                                 : rank->disconnected && rank->end == END_TERMINATED;
}

/* Blames an origin that ran on, perhaps as another program, after its connection had ended. */
static bool blame_who_disconnected(struct job_blame *blame, const struct job_report *report)
{
    const struct report_rank *gone = origin_gone(report);
    if (!gone || !ran_on(report, gone) || origin_rank(report) == blame->rank)
        return false;
    bool said_so = report->origin.status == HVD_ERR_PEER_LEFT;
    blame_gone(blame, report, said_so ? BLAME_LEFT_EARLY : BLAME_RAN_ON);
    return true;
}

/* The rank has failed; quotes the failure that it reported, if it was its own. */
static void quote_own(struct job_blame *blame, const struct job_report *report)
{
    const struct rank_end *left_because = report->ranks[blame->rank].left_because;
    if (left_because && left_because->because_of == blame->rank)
        blame->said = left_because;
}

/* Blames a rank named by a failed rank, if the named rank has not failed by itself. */
static bool blame_named(struct job_blame *blame, const struct job_report *report)
{
    const struct report_rank *reporter = &report->ranks[blame->rank];
    int status = left_status(reporter);
    if (status == HVD_ERR_PEER_LOST || status == HVD_ERR_PEER_LEFT ||
        !names_another(reporter, blame->rank) ||
        reporter->left_because->because_of >= report->nranks)
        return false;
    blame->reporter = blame->rank;
    blame->rank = reporter->left_because->because_of;
    blame->reason = BLAME_NAMED;
    blame->said = reporter->left_because;
    return true;
}

/* Blames the origin, which has said that it failed, for a rank that says nothing of the origin:
 * both have failed at the same time, for instance, and the origin is slow to end. */
static bool blame_origin(struct job_blame *blame, const struct job_report *report)
{
    int origin = origin_rank(report);
    if (origin < 0 || origin == blame->rank || report->origin.how.kind != RANK_END_FAILED)
        return false;
    blame_gone(blame, report, BLAME_NAMED);
    return true;
}

/* The unresponsive host, or else the lost one; -1: none. */
static int find_host(const struct job_report *report)
{
    int host = unresponsive_host_find(report);
    for (int i = 0; i < report->nhosts && host < 0; i++)
        if (report->hosts[i].lost)
            host = i;
    return host;
}

/* Blames the host; of the ranks that have lost each other, the first is the reporter. */
static bool blame_host(struct job_blame *blame, const struct job_report *report)
{
    blame->host = find_host(report);
    if (blame->host < 0)
        return false;
    blame->reason =
        unresponsive_host_is(report, blame->host) ? BLAME_HOST_UNRESPONSIVE : BLAME_HOST_LOST;
    blame->said = report->ranks[blame->rank].left_because;
    blame->reporter = blame->rank;
    blame->rank = -1;
    return true;
}

/* What `rank` wrote came before the end of `other`, as far as the clocks can tell. */
static bool may_have_written_before(const struct report_rank *rank, const struct report_rank *other)
{
    uint64_t slack_us = rank->host == other->host ? 0 : rank->wrote_slack_us + other->slack_us;
    return rank->wrote.began_us <= other->ended_us + slack_us;
}

/* Blames the first rank that wrote of a failure of this kind before the first end, and was told to
 * end. */
static bool blame_writer(struct job_blame *blame, const struct job_report *report,
                         enum stderr_failure_kind kind)
{
    const struct report_rank *reporter = &report->ranks[blame->rank];
    int writer = -1;
    for (int i = 0; i < report->nranks; i++) {
        const struct report_rank *rank = &report->ranks[i];
        if ((rank->end == END_TERMINATED || rank->end == END_LEFT) &&
            explained(rank, reporter->ended_us) == kind &&
            may_have_written_before(rank, reporter) &&
            (writer < 0 || rank->wrote.began_us < report->ranks[writer].wrote.began_us))
            writer = i;
    }
    if (writer < 0)
        return false;
    blame->reason = BLAME_WROTE;
    blame->reporter = blame->rank;
    blame->rank = writer;
    return true;
}

/* Blames the first rank that exited with status 0 while the others went on. */
static bool blame_first_well_ended(struct job_blame *blame, const struct job_report *report)
{
    int first = -1;
    for (int i = 0; i < report->nranks; i++) {
        const struct report_rank *rank = &report->ranks[i];
        if (rank->end == END_BY_ITSELF && rank_end_is_clean_exit(&rank->how) &&
            may_precede(rank, &report->ranks[blame->rank]) &&
            (first < 0 || rank->ended_us < report->ranks[first].ended_us))
            first = i;
    }
    if (first < 0)
        return false;
    blame->reason = BLAME_ENDED_WELL;
    blame->reporter = blame->rank;
    blame->rank = first;
    return true;
}

/* All failed ranks wrote that another has failed, and none has. */
static void blame_whom_words_mean(struct job_blame *blame, const struct job_report *report)
{
    if ((unresponsive_host_find(report) >= 0 && blame_host(blame, report)) ||
        blame_writer(blame, report, STDERR_OWN_FAILURE) || blame_first_well_ended(blame, report) ||
        blame_host(blame, report))
        return;
    blame_writer(blame, report, STDERR_FAILURE_BEGUN);
}

static void blame_another(struct job_blame *blame, const struct job_report *report)
{
    if (wrote_of_another(&report->ranks[blame->rank])) {
        blame_whom_words_mean(blame, report);
        return;
    }
    int status = left_status(&report->ranks[blame->rank]);
    bool left = status == HVD_ERR_PEER_LEFT;
    if (blame_named(blame, report) ||
        (left && unresponsive_host_find(report) >= 0 && blame_host(blame, report)))
        return;
    bool found = left ? blame_who_left(blame, report)
                      : blame_who_ended(blame, report) ||
                            (status == HVD_ERR_PEER_LOST && blame_host(blame, report)) ||
                            blame_who_disconnected(blame, report);
    if (!found && !blame_origin(blame, report))
        quote_own(blame, report);
}

/* A host may also be lost because of the stop, for instance when its agent hangs then: so a lost
 * host comes last. A host that was unresponsive before the stop was not. Ranks that have lost such
 * a host only know that a rank left, if one has. */
bool job_blame_choose(struct job_blame *blame, const struct job_report *report)
{
    *blame = (struct job_blame){ .rank = find_first(report, false), .host = -1, .reporter = -1 };
    if (blame->rank >= 0) {
        quote_own(blame, report);
        return true;
    }
    blame->rank = find_first(report, true);
    if (blame->rank < 0)
        return false;
    blame_another(blame, report);
    return true;
}
