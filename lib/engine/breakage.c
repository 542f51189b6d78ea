/* SPDX-License-Identifier: Apache-2.0 */
/* What follows a broken link, and a failure. The rendezvous or a neighbour may name the cause
 * within a second; then this cause breaks the world, otherwise the broken link does. When a rank
 * has left, only the set ends, unless a host is silent: no departure explains that. The news that a
 * rank has left comes over the tree, behind the decisions that can still be carried out. The
 * rendezvous may have this news earlier, and is asked last. */
#include "lib/engine/engine_impl.h"

#include "lib/base/rank_end_text.h"

#include <stdio.h>
#include <string.h>

#define EXPLANATION_NS 1000000000ull

/* A failure of this rank's own work is its own; a rank that is gone or does not answer may be a
 * consequence of any other failure. */
void engine_fail(struct engine *engine, struct err *err)
{
    bool own = err->code != HVD_ERR_PEER_LOST && err->code != HVD_ERR_TIMEOUT;
    struct rank_end end = rank_end_none();
    end.how.kind = own ? RANK_END_FAILED : RANK_END_UNREACHABLE;
    end.status = err->code;
    if (own)
        engine_own_end(engine, &end);
    snprintf(end.words, sizeof end.words, "%s", err->text);
    failure_record(engine->failure, &end);
    rank_end_fail(err, &end);
}

void engine_own_end(const struct engine *engine, struct rank_end *end)
{
    end->rank = end->because_of = engine->rank;
    snprintf(end->host, sizeof end->host, "%s", engine->exchange.self.host);
}

void engine_symptom(struct engine *engine, const struct rank_end *end)
{
    if (engine->breakage.symptom.status != HVD_OK)
        return;
    engine->breakage.symptom = *end;
    engine->breakage.symptom_until_ns = monotonic_ns() + EXPLANATION_NS;
    engine->breakage.symptom_is_cause = false;
}

bool engine_drain(struct engine *engine)
{
    int moved = 0;
    for (int id = 0; id < engine->sets.count; id++)
        if (engine->sets.at[id])
            moved |= stage_drain(engine->sets.at[id]);
    return moved;
}

bool engine_is_draining(const struct engine *engine)
{
    for (int id = 0; id < engine->sets.count; id++)
        if (engine->sets.at[id] && stage_is_draining(engine->sets.at[id]))
            return true;
    return false;
}

/* Fails everything in flight and tells the neighbours, once. */
static void break_world(struct engine *engine, const struct rank_end *end)
{
    struct err reason;
    rank_end_fail(&reason, end);
    engine->breakage.broken = true;
    engine->breakage.symptom.status = HVD_OK;
    for (int id = 0; id < engine->sets.count; id++) {
        struct process_set *set = engine->sets.at[id];
        if (!set || set->rank < 0)
            continue;
        set_tell(set, TREE_BROKEN, end);
        set_send_rest(set);
        set_fail_all(set, &reason);
    }
    pthread_cond_broadcast(&engine->progress.changed);
}

/* The tree has not explained why a link broke: the rendezvous may have named a rank that left;
 * otherwise only the broken link is known. */
static void explain(struct engine *engine)
{
    struct rank_end departure;
    if (monotonic_ns() < engine->breakage.symptom_until_ns)
        return;
    if (engine->breakage.symptom_is_cause ||
        failure_departure(engine->failure, &departure) == HVD_OK) {
        failure_record(engine->failure, &engine->breakage.symptom);
        return;
    }
    for (int id = 0; id < engine->sets.count; id++)
        if (engine->sets.at[id] && engine->sets.at[id]->links.broken)
            set_end(engine->sets.at[id], -1, &departure);
}

/* True if the sets with a broken link have ended in the meantime, by a message over the tree. */
static bool is_explained(const struct engine *engine)
{
    for (int id = 0; id < engine->sets.count; id++) {
        const struct process_set *set = engine->sets.at[id];
        if (set && set->links.broken && set->ended.code == HVD_OK)
            return false;
    }
    return true;
}

bool breakage_diagnose(struct engine *engine)
{
    struct rank_end end;
    if (engine->breakage.symptom.status != HVD_OK) {
        if (is_explained(engine))
            engine->breakage.symptom.status = HVD_OK;
        else
            explain(engine);
    }
    if (!failure_is_there(engine->failure))
        return false;
    failure_reason(engine->failure, &end);
    break_world(engine, &end);
    return true;
}

/* A silent host is a cause, not a symptom: no better explanation will come. */
void engine_check_links(struct engine *engine)
{
    struct rank_end end;
    for (int id = 0; id < engine->sets.count; id++) {
        struct process_set *set = engine->sets.at[id];
        if (set && set->state == SET_READY && set->ended.code == HVD_OK &&
            set_check_links(set, &end) < 0) {
            engine->breakage.symptom = end;
            engine->breakage.symptom_until_ns = monotonic_ns();
            engine->breakage.symptom_is_cause = true;
            return;
        }
    }
}
