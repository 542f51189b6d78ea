/* SPDX-License-Identifier: Apache-2.0 */
/* The stall inspector (stall.h) of a process set: its view of the set, its messages over the tree,
 * its actions. Also status queries for people, in sets whose root is this rank.
 *
 * Why a reported deadlock is real. A rank is stuck in a set (is_stuck()) when
 *   1. each thread of its process waits without a time limit for a handle that is not done (an
 *      interruptible wait has none: handlers of signals are expected to submit nothing);
 *   2. all tensors that the rank has in flight still wait for agreement in this set;
 *   3. at the root: the root has nothing that it could decide.
 * The threads are all threads that the kernel counts in the process, less the library's own; a
 * thread counts even if it has never called the library. So a rank is not stuck while any thread of
 * its own computes, polls, waits with a time limit, has just come back from a call, well or with an
 * error, has not called the library yet, or belongs to another library that started it. A thread in
 * hvd_shutdown() or hvd_init() does not wait for a handle either.
 *
 * A stuck rank stays stuck until something is decided in the set: by 1 its program can submit
 * nothing and nothing else ends its waits, by 2 neither another set nor a transfer of data ends
 * them.
 * Assume that all ranks were stuck in one round and in a later round, and nothing was decided from
 * the beginning of the first round until the end of the second (judge_deadlock() in stall.c). Then
 * all ranks were stuck at once from the end of the first round on. Their submissions travel up in
 * front of their answers (send_messages()), so the root has all submissions and, by 3, cannot
 * decide any of them. No rank will submit anything else.
 *
 * This proof does not cover programs with threads of their own that do not wait, or ranks that wait
 * in several sets. The stall inspector warns about such a deadlock, and ends the deadlock if a time
 * to fail is set. */
#include "lib/engine/engine_impl.h"

#include "lib/base/log.h"
#include "lib/base/quiet_thread.h"
#include "lib/stall/stall.h"

#include <stdio.h>
#include <sys/stat.h>

static int see_waiting(void *arg, int index, struct waiting *waiting)
{
    const struct process_set *set = arg;
    int offered = negotiation_waiting_count(set->negotiation), unready = ready_waiting_count(set);
    if (index < offered)
        return negotiation_waiting(set->negotiation, index, waiting);
    index -= offered;
    return index < unready ? ready_waiting(set, index, waiting)
                           : set_steady_waiting(set, index - unready, waiting);
}

static int count_waiting(void *arg)
{
    const struct process_set *set = arg;
    return negotiation_waiting_count(set->negotiation) + ready_waiting_count(set) +
           set_steady_waiting_count(set);
}

static uint64_t last_decision(void *arg)
{
    const struct process_set *set = arg;
    return set->decided.last_ns;
}

static uint64_t count_decisions(void *arg)
{
    const struct process_set *set = arg;
    return set->decided.count;
}

static void write_status(void *arg, char *text, size_t size)
{
    engine_write_status(arg, text, size);
}

/* Tensors of a device that are not ready wait for the device alone. */
static bool waits_for_ranks(void *arg)
{
    const struct engine *engine = ((const struct process_set *)arg)->engine;
    int waiting = engine->in_flight.count;
    for (int id = 0; id < engine->sets.count; id++) {
        const struct process_set *set = engine->sets.at[id];
        if (!set || set->ended.code != HVD_OK)
            continue;
        if (set_steady_waiting_count(set) > 0)
            return true;
        waiting -= ready_waiting_count(set);
    }
    return waiting > 0;
}

/* True if every thread of the program waits for tensors of which none is done. /proc/self/task has
 * a folder for each thread; its link count tells how many, so nothing has to be opened. */
static bool all_threads_wait(const struct engine *engine)
{
    unsigned waiting = 0;
    struct stat tasks;
    for (const struct blocked *blocked = engine->inspect.blocked; blocked;
         blocked = blocked->next, waiting++)
        if (blocked->ticket->missing == 0)
            return false;
    return waiting > 0 && stat("/proc/self/task", &tasks) == 0 &&
           tasks.st_nlink == 2 + waiting + (unsigned)quiet_thread_count();
}

/* True if all that the program waits for still needs agreement in this set, and this rank, if it is
 * the root, holds back nothing that all have submitted (HOROVOD_CYCLE_TIME). */
static bool is_stuck(void *arg)
{
    const struct process_set *set = arg;
    struct waiting waiting;
    int own = 0;
    for (int i = 0; negotiation_waiting(set->negotiation, i, &waiting) > 0; i++)
        own += waiting.own;
    return own > 0 && own == set->engine->in_flight.count && ready_waiting_count(set) == 0 &&
           !set_is_steady(set) && !negotiation_has_decision(set->negotiation) &&
           all_threads_wait(set->engine);
}

int inspect_start(struct process_set *set, struct err *err)
{
    const struct settings *settings = &set->engine->settings;
    const struct stall_options options = {
        .rank = set->rank,
        .size = set->size,
        .star = set->tree.star,
        .world_ranks = set->ranks,
        .host = set->engine->exchange.self.host,
        .check_ns = settings->stall_check ? settings->stall_check_s * 1000000000 : 0,
        .shutdown_ns = settings->stall_check ? settings->stall_shutdown_s * 1000000000 : 0,
        .view = { see_waiting, count_waiting, last_decision, write_status, waits_for_ranks, set,
                  is_stuck, count_decisions },
    };
    set->stall = stall_create(&options, err);
    return set->stall ? HVD_OK : err->code;
}

void inspect_stop(struct process_set *set)
{
    stall_destroy(set->stall);
    set->stall = NULL;
}

static void send_messages(struct process_set *set)
{
    static const enum tree_frame frames[STALL_MESSAGES] = {
        [STALL_ALERT] = TREE_ALERT, [STALL_PROBE] = TREE_PROBE, [STALL_PROBED] = TREE_PROBED
    };
    enum stall_message message;
    const void *body;
    size_t nbytes;
    while (stall_take(set->stall, &message, &body, &nbytes)) {
        if (message == STALL_PROBE) {
            set_put_down(set, TREE_PROBE, body, nbytes);
            continue;
        }
        set_report(set); /* it came before what is said now */
        tree_link_put(&set->tree.up, frames[message], body, nbytes);
    }
}

/* In an elastic job the world ends as if the ranks that have not submitted had been lost: the other
 * ranks make the next world, and the launcher gives these ranks up. */
static void abort_world(struct engine *engine, const char *text, const struct late_ranks *late)
{
    struct rank_end end = rank_end_none();
    bool given_up = engine->elastic && late->count > 0;
    end.how.kind = RANK_END_TIMEOUT;
    end.status = given_up ? HVD_ERR_PEER_LOST : HVD_ERR_TIMEOUT;
    if (given_up)
        rank_end_set_late(&end, late);
    snprintf(end.words, sizeof end.words, "%s", text);
    failure_record(engine->failure, &end);
}

static void inspect_act(struct process_set *set)
{
    const char *text;
    send_messages(set);
    if (set->engine->inspect.asking && inspect_has_told(set->engine)) {
        set->engine->inspect.asking = false;
        pthread_cond_broadcast(&set->engine->progress.changed);
    }
    switch (stall_act(set->stall, &text)) {
    case STALL_WARN:
        log_line(LOG_WARNING, set->engine->rank, "%s", text);
        return;
    case STALL_ABORT:
        abort_world(set->engine, text, stall_late_ranks(set->stall));
        return;
    case STALL_NOTHING:
        return;
    }
}

int inspect_receive(struct process_set *set, enum tree_frame type, int child,
                    const struct frame *frame, struct err *err)
{
    enum stall_message message = type == TREE_ALERT   ? STALL_ALERT
                                 : type == TREE_PROBE ? STALL_PROBE
                                                      : STALL_PROBED;
    if (set->ended.code != HVD_OK)
        return HVD_OK;
    int rc =
        stall_receive(set->stall, message, child, frame->body, frame->length, monotonic_ns(), err);
    if (rc == HVD_OK)
        inspect_act(set);
    return rc;
}

uint64_t inspect_deadline(const struct process_set *set)
{
    return set->stall && set->ended.code == HVD_OK ? stall_deadline(set->stall, monotonic_ns())
                                                   : UINT64_MAX;
}

void inspect_tick(struct process_set *set)
{
    uint64_t now = monotonic_ns();
    if (!set->stall || set->ended.code != HVD_OK || stall_deadline(set->stall, now) > now)
        return;
    stall_tick(set->stall, now);
    inspect_act(set);
}

bool inspect_ask(struct engine *engine)
{
    for (int id = 0; id < engine->sets.count; id++) {
        struct process_set *set = engine->sets.at[id];
        if (!set || !set->stall || set->ended.code != HVD_OK ||
            !stall_ask(set->stall, monotonic_ns()))
            continue;
        engine->inspect.asking = true;
        inspect_act(set);
    }
    return engine->inspect.asking;
}

bool inspect_has_told(const void *arg)
{
    const struct engine *engine = arg;
    for (int id = 0; id < engine->sets.count && !engine->breakage.broken; id++) {
        const struct process_set *set = engine->sets.at[id];
        if (set && set->stall && set->ended.code == HVD_OK && stall_is_asked(set->stall))
            return false;
    }
    return true;
}
