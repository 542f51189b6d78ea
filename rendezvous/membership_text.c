/* SPDX-License-Identifier: Apache-2.0 */
/* Texts about members; see membership_text.h. Host names are cut, lists of ranks end in "and N
 * others", so that a line always fits its message. */
#include "rendezvous/membership_text.h"

#include "rendezvous/rendezvous.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { HOST_SHOWN_MAX = 80 };

static const char *host_of(const struct membership *membership, int rank)
{
    return membership->slots[rank].host;
}

/* A clean exit is a loss only because hvd_shutdown() was not called; that must be said. */
static const char *lost_suffix(const char *how, bool had_joined)
{
    if (!had_joined)
        return " before hvd_init";
    return strcmp(how, "exited with status 0") == 0 ? " without hvd_shutdown" : "";
}

void membership_text_lost(char text[JOIN_TEXT_MAX], const struct membership *membership, int rank,
                          bool had_joined)
{
    const char *host = host_of(membership, rank), *how = membership->members[rank].how;
    if (!how) {
        snprintf(text, MEMBERSHIP_TEXT_MAX + 1, "the connection to rank %d on %.*s broke", rank,
                 HOST_SHOWN_MAX, host);
        return;
    }
    snprintf(text, MEMBERSHIP_TEXT_MAX + 1, "rank %d on %.*s %s%s", rank, HOST_SHOWN_MAX, host, how,
             lost_suffix(how, had_joined));
}

void membership_text_left(char text[JOIN_TEXT_MAX], const struct membership *membership, int rank)
{
    snprintf(text, MEMBERSHIP_TEXT_MAX + 1, "rank %d on %.*s left (hvd_shutdown)", rank,
             HOST_SHOWN_MAX, host_of(membership, rank));
}

/* Whose world has come to nothing has joined, and was refused. */
static const char *joined_text(const struct membership *membership)
{
    if (membership_was_complete(membership))
        return NULL;
    return membership->world == WORLD_BROKEN ? "hvd_init has failed"
                                             : "waits in hvd_init for the other ranks";
}

const char *membership_text_absent(const struct membership *membership, int rank)
{
    const struct member *member = &membership->members[rank];
    switch (member->state) {
    case MEMBER_EXPECTED:
        return "has not called hvd_init";
    case MEMBER_JOINED:
        return joined_text(membership);
    case MEMBER_LEFT:
        return "has left (hvd_shutdown)";
    default:
        return member->how ? member->how : "its connection broke";
    }
}

/* A line that grows and remembers that something did not fit. */
struct line {
    char text[MEMBERSHIP_TEXT_MAX + 1];
    size_t length;
    bool full;
};

static void __attribute__((format(printf, 2, 3))) add(struct line *line, const char *format, ...)
{
    size_t room = sizeof line->text - line->length;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line->text + line->length, room, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= room)
        line->full = true;
    else
        line->length += (size_t)length;
}

/* Missing ranks [first, end) of one host, without a gap. */
struct range {
    int first, end;
};

/* More cannot be shown in a line. */
enum { RANGES_MAX = 64 };

struct missing {
    int ranks;
    int ranges;
    struct range shown[RANGES_MAX]; /* the first of the ranges */
};

static bool same_host(const struct membership *membership, int a, int b)
{
    return strcmp(host_of(membership, a), host_of(membership, b)) == 0;
}

static void missing_add(struct missing *missing, const struct membership *membership, int rank)
{
    missing->ranks++;
    struct range *last = missing->ranges > 0 ? &missing->shown[missing->ranges - 1] : NULL;
    if (last && last->end == rank && same_host(membership, rank - 1, rank))
        last->end++;
    else if (missing->ranges < RANGES_MAX)
        missing->shown[missing->ranges++] = (struct range){ rank, rank + 1 };
}

static void add_range(struct line *line, struct range range)
{
    if (range.end - range.first == 1)
        add(line, "%d", range.first);
    else
        add(line, range.end - range.first == 2 ? "%d, %d" : "%d-%d", range.first, range.end - 1);
}

/* Whether ranges `i` and `i + 1` are both shown and of one host. */
static bool joined_to_next(const struct membership *membership, const struct missing *missing,
                           int i, int shown)
{
    return i >= 0 && i + 1 < shown &&
           same_host(membership, missing->shown[i].first, missing->shown[i + 1].first);
}

/* "ranks 1-3, 7 on localhost, rank 8 on node1"; returns how many ranks that names. */
static int add_ranges(struct line *line, const struct membership *membership,
                      const struct missing *missing, int shown)
{
    int ranks = 0;
    for (int i = 0; i < shown; i++) {
        struct range range = missing->shown[i];
        bool more = joined_to_next(membership, missing, i, shown);
        if (!joined_to_next(membership, missing, i - 1, shown))
            add(line, more || range.end - range.first > 1 ? "ranks " : "rank ");
        add_range(line, range);
        if (!more)
            add(line, " on %.*s", HOST_SHOWN_MAX, host_of(membership, range.first));
        if (i + 1 < shown)
            add(line, ", ");
        ranks += range.end - range.first;
    }
    return ranks;
}

static void add_within(struct line *line, uint64_t timeout_ms)
{
    if (timeout_ms % 1000 == 0)
        add(line, " not called hvd_init within %" PRIu64 " s", timeout_ms / 1000);
    else
        add(line, " not called hvd_init within %" PRIu64 " ms", timeout_ms);
}

static struct line missing_line(const struct membership *membership, const struct missing *missing,
                                int shown)
{
    struct line line = { 0 };
    int others = missing->ranks - add_ranges(&line, membership, missing, shown);
    if (others > 0)
        add(&line, " and %d other%s", others, others == 1 ? "" : "s");
    add(&line, missing->ranks == 1 ? " has" : " have");
    add_within(&line, membership->start_timeout_ms);
    return line;
}

void membership_text_missing(char text[JOIN_TEXT_MAX], const struct membership *membership)
{
    struct missing missing = { 0 };
    for (int rank = 0; rank < membership->size; rank++)
        if (membership->members[rank].state == MEMBER_EXPECTED)
            missing_add(&missing, membership, rank);
    int shown = missing.ranges;
    struct line line = missing_line(membership, &missing, shown);
    while (line.full && shown > 1)
        line = missing_line(membership, &missing, --shown);
    memcpy(text, line.text, sizeof line.text);
}
