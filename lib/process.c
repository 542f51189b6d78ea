/* SPDX-License-Identifier: Apache-2.0 */
/* The world of this process; see process.h. */
#include "lib/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum life { NEVER_JOINED, JOINED, LEFT };

enum { OWNED_ELSEWHERE = -1 };

static struct {
    pthread_mutex_t turns; /* one thread joins or leaves at a time */
    pthread_mutex_t lock;  /* guards what follows but `owner` */
    pthread_cond_t empty;  /* `inside` is 0 */
    enum life life;
    struct world *world; /* while joined */
    int inside;          /* threads in a call */
    _Atomic pid_t owner; /* the process that joined or is about to; 0 for none,
                            OWNED_ELSEWHERE in a forked child */
} process = { .turns = PTHREAD_MUTEX_INITIALIZER,
              .lock = PTHREAD_MUTEX_INITIALIZER,
              .empty = PTHREAD_COND_INITIALIZER };

static _Thread_local struct err last_error;

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

/* The id is remembered by the child's own fork handler, so the common case needs no system call. */
int process_check_owner(struct err *err)
{
    if (atomic_load_explicit(&process.owner, memory_order_relaxed) == OWNED_ELSEWHERE)
        return fail(err, HVD_ERR_FORKED, "this process was forked from one that called hvd_init");
    return HVD_OK;
}

/* Under the lock. */
static int check_life(struct err *err)
{
    switch (process.life) {
    case JOINED:
        return HVD_OK;
    case LEFT:
        return fail(err, HVD_ERR_SHUT_DOWN, "hvd_shutdown has been called");
    default:
        return fail(err, HVD_ERR_NOT_INITIALIZED, "hvd_init has not been called, or failed");
    }
}

struct world *process_enter(struct err *err)
{
    if (process_check_owner(err) < 0)
        return NULL;
    pthread_mutex_lock(&process.lock);
    struct world *world = check_life(err) == HVD_OK ? process.world : NULL;
    process.inside += world != NULL;
    pthread_mutex_unlock(&process.lock);
    return world;
}

void process_exit(void)
{
    pthread_mutex_lock(&process.lock);
    if (--process.inside == 0)
        pthread_cond_broadcast(&process.empty);
    pthread_mutex_unlock(&process.lock);
}

static const char *from_environment(const char *name)
{
    return getenv(name);
}

static void set_joined(struct world *world)
{
    pthread_mutex_lock(&process.lock);
    process.world = world;
    process.life = JOINED;
    pthread_mutex_unlock(&process.lock);
}

/* When it is one's turn, nobody else changes `life`. */
static int join_once(struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (process.life == JOINED)
        return HVD_OK;
    if (process.life == LEFT)
        return fail(err, HVD_ERR_SHUT_DOWN, "hvd_init after hvd_shutdown");
    pthread_once(&once, watch_forks);
    atomic_store(&process.owner, getpid());
    struct world *world = world_join(from_environment, err);
    if (world)
        set_joined(world);
    else
        atomic_store(&process.owner, 0);
    return world ? HVD_OK : err->code;
}

int process_join(struct err *err)
{
    int rc = process_check_owner(err);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&process.turns);
    rc = join_once(err);
    pthread_mutex_unlock(&process.turns);
    return rc;
}

/* From now on nobody gets in. NULL if there is nothing to leave, or, at exit, somebody inside. */
static struct world *set_left(bool at_exit)
{
    struct world *world = NULL;
    pthread_mutex_lock(&process.lock);
    if (process.life == JOINED && !(at_exit && process.inside > 0)) {
        world = process.world;
        process.world = NULL;
        process.life = LEFT;
    }
    pthread_mutex_unlock(&process.lock);
    return world;
}

static void await_the_last(void)
{
    pthread_mutex_lock(&process.lock);
    while (process.inside > 0)
        pthread_cond_wait(&process.empty, &process.lock);
    pthread_mutex_unlock(&process.lock);
}

void process_part(bool at_exit)
{
    if (!at_exit)
        pthread_mutex_lock(&process.turns);
    else if (pthread_mutex_trylock(&process.turns) != 0)
        return;
    struct world *world = set_left(at_exit);
    if (world) {
        world_stop(world);
        await_the_last();
        world_leave(world);
    }
    pthread_mutex_unlock(&process.turns);
}

/* Normal exit says goodbye, too; unless another thread is still inside a call, which would have to
 * be waited for. */
__attribute__((destructor)) static void part_at_exit(void)
{
    if (atomic_load(&process.owner) == getpid())
        process_part(true);
}
