/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls (hvd.h): arguments are checked here, failures become the thread's last error,
 * and the one world of this process is kept.
 *
 *   never joined -> joined -> left
 *
 * Two locks: `calls` is held as long as a call takes and puts calls in a row; `facts` is held for
 * moments and guards what hvd_rank() and its kin read while another thread is in a collective. A
 * forked child asks for its process id before it touches either. */
#include "lib/hvd.h"

#include "lib/base/place.h"
#include "lib/base/status.h"
#include "lib/reduce/reduce.h"
#include "lib/request.h"
#include "lib/world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum life { NEVER_JOINED, JOINED, LEFT };

enum { OWNED_ELSEWHERE = -1 };

struct facts {
    struct place place;
    int homogeneous;
};

static struct {
    pthread_mutex_t calls;
    pthread_mutex_t lock; /* guards what follows but `owner` */
    enum life life;
    struct facts facts;
    struct world *world; /* while joined */
    _Atomic pid_t owner; /* the process that joined or is about to; 0 for none,
                            OWNED_ELSEWHERE in a forked child */
} process = { .calls = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local struct err last_error;

static int answer(int rc, const struct err *err)
{
    if (rc < 0)
        last_error = *err;
    return rc;
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

static int check_owner(struct err *err)
{
    pid_t owner = atomic_load(&process.owner);
    if (owner && owner != getpid())
        return fail(err, HVD_ERR_FORKED, "this process was forked from one that called hvd_init");
    return HVD_OK;
}

static enum life current_life(void)
{
    pthread_mutex_lock(&process.lock);
    enum life life = process.life;
    pthread_mutex_unlock(&process.lock);
    return life;
}

/* Once the owner has been checked. */
static int check_life(struct err *err)
{
    switch (current_life()) {
    case JOINED:
        return HVD_OK;
    case LEFT:
        return fail(err, HVD_ERR_SHUT_DOWN, "hvd_shutdown has been called");
    default:
        return fail(err, HVD_ERR_NOT_INITIALIZED, "hvd_init has not been called, or failed");
    }
}

static int check_joined(struct err *err)
{
    int rc = check_owner(err);
    return rc < 0 ? rc : check_life(err);
}

static void set_joined(struct world *world)
{
    pthread_mutex_lock(&process.lock);
    process.facts = (struct facts){ *world_place(world), world_is_homogeneous(world) };
    process.world = world;
    process.life = JOINED;
    pthread_mutex_unlock(&process.lock);
}

static struct world *set_left(void)
{
    pthread_mutex_lock(&process.lock);
    struct world *world = process.world;
    process.world = NULL;
    process.life = LEFT;
    pthread_mutex_unlock(&process.lock);
    return world;
}

static const char *from_environment(const char *name)
{
    return getenv(name);
}

/* Under the lock `calls`. */
static int join_once(struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    enum life life = current_life();
    if (life == JOINED)
        return HVD_OK;
    if (life == LEFT)
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

int hvd_init(void)
{
    struct err err;
    int rc = check_owner(&err);
    if (rc < 0)
        return answer(rc, &err);
    pthread_mutex_lock(&process.calls);
    rc = join_once(&err);
    pthread_mutex_unlock(&process.calls);
    return answer(rc, &err);
}

int hvd_shutdown(void)
{
    struct err err;
    int rc = check_owner(&err);
    if (rc < 0)
        return answer(rc, &err);
    pthread_mutex_lock(&process.calls);
    if (current_life() == JOINED)
        world_leave(set_left());
    pthread_mutex_unlock(&process.calls);
    return HVD_OK;
}

/* Normal exit says goodbye, too; unless another thread is still inside a call, which would have to
 * be waited for. */
__attribute__((destructor)) static void leave_at_exit(void)
{
    if (atomic_load(&process.owner) != getpid() || pthread_mutex_trylock(&process.calls) != 0)
        return;
    if (current_life() == JOINED)
        world_leave(set_left());
    pthread_mutex_unlock(&process.calls);
}

int hvd_is_initialized(void)
{
    return check_joined(NULL) == HVD_OK;
}

static int fact(size_t offset)
{
    struct err err;
    int rc = check_joined(&err);
    if (rc < 0)
        return answer(rc, &err);
    pthread_mutex_lock(&process.lock);
    memcpy(&rc, (const char *)&process.facts + offset, sizeof rc);
    pthread_mutex_unlock(&process.lock);
    return rc;
}

int hvd_rank(void)
{
    return fact(offsetof(struct facts, place.rank));
}

int hvd_size(void)
{
    return fact(offsetof(struct facts, place.size));
}

int hvd_local_rank(void)
{
    return fact(offsetof(struct facts, place.local_rank));
}

int hvd_local_size(void)
{
    return fact(offsetof(struct facts, place.local_size));
}

int hvd_cross_rank(void)
{
    return fact(offsetof(struct facts, place.cross_rank));
}

int hvd_cross_size(void)
{
    return fact(offsetof(struct facts, place.cross_size));
}

int hvd_is_homogeneous(void)
{
    return fact(offsetof(struct facts, homogeneous));
}

/* Under the lock `calls`. */
static int run_request(const struct request *request, struct err *err)
{
    int rc = check_life(err);
    if (rc < 0)
        return rc;
    const struct place *place = world_place(process.world);
    rc = request_check(request, place->rank, place->size, err);
    return rc < 0 ? rc : world_run(process.world, request, err);
}

static int run(const struct request *request)
{
    struct err err;
    int rc = check_owner(&err);
    if (rc < 0)
        return answer(rc, &err);
    pthread_mutex_lock(&process.calls);
    rc = run_request(request, &err);
    pthread_mutex_unlock(&process.calls);
    return answer(rc, &err);
}

int hvd_allreduce(const char *name, const void *input, void *output, size_t count,
                  enum hvd_dtype dtype, enum hvd_op op)
{
    struct request request = {
        COLLECTIVE_ALLREDUCE, name ? name : "", input, output, count, dtype, op, 0
    };
    return run(&request);
}

int hvd_broadcast(const char *name, void *data, size_t count, enum hvd_dtype dtype, int root)
{
    struct request request = {
        COLLECTIVE_BROADCAST, name ? name : "", data, data, count, dtype, 0, root
    };
    return run(&request);
}

int hvd_allgather(const char *name, const void *input, void *output, size_t count,
                  enum hvd_dtype dtype)
{
    struct request request = {
        COLLECTIVE_ALLGATHER, name ? name : "", input, output, count, dtype, 0, 0
    };
    return run(&request);
}

int hvd_barrier(void)
{
    struct request request = { COLLECTIVE_BARRIER, "", NULL, NULL, 0, HVD_INT32, 0, 0 };
    return run(&request);
}

const char *hvd_strstatus(int status)
{
    return status_text(status);
}

const char *hvd_last_error(void)
{
    return last_error.text;
}

size_t hvd_dtype_size(enum hvd_dtype dtype)
{
    return dtype_size((int)dtype);
}

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *hvd_version(void)
{
    return VERSION_TEXT(HVD_VERSION_MAJOR, HVD_VERSION_MINOR, HVD_VERSION_PATCH);
}
