/* SPDX-License-Identifier: Apache-2.0 */
/* Who moves the engine, and where that thread sleeps: drive.c. */
#ifndef LIB_ENGINE_PROGRESS_IMPL_H
#define LIB_ENGINE_PROGRESS_IMPL_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct engine;

enum driver { NOBODY, A_CALLER, THE_THREAD };

/* The driver sleeps in poll(). */
struct progress_sleep {
    uint64_t until_ns;     /* the driver is in poll() until then; 0: it is not */
    struct pollfd *fds[2]; /* of a caller, of the thread: both may be in poll() */
    int fds_capacity[2];
    int wake_fd;
    bool unwatched; /* the driver that sleeps in poll() does not look at all links that there are */
};

/* The engine's own thread. */
struct progress_thread {
    pthread_t id;
    bool exists;
    bool wanted; /* it must not rest */
    bool polls;  /* it is in poll(), though a caller may have begun to drive since */
    bool parked; /* it waits to be told that a caller has gone */
};

struct progress {
    pthread_mutex_t lock;   /* the engine's */
    atomic_int entering;    /* threads that wait for the lock */
    pthread_cond_t changed; /* something is done, or nobody drives */
    pthread_cond_t rest;    /* the thread is wanted, or to stop */
    enum driver driver;
    int waiters;          /* callers asleep on `changed` */
    uint64_t submissions; /* so far */
    uint64_t driven_ns;   /* when a caller drove last */
    uint64_t checked_ns;  /* when the links were looked at last */
    uint64_t spin_ns;
    bool crowded;  /* the ranks of this host outnumber its processors */
    bool thorough; /* poll() has said that something is there: look at every link */
    bool finished; /* something that a caller waits for is done, found by somebody else */
    bool stopping;
    struct progress_sleep sleep;
    struct progress_thread thread;
};

typedef bool drive_done_fn(const void *arg);

/* Moves everything until `done(arg)`, in the calling thread or in another that waits as well. False
 * when `deadline_ns` has passed before. */
bool drive_until(struct engine *engine, drive_done_fn *done, const void *arg, uint64_t deadline_ns);

/* The same in a thread of the library: it is not the program that waits. */
void drive_for_person(struct engine *engine, drive_done_fn *done, const void *arg,
                      uint64_t deadline_ns);

void drive_enter(struct engine *engine);     /* waits for the lock */
void drive_wake(struct engine *engine);      /* who sleeps in poll() looks again, if it has to */
void drive_hand_over(struct engine *engine); /* nobody may be waiting: the thread is wanted */
void *drive_thread(void *engine);

#endif
