/* SPDX-License-Identifier: Apache-2.0 */
/* The stall inspector; see stall.h. The root learns everything in rounds (stall_round.h), from a
 * probe to the last answer. The root begins a round of the inspector when names are overdue, once
 * more before it aborts if it has not seen twice who is late, and a round for a person when it is
 * asked. */
#include "lib/stall/stall.h"

#include "lib/base/clock.h"
#include "lib/base/rank_end.h"
#include "lib/stall/stall_list.h"
#include "lib/stall/stall_message.h"
#include "lib/stall/stall_round.h"
#include "lib/stall/stall_self.h"
#include "lib/stall/stall_text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull
#define SECOND (1000 * MS)
#define SUSPENDED_NS (5 * SECOND) /* a timer that is so late was not delayed by a busy machine */
#define STUCK_AGAIN_NS (200 * MS)
#define STUCK_LATER_NS (2 * SECOND)

enum { WARNING_SIZE = 3500, STUCK_BUDGET_MS = 400 };

struct outgoing {
    struct wire_writer body;
    bool ready;
};

struct stall {
    struct stall_options options;
    struct tree_position tree;
    uint64_t interval_ns; /* between two alerts about the same name */
    struct stall_list overdue;
    uint64_t continued_ns;  /* end of the last suspension of this process; 0: none was noticed */
    uint64_t self_check_ns; /* when to check the names that wait here; 0: there are none */

    struct stall_round rounds[STALL_ROUNDS];
    uint64_t asked_ns; /* begin of the inspector's last round; 0: never */
    uint64_t again_ns; /* when to ask once more before an abort; 0: not to */
    bool asked_again;  /* the last round was the second question before an abort */

    /* The question of a deadlock, at the root. */
    uint64_t stuck_check_ns; /* when to ask next; 0: when names are overdue */
    bool all_were_stuck;     /* in the last round, which began after `decisions` */
    uint64_t decisions;
    uint64_t asked_after; /* number of decisions when this round began */

    uint64_t warned_ns; /* begin of the round that led to the last warning; 0: never */
    bool aborted;
    struct rank_ranges silent_before; /* did not answer in the former round of this stall */
    struct late_ranks idle_before;    /* waited for no rank in that round */
    struct late_ranks late;           /* of the world: see stall_late_ranks() */
    struct outgoing outgoing[STALL_ROUNDS][STALL_MESSAGES];
    enum stall_action action;
    char text[WARNING_SIZE];
};

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static int stall_rank_of_world(const struct stall_options *options, int rank)
{
    return options->world_ranks ? options->world_ranks[rank] : rank;
}

static bool is_root(const struct stall *stall)
{
    return stall->tree.parent < 0;
}

struct stall *stall_create(const struct stall_options *options, struct err *err)
{
    struct stall *stall = calloc(1, sizeof *stall);
    if (!stall) {
        fail(err, HVD_ERR_NOMEM, "out of memory");
        return NULL;
    }
    stall->options = *options;
    stall->interval_ns = options->check_ns ? options->check_ns : 60 * SECOND;
    tree_position(&stall->tree, options->rank, options->size, options->star);
    return stall;
}

void stall_destroy(struct stall *stall)
{
    if (!stall)
        return;
    for (int i = 0; i < STALL_ROUNDS * STALL_MESSAGES; i++)
        wire_writer_fini(&stall->outgoing[i / STALL_MESSAGES][i % STALL_MESSAGES].body);
    free(stall);
}

/* ---- messages that go out ---- */

static struct wire_writer *compose(struct stall *stall, enum stall_round_kind kind,
                                   enum stall_message message)
{
    struct outgoing *outgoing = &stall->outgoing[kind][message];
    outgoing->ready = true;
    outgoing->body.length = 0;
    return &outgoing->body;
}

bool stall_take(struct stall *stall, enum stall_message *message, const void **body, size_t *nbytes)
{
    for (int i = 0; i < STALL_ROUNDS * STALL_MESSAGES; i++) {
        struct outgoing *outgoing = &stall->outgoing[i / STALL_MESSAGES][i % STALL_MESSAGES];
        if (outgoing->body.failed) { /* the next round sends it again */
            wire_writer_fini(&outgoing->body);
            outgoing->ready = false;
        }
        if (!outgoing->ready)
            continue;
        outgoing->ready = false;
        *message = (enum stall_message)(i % STALL_MESSAGES);
        *body = outgoing->body.data;
        *nbytes = outgoing->body.length;
        return true;
    }
    return false;
}

enum stall_action stall_act(struct stall *stall, const char **text)
{
    enum stall_action action = stall->action;
    stall->action = STALL_NOTHING;
    *text = stall->text;
    return action;
}

const struct late_ranks *stall_late_ranks(const struct stall *stall)
{
    return &stall->late;
}

/* ---- the root: what a round has shown ---- */

/* The names that still wait for some rank. The others are removed: their rank was wrong, or no
 * longer waits; a rank that still waits will report the name again. */
static unsigned stall_judge(struct stall *stall, uint64_t now_ns)
{
    const struct stall_round *round = &stall->rounds[ROUND_OF_INSPECTOR];
    const struct stall_answer *answer = &round->answer;
    unsigned stalled = 0;
    for (int i = 0; i < answer->nnames; i++) {
        struct stall_entry *overdue =
            stall_list_find(&stall->overdue, round->probe.names.at[i].text);
        bool waits = answer->name[i].age_ms >= stall->options.check_ns / MS;
        bool missed = answer->name[i].missing.count > 0 || answer->silent.count > 0;
        if (waits && missed)
            stalled |= 1u << i;
        if (!overdue)
            continue;
        if (waits && missed)
            overdue->since_ns = now_ns - earlier(now_ns, answer->name[i].age_ms * MS);
        else
            stall_list_remove(&stall->overdue, overdue);
    }
    return stalled;
}

/* The name that has waited longest. */
static int worst(const struct stall_answer *answer, unsigned stalled)
{
    int worst = __builtin_ctz(stalled);
    for (int i = 0; i < answer->nnames; i++)
        if ((stalled >> i & 1) && answer->name[i].age_ms > answer->name[worst].age_ms)
            worst = i;
    return worst;
}

/* Ranks of a closed range may have answered. */
static bool is_silent(const struct rank_ranges *silent, int rank)
{
    for (int i = 0; i < silent->count - silent->closed; i++)
        if (rank >= silent->range[i].first && rank < silent->range[i].end)
            return true;
    return false;
}

/* A rank whose parent is silent was not asked. */
static bool was_asked(const struct stall *stall, const struct rank_ranges *silent, int rank)
{
    struct tree_position position;
    tree_position(&position, rank, stall->options.size, stall->options.star);
    return position.parent < 0 || !is_silent(silent, position.parent);
}

/* Ranks that were asked in two rounds and have answered in neither. A rank that is only slow may
 * miss one round. */
static void add_silent_ranks(const struct stall *stall, const struct rank_ranges *silent,
                             struct late_ranks *late)
{
    int whole = silent->count - silent->closed;
    for (int i = 0; i < whole; i++)
        for (int rank = silent->range[i].first; rank < silent->range[i].end; rank++)
            if (is_silent(&stall->silent_before, rank) && was_asked(stall, silent, rank) &&
                was_asked(stall, &stall->silent_before, rank))
                late_ranks_add(late, rank);
}

/* Ranks that waited for no rank in two rounds. A rank that works in another set may wait for none
 * at one moment, between two collectives there. */
static void add_idle_ranks(const struct stall *stall, const struct late_ranks *idle,
                           struct late_ranks *late)
{
    for (int i = 0; i < idle->count; i++)
        if (late_ranks_contain(&stall->idle_before, idle->rank[i]))
            late_ranks_add(late, idle->rank[i]);
}

/* The ranks that keep the others waiting, as two rounds show. A rank that waits for other ranks
 * itself, maybe in another set, cannot submit the name: it is not late. An idle rank misses every
 * name. */
static void find_late_ranks(const struct stall *stall, const struct stall_answer *answer,
                            struct late_ranks *late)
{
    *late = (struct late_ranks){ 0 };
    add_idle_ranks(stall, &answer->idle, late);
    add_silent_ranks(stall, &answer->silent, late);
}

/* Names the late ranks. If two rounds show none, the last round decides. */
static void decide_late_ranks(struct stall *stall, const struct stall_answer *answer)
{
    struct late_ranks late;
    find_late_ranks(stall, answer, &late);
    if (late.count == 0)
        late = answer->idle;
    if (late.count == 0 && answer->silent.count > 0)
        late_ranks_add(&late, answer->silent.range[0].first);
    stall->late.count = 0;
    for (int i = 0; i < late.count; i++)
        late_ranks_add(&stall->late, stall_rank_of_world(&stall->options, late.rank[i]));
}

/* How long the root waits for further reports, to warn about simultaneous stalls at once, and
 * between two rounds that show who is late. */
static uint64_t grace_ns(const struct stall *stall)
{
    return earlier(SECOND, stall->options.check_ns / 8);
}

/* This round shows late ranks, and none of them was so in the former round: they may have begun to
 * hang since then, or this is a moment between two collectives. Another round tells. */
static bool must_ask_again(const struct stall *stall, const struct stall_answer *answer)
{
    struct late_ranks late;
    find_late_ranks(stall, answer, &late);
    bool shows_some = answer->idle.count > 0 || answer->silent.count > 0;
    return is_root(stall) && !stall->asked_again && late.count == 0 && shows_some;
}

/* Warns about the names in `stalled`, unless the last warning is too recent, or aborts. */
static void speak(struct stall *stall, unsigned stalled, uint64_t now_ns)
{
    const struct stall_options *options = &stall->options;
    const struct stall_names *names = &stall->rounds[ROUND_OF_INSPECTOR].probe.names;
    const struct stall_answer *answer = &stall->rounds[ROUND_OF_INSPECTOR].answer;
    int index = worst(answer, stalled);
    if (options->shutdown_ns && answer->name[index].age_ms >= options->shutdown_ns / MS) {
        if (must_ask_again(stall, answer)) {
            stall->again_ns = now_ns + grace_ns(stall);
            return;
        }
        stall->aborted = true;
        stall->action = STALL_ABORT;
        decide_late_ranks(stall, answer);
        stall_abort_text(stall->text, RANK_END_WORDS_SIZE, names, answer, index,
                         options->shutdown_ns / SECOND, options->world_ranks);
        return;
    }
    if (stall->warned_ns && stall->asked_ns < stall->warned_ns + options->check_ns)
        return;
    stall->warned_ns = stall->asked_ns;
    stall->action = STALL_WARN;
    stall_warning_text(stall->text, sizeof stall->text, names, answer, stalled,
                       options->world_ranks);
}

/* ---- a deadlock ---- */

static bool is_about_deadlock(const struct stall *stall)
{
    return stall->rounds[ROUND_OF_INSPECTOR].probe.id & STALL_ASKS_WHO_IS_NOT_STUCK;
}

/* All ranks were stuck, twice, and nothing was decided in between: submissions that came before the
 * first answer would have been decided. Submissions that came together with the last answer are not
 * decided yet: then the root is not stuck any more. */
static void judge_deadlock(struct stall *stall, uint64_t now_ns)
{
    const struct stall_options *options = &stall->options;
    const struct stall_round *round = &stall->rounds[ROUND_OF_INSPECTOR];
    bool all = round->answer.silent.count == 0 && stall_self_is_stuck(&options->view);
    bool still =
        stall->all_were_stuck && options->view.decisions(options->view.arg) == stall->decisions;
    if (all && still) {
        stall->aborted = true;
        stall->action = STALL_ABORT;
        stall->late.count = 0;
        stall_deadlock_text(stall->text, RANK_END_WORDS_SIZE, &round->probe.names, &round->answer,
                            options->world_ranks);
        return;
    }
    stall->all_were_stuck = all;
    stall->decisions = stall->asked_after;
    stall->stuck_check_ns = now_ns + (all ? STUCK_AGAIN_NS : STUCK_LATER_NS);
}

static uint64_t ask_deadlock_at(const struct stall *stall)
{
    if (!stall->options.view.stuck || stall->rounds[ROUND_OF_INSPECTOR].asking || stall->aborted ||
        stall->overdue.count == 0)
        return UINT64_MAX;
    return later(stall->stuck_check_ns, stall_list_first(&stall->overdue) + STUCK_AGAIN_NS);
}

/* ---- a round ---- */

/* What the root learns from the inspector's round. */
static void judge_round(struct stall *stall, uint64_t now_ns)
{
    if (is_about_deadlock(stall)) {
        judge_deadlock(stall, now_ns);
        return;
    }
    const struct stall_answer *answer = &stall->rounds[ROUND_OF_INSPECTOR].answer;
    unsigned stalled = stall_judge(stall, now_ns);
    if (stalled)
        speak(stall, stalled, now_ns);
    stall->silent_before = stalled ? answer->silent : (struct rank_ranges){ 0 };
    stall->idle_before = stalled ? answer->idle : (struct late_ranks){ 0 };
}

static void end_round(struct stall *stall, enum stall_round_kind kind, uint64_t now_ns)
{
    struct stall_round *round = &stall->rounds[kind];
    stall_round_end(round, &stall->tree);
    if (!is_root(stall))
        stall_answer_encode(compose(stall, kind, STALL_PROBED), &round->answer);
    else if (kind == ROUND_OF_INSPECTOR)
        judge_round(stall, now_ns);
}

/* Answers the round's probe. */
static void begin_round(struct stall *stall, enum stall_round_kind kind, uint64_t now_ns)
{
    struct stall_round *round = &stall->rounds[kind];
    if (kind == ROUND_OF_INSPECTOR)
        stall->asked_ns = now_ns;
    uint64_t counted_ns = kind == ROUND_OF_INSPECTOR ? stall->continued_ns : 0;
    if (!stall_round_begin(round, &stall->options, counted_ns, &stall->tree, now_ns)) {
        end_round(stall, kind, now_ns);
        return;
    }
    struct stall_probe below = stall_round_probe_children(round);
    stall_probe_encode(compose(stall, kind, STALL_PROBE), &below);
}

/* The time of the root's next round: for a warning, or to abort. */
static uint64_t ask_at(const struct stall *stall)
{
    const struct stall_options *options = &stall->options;
    if (stall->rounds[ROUND_OF_INSPECTOR].asking || stall->aborted || stall->overdue.count == 0)
        return UINT64_MAX;
    if (stall->again_ns)
        return stall->again_ns;
    uint64_t oldest_ns = stall_list_oldest(&stall->overdue);
    uint64_t at_ns =
        later(stall_list_first(&stall->overdue) + grace_ns(stall), oldest_ns + options->check_ns);
    if (stall->asked_ns)
        at_ns = later(at_ns, stall->asked_ns + options->check_ns);
    if (options->shutdown_ns && stall->asked_ns < oldest_ns + options->shutdown_ns)
        at_ns = earlier(at_ns, oldest_ns + options->shutdown_ns);
    return at_ns;
}

/* The deadlock question restores `asked_ns`, so that it does not delay a warning. */
static void ask_who_is_not_stuck(struct stall *stall, uint64_t now_ns)
{
    struct stall_probe *probe = &stall->rounds[ROUND_OF_INSPECTOR].probe;
    uint64_t asked_ns = stall->asked_ns;
    stall->stuck_check_ns = now_ns + STUCK_LATER_NS;
    if (!stall_self_is_stuck(&stall->options.view))
        return;
    probe->id = stall_round_next_id(probe->id, ROUND_OF_INSPECTOR) | STALL_ASKS_WHO_IS_NOT_STUCK;
    probe->budget_ms = STUCK_BUDGET_MS;
    stall->asked_after = stall->options.view.decisions(stall->options.view.arg);
    stall_list_names(&stall->overdue, &probe->names, now_ns, 0);
    begin_round(stall, ROUND_OF_INSPECTOR, now_ns);
    stall->asked_ns = asked_ns;
}

static void stall_ask_inspector(struct stall *stall, uint64_t now_ns)
{
    struct stall_probe *probe = &stall->rounds[ROUND_OF_INSPECTOR].probe;
    stall->asked_again = stall->again_ns > 0;
    stall->again_ns = 0;
    probe->id = stall_round_next_id(probe->id, ROUND_OF_INSPECTOR);
    probe->budget_ms = (uint32_t)(earlier(5 * SECOND, stall->options.check_ns / 2) / MS);
    stall_list_names(&stall->overdue, &probe->names, now_ns, stall->options.check_ns);
    begin_round(stall, ROUND_OF_INSPECTOR, now_ns);
}

/* ---- rank 1: a silent root ---- */

static uint64_t give_up_root_at(const struct stall *stall)
{
    const struct stall_options *options = &stall->options;
    if (options->rank != 1 || options->check_ns == 0 || stall->aborted || stall->overdue.count == 0)
        return UINT64_MAX;
    uint64_t heard_ns = later(stall->asked_ns, stall_list_first(&stall->overdue));
    uint64_t at_ns = heard_ns + 2 * options->check_ns;
    return stall->warned_ns ? later(at_ns, stall->warned_ns + options->check_ns) : at_ns;
}

/* Makes a round as if all answers but the root's were there, as far as this rank knows. */
static void speak_for_root(struct stall *stall, uint64_t now_ns)
{
    struct stall_round *round = &stall->rounds[ROUND_OF_INSPECTOR];
    stall_list_names(&stall->overdue, &round->probe.names, now_ns, stall->options.check_ns);
    round->answer = (struct stall_answer){ .nnames = round->probe.names.count };
    for (int i = 0; i < round->answer.nnames; i++)
        round->answer.name[i].age_ms = round->probe.names.at[i].age_ms;
    rank_ranges_add(&round->answer.silent, 0, 1);
    uint64_t asked_ns = stall->asked_ns;
    round->asking = false;
    stall->asked_ns = now_ns;
    if (round->answer.nnames > 0)
        speak(stall, (1u << round->answer.nnames) - 1, now_ns);
    stall->asked_ns = asked_ns;
}

/* ---- actions after time or news ---- */

static void tell_parent(struct stall *stall, uint64_t now_ns)
{
    struct stall_names names;
    if (stall_list_tell_at(&stall->overdue, stall->interval_ns) > now_ns)
        return;
    stall_list_tell(&stall->overdue, &names, now_ns, stall->interval_ns);
    stall_names_encode(compose(stall, ROUND_OF_INSPECTOR, STALL_ALERT), &names);
}

static void stall_go_on(struct stall *stall, uint64_t now_ns)
{
    if (is_root(stall)) {
        if (ask_at(stall) <= now_ns)
            stall_ask_inspector(stall, now_ns);
        if (ask_deadlock_at(stall) <= now_ns)
            ask_who_is_not_stuck(stall, now_ns);
        return;
    }
    tell_parent(stall, now_ns);
    if (give_up_root_at(stall) <= now_ns)
        speak_for_root(stall, now_ns);
}

uint64_t stall_deadline(struct stall *stall, uint64_t now_ns)
{
    const struct stall_options *options = &stall->options;
    uint64_t at_ns = UINT64_MAX;
    if (options->check_ns == 0 || options->view.waiting_count(options->view.arg) == 0)
        stall->self_check_ns = 0;
    else if (stall->self_check_ns == 0)
        stall->self_check_ns = now_ns + stall_self_patience_ns(options);
    if (stall->self_check_ns)
        at_ns = stall->self_check_ns;
    for (int i = 0; i < stall->overdue.count; i++)
        at_ns = earlier(at_ns, stall->overdue.at[i].heard_ns + 2 * stall->interval_ns);
    for (int i = 0; i < STALL_ROUNDS; i++)
        if (stall->rounds[i].asking)
            at_ns = earlier(at_ns, stall->rounds[i].until_ns);
    if (is_root(stall))
        return earlier(at_ns, earlier(ask_at(stall), ask_deadlock_at(stall)));
    at_ns = earlier(at_ns, stall_list_tell_at(&stall->overdue, stall->interval_ns));
    return earlier(at_ns, give_up_root_at(stall));
}

/* A deadline that passed long ago: this process was stopped meanwhile, and with it maybe all others
 * (Ctrl-Z, a frozen machine). The shutdown time then begins again, and what other ranks have or
 * have not said until now says nothing about them. */
static void notice_suspension(struct stall *stall, uint64_t now_ns)
{
    uint64_t late_ns = earlier(SUSPENDED_NS, stall->options.shutdown_ns / 2);
    uint64_t deadline_ns = stall_deadline(stall, now_ns);
    if (stall->options.shutdown_ns == 0 || deadline_ns > now_ns || now_ns - deadline_ns < late_ns)
        return;
    stall->continued_ns = now_ns;
    stall->overdue.count = 0;
    stall->silent_before.count = 0;
    stall->idle_before.count = 0;
    stall->again_ns = 0;
    stall->rounds[ROUND_OF_INSPECTOR].asking = false;
    stall->self_check_ns = 0;
}

void stall_tick(struct stall *stall, uint64_t now_ns)
{
    notice_suspension(stall, now_ns);
    stall_list_expire(&stall->overdue, now_ns, 2 * stall->interval_ns);
    if (stall->overdue.count == 0)
        stall->again_ns = 0;
    if (stall->self_check_ns && stall->self_check_ns <= now_ns)
        stall->self_check_ns =
            stall_self_check(&stall->options, stall->continued_ns, &stall->overdue, now_ns);
    for (int i = 0; i < STALL_ROUNDS; i++)
        if (stall_round_is_over(&stall->rounds[i], now_ns))
            end_round(stall, (enum stall_round_kind)i, now_ns);
    stall_go_on(stall, now_ns);
}

/* ---- messages that come in ---- */

static int receive_alert(struct stall *stall, const void *body, size_t nbytes, uint64_t now_ns,
                         struct err *err)
{
    struct stall_names names;
    int rc = stall_names_decode(&names, body, nbytes, err);
    if (rc < 0 || (is_root(stall) && stall->options.check_ns == 0))
        return rc;
    for (int i = 0; i < names.count; i++)
        stall_list_note(&stall->overdue, names.at[i].text, names.at[i].kind,
                        now_ns - earlier(now_ns, names.at[i].age_ms * MS), now_ns);
    stall_go_on(stall, now_ns);
    return HVD_OK;
}

static int receive_probe(struct stall *stall, const void *body, size_t nbytes, uint64_t now_ns,
                         struct err *err)
{
    struct stall_probe probe;
    int rc = stall_probe_decode(&probe, body, nbytes, err);
    if (rc < 0)
        return rc;
    if (is_root(stall))
        return fail(err, HVD_ERR_PROTOCOL, "a probe of the stall inspector comes from below");
    enum stall_round_kind kind = stall_round_of(probe.id);
    stall->rounds[kind].probe = probe;
    begin_round(stall, kind, now_ns);
    return HVD_OK;
}

static int receive_answer(struct stall *stall, int child, const void *body, size_t nbytes,
                          uint64_t now_ns, struct err *err)
{
    struct stall_answer answer;
    int rc = stall_answer_decode(&answer, stall->tree.children[child],
                                 tree_child_end(&stall->tree, child), body, nbytes, err);
    if (rc < 0)
        return rc;
    enum stall_round_kind kind = stall_round_of(answer.id);
    rc = stall_round_answer(&stall->rounds[kind], child, &answer, err);
    if (rc < 0)
        return rc;
    if (stall_round_is_over(&stall->rounds[kind], now_ns))
        end_round(stall, kind, now_ns);
    stall_go_on(stall, now_ns);
    return HVD_OK;
}

int stall_receive(struct stall *stall, enum stall_message message, int child, const void *body,
                  size_t nbytes, uint64_t now_ns, struct err *err)
{
    notice_suspension(stall, now_ns);
    if (message == STALL_PROBE)
        return receive_probe(stall, body, nbytes, now_ns, err);
    assert(child >= 0 && child < stall->tree.nchildren);
    return message == STALL_ALERT ? receive_alert(stall, body, nbytes, now_ns, err)
                                  : receive_answer(stall, child, body, nbytes, now_ns, err);
}

/* ---- a question for a person ---- */

/* The names that wait here and those that children reported: the oldest few. */
static void names_for_person(const struct stall *stall, struct stall_names *names, uint64_t now_ns)
{
    const struct stall_view *view = &stall->options.view;
    struct stall_list list = stall->overdue;
    struct waiting waiting;
    for (int i = 0; view->waiting(view->arg, i, &waiting) > 0; i++)
        stall_list_note(&list, waiting.name, waiting.kind, waiting.since_ns, now_ns);
    stall_list_names(&list, names, now_ns, 0);
}

bool stall_ask(struct stall *stall, uint64_t now_ns)
{
    struct stall_round *round = &stall->rounds[ROUND_FOR_PERSON];
    if (!is_root(stall))
        return false;
    round->answer.nnames = 0;
    names_for_person(stall, &round->probe.names, now_ns);
    if (round->probe.names.count == 0)
        return false;
    round->probe.id = stall_round_next_id(round->probe.id, ROUND_FOR_PERSON);
    round->probe.budget_ms = STALL_PERSON_MS;
    begin_round(stall, ROUND_FOR_PERSON, now_ns);
    return true;
}

bool stall_is_asked(const struct stall *stall)
{
    return stall->rounds[ROUND_FOR_PERSON].asking;
}

bool stall_told(const struct stall *stall, int index, struct stall_told *told)
{
    const struct stall_round *round = &stall->rounds[ROUND_FOR_PERSON];
    if (!is_root(stall) || round->asking || index < 0 || index >= round->answer.nnames)
        return false;
    *told = (struct stall_told){ .name = round->probe.names.at[index].text,
                                 .kind = round->probe.names.at[index].kind,
                                 .age_ms = round->answer.name[index].age_ms,
                                 .missing = &round->answer.name[index].missing,
                                 .silent = &round->answer.silent };
    return true;
}
