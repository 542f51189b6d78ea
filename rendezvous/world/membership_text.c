/* SPDX-License-Identifier: Apache-2.0 */
/* Texts about members; see membership_text.h. Host names are cut, lists of ranks end in "and N
 * others", so that a line always fits its message. */
#include "rendezvous/world/membership_text.h"

#include "lib/base/rank_end_text.h"
#include "rendezvous/base/rendezvous_options.h"

#include <stdio.h>
#include <string.h>

/* The most missing ranks that the text for a waiting rank names. They are searched again for
 * every rank that comes. */
enum { AWAITED_NAMED_MAX = 16 };

static const char *host_of(const struct membership *membership, int rank)
{
    return membership->slots[rank].host;
}

/* The text for a rank that has joined. If the world is broken, the rank was refused. */
static const char *joined_text(const struct membership *membership)
{
    return membership->world == WORLD_BROKEN ? "hvd_init has failed"
                                             : "waits in hvd_init for the other ranks";
}

bool membership_text_absent(char text[MEMBERSHIP_TEXT_MAX + 1], const struct membership *membership,
                            int rank)
{
    const struct member *member = &membership->members[rank];
    const char *says = NULL;
    if (membership_can_answer(membership, rank))
        return false;
    switch (member->state) {
    case MEMBER_EXPECTED:
        says = "has not called hvd_init";
        break;
    case MEMBER_ELSEWHERE:
        says = membership->world == WORLD_GATHERING ? "waits in hvd.init() for the other ranks"
                                                    : "has called hvd.init(), and cannot be asked";
        break;
    case MEMBER_JOINED:
        says = joined_text(membership);
        break;
    case MEMBER_LEFT: /* as hvd_shutdown() does, or by just ending; the launcher may know the end */
        says = member->failed                      ? "has left, its world was broken"
               : member->how.kind == RANK_END_NONE ? "has left (hvd_shutdown or exit)"
                                                   : NULL;
        break;
    default:
        says = member->how.kind == RANK_END_NONE ? "its connection broke" : NULL;
    }
    if (says)
        snprintf(text, MEMBERSHIP_TEXT_MAX + 1, "%s", says);
    else
        rank_end_how_text(text, MEMBERSHIP_TEXT_MAX + 1, &member->how, RANK_END_PASSIVE);
    return true;
}

static bool same_host(const struct membership *membership, int a, int b)
{
    return strcmp(host_of(membership, a), host_of(membership, b)) == 0;
}

/* Are runs `i` and `i + 1` both shown and on the same host? */
static bool joined_to_next(const struct membership *membership, const struct rank_runs *missing,
                           int i, int shown)
{
    return i >= 0 && i + 1 < shown &&
           same_host(membership, missing->shown[i].first, missing->shown[i + 1].first);
}

/* "ranks 1-3, 7 on localhost, rank 8 on node1"; returns how many ranks that names. */
static int add_runs(struct text_line *line, const struct membership *membership,
                    const struct rank_runs *missing, int shown)
{
    int ranks = 0;
    for (int i = 0; i < shown; i++) {
        const struct rank_run *run = &missing->shown[i];
        bool more = joined_to_next(membership, missing, i, shown);
        if (!joined_to_next(membership, missing, i - 1, shown))
            text_line_add(line, more || run->end - run->first > 1 ? "ranks " : "rank ");
        text_line_add_run(line, run);
        if (!more)
            text_line_add(line, " on %.*s", HOST_SHOWN_MAX, host_of(membership, run->first));
        if (i + 1 < shown)
            text_line_add(line, ", ");
        ranks += run->end - run->first;
    }
    return ranks;
}

static struct text_line missing_line(const struct membership *membership,
                                     const struct rank_runs *missing, int shown, bool timed_out)
{
    struct text_line line = { 0 };
    text_line_add_others(&line, missing->ranks - add_runs(&line, membership, missing, shown));
    text_line_add(&line, missing->ranks == 1 ? " has" : " have");
    if (!timed_out) {
        text_line_add(&line, " not called hvd.init()");
        return line;
    }
    text_line_add(&line, " not called hvd_init within ");
    text_line_add_time(&line, membership->start_timeout_ms);
    return line;
}

static void find_missing(struct rank_runs *missing, const struct membership *membership)
{
    for (int rank = 0; rank < membership->size; rank++)
        if (membership->members[rank].state == MEMBER_EXPECTED)
            rank_runs_add(missing, rank, rank > 0 && same_host(membership, rank - 1, rank));
}

bool membership_text_missing(char text[JOIN_TEXT_MAX], const struct membership *membership,
                             bool timed_out)
{
    struct rank_runs missing = { 0 };
    find_missing(&missing, membership);
    int shown = missing.count;
    struct text_line line = missing_line(membership, &missing, shown, timed_out);
    while (line.full && shown > 1)
        line = missing_line(membership, &missing, --shown, timed_out);
    memcpy(text, line.text, sizeof line.text);
    return missing.ranks > 0;
}

void membership_text_awaited(char text[JOIN_TEXT_MAX], const struct membership *membership)
{
    struct text_line line = { 0 };
    struct rank_runs missing = { 0 };
    int count = membership->size - membership->joined - membership->elsewhere;
    if (count <= AWAITED_NAMED_MAX)
        find_missing(&missing, membership);
    text_line_add_others(&line,
                         missing.ranks - add_runs(&line, membership, &missing, missing.count));
    if (line.full || missing.ranks == 0) {
        line = (struct text_line){ 0 };
        text_line_add(&line, "%d of %d ranks", count, membership->size);
    }
    memcpy(text, line.text, sizeof line.text);
}
