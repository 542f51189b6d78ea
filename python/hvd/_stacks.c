/* SPDX-License-Identifier: Apache-2.0 */
/* Where the threads of this interpreter stand, for hvdrun --stack-traces (HVD_STACK_TRACES): a
 * thread of ours listens on the abstract socket "hvd-stacks-PID" and answers each connection of the
 * same user with what faulthandler prints, then closes it. No signal is used.
 *
 * The answer is written by a helper thread that holds the interpreter's lock, so that no frame
 * changes meanwhile. If the helper does not get the lock in LOCK_SLICES slices, another thread
 * keeps it inside a call in C, and its frames do not change either: then the answer is written
 * without the lock, as faulthandler does in a crash. A pause of the whole process uses up one slice
 * only. The helper that still waits writes nothing when its turn comes; while it waits, no other is
 * started.
 *
 * The answer goes into a file in memory first. A client that does not read would hold up the thread
 * that writes, and with it the interpreter's lock.
 *
 * Without _Py_DumpTracebackThreads(), which faulthandler uses too, nobody listens. Listening ends
 * before the interpreter does, and so does the helper (stacks_stop(), by atexit). */
#include "_hvd.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_SLICES = 25, SLICE_MS = 20, SEND_S = 1 };

typedef const char *dump_fn(int fd, void *interpreter, void *current);

static struct {
    dump_fn *dump;
    int listener;
    pid_t pid; /* of the process that listens; not of its forked children */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool helping;  /* a helper waits for the lock, or writes */
    bool gave_up;  /* it must not write any more */
    bool writes;   /* it has begun */
    bool stopping; /* the interpreter ends */
    int text;      /* the file in memory that the answer goes into */
} stacks = { .listener = -1,
             .mutex = PTHREAD_MUTEX_INITIALIZER,
             .changed = PTHREAD_COND_INITIALIZER };

/* A thread that no signal of the program reaches. */
static int start_thread(void *(*body)(void *))
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&thread, NULL, body, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0) {
        pthread_setname_np(thread, "hvd-stacks");
        pthread_detach(thread);
    }
    return rc;
}

static void *help(void *nothing)
{
    (void)nothing;
    PyGILState_STATE state = PyGILState_Ensure();
    pthread_mutex_lock(&stacks.mutex);
    bool write = !stacks.gave_up && !stacks.stopping;
    stacks.writes = write;
    pthread_mutex_unlock(&stacks.mutex);
    if (write)
        stacks.dump(stacks.text, NULL, NULL);
    PyGILState_Release(state);
    pthread_mutex_lock(&stacks.mutex);
    stacks.helping = stacks.writes = false;
    pthread_cond_broadcast(&stacks.changed);
    pthread_mutex_unlock(&stacks.mutex);
    return NULL;
}

static struct timespec time_after_ms(int ms)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += (long)ms * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

/* Holding the mutex. False if the helper did not write, and will not. */
static bool wait_for_help(void)
{
    for (int slice = 0; stacks.helping && !stacks.writes && slice < LOCK_SLICES; slice++) {
        struct timespec limit = time_after_ms(SLICE_MS);
        pthread_cond_timedwait(&stacks.changed, &stacks.mutex, &limit);
    }
    while (stacks.helping && stacks.writes)
        pthread_cond_wait(&stacks.changed, &stacks.mutex);
    stacks.gave_up = stacks.helping;
    return !stacks.helping;
}

static void write_answer(int text)
{
    pthread_mutex_lock(&stacks.mutex);
    bool written = stacks.stopping;
    if (!written && !stacks.helping) {
        stacks.text = text;
        stacks.gave_up = false;
        stacks.helping = start_thread(help) == 0;
        written = stacks.helping && wait_for_help();
    }
    if (!written && !stacks.stopping)
        stacks.dump(text, NULL, NULL);
    pthread_mutex_unlock(&stacks.mutex);
}

/* Ends when the client is gone, or has read nothing for SEND_S. */
static void send_answer(int client, int text)
{
    char piece[4096];
    ssize_t length;
    for (off_t at = 0; (length = pread(text, piece, sizeof piece, at)) > 0; at += length) {
        length = send(client, piece, (size_t)length, MSG_NOSIGNAL);
        if (length <= 0)
            return;
    }
}

static void answer(int client)
{
    int text = memfd_create("hvd-stacks", MFD_CLOEXEC);
    if (text < 0)
        return;
    write_answer(text);
    send_answer(client, text);
    close(text);
}

static bool is_same_user(int client)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static void *listen_for_questions(void *nothing)
{
    const struct timeval limit = { .tv_sec = SEND_S };
    (void)nothing;
    for (;;) {
        int client = accept4(stacks.listener, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0 && errno != EINTR && errno != ECONNABORTED)
            return NULL; /* stacks_stop() */
        if (client < 0)
            continue;
        setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        if (is_same_user(client))
            answer(client);
        close(client);
    }
}

static bool open_listener(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int length =
        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "hvd-stacks-%d", (int)getpid());
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    stacks.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return stacks.listener >= 0 && bind(stacks.listener, (struct sockaddr *)&address, size) == 0 &&
           listen(stacks.listener, 4) == 0;
}

PyObject *stacks_stop(PyObject *module, PyObject *nothing)
{
    (void)module, (void)nothing;
    if (stacks.listener >= 0 && stacks.pid == getpid()) {
        shutdown(stacks.listener, SHUT_RDWR); /* wakes accept4() */
        Py_BEGIN_ALLOW_THREADS                /* a helper may wait for the lock */
            pthread_mutex_lock(&stacks.mutex);
        stacks.stopping = true;
        while (stacks.helping)
            pthread_cond_wait(&stacks.changed, &stacks.mutex);
        pthread_mutex_unlock(&stacks.mutex);
        Py_END_ALLOW_THREADS
    }
    Py_RETURN_NONE;
}

/* atexit.register(stop) */
static int stop_at_exit(PyObject *module)
{
    PyObject *stop = PyObject_GetAttrString(module, "stop_stacks");
    PyObject *atexit = PyImport_ImportModule("atexit");
    PyObject *done = stop && atexit ? PyObject_CallMethod(atexit, "register", "O", stop) : NULL;
    Py_XDECREF(stop);
    Py_XDECREF(atexit);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

int stacks_start(PyObject *module)
{
    if (!getenv("HVD_STACK_TRACES") || stacks.listener >= 0)
        return 0;
    stacks.dump = (dump_fn *)dlsym(RTLD_DEFAULT, "_Py_DumpTracebackThreads");
    if (!stacks.dump)
        return 0;
    stacks.pid = getpid();
    if (!open_listener() || start_thread(listen_for_questions) != 0) {
        if (stacks.listener >= 0)
            close(stacks.listener);
        stacks.listener = -1;
        return 0; /* the program goes on without */
    }
    return stop_at_exit(module);
}
