/* SPDX-License-Identifier: Apache-2.0 */
/* Calls without a time limit, in a thread; see blocking_session.h. */
#include "lib/pmi/blocking_session.h"

#include "lib/base/clock.h"
#include "lib/base/quiet_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A library that knows the limit of an exchange has time to say why it has failed. The end of a
 * session takes milliseconds, except on a machine that is very busy. A process that goes on before
 * PMIx_Finalize has returned, and dies, makes Slurm's plugin of PMIx kill the whole step: the other
 * ranks would not have the time to say whom they have lost. */
enum { CLOSE_MS = 20000, ANSWER_MS = 1000 };

enum session_wish { SESSION_BEGIN, SESSION_EXCHANGE, SESSION_END };

/* The thread frees it if the caller has abandoned it, else the caller does. */
struct blocking_session {
    struct blocking_calls calls;
    void *library; /* owned */
    struct blocking_shared shared;
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t changed;
    enum session_wish wish;
    bool done; /* what was wished for has been done */
    bool abandoned;
};

static void blocking_session_free(struct blocking_session *session)
{
    explicit_bzero(&session->shared, sizeof session->shared); /* the job's key has been here */
    pthread_cond_destroy(&session->changed);
    pthread_mutex_destroy(&session->lock);
    free(session->library);
    free(session);
}

static void carry_out_wish(struct blocking_session *session, enum session_wish wish)
{
    if (wish == SESSION_BEGIN)
        (void)session->calls.begin(session->library, &session->shared);
    else if (wish == SESSION_EXCHANGE)
        (void)session->calls.exchange(session->library, &session->shared);
    else
        session->calls.end(session->library);
}

/* Tells that the wish has been carried out, and waits for the next. True if there is one. */
static bool wait_for_wish(struct blocking_session *session, enum session_wish *wish)
{
    pthread_mutex_lock(&session->lock);
    session->done = true;
    pthread_cond_broadcast(&session->changed);
    while (session->done && !session->abandoned && *wish != SESSION_END)
        pthread_cond_wait(&session->changed, &session->lock);
    bool over = *wish == SESSION_END, abandoned = session->abandoned;
    *wish = abandoned ? SESSION_END : session->wish;
    pthread_mutex_unlock(&session->lock);
    if (over && abandoned)
        blocking_session_free(session);
    return !over;
}

static void *blocking_thread(void *argument)
{
    struct blocking_session *session = argument;
    enum session_wish wish = SESSION_BEGIN;
    do
        carry_out_wish(session, wish);
    while (wait_for_wish(session, &wish));
    return NULL;
}

/* False when the deadline has passed; with `give_up` the session is the thread's from then on. */
static bool wait_until_done(struct blocking_session *session, uint64_t deadline_ms, bool give_up)
{
    struct timespec until = { .tv_sec = (time_t)(deadline_ms / 1000),
                              .tv_nsec = (long)(deadline_ms % 1000) * 1000000 };
    int error = 0;
    pthread_mutex_lock(&session->lock);
    while (!session->done && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&session->changed, &session->lock, &until);
    bool done = session->done;
    session->abandoned = !done && give_up;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
    return done;
}

static void wish_for(struct blocking_session *session, enum session_wish wish)
{
    pthread_mutex_lock(&session->lock);
    session->wish = wish;
    session->done = false;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
}

static struct blocking_session *blocking_session_create(const struct blocking_calls *calls,
                                                        const void *library)
{
    struct blocking_session *session = calloc(1, sizeof *session);
    pthread_condattr_t attributes;
    if (session && !(session->library = malloc(calls->size))) {
        free(session);
        session = NULL;
    }
    if (!session)
        return NULL;
    session->calls = *calls;
    memcpy(session->library, library, calls->size);
    pthread_mutex_init(&session->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&session->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return session;
}

int blocking_session_open(struct blocking_session **opened, const struct blocking_calls *calls,
                          const void *library, struct process_manager_place *place,
                          uint64_t deadline_ms, struct err *err)
{
    pthread_t thread;
    struct blocking_session *session = blocking_session_create(calls, library);
    if (!session)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    int error = quiet_thread_start(&thread, "hvd-pmi", blocking_thread, session);
    if (error) {
        blocking_session_free(session);
        return fail_errno(err, HVD_ERR_SYSTEM, error,
                          "start the thread that speaks to the process manager");
    }
    pthread_detach(thread);
    if (!wait_until_done(session, deadline_ms, true))
        return fail(err, HVD_ERR_TIMEOUT, "no answer from the process manager");
    int rc = session->shared.err.code;
    if (rc < 0) {
        fail(err, rc, "%s", session->shared.err.text);
        blocking_session_close(session);
        return rc;
    }
    *place = session->shared.place;
    *opened = session;
    return HVD_OK;
}

int blocking_session_exchange(struct blocking_session *session,
                              char value[PROCESS_MANAGER_VALUE_MAX], uint64_t deadline_ms,
                              struct err *err)
{
    uint64_t now_ms = monotonic_ms();
    session->shared.limit_ms = deadline_ms > now_ms ? deadline_ms - now_ms : 0;
    memcpy(session->shared.value, value, sizeof session->shared.value);
    wish_for(session, SESSION_EXCHANGE);
    if (!wait_until_done(session, deadline_ms + ANSWER_MS, false))
        return fail(err, HVD_ERR_TIMEOUT, "some ranks of the job have not called hvd_init in time");
    if (session->shared.err.code < 0)
        return fail(err, session->shared.err.code, "%s", session->shared.err.text);
    memcpy(value, session->shared.value, sizeof session->shared.value);
    return HVD_OK;
}

/* A thread that is still in a call is not waited for. */
void blocking_session_close(struct blocking_session *session)
{
    bool busy = !wait_until_done(session, 0, true);
    if (busy)
        return;
    wish_for(session, SESSION_END);
    if (wait_until_done(session, monotonic_ms() + CLOSE_MS, true))
        blocking_session_free(session);
}
