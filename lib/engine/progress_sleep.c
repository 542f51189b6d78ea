/* SPDX-License-Identifier: Apache-2.0 */
/* The sleep of the thread that runs the progress engine: in poll(), on all links, an eventfd and
 * the descriptors of the linker, until something comes or a time is over.
 *
 * No thread may sleep while work is left. A thread that moves data without running the progress
 * engine (hvd_poll(), a submission) calls progress_wake() afterwards. A link over shared memory
 * wakes only sides that have announced their sleep, and forgets the announcement when the link is
 * used (link.h).
 *
 * When memory is short, some links do not fit into the array; they are checked after a moment. When
 * the host program has closed the eventfd, news is seen at the next pass. */
#include "lib/engine/engine_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>

enum { CALLERS_FDS, THREADS_FDS };

struct pollset {
    struct pollfd *fds;
    int count, capacity;
    bool is_awake; /* something is there without poll() */
};

static void progress_sleep_watch(struct pollset *pollset, int fd, short events)
{
    if (pollset->count < pollset->capacity)
        pollset->fds[pollset->count] = (struct pollfd){ .fd = fd, .events = events };
    pollset->count++;
}

/* When a link has an event already, the driver does not sleep. */
static void watch_link(struct pollset *pollset, struct link *link, short wanted)
{
    short events;
    if (!link_sleep(link, wanted, &events))
        pollset->is_awake = true;
    progress_sleep_watch(pollset, link_pollable(link), events);
}

static void watch_tree(struct pollset *pollset, const struct tree_link *tree)
{
    if (tree->link)
        watch_link(pollset, tree->link, (short)(POLLIN | (tree_link_flushed(tree) ? 0 : POLLOUT)));
}

static void watch_set(struct pollset *pollset, struct process_set *set)
{
    const struct tree_link *tree;
    for (int i = 0; (tree = set_tree_at(set, i)); i++)
        watch_tree(pollset, tree);
    for (int i = 0; i < set->links.npeers; i++) {
        const struct channel *channel = set->links.channels[set->links.peers[i]];
        short events = channel->link ? channel_events(channel, &set->batches.window) : 0;
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
    progress_sleep_watch(pollset, engine->progress.sleep.wake_fd, POLLIN);
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

/* Fills in the array of `whose`, which grows as needed; links that do not fit when memory is short
 * are checked after a moment. */
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

/* When engine_move() is needed although nothing comes; UINT64_MAX: not at all. */
static uint64_t next_deadline(const struct engine *engine)
{
    uint64_t deadline =
        engine->breakage.symptom.status != HVD_OK ? engine->breakage.symptom_until_ns : UINT64_MAX;
    for (int id = 0; id < engine->sets.count; id++)
        if (engine->sets.at[id] && engine->sets.at[id]->rank >= 0)
            deadline = earlier(deadline, set_deadline(engine->sets.at[id]));
    return deadline;
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
void progress_pause(struct engine *engine, enum driver self, uint64_t until_ns)
{
    eventfd_t value;
    int whose = self == A_CALLER ? CALLERS_FDS : THREADS_FDS;
    timeline_flush(engine->timeline);
    until_ns = earlier(until_ns, next_deadline(engine));
    int count = fill_fds(engine, whose, &until_ns);
    engine->progress.sleep.until_ns = until_ns;
    engine->progress.finished = false;
    engine->progress.thread.polls |= self == THE_THREAD;
    engine_unlock(engine);
    int ready = sleep_in_poll(engine->progress.sleep.fds[whose], count, until_ns);
    bool interrupted = ready < 0 && errno == EINTR;
    engine_lock(engine);
    engine->progress.signalled |= interrupted && self == A_CALLER;
    engine->progress.thread.polls &= self != THE_THREAD;
    if (engine->progress.driver != self)
        return; /* taken over: none of our business */
    engine->progress.sleep.until_ns = 0;
    engine->progress.check_all = true;
    if (ready > 0 && engine->progress.sleep.fds[whose][0].revents & POLLNVAL)
        engine->progress.sleep.wake_fd =
            -1; /* the host program has closed it; news is seen at the next pass */
    else if (ready > 0 && engine->progress.sleep.fds[whose][0].revents & POLLIN &&
             !engine->progress.stopping)
        eventfd_read(engine->progress.sleep.wake_fd, &value);
}

/* A link that was used while the driver sleeps on it must learn again of the sleep. False if a link
 * has an event meanwhile. */
static bool sleep_on(struct engine *engine)
{
    struct pollset counted = { .fds = NULL };
    bool unwatched = engine->progress.sleep.unwatched;
    uint64_t until_ns = UINT64_MAX;
    watch_all(engine, &counted, &until_ns);
    engine->progress.sleep.unwatched = unwatched;
    return !counted.is_awake;
}

/* True if another engine_move() would find work although nothing comes, or if a link has not taken
 * all bytes yet. */
static bool has_work(const struct engine *engine)
{
    for (int id = 0; id < engine->sets.count; id++) {
        struct process_set *set = engine->sets.at[id];
        if (set && set->state == SET_READY &&
            (set_has_work(set) || !set_is_flushed(set) || set_has_data_to_send(set)))
            return true;
    }
    return false;
}

void progress_wake(struct engine *engine)
{
    const struct progress *progress = &engine->progress;
    if (progress->sleep.until_ns != 0 &&
        (progress->stopping || engine->breakage.broken || progress->finished ||
         progress->sleep.unwatched || has_work(engine) ||
         next_deadline(engine) < progress->sleep.until_ns || !sleep_on(engine)))
        eventfd_write(progress->sleep.wake_fd, 1);
}
