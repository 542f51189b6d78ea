/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of the driver, and one pass over everything that can be moved.
 *
 *   nobody -> a caller (that waits, or takes over from the thread) -> nobody
 *   nobody -> the thread (nobody has waited for some milliseconds, or it is wanted) -> nobody
 *
 * A caller that waits spins for a time (processors_spin_ns()) and then sleeps in poll()
 * (progress_sleep.c). When ranks outnumber the processors, it yields after each pass. One thread at
 * a time runs the progress engine; the other callers sleep on a condition until their handles are
 * done or nobody runs the progress engine. The engine's own thread (progress_thread.c) does not run
 * while callers come and go.
 *
 * A thread that stops running the progress engine calls progress_leave(), so that no thread sleeps
 * while work is left. A failure in a pass breaks the world, or is a symptom (breakage.c). */
#include "lib/engine/engine_impl.h"

#include "lib/base/cpu_pause.h"
#include "lib/base/descriptor.h"
#include "lib/engine/processors.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>

uint64_t progress_check_ns = 250000000;

#define YIELD_NS 2000ull

enum { EAGER_SPINS = 32, LOOKS_PER_CLOCK = 8, YIELDS_MAX = 8, TRIES = 16, PAUSES = 8 };

int progress_init(struct engine *engine, const struct rank_info *info, int processors,
                  struct err *err)
{
    struct progress *progress = &engine->progress;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&progress->lock, NULL);
    pthread_cond_init(&progress->changed, &attributes);
    pthread_cond_init(&progress->rest, &attributes);
    pthread_condattr_destroy(&attributes);
    progress->processors = processors;
    progress->crowded = info->local_size > progress->processors;
    progress->spin_ns = processors_spin_ns(info->local_size, progress->processors);
    home_processor_init(&progress->home, processors, info->local_rank, info->local_size);
    progress->sleep.wake_fd = descriptor_event();
    return progress->sleep.wake_fd < 0 ? fail_errno(err, HVD_ERR_SYSTEM, errno, "eventfd") : HVD_OK;
}

void progress_fini(struct engine *engine)
{
    struct progress *progress = &engine->progress;
    descriptor_close(progress->sleep.wake_fd);
    free(progress->sleep.fds[0]);
    free(progress->sleep.fds[1]);
    pthread_cond_destroy(&progress->changed);
    pthread_cond_destroy(&progress->rest);
    pthread_mutex_destroy(&progress->lock);
}

void progress_stop(struct engine *engine)
{
    struct progress *progress = &engine->progress;
    progress->stopping = true;
    pthread_cond_broadcast(&progress->changed);
    pthread_cond_signal(&progress->rest);
    if (descriptor_is_event(progress->sleep.wake_fd))
        eventfd_write(progress->sleep.wake_fd, 1);
}

/* ---- one pass ---- */

/* Takes links that have come; then the set makes all possible progress. After the end of the set, a
 * rank may still dial, and must not wait here for data: it may have heard of a collective that this
 * rank never hears of. */
static int move_set(struct process_set *set, bool links_came, struct err *err)
{
    if (set->ended.code != HVD_OK && linker_keeps_links(set->engine->linker))
        set_forget_links(set);
    if (links_came || set->links.expected) {
        bool may_link = set->rank >= 0 && set->ended.code == HVD_OK;
        int rc = may_link ? set_take_links(set, err) : HVD_OK;
        if (rc < 0)
            return rc;
    }
    return set->state == SET_READY ? set_move(set, err) : 0;
}

bool engine_move(struct engine *engine)
{
    struct err err;
    int moved = 0;
    if (engine->breakage.broken)
        return engine_drain(engine);
    /* Receives what a rank has sent before it died: collectives that this data completes must not
     * fail. */
    engine->progress.check_all |= failure_is_there(engine->failure);
    if (engine->progress.check_all || linker_busy(engine->linker))
        moved = linker_move(engine->linker, monotonic_ms(), &err);
    bool links_came = moved > 0;
    for (int id = 0; moved >= 0 && id < engine->sets.count; id++) {
        int rc = engine->sets.at[id] ? move_set(engine->sets.at[id], links_came, &err) : 0;
        moved = rc < 0 ? rc : moved | rc;
    }
    engine->progress.check_all = false;
    if (moved < 0)
        engine_fail(engine, &err);
    bool well = engine->breakage.symptom.status == HVD_OK && !failure_is_there(engine->failure);
    return (!well && breakage_diagnose(engine)) || moved > 0;
}

/* Checks the links now and then while something is in flight, also when other links move. */
static void check_links(struct engine *engine, uint64_t now)
{
    if (engine->in_flight.count == 0 || now - engine->progress.checked_ns < progress_check_ns)
        return;
    engine->progress.checked_ns = now;
    engine_check_links(engine);
}

/* Nothing has moved: the stall inspectors may run. Returns when to check again. */
uint64_t progress_next_check(struct engine *engine, uint64_t now)
{
    for (int id = 0; id < engine->sets.count && !engine->breakage.broken; id++)
        if (engine->sets.at[id] && engine->sets.at[id]->rank >= 0) {
            set_steady_tick(engine->sets.at[id], now);
            inspect_tick(engine->sets.at[id]);
        }
    if (failure_check(engine->failure, NULL) < 0)
        engine_move(engine);
    check_links(engine, now);
    return engine->in_flight.count == 0 ? UINT64_MAX
                                        : engine->progress.checked_ns + progress_check_ns;
}

/* ---- callers ---- */

/* A number of passes in a row that found nothing. */
struct spin {
    unsigned spins;
    uint64_t since_ns; /* of the first; 0: not known */
    uint64_t yielded_ns;
};

bool progress_is_entered(const struct engine *engine)
{
    return atomic_load_explicit(&engine->progress.entering, memory_order_relaxed) > 0;
}

/* The awaited rank may need this very processor, or another thread the lock. */
static void progress_yield(struct engine *engine)
{
    engine_unlock(engine);
    home_processor_return(&engine->progress.home);
    for (int i = 0; i < 1 || (i < YIELDS_MAX && progress_is_entered(engine)); i++)
        sched_yield();
    pthread_mutex_lock(&engine->progress.lock);
}

static bool is_wanted(const struct engine *engine)
{
    return engine->progress.waiters > 0 || progress_is_entered(engine);
}

/* A pass is often over sooner than this thread could fall asleep. */
void progress_enter(struct engine *engine)
{
    int rc = EBUSY;
    atomic_fetch_add(&engine->progress.entering, 1);
    for (int i = 0; rc != 0 && i < TRIES; i++) {
        for (int k = 0; k < PAUSES; k++)
            cpu_pause();
        rc = pthread_mutex_trylock(&engine->progress.lock);
    }
    if (rc != 0)
        pthread_mutex_lock(&engine->progress.lock);
    atomic_fetch_sub(&engine->progress.entering, 1);
}

/* Called between two passes. Sleeps when there have been many. Returns the time. */
static uint64_t spin_or_sleep(struct engine *engine, struct spin *spin, progress_done_fn *done,
                              const void *arg, uint64_t deadline_ns)
{
    uint64_t now = monotonic_ns();
    if (spin->since_ns == 0)
        spin->since_ns = spin->yielded_ns = now;
    check_links(engine, now);
    if (done(arg) || now >= deadline_ns)
        return now;
    if (now - spin->since_ns >= engine->progress.spin_ns) {
        uint64_t until_ns = earlier(deadline_ns, progress_next_check(engine, now));
        if (!done(arg))
            progress_pause(engine, A_CALLER, until_ns);
    } else if (now - spin->yielded_ns >= YIELD_NS) {
        spin->yielded_ns = now;
        progress_yield(engine);
    }
    return now;
}

static void progress_drive(struct engine *engine, progress_done_fn *done, const void *arg,
                           uint64_t deadline_ns)
{
    struct spin spin = { 0 };
    uint64_t now = 0;
    engine->progress.driver = A_CALLER;
    engine->progress.sleep.until_ns = 0;
    if (engine->progress.thread.polls)
        engine->progress.thread.wanted = false; /* this caller may read what should wake the
                                                 * thread */
    while (!done(arg) && now < deadline_ns) {
        if (engine_move(engine)) {
            spin = (struct spin){ 0 };
            now = deadline_ns == UINT64_MAX ? 0 : monotonic_ns();
            if (is_wanted(engine) && !done(arg))
                progress_yield(engine);
        } else if (++spin.spins % LOOKS_PER_CLOCK == 0) {
            now = spin_or_sleep(engine, &spin, done, arg, deadline_ns);
        } else if (engine->progress.crowded || is_wanted(engine)) {
            progress_yield(engine);
        } else if (spin.spins > EAGER_SPINS) {
            cpu_pause();
        }
    }
    engine->progress.driver = NOBODY;
    engine->progress.driven_ns = monotonic_tick_ns();
}

static void wait_for_driver(struct engine *engine, uint64_t deadline_ns)
{
    struct timespec until = { (time_t)(deadline_ns / 1000000000),
                              (long)(deadline_ns % 1000000000) };
    engine->progress.waiters++;
    if (deadline_ns == UINT64_MAX)
        pthread_cond_wait(&engine->progress.changed, &engine->progress.lock);
    else
        pthread_cond_timedwait(&engine->progress.changed, &engine->progress.lock, &until);
    engine->progress.waiters--;
}

/* True if there is work, now or when something comes. */
static bool is_busy(struct engine *engine)
{
    if (engine->in_flight.count > 0 || engine->breakage.symptom.status != HVD_OK)
        return true;
    for (int id = 0; id < engine->sets.count; id++) {
        struct process_set *set = engine->sets.at[id];
        if (set && set->rank >= 0 && (batches_under_way(set) > 0 || !set_is_flushed(set)))
            return true;
    }
    return false;
}

/* A caller goes: another caller runs the progress engine, or the thread, if work is left. If not,
 * the thread must still check what has changed since it fell asleep: links, deadlines. */
void progress_leave(struct engine *engine)
{
    if (engine->progress.driver != NOBODY)
        return;
    if (engine->progress.waiters > 0)
        pthread_cond_broadcast(&engine->progress.changed);
    else if (is_busy(engine))
        progress_hand_over(engine);
    else if (engine->progress.thread.parked)
        pthread_cond_signal(&engine->progress.rest);
    else if (engine->progress.thread.polls)
        eventfd_write(engine->progress.sleep.wake_fd, 1);
}

/* Returns the tick at its end, which the driver has read already. */
static uint64_t wait_until(struct engine *engine, progress_done_fn *done, const void *arg,
                           uint64_t deadline_ns)
{
    bool drove = false;
    while (!done(arg) && (deadline_ns == UINT64_MAX || monotonic_ns() < deadline_ns)) {
        drove = engine->progress.driver != A_CALLER;
        if (drove)
            progress_drive(engine, done, arg, deadline_ns);
        else
            wait_for_driver(engine, deadline_ns);
    }
    return drove ? engine->progress.driven_ns : monotonic_tick_ns();
}

bool progress_until(struct engine *engine, progress_done_fn *done, const void *arg,
                    uint64_t deadline_ns)
{
    if (!done(arg)) {
        counters_wait(&engine->counters, monotonic_tick_ns());
        counters_waited(&engine->counters, wait_until(engine, done, arg, deadline_ns));
    }
    progress_leave(engine);
    return done(arg);
}

void progress_for_person(struct engine *engine, progress_done_fn *done, const void *arg,
                         uint64_t deadline_ns)
{
    wait_until(engine, done, arg, deadline_ns);
    progress_leave(engine);
}
