/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's own view of a stall; see stall_self.h. */
#include "lib/stall/stall_self.h"

#include <stdio.h>
#include <string.h>

/* The time from which on a name counts as waiting. A rank that has joined waits by design, as long
 * as the other ranks make progress. */
static uint64_t since(const struct stall_view *view, uint64_t counted_ns,
                      const struct waiting *waiting)
{
    uint64_t decided_ns = waiting->kind == COLLECTIVE_JOIN ? view->decided_ns(view->arg) : 0;
    uint64_t least_ns = counted_ns > decided_ns ? counted_ns : decided_ns;
    return waiting->since_ns > least_ns ? waiting->since_ns : least_ns;
}

bool stall_self_is_stuck(const struct stall_view *view)
{
    return view->stuck && view->stuck(view->arg);
}

uint64_t stall_self_patience_ns(const struct stall_options *options)
{
    const uint64_t second = 1000000000;
    return options->view.stuck && options->check_ns > second ? second : options->check_ns;
}

uint64_t stall_self_check(const struct stall_options *options, uint64_t counted_ns,
                          struct stall_list *overdue, uint64_t now_ns)
{
    const struct stall_view *view = &options->view;
    uint64_t check_ns =
        stall_self_is_stuck(view) ? stall_self_patience_ns(options) : options->check_ns;
    uint64_t again_ns = now_ns + stall_self_patience_ns(options);
    struct waiting waiting;
    for (int i = 0; view->waiting(view->arg, i, &waiting) > 0; i++) {
        uint64_t since_ns = since(view, counted_ns, &waiting);
        if (since_ns + check_ns <= now_ns)
            stall_list_note(overdue, waiting.name, waiting.kind, since_ns, now_ns);
        else if (again_ns > since_ns + check_ns)
            again_ns = since_ns + check_ns;
    }
    return again_ns;
}

static bool is_ready_when_joined(enum collective_kind kind)
{
    return kind == COLLECTIVE_ALLREDUCE || kind == COLLECTIVE_BARRIER;
}

static uint32_t age_ms(uint64_t since_ns, uint64_t now_ns)
{
    uint64_t age = since_ns < now_ns ? (now_ns - since_ns) / 1000000 : 0;
    return age < UINT32_MAX ? (uint32_t)age : UINT32_MAX;
}

/* Fills in the ages; returns the names that this rank misses. */
static unsigned find_missing(const struct stall_view *view, uint64_t counted_ns,
                             const struct stall_names *names, struct stall_answer *answer,
                             uint64_t now_ns)
{
    unsigned missing = (1u << names->count) - 1;
    bool joined = false;
    struct waiting waiting;
    for (int w = 0; view->waiting(view->arg, w, &waiting) > 0; w++) {
        joined |= waiting.own && waiting.kind == COLLECTIVE_JOIN;
        for (int i = 0; i < names->count; i++) {
            if (strcmp(names->at[i].text, waiting.name) != 0)
                continue;
            answer->name[i].age_ms = age_ms(since(view, counted_ns, &waiting), now_ns);
            if (waiting.own)
                missing &= ~(1u << i);
        }
    }
    for (int i = 0; joined && i < names->count; i++)
        if (is_ready_when_joined(names->at[i].kind))
            missing &= ~(1u << i);
    return missing;
}

static void stall_self_describe(const struct stall_options *options, struct stall_answer *answer,
                                unsigned missing)
{
    struct stall_rank self = { .rank = options->rank, .missing = (uint8_t)missing };
    char status_text[STALL_TEXT_MAX + 1] = "";
    options->view.status_text(options->view.arg, status_text, sizeof status_text);
    snprintf(self.text, sizeof self.text, "on %.64s: %.160s", options->host, status_text);
    stall_clean(self.text);
    stall_answer_add_rank(answer, &self);
}

void stall_self_answer(const struct stall_options *options, uint64_t counted_ns,
                       const struct stall_probe *probe, struct stall_answer *answer,
                       uint64_t now_ns)
{
    *answer = (struct stall_answer){ .id = probe->id, .nnames = probe->names.count };
    unsigned missing = find_missing(&options->view, counted_ns, &probe->names, answer, now_ns);
    for (int i = 0; i < answer->nnames; i++)
        if (missing >> i & 1)
            rank_ranges_add(&answer->name[i].missing, options->rank, options->rank + 1);
    if (missing && !options->view.waits(options->view.arg))
        late_ranks_add(&answer->idle, options->rank);
    if (missing)
        stall_self_describe(options, answer, missing);
    if (probe->id & STALL_ASKS_WHO_IS_NOT_STUCK && !stall_self_is_stuck(&options->view))
        rank_ranges_add(&answer->silent, options->rank, options->rank + 1);
}
