/* SPDX-License-Identifier: Apache-2.0 */
/* The world of this process; see process.h. */
#include "lib/process.h"

#include "lib/base/log.h"
#include "lib/base/unknown_variable.h"
#include "lib/device/device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum life { NEVER_JOINED, JOINED, LEFT };

enum { OWNED_ELSEWHERE = -1 };

static struct {
    pthread_mutex_t turns; /* one thread joins or leaves at a time */
    pthread_mutex_t lock;  /* guards `life` */
    pthread_cond_t empty;  /* `inside` is 0, after the world has been left */
    enum life life;
    _Atomic(struct world *) world; /* while joined */
    atomic_int inside;             /* threads in a call */
    struct world_past past;        /* for the thread that has its turn */
    _Atomic pid_t owner;           /* the process that joined or is about to; 0 for none,
                                      OWNED_ELSEWHERE in a forked child */
} process = { .turns = PTHREAD_MUTEX_INITIALIZER,
              .lock = PTHREAD_MUTEX_INITIALIZER,
              .empty = PTHREAD_COND_INITIALIZER,
              .past = { .worker = -1 } };

static _Thread_local struct err last_error;

static _Thread_local struct {
    int depth, before; /* depth of calls that hold cancellation back; the state before the first */
} cancellation;

/* A thread that is cancelled inside would leave a lock taken and its part of a collective undone,
 * and all ranks would wait. So cancellation is delayed until a call ends. */
static void hold_cancellation(void)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    if (cancellation.depth++ == 0)
        cancellation.before = before;
}

static void allow_cancellation(void)
{
    if (--cancellation.depth == 0)
        pthread_setcancelstate(cancellation.before, NULL);
}

int process_answer(int rc, const struct err *err)
{
    if (rc < 0)
        last_error = *err;
    return rc;
}

const char *process_last_error(void)
{
    return last_error.text;
}

static void before_fork(void)
{
    pthread_mutex_lock(&process.lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&process.lock);
}

static void after_fork_in_child(void)
{
    if (atomic_load(&process.owner))
        atomic_store(&process.owner, OWNED_ELSEWHERE);
    pthread_mutex_unlock(&process.lock);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* The child's own fork handler stores the process id, so the common case needs no system call. */
int process_check_caller(struct err *err)
{
    if (device_is_calling())
        return fail(err, HVD_ERR_INVALID, "a function of a device must not call the library");
    if (atomic_load_explicit(&process.owner, memory_order_relaxed) == OWNED_ELSEWHERE)
        return fail(err, HVD_ERR_FORKED, "this process was forked from one that called hvd_init");
    return HVD_OK;
}

/* Why there is no world; HVD_OK if there is. */
static int check_life(struct err *err)
{
    pthread_mutex_lock(&process.lock);
    enum life life = process.life;
    pthread_mutex_unlock(&process.lock);
    switch (life) {
    case JOINED:
        return HVD_OK;
    case LEFT:
        return fail(err, HVD_ERR_SHUT_DOWN, "hvd_shutdown has been called");
    default:
        return fail(err, HVD_ERR_NOT_INITIALIZED, "hvd_init has not been called, or failed");
    }
}

/* A leaving thread first takes the world away and then checks who is inside; an entering thread
 * first counts itself inside and then loads the world. So one of them sees the other. */
struct world *process_enter(struct err *err)
{
    if (process_check_caller(err) < 0)
        return NULL;
    for (;;) {
        hold_cancellation();
        atomic_fetch_add(&process.inside, 1);
        struct world *world = atomic_load(&process.world);
        if (world)
            return world;
        process_exit();
        if (check_life(err) < 0)
            return NULL;
    }
}

static void tell_who_leaves(void)
{
    pthread_mutex_lock(&process.lock);
    pthread_cond_broadcast(&process.empty);
    pthread_mutex_unlock(&process.lock);
}

void process_exit(void)
{
    if (atomic_fetch_sub(&process.inside, 1) == 1 && !atomic_load(&process.world))
        tell_who_leaves();
    allow_cancellation();
}

static const char *from_environment(const char *name)
{
    return getenv(name);
}

/* Does nothing if a launcher has set the address of the rendezvous. If it was hvdrun, hvdrun has
 * warned of the variables of its own environment; horovodrun sets the address too. */
static void warn_of_unknown_variables(const struct world *world)
{
    char text[UNKNOWN_VARIABLE_TEXT];
    if (world_rank_info(world)->rank != 0 || getenv(ENV_RENDEZVOUS_ADDR))
        return;
    for (char **entry = environ; entry && *entry; entry++)
        if (unknown_variable_text(text, *entry))
            log_line(LOG_WARNING, 0, "hvd_init: %s", text);
}

static void set_joined(struct world *world)
{
    pthread_mutex_lock(&process.lock);
    atomic_store(&process.world, world);
    process.life = JOINED;
    pthread_mutex_unlock(&process.lock);
}

/* While a thread has its turn, no other thread changes `life`. */
static int join_once(struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (process.life == JOINED)
        return HVD_OK;
    pthread_once(&once, watch_forks);
    atomic_store(&process.owner, getpid());
    struct world *world = world_join(from_environment, &process.past, err);
    if (world && process.life == NEVER_JOINED)
        warn_of_unknown_variables(world);
    if (world)
        set_joined(world);
    else if (process.life == NEVER_JOINED)
        atomic_store(&process.owner, 0);
    return world ? HVD_OK : err->code;
}

int process_join(struct err *err)
{
    int rc = process_check_caller(err);
    if (rc < 0)
        return rc;
    hold_cancellation();
    pthread_mutex_lock(&process.turns);
    rc = join_once(err);
    pthread_mutex_unlock(&process.turns);
    allow_cancellation();
    return rc;
}

/* From now on no thread can enter. NULL if there is nothing to leave, or, at exit, a thread is
 * inside. */
static struct world *set_left(bool at_exit)
{
    pthread_mutex_lock(&process.lock);
    struct world *world = atomic_exchange(&process.world, NULL);
    if (world && at_exit && atomic_load(&process.inside) > 0) {
        atomic_store(&process.world, world);
        world = NULL;
    }
    if (world)
        process.life = LEFT;
    pthread_mutex_unlock(&process.lock);
    return world;
}

static void await_the_last(void)
{
    pthread_mutex_lock(&process.lock);
    while (atomic_load(&process.inside) > 0)
        pthread_cond_wait(&process.empty, &process.lock);
    pthread_mutex_unlock(&process.lock);
}

/* For the thread that has its turn. The world is stopped before it is gone: a thread that finds no
 * world must not conclude that its memory is no longer used. At exit no thread is inside. */
static void part(bool at_exit)
{
    struct world *world = atomic_load(&process.world);
    if (world && !at_exit)
        world_stop(world);
    world = set_left(at_exit);
    if (!world)
        return;
    if (at_exit)
        world_stop(world);
    await_the_last();
    world_leave(world, &process.past);
}

void process_part(bool at_exit)
{
    hold_cancellation();
    if (!at_exit)
        pthread_mutex_lock(&process.turns);
    if (!at_exit || pthread_mutex_trylock(&process.turns) == 0) {
        part(at_exit);
        pthread_mutex_unlock(&process.turns);
    }
    allow_cancellation();
}

/* Normal exit says goodbye, too, with two exceptions. Another thread may still be inside a call,
 * which would have to be waited for. Or a function of a device may have called exit(): its thread
 * holds the engine's lock. Then the end of the process tells the other ranks. */
__attribute__((destructor)) static void part_at_exit(void)
{
    if (atomic_load(&process.owner) == getpid() && !device_is_calling())
        process_part(true);
}
