/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting in a steady state (set_steady.c): how long this rank has patience, whether its program
 * waits for what cannot come, and what the stall inspector sees. Cannot fail. */
#include "lib/engine/set_steady_impl.h"

#define STEADY_PATIENCE_NS 1000000000ull

/* A program that asks again and again about a tensor that has been held for so long waits for
 * it. */
#define STEADY_POLLED_NS 1000000ull

/* ---- programs that wait for a held tensor ---- */

/* True if the program waits for a tensor that is held until it submits others. */
bool set_steady_is_stuck(const struct process_set *set, const struct ticket *ticket,
                         uint64_t since_ns)
{
    const struct set_steady *steady = &set->steady;
    struct steady_cursor cursor = { 0 };
    uint32_t number;
    const struct tensor *own;
    if (steady->state.phase != STEADY_ON ||
        !steady_round_is_stuck(steady->round, steady->state.committed, steady->state.done))
        return false;
    while ((own = steady_round_next(steady->round, &cursor, steady->state.done, &number)))
        if (number - steady->state.done >= steady->state.committed - steady->state.done &&
            (ticket ? own->ticket == ticket : own->ticket->awaited) && own->since_ns <= since_ns)
            return true;
    return false;
}

void set_steady_await(struct engine *engine, const struct ticket *ticket)
{
    for (int id = 0; id < engine->sets.count; id++)
        if (engine->sets.at[id] && set_steady_is_stuck(engine->sets.at[id], ticket, UINT64_MAX)) {
            set_steady_leave(engine->sets.at[id]);
            progress_wake(engine);
        }
}

void set_steady_poll(struct engine *engine, const struct ticket *ticket)
{
    for (int id = 0; id < engine->sets.count; id++)
        if (engine->sets.at[id] && engine->sets.at[id]->steady.state.phase == STEADY_ON &&
            set_steady_is_stuck(engine->sets.at[id], ticket, monotonic_ns() - STEADY_POLLED_NS))
            set_steady_leave(engine->sets.at[id]);
}

/* ---- patience ---- */

/* When the youngest tensor came that is committed to and not done, or held while nothing is. */
static uint64_t steady_waits_since(const struct process_set *set)
{
    const struct steady *state = &set->steady.state;
    struct steady_cursor cursor = { 0 };
    uint64_t since_ns = 0;
    const struct tensor *own;
    uint32_t number;
    while ((own = steady_round_next(set->steady.round, &cursor, state->done, &number)))
        if ((number == state->done || state->committed == state->done) && own->since_ns > since_ns)
            since_ns = own->since_ns;
    return since_ns;
}

uint64_t set_steady_deadline(const struct process_set *set)
{
    const struct steady *state = &set->steady.state;
    if (state->phase != STEADY_ON ||
        (state->committed == state->done && set->steady.round->held == 0))
        return UINT64_MAX;
    return steady_waits_since(set) + STEADY_PATIENCE_NS;
}

void set_steady_tick(struct process_set *set, uint64_t now_ns)
{
    if (now_ns >= set_steady_deadline(set))
        set_steady_leave(set);
}

/* ---- what the stall inspector sees ---- */

int set_steady_waiting_count(const struct process_set *set)
{
    const struct set_steady *steady = &set->steady;
    int count = set_is_steady(set) ? steady->round->held : 0;
    for (uint32_t number = steady->state.done; number != steady->state.committed; number++)
        count += steady_round_operation(steady->round, number)->count;
    return count;
}

int set_steady_waiting(const struct process_set *set, int index, struct waiting *waiting)
{
    const struct steady *state = &set->steady.state;
    struct steady_cursor cursor = { 0 };
    uint32_t number;
    const struct tensor *own = NULL;
    for (int i = 0; set_is_steady(set) && i <= index; i++)
        own = steady_round_next(set->steady.round, &cursor, state->done, &number);
    if (!own)
        return 0;
    *waiting = (struct waiting){
        .name = own->name, .kind = own->description.kind, .since_ns = own->since_ns, .own = true
    };
    /* A rank that has left may have submitted the tensor since, and so may a rank that has not
     * committed to an operation of many tensors. */
    bool is_sure = state->phase == STEADY_ON && number == state->done &&
                   state->committed != state->done &&
                   steady_operation_at(set, number)->what.count == 1;
    struct rank_ranges *ranks = is_sure ? &waiting->missing : &waiting->unheard;
    for (int rank = 0; rank < set->size; rank++)
        if (state->received[rank] <= number && rank != set->rank)
            rank_ranges_add(ranks, rank, rank + 1);
    return 1;
}
