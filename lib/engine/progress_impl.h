/* SPDX-License-Identifier: Apache-2.0 */
/* The driver, which is the thread that runs the progress engine, and its sleep:
 *
 *   progress.c         one pass over everything, and callers that run the progress engine
 *   progress_sleep.c   the descriptors that the driver sleeps on
 *   progress_thread.c  the engine's own thread */
#ifndef LIB_ENGINE_PROGRESS_IMPL_H
#define LIB_ENGINE_PROGRESS_IMPL_H

#include "lib/base/status.h"
#include "lib/engine/home_processor.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* How long a resting thread waits until it checks again. */
#define REST_NS 10000000ull

struct engine;
struct rank_info;

enum driver { NOBODY, A_CALLER, THE_THREAD };

/* The sleep of the driver, in poll(). */
struct progress_sleep {
    uint64_t until_ns;     /* the driver is in poll() until then; 0: not in poll() */
    struct pollfd *fds[2]; /* of a caller, of the thread: both may be in poll() */
    int fds_capacity[2];
    int wake_fd;
    bool unwatched; /* the driver in poll() does not watch all links */
};

/* The engine's own thread. */
struct progress_thread {
    pthread_t id;
    bool exists;
    bool wanted; /* the thread must not rest */
    bool polls;  /* the thread is in poll(), though a caller may have taken over since */
    bool parked; /* the thread waits until a caller has gone */
};

struct progress {
    pthread_mutex_t lock;   /* the engine's */
    atomic_int entering;    /* threads that wait for the lock */
    pthread_cond_t changed; /* something is done, or nobody runs the progress engine */
    pthread_cond_t rest;    /* the thread is wanted, or to stop */
    enum driver driver;
    int waiters;          /* callers asleep on `changed` */
    int blocking;         /* callers that submit what they will wait for */
    uint64_t submissions; /* so far */
    uint64_t driven_ns;   /* when a caller drove last */
    uint64_t checked_ns;  /* time of the last check of all links */
    uint64_t spin_ns;     /* how long a caller looks before it sleeps */
    int processors;       /* that the ranks of this host share */
    bool crowded;         /* the ranks of this host outnumber its processors */
    bool check_all;       /* poll() has reported an event: check every link */
    bool finished;        /* another thread has finished something that a caller waits for */
    bool signalled;       /* a signal has interrupted the sleep of a caller */
    bool stopping;
    struct home_processor home;
    struct progress_sleep sleep;
    struct progress_thread thread;
};

/* Fails with HVD_ERR_SYSTEM. progress_fini() is needed also when it has failed. */
int progress_init(struct engine *engine, const struct rank_info *info, int processors,
                  struct err *err);
void progress_fini(struct engine *engine);
int progress_start_thread(struct engine *engine, struct err *err);
void progress_stop(struct engine *engine); /* no thread waits any more, and the own thread ends */

/* A ticket is done; `awaited` is whether a thread waits for it. */
static inline void progress_note_done(struct progress *progress, bool awaited)
{
    progress->finished |= awaited;
    if (progress->waiters > 0)
        pthread_cond_broadcast(&progress->changed);
}

typedef bool progress_done_fn(const void *arg);

/* Moves everything until `done(arg)`, in the calling thread or in another waiting thread. False
 * when `deadline_ns` has passed before. */
bool progress_until(struct engine *engine, progress_done_fn *done, const void *arg,
                    uint64_t deadline_ns);

/* Like progress_until() in a thread of the library; the program's threads do not wait. */
void progress_for_person(struct engine *engine, progress_done_fn *done, const void *arg,
                         uint64_t deadline_ns);

/* A caller that has moved data goes. */
void progress_leave(struct engine *engine);

/* One pass over everything: true if something moved. */
bool engine_move(struct engine *engine);

/* Waits for the lock; tells whether a thread waits for the lock. */
void progress_enter(struct engine *engine);
bool progress_is_entered(const struct engine *engine);

/* How often the links are checked while something is in flight. A test that looks for lost wake-ups
 * makes it very long before any world, so that a thread that nobody wakes sleeps on. */
extern uint64_t progress_check_ns;

/* Called when nothing has moved: returns when to check again. The driver sleeps until then, or
 * until something comes. */
uint64_t progress_next_check(struct engine *engine, uint64_t now);
void progress_pause(struct engine *engine, enum driver self, uint64_t until_ns);

void progress_wake(struct engine *engine);      /* a driver in poll() checks again, if necessary */
void progress_hand_over(struct engine *engine); /* maybe no caller waits: the thread is wanted */

#endif
