/* SPDX-License-Identifier: Apache-2.0 */
/* Who looks at the links, and when they sleep.
 *
 *   nobody -> a caller (waits, or takes over from the thread) -> nobody
 *   nobody -> the thread (nobody has waited for some milliseconds, or it is wanted) -> nobody
 *
 * A caller that waits spins for about a wake-up's time and then sleeps in poll(). One at a time
 * drives, the others sleep on a condition until they are done or the wheel is free. The thread keeps
 * away while callers come and go: it costs them neither a wake-up nor a look at it. When a caller
 * takes the wheel from it in poll(), it stays there until something comes or the caller goes, finds
 * that it does not drive any more, and rests.
 *
 * Nobody may sleep over what is left to do. Whoever moves things without driving (hvd_poll(),
 * a submission) calls drive_wake() afterwards, whoever goes leave_wheel(); the thread is told again
 * when it may have missed that it is wanted. A link over shared memory wakes only those who have said
 * that they sleep, and forgets that when it is used (link.h). */
#include "lib/engine/engine_impl.h"

#include "lib/base/cpu_pause.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>

#define CHECK_NS 250000000ull
#define REST_NS 10000000ull

#define GIVE_WAY_NS 2000ull

#define BURST_NS 50000ull
#define LONG_BURST_NS (16 * BURST_NS)

enum { EAGER_LOOKS = 32, LOOKS_PER_THOUGHT = 8, YIELDS_MAX = 8, TRIES = 16, PAUSES = 8 };

enum { CALLERS_FDS, THREADS_FDS };

/* ---- what is slept on ---- */

struct pollset {
    struct pollfd *fds;
    int count, capacity;
    bool is_awake; /* something is there without poll() */
};

static void watch(struct pollset *pollset, int fd, short events)
{
    if (pollset->count < pollset->capacity)
        pollset->fds[pollset->count] = (struct pollfd){ .fd = fd, .events = events };
    pollset->count++;
}

/* Where the link has something to say already, nobody sleeps. */
static void watch_link(struct pollset *pollset, struct link *link, short wanted)
{
    short events;
    if (!link_sleep(link, wanted, &events))
        pollset->is_awake = true;
    watch(pollset, link_pollable(link), events);
}

static void watch_tree(struct pollset *pollset, const struct tree_link *tree)
{
    if (tree->link)
        watch_link(pollset, tree->link, (short)(POLLIN | (tree_link_flushed(tree) ? 0 : POLLOUT)));
}

static void watch_set(struct pollset *pollset, const struct process_set *set)
{
    watch_tree(pollset, &set->tree.up);
    for (int i = 0; i < set->tree.position.nchildren; i++)
        watch_tree(pollset, &set->tree.down[i]);
    for (int i = 0; i < set->links.npeers; i++) {
        const struct channel *channel = set->links.channels[set->links.peers[i]];
        short events = channel->link ? channel_events(channel, &set->runs.window) : 0;
        if (events)
            watch_link(pollset, channel->link, events);
        else if (channel->link)
            set->engine->progress.sleep.unwatched = true;
    }
}

static int watch_all(struct engine *engine, struct pollset *pollset, uint64_t *until_ns)
{
    uint64_t until_ms = UINT64_MAX;
    pollset->count = 0;
    pollset->is_awake = false;
    engine->progress.sleep.unwatched = false;
    watch(pollset, engine->progress.sleep.wake_fd, POLLIN);
    pollset->count += linker_pollfds(engine->linker, pollset->fds + (pollset->capacity ? 1 : 0),
                                     pollset->capacity ? pollset->capacity - 1 : 0, &until_ms);
    for (int id = 0; id < engine->sets.count; id++)
        if (engine->sets.at[id] && engine->sets.at[id]->state == SET_READY)
            watch_set(pollset, engine->sets.at[id]);
    if (until_ms != UINT64_MAX)
        *until_ns = earlier(*until_ns, until_ms * 1000000);
    if (pollset->is_awake)
        *until_ns = 0;
    return pollset->count;
}

/* Fills in the array of `whose`, which grows as needed; what does not fit when memory is short is
 * looked at after a moment. */
static int fill_fds(struct engine *engine, int whose, uint64_t *until_ns)
{
    struct pollset pollset = { .fds = engine->progress.sleep.fds[whose],
                               .capacity = engine->progress.sleep.fds_capacity[whose] };
    int count = watch_all(engine, &pollset, until_ns);
    if (count <= pollset.capacity)
        return count;
    struct pollfd *fds = reallocarray(pollset.fds, 2 * (size_t)count, sizeof *fds);
    if (!fds) {
        *until_ns = earlier(*until_ns, monotonic_ns() + REST_NS);
        return pollset.capacity;
    }
    engine->progress.sleep.fds[whose] = pollset.fds = fds;
    engine->progress.sleep.fds_capacity[whose] = pollset.capacity = 2 * count;
    return watch_all(engine, &pollset, until_ns);
}

static int sleep_in_poll(struct pollfd *fds, int count, uint64_t until_ns)
{
    if (until_ns == UINT64_MAX)
        return ppoll(fds, (nfds_t)count, NULL, NULL);
    uint64_t now = monotonic_ns(), rest = until_ns > now ? until_ns - now : 0;
    struct timespec timeout = { (time_t)(rest / 1000000000), (long)(rest % 1000000000) };
    return ppoll(fds, (nfds_t)count, &timeout, NULL);
}

/* The driver sleeps until something comes, or `until_ns`. */
static void pause_driver(struct engine *engine, enum driver self, uint64_t until_ns)
{
    eventfd_t value;
    int whose = self == A_CALLER ? CALLERS_FDS : THREADS_FDS;
    timeline_flush(engine->timeline);
    until_ns = earlier(until_ns, engine_deadline(engine));
    int count = fill_fds(engine, whose, &until_ns);
    engine->progress.sleep.until_ns = until_ns;
    engine->progress.finished = false;
    engine->progress.thread.polls |= self == THE_THREAD;
    engine_unlock(engine);
    int ready = sleep_in_poll(engine->progress.sleep.fds[whose], count, until_ns);
    engine_lock(engine);
    engine->progress.thread.polls &= self != THE_THREAD;
    if (engine->progress.driver != self)
        return; /* taken over: none of our business */
    engine->progress.sleep.until_ns = 0;
    engine->progress.thorough = true;
    if (ready > 0 && engine->progress.sleep.fds[whose][0].revents & POLLNVAL)
        engine->progress.sleep.wake_fd =
            -1; /* the host program has closed it; news is seen at the next look */
    else if (ready > 0 && engine->progress.sleep.fds[whose][0].revents & POLLIN &&
             !engine->progress.stopping)
        eventfd_read(engine->progress.sleep.wake_fd, &value);
}

/* A link that has been used while somebody sleeps on it must be told again that it is slept on. False
 * if one has something to say meanwhile. */
static bool sleep_on(struct engine *engine)
{
    struct pollset counted = { .fds = NULL };
    bool unwatched = engine->progress.sleep.unwatched;
    uint64_t until_ns = UINT64_MAX;
    watch_all(engine, &counted, &until_ns);
    engine->progress.sleep.unwatched = unwatched;
    return !counted.is_awake;
}

void drive_wake(struct engine *engine)
{
    if (engine->progress.sleep.until_ns != 0 &&
        (engine->progress.stopping || engine->breakage.broken || engine->progress.finished ||
         engine->progress.sleep.unwatched || engine_is_unsettled(engine) ||
         engine_has_output(engine) || engine_deadline(engine) < engine->progress.sleep.until_ns ||
         !sleep_on(engine)))
        eventfd_write(engine->progress.sleep.wake_fd, 1);
}

/* A look at the links now and then, while something is waited for: also when other links move. */
static void check_links(struct engine *engine, uint64_t now)
{
    if (engine->flight.in_flight == 0 || now - engine->progress.checked_ns < CHECK_NS)
        return;
    engine->progress.checked_ns = now;
    engine_check_links(engine);
}

/* Nothing has moved. Returns when to look again. */
static uint64_t next_check(struct engine *engine, uint64_t now)
{
    engine_tick(engine);
    check_links(engine, now);
    return engine->flight.in_flight == 0 ? UINT64_MAX : engine->progress.checked_ns + CHECK_NS;
}

/* ---- callers ---- */

/* Looks that found nothing, one after the other. */
struct spin {
    unsigned looks;
    uint64_t since_ns; /* of the first; 0: not known */
    uint64_t gave_way_ns;
};

static bool is_entering(const struct engine *engine)
{
    return atomic_load_explicit(&engine->progress.entering, memory_order_relaxed) > 0;
}

/* The one who is waited for may need this very processor, or another thread the lock. */
static void give_way(struct engine *engine)
{
    engine_unlock(engine);
    for (int i = 0; i < 1 || (i < YIELDS_MAX && is_entering(engine)); i++)
        sched_yield();
    pthread_mutex_lock(&engine->progress.lock);
}

static bool is_wanted(const struct engine *engine)
{
    return engine->progress.waiters > 0 || is_entering(engine);
}

/* A look is often over sooner than one has fallen asleep. */
void drive_enter(struct engine *engine)
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

/* Now and then between two looks. Sleeps when there have been many. Returns the time. */
static uint64_t think(struct engine *engine, struct spin *spin, drive_done_fn *done,
                      const void *arg, uint64_t deadline_ns)
{
    uint64_t now = monotonic_ns();
    if (spin->since_ns == 0)
        spin->since_ns = spin->gave_way_ns = now;
    check_links(engine, now);
    if (done(arg) || now >= deadline_ns)
        return now;
    if (now - spin->since_ns >= engine->progress.spin_ns) {
        uint64_t until_ns = earlier(deadline_ns, next_check(engine, now));
        if (!done(arg))
            pause_driver(engine, A_CALLER, until_ns);
    } else if (now - spin->gave_way_ns >= GIVE_WAY_NS) {
        spin->gave_way_ns = now;
        give_way(engine);
    }
    return now;
}

static void drive(struct engine *engine, drive_done_fn *done, const void *arg, uint64_t deadline_ns)
{
    struct spin spin = { 0 };
    uint64_t now = 0;
    engine->progress.driver = A_CALLER;
    engine->progress.sleep.until_ns = 0;
    if (engine->progress.thread.polls)
        engine->progress.thread.wanted = false; /* we may read what was to wake it */
    while (!done(arg) && now < deadline_ns) {
        if (engine_move(engine)) {
            spin = (struct spin){ 0 };
            now = deadline_ns == UINT64_MAX ? 0 : monotonic_ns();
            if (is_wanted(engine) && !done(arg))
                give_way(engine);
        } else if (++spin.looks % LOOKS_PER_THOUGHT == 0 || engine->progress.spin_ns == 0) {
            now = think(engine, &spin, done, arg, deadline_ns);
        } else if (engine->progress.crowded || is_wanted(engine)) {
            give_way(engine);
        } else if (spin.looks > EAGER_LOOKS) {
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

/* A caller goes: another one drives, or the thread, if there is anything left to do. If not, the
 * thread still has to look at what has changed since it fell asleep: links, deadlines. */
static void leave_wheel(struct engine *engine)
{
    if (engine->progress.driver != NOBODY)
        return;
    if (engine->progress.waiters > 0)
        pthread_cond_broadcast(&engine->progress.changed);
    else if (engine_is_busy(engine))
        drive_hand_over(engine);
    else if (engine->progress.thread.parked)
        pthread_cond_signal(&engine->progress.rest);
    else if (engine->progress.thread.polls)
        eventfd_write(engine->progress.sleep.wake_fd, 1);
}

static bool is_past(uint64_t deadline_ns)
{
    return deadline_ns != UINT64_MAX && monotonic_ns() >= deadline_ns;
}

/* Returns the tick at its end, which a driver has read already. */
static uint64_t wait_until(struct engine *engine, drive_done_fn *done, const void *arg,
                           uint64_t deadline_ns)
{
    bool drove = false;
    while (!done(arg) && !is_past(deadline_ns)) {
        drove = engine->progress.driver != A_CALLER;
        if (drove)
            drive(engine, done, arg, deadline_ns);
        else
            wait_for_driver(engine, deadline_ns);
    }
    return drove ? engine->progress.driven_ns : monotonic_tick_ns();
}

bool drive_until(struct engine *engine, drive_done_fn *done, const void *arg, uint64_t deadline_ns)
{
    if (!done(arg)) {
        counters_wait(&engine->counters, monotonic_tick_ns());
        counters_waited(&engine->counters, wait_until(engine, done, arg, deadline_ns));
    }
    leave_wheel(engine);
    return done(arg);
}

void drive_for_person(struct engine *engine, drive_done_fn *done, const void *arg,
                      uint64_t deadline_ns)
{
    wait_until(engine, done, arg, deadline_ns);
    leave_wheel(engine);
}

/* ---- the thread ---- */

void drive_hand_over(struct engine *engine)
{
    if (engine->progress.driver != NOBODY || !engine->progress.thread.exists ||
        engine->progress.thread.wanted)
        return;
    engine->progress.thread.wanted = true;
    if (engine->progress.thread.polls)
        eventfd_write(engine->progress.sleep.wake_fd,
                      1); /* it has not noticed yet that it does not drive */
    else
        pthread_cond_signal(&engine->progress.rest);
}

static void rest_until(struct engine *engine, uint64_t until_ns)
{
    struct timespec until = { (time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000) };
    pthread_cond_timedwait(&engine->progress.rest, &engine->progress.lock, &until);
}

static void park(struct engine *engine)
{
    engine->progress.thread.parked = true;
    engine->progress.thread.wanted = false; /* whoever wants it has to say so again */
    pthread_cond_wait(&engine->progress.rest, &engine->progress.lock);
    engine->progress.thread.parked = false;
}

/* True when the thread may drive now; otherwise it has rested. */
static bool rested(struct engine *engine)
{
    uint64_t now = monotonic_ns();
    if (engine->breakage.broken ||
        (engine->progress.driver == A_CALLER && engine->progress.sleep.until_ns != 0)) {
        park(engine);
        return false;
    }
    if (engine->progress.driver == NOBODY &&
        (engine->progress.thread.wanted || now - engine->progress.driven_ns >= REST_NS))
        return true;
    rest_until(engine, now + REST_NS);
    return false;
}

/* Who comes in is likely to come again at once, with the next of many tensors, and moves things on
 * meanwhile. Returns when no more than one has come in BURST_NS lately. */
static void step_aside(struct engine *engine)
{
    uint64_t before, rest_ns = BURST_NS / 2;
    engine->progress.driver = NOBODY;
    engine->progress.thread.wanted = true; /* so nobody has to wake us */
    do {
        rest_ns = rest_ns < LONG_BURST_NS ? 2 * rest_ns : rest_ns;
        before = engine->progress.submissions;
        rest_until(engine, monotonic_ns() + rest_ns);
    } while ((engine->progress.submissions - before) * BURST_NS > rest_ns &&
             engine->progress.driver == NOBODY && !engine->progress.stopping);
}

static void drive_for_nobody(struct engine *engine)
{
    engine->progress.driver = THE_THREAD;
    engine->progress.thread.wanted = false;
    engine->progress.thorough = true;
    while (engine->progress.driver == THE_THREAD && !engine->progress.stopping &&
           !engine->breakage.broken) {
        bool moved = engine_move(engine);
        if (is_entering(engine)) {
            step_aside(engine);
            return;
        }
        if (moved)
            continue;
        uint64_t until_ns = next_check(engine, monotonic_ns());
        if (!engine->breakage.broken)
            pause_driver(engine, THE_THREAD, until_ns);
    }
    if (engine->progress.driver == THE_THREAD)
        engine->progress.driver = NOBODY;
}

void *drive_thread(void *arg)
{
    struct engine *engine = arg;
    engine_lock(engine);
    while (!engine->progress.stopping)
        if (rested(engine))
            drive_for_nobody(engine);
    engine_unlock(engine);
    return NULL;
}
