/* SPDX-License-Identifier: Apache-2.0 */
/* The list of jobs; see meetings.h. */
#include "rendezvous/world/job_table.h"

#include <string.h>

void meetings_init(struct meetings *meetings, int max, uint64_t start_timeout_ms)
{
    *meetings = (struct meetings){ .max = max, .start_timeout_ms = start_timeout_ms };
    TAILQ_INIT(&meetings->list);
}

static void add(struct meetings *meetings, struct meeting *meeting)
{
    TAILQ_INSERT_TAIL(&meetings->list, meeting, link);
    meetings->count++;
}

void meetings_add_planned(struct meetings *meetings, struct meeting *planned)
{
    meetings->only = planned;
    add(meetings, planned);
}

static void forget(struct meetings *meetings, struct meeting *meeting)
{
    TAILQ_REMOVE(&meetings->list, meeting, link);
    meetings->count--;
    meeting_destroy(meeting);
}

void meetings_fini(struct meetings *meetings)
{
    while (!TAILQ_EMPTY(&meetings->list))
        forget(meetings, TAILQ_FIRST(&meetings->list));
}

struct meeting *meetings_find(const struct meetings *meetings, const char *id)
{
    struct meeting *at;
    if (!*id)
        return meetings->only;
    TAILQ_FOREACH(at, &meetings->list, link)
    if (strcmp(at->id, id) == 0)
        return at;
    return NULL;
}

static void forget_over(struct meetings *meetings, int keep)
{
    int over = 0;
    struct meeting *at, *next;
    TAILQ_FOREACH(at, &meetings->list, link)
    over += meeting_is_over(at);
    for (at = TAILQ_FIRST(&meetings->list); at && over > keep; at = next) {
        next = TAILQ_NEXT(at, link);
        if (!meeting_is_over(at))
            continue;
        forget(meetings, at);
        over--;
    }
}

void meetings_trim(struct meetings *meetings)
{
    if (!meetings->only)
        forget_over(meetings, MEETINGS_OVER_MAX);
}

struct meeting *meetings_make(struct meetings *meetings, const char *id, int size,
                              uint64_t start_timeout_ms, uint64_t now_ms, struct err *err)
{
    struct meeting *same = meetings_find(meetings, id);
    if (same && meeting_is_over(same))
        forget(meetings, same);
    if (meetings->count >= meetings->max)
        forget_over(meetings, 0);
    if (meetings->count >= meetings->max) {
        fail(err, HVD_ERR_INVALID, "this rendezvous has %d job%s already, as many as it may",
             meetings->count, meetings->count == 1 ? "" : "s");
        return NULL;
    }
    uint64_t timeout_ms = start_timeout_ms ? start_timeout_ms : meetings->start_timeout_ms;
    struct meeting *meeting = meeting_create(id, size, timeout_ms, now_ms, err);
    if (!meeting)
        return NULL;
    key_value_share(meeting->store, &meetings->values);
    add(meetings, meeting);
    return meeting;
}
