/* SPDX-License-Identifier: Apache-2.0 */
/* Driving collectives; see engine.h. */
#include "lib/engine.h"

#include "lib/link/socket.h"

#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>

enum { CHECK_MS = 1000, EXPLANATION_MS = 1000, SPIN_NS = 50000 };

/* Spinning takes the processor from the very rank that is waited for, when there is none to spare.
 */
static uint64_t choose_spin(int local_size)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) < 0)
        return 0;
    return local_size > CPU_COUNT(&set) ? 0 : SPIN_NS;
}

void engine_init(struct engine *engine, const struct ring *ring, int local_size,
                 struct failure *failure, int wake_fd)
{
    *engine = (struct engine){
        .ring = *ring,
        .failure = failure,
        .wake_fd = wake_fd,
        .spin_ns = choose_spin(local_size),
    };
}

void engine_fini(struct engine *engine)
{
    ring_fini(&engine->ring);
}

/* Is a reason known why the current collective cannot be carried out? */
static bool has_failed(const struct engine *engine)
{
    return engine->number >= atomic_load(&engine->failure->from);
}

/* Hears what the right neighbour may have to say. */
static void hear_right(struct engine *engine)
{
    if (engine->right_ended ||
        notice_receive(&engine->notice, engine->ring.right.link, engine->failure) == 0)
        return;
    engine->right_ended = true;
    engine->quiet_since = monotonic_ns(); /* an explanation has its time from now on */
}

/* A failure that is known already. The right neighbour is asked first: it may know better. */
static int check_failure(struct engine *engine, struct err *err)
{
    if (!has_failed(engine))
        return HVD_OK;
    hear_right(engine);
    return failure_check(engine->failure, engine->number, err);
}

static struct pollfd watch(const struct link *link, short events)
{
    return (struct pollfd){ .fd = events ? link_pollable(link) : -1, .events = events };
}

/* Sleeps until a link can move, there is news, or the time is over. */
static void sleep_on(struct engine *engine, short left_events, short right_events, int timeout_ms)
{
    if (!engine->right_ended)
        right_events |= POLLIN;
    struct pollfd fds[] = {
        { .fd = engine->wake_fd, .events = POLLIN },
        watch(engine->ring.left.link, left_events),
        watch(engine->ring.right.link, right_events),
    };
    int ready = poll(fds, 3, timeout_ms);
    eventfd_t news;
    if (ready > 0 && fds[0].revents & POLLNVAL)
        engine->wake_fd = -1; /* the host program has closed it; news is seen at the next look */
    else if (ready > 0 && fds[0].revents)
        eventfd_read(engine->wake_fd, &news);
    if (ready > 0 && fds[2].revents & ~POLLOUT)
        hear_right(engine);
}

/* Does the world know a reason to end, now or later? */
static bool is_doomed(const struct engine *engine)
{
    return atomic_load(&engine->failure->from) != UINT64_MAX;
}

/* Has the right neighbour ended its link without a word, and nobody said why? */
static bool right_is_silent(const struct engine *engine)
{
    return engine->right_ended && !is_doomed(engine);
}

static int blame_right(const struct engine *engine, struct err *err)
{
    fail(err, HVD_ERR_PEER_LOST, "closed by the other side");
    return ring_broke(&engine->ring.right, err);
}

/* The explanation has been waited for already. */
static int on_silent_right(struct engine *engine, struct err *err)
{
    blame_right(engine, err);
    failure_record(engine->failure, engine->number, err->code, err->text);
    return err->code;
}

/* A look at both neighbours, when nothing has moved for a second. */
static int check_links(struct engine *engine, struct err *err)
{
    if (right_is_silent(engine))
        return on_silent_right(engine, err);
    if (link_check(engine->ring.right.link, err) < 0)
        return ring_broke(&engine->ring.right, err);
    if (link_check(engine->ring.left.link, err) < 0)
        return ring_broke(&engine->ring.left, err);
    return HVD_OK;
}

/* Until the next look at both neighbours; signals and news end a sleep early, and do not put the
 * look off. */
static void sleep_until_movable(struct engine *engine, struct collective *collective,
                                uint64_t quiet_ns)
{
    size_t awaited;
    struct iovec parts[2];
    collective_space(collective, &awaited);
    short left_events = awaited > 0 ? POLLIN : 0;
    short right_events = collective_output(collective, parts) > 0 ? POLLOUT : 0;
    sleep_on(engine, left_events, right_events, CHECK_MS - (int)(quiet_ns / 1000000));
}

/* Spins at first, then sleeps. `*idle_since` is when something moved last, 0 if just now. */
static int await(struct engine *engine, struct collective *collective, uint64_t *idle_since,
                 struct err *err)
{
    uint64_t now = monotonic_ns();
    if (*idle_since == 0)
        *idle_since = engine->quiet_since = now;
    if (now - *idle_since < engine->spin_ns) {
        sched_yield(); /* the one who is waited for may need this very processor */
        return HVD_OK;
    }
    if (now - engine->quiet_since >= CHECK_MS * 1000000ull) {
        engine->quiet_since = now;
        return check_links(engine, err);
    }
    sleep_until_movable(engine, collective, now - engine->quiet_since);
    return HVD_OK;
}

static int drive(struct engine *engine, struct collective *collective, struct err *err)
{
    uint64_t idle_since = 0;
    while (!collective_done(collective)) {
        int moved = ring_move(&engine->ring, collective, err);
        if (moved < 0)
            return moved;
        if (moved > 0)
            idle_since = 0;
        else if (await(engine, collective, &idle_since, err) < 0)
            return err->code;
        if (check_failure(engine, err) < 0)
            return err->code;
    }
    return HVD_OK;
}

/* A link broke: waits for whoever knows the cause. */
static void await_explanation(struct engine *engine)
{
    uint64_t deadline = monotonic_ms() + EXPLANATION_MS;
    for (;;) {
        hear_right(engine);
        uint64_t now = monotonic_ms();
        if (has_failed(engine) || now >= deadline)
            return;
        sleep_on(engine, 0, 0, (int)(deadline - now));
    }
}

/* Makes `err`, or what explains it, the answer from now on, and tells the left neighbour. */
static int give_up(struct engine *engine, const struct collective *collective, struct err *err)
{
    bool is_symptom = err->code == HVD_ERR_PEER_LOST;
    if (is_symptom && right_is_silent(engine))
        blame_right(engine, err); /* that was earlier, and what happened now may come of it */
    if (is_symptom)
        await_explanation(engine);
    if (!is_symptom || !has_failed(engine))
        failure_record(engine->failure, engine->number, err->code, err->text);
    failure_check(engine->failure, engine->number, err);
    if (!engine->told)
        notice_send(engine->ring.left.link, engine->number, err);
    engine->told = true;
    char label[FINGERPRINT_LABEL];
    if (err->code == HVD_ERR_PEER_LEFT)
        fail_context(err, "%s", fingerprint_label(label, &collective->print));
    return err->code;
}

static int run_alone(struct engine *engine, const struct request *request, struct err *err)
{
    int rc = failure_check(engine->failure, engine->number, err);
    if (rc < 0)
        return rc;
    collective_alone(request);
    engine->number++;
    return HVD_OK;
}

int engine_run(struct engine *engine, const struct request *request, struct err *err)
{
    struct ring *ring = &engine->ring;
    if (ring->size == 1)
        return run_alone(engine, request, err);
    struct collective collective;
    collective_start(&collective, request, ring->rank, ring->size, engine->number, ring->staging);
    int rc = check_failure(engine, err);
    if (rc == HVD_OK)
        rc = drive(engine, &collective, err);
    if (rc < 0)
        return give_up(engine, &collective, err);
    engine->number++;
    return HVD_OK;
}
