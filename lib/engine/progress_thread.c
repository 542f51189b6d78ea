/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's own thread: it runs the progress engine when no caller has waited for some
 * milliseconds, or when another thread asks it to.
 *
 * The thread keeps away while callers come and go, so that it costs them neither a wake-up nor a
 * check. A caller may begin to run the progress engine while the thread is in poll(). Then the
 * thread stays in poll() until something comes or the caller goes, finds that it is not the driver
 * any more, and rests. A request that the thread may have missed meanwhile is repeated. */
#include "lib/engine/engine_impl.h"

#include "lib/base/quiet_thread.h"

#include <sys/eventfd.h>
#include <time.h>

#define BURST_NS 50000ull
#define LONG_BURST_NS (16 * BURST_NS)

void progress_hand_over(struct engine *engine)
{
    if (engine->progress.driver != NOBODY || !engine->progress.thread.exists ||
        engine->progress.thread.wanted)
        return;
    engine->progress.thread.wanted = true;
    if (engine->progress.thread.polls)
        eventfd_write(engine->progress.sleep.wake_fd,
                      1); /* the thread has not noticed yet that it is not the driver */
    else
        pthread_cond_signal(&engine->progress.rest);
}

static void rest_until(struct engine *engine, uint64_t until_ns)
{
    struct timespec until = { (time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000) };
    pthread_cond_timedwait(&engine->progress.rest, &engine->progress.lock, &until);
}

static void thread_park(struct engine *engine)
{
    engine->progress.thread.parked = true;
    engine->progress.thread.wanted = false; /* a caller that needs the thread must ask again */
    pthread_cond_wait(&engine->progress.rest, &engine->progress.lock);
    engine->progress.thread.parked = false;
}

/* True when the thread may run the progress engine now; otherwise it has rested. */
static bool thread_has_rested(struct engine *engine)
{
    uint64_t now = monotonic_ns();
    if (engine->breakage.broken ||
        (engine->progress.driver == A_CALLER && engine->progress.sleep.until_ns != 0)) {
        thread_park(engine);
        return false;
    }
    if (engine->progress.driver == NOBODY &&
        (engine->progress.thread.wanted || now - engine->progress.driven_ns >= REST_NS))
        return true;
    rest_until(engine, now + REST_NS);
    return false;
}

/* A caller that enters is likely to enter again at once, with the next of many tensors, and moves
 * things meanwhile. Returns when at most one caller has entered in the last BURST_NS. */
static void step_aside(struct engine *engine)
{
    uint64_t before, rest_ns = BURST_NS / 2;
    engine->progress.driver = NOBODY;
    engine->progress.thread.wanted = true; /* so no caller has to wake the thread */
    do {
        rest_ns = rest_ns < LONG_BURST_NS ? 2 * rest_ns : rest_ns;
        before = engine->progress.submissions;
        rest_until(engine, monotonic_ns() + rest_ns);
    } while ((engine->progress.submissions - before) * BURST_NS > rest_ns &&
             engine->progress.driver == NOBODY && !engine->progress.stopping);
}

static void thread_drive(struct engine *engine)
{
    engine->progress.driver = THE_THREAD;
    engine->progress.thread.wanted = false;
    engine->progress.check_all = true;
    while (engine->progress.driver == THE_THREAD && !engine->progress.stopping &&
           !engine->breakage.broken) {
        bool moved = engine_move(engine);
        if (progress_is_entered(engine)) {
            step_aside(engine);
            return;
        }
        if (moved)
            continue;
        uint64_t until_ns = progress_next_check(engine, monotonic_ns());
        if (!engine->breakage.broken)
            progress_pause(engine, THE_THREAD, until_ns);
    }
    if (engine->progress.driver == THE_THREAD)
        engine->progress.driver = NOBODY;
}

static void *progress_thread_main(void *arg)
{
    struct engine *engine = arg;
    engine_lock(engine);
    while (!engine->progress.stopping)
        if (thread_has_rested(engine))
            thread_drive(engine);
    engine_unlock(engine);
    return NULL;
}

int progress_start_thread(struct engine *engine, struct err *err)
{
    struct progress_thread *thread = &engine->progress.thread;
    int error = quiet_thread_start(&thread->id, "hvd-engine", progress_thread_main, engine);
    thread->exists = error == 0;
    return error ? fail_errno(err, HVD_ERR_SYSTEM, error, "start the engine's thread") : HVD_OK;
}
