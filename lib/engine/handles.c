/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's calls for the public API: submit, and wait for a handle. The waiting thread runs the
 * progress engine meanwhile (progress.c).
 *
 * Fails when a submission is refused (submit.c), when a tensor of the handle has failed (with the
 * first failure), and when the handle does not exist, another thread waits for it, or the time is
 * over. An interruptible wait pauses, which is no failure. */
#include "lib/engine/engine_impl.h"

static bool ticket_is_done(const void *arg)
{
    const struct ticket *ticket = arg;
    return ticket->missing == 0;
}

/* A wait that pauses when a signal comes. */
struct interruptible {
    const struct ticket *ticket;
    const struct progress *progress;
};

static bool is_done_or_signalled(const void *arg)
{
    const struct interruptible *wait = arg;
    return ticket_is_done(wait->ticket) || wait->progress->signalled;
}

static struct ticket *find_ticket(struct engine *engine, int64_t handle, struct err *err)
{
    struct ticket *ticket = in_flight_find(&engine->in_flight, handle);
    if (!ticket && in_flight_is_stale(&engine->in_flight, handle))
        fail(err, HVD_ERR_STALE, "handle %lld is of an epoch that this process has left",
             (long long)handle);
    else if (!ticket)
        fail(err, HVD_ERR_INVALID, "there is no handle %lld, or it was waited for already",
             (long long)handle);
    return ticket;
}

int engine_poll(struct engine *engine, int64_t handle, struct err *err)
{
    engine_lock(engine);
    const struct ticket *ticket = find_ticket(engine, handle, err);
    if (ticket && ticket->missing > 0) {
        set_steady_poll(engine, ticket);
        if (engine->progress.driver != A_CALLER)
            engine_move(engine);
    }
    int done = ticket ? ticket_is_done(ticket) : err->code;
    progress_wake(engine);
    engine_unlock(engine);
    return done;
}

/* Passes the results to the caller, or frees them if the caller does not want them. */
static int ticket_collect(struct engine *engine, struct ticket *ticket, struct hvd_result *results,
                          struct err *err)
{
    bool failed = ticket->err.code != HVD_OK;
    if (failed)
        *err = ticket->err;
    for (int i = 0; i < ticket->count; i++) {
        if (!results || failed)
            hvd_result_free(&ticket->results[i]);
        if (results)
            results[i] = ticket->results[i];
    }
    int rc = ticket->err.code;
    in_flight_release(&engine->in_flight, ticket);
    return rc;
}

/* Until the ticket is done or a signal comes, for ENGINE_SIGNALS_NS at most. */
static void wait_interruptibly(struct engine *engine, const struct ticket *ticket)
{
    const struct interruptible wait = { ticket, &engine->progress };
    engine->progress.signalled = false;
    progress_until(engine, is_done_or_signalled, &wait, monotonic_ns() + ENGINE_SIGNALS_NS);
}

static int wait_for_ticket(struct engine *engine, struct ticket *ticket, int timeout_ms,
                           struct hvd_result *results, struct err *err)
{
    struct blocked blocked = { ticket, engine->inspect.blocked };
    uint64_t deadline = UINT64_MAX;
    if (ticket->awaited)
        return fail(err, HVD_ERR_INVALID, "another thread waits for this handle");
    if (timeout_ms == 0 && engine->progress.driver != A_CALLER)
        engine_move(engine);
    if (timeout_ms < 0)
        engine->inspect.blocked = &blocked;
    else
        deadline = monotonic_ns() + (uint64_t)timeout_ms * 1000000;
    ticket->awaited = true;
    set_steady_await(engine, ticket);
    if (timeout_ms == ENGINE_INTERRUPTIBLE)
        wait_interruptibly(engine, ticket);
    else
        progress_until(engine, ticket_is_done, ticket, deadline);
    bool done = ticket_is_done(ticket);
    ticket->awaited = false;
    if (timeout_ms < 0) {
        struct blocked **at = &engine->inspect.blocked;
        while (*at != &blocked)
            at = &(*at)->next;
        *at = blocked.next;
    }
    if (!done && timeout_ms == ENGINE_INTERRUPTIBLE)
        return ENGINE_PAUSED;
    if (!done)
        return fail(err, HVD_ERR_TIMEOUT, "not done within %d ms", timeout_ms);
    return ticket_collect(engine, ticket, results, err);
}

int engine_wait(struct engine *engine, int64_t handle, int timeout_ms, struct hvd_result *results,
                struct err *err)
{
    engine_lock(engine);
    struct ticket *ticket = find_ticket(engine, handle, err);
    int rc = ticket ? wait_for_ticket(engine, ticket, timeout_ms, results, err) : err->code;
    progress_wake(engine);
    engine_unlock(engine);
    return rc;
}

int engine_submit(struct engine *engine, const struct submission *submission, int64_t *handle,
                  struct err *err)
{
    engine_lock(engine);
    int rc = submit(engine, submission, handle, err);
    if (rc == HVD_OK) {
        progress_hand_over(engine);
        progress_wake(engine);
    }
    engine_unlock(engine);
    return rc;
}

/* Waits for what engine_run() has submitted. */
static int wait_for_own(struct engine *engine, struct ticket *ticket, struct hvd_result *results,
                        int64_t *handle, struct err *err)
{
    if (!handle)
        return wait_for_ticket(engine, ticket, ENGINE_FOR_EVER, results, err);
    *handle = ticket->number;
    return wait_for_ticket(engine, ticket, ENGINE_INTERRUPTIBLE, results, err);
}

static int submit_and_wait(struct engine *engine, const struct submission *submission,
                           struct hvd_result *results, int64_t *handle, struct err *err)
{
    int64_t number;
    engine->progress.blocking++;
    int rc = submit(engine, submission, &number, err);
    engine->progress.blocking--;
    if (rc < 0)
        return rc;
    if (engine->progress.driver == A_CALLER)
        progress_wake(engine);
    return wait_for_own(engine, in_flight_find(&engine->in_flight, number), results, handle, err);
}

static int run_locked(struct engine *engine, const struct submission *submission,
                      struct hvd_result *results, int64_t *handle, struct err *err)
{
    struct ticket *ticket;
    enum steady_run run =
        results ? STEADY_RUN_NOT : set_steady_run(engine, submission, &ticket, err);
    if (run == STEADY_RUN_NOT)
        return submit_and_wait(engine, submission, results, handle, err);
    if (run == STEADY_RUN_DONE)
        return HVD_OK;
    return ticket ? wait_for_own(engine, ticket, NULL, handle, err) : err->code;
}

/* Wakes the driver of the progress engine before waiting for the lock; otherwise this thread alone
 * would have to run the progress engine. */
int engine_run(struct engine *engine, const struct submission *submission,
               struct hvd_result *results, int64_t *handle, struct err *err)
{
    engine_lock(engine);
    int rc = run_locked(engine, submission, results, handle, err);
    progress_wake(engine);
    engine_unlock(engine);
    return rc;
}
