/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, each a thread, and events; see stand_in.h. */
#include "tests/stand_in_cuda/stand_in.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct work {
    stand_in_work_fn *fn;
    void *arg; /* freed after fn */
    struct work *next;
};

struct cuda_stream {
    pthread_t thread;
    struct work *first, **last;
    bool ends;
    uint64_t put, done;
    struct cuda_stream *next;
};

struct cuda_event {
    struct cuda_stream *stream; /* NULL: never recorded */
    uint64_t at;
    struct cuda_event *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct cuda_stream *streams;
static struct cuda_event *events;
static bool held;

/* Called under the lock. */
static bool stream_exists(const struct cuda_stream *stream)
{
    const struct cuda_stream *at = streams;
    while (at && at != stream)
        at = at->next;
    return at;
}

static bool event_exists(const struct cuda_event *event)
{
    const struct cuda_event *at = events;
    while (at && at != event)
        at = at->next;
    return at;
}

static void carry_out(struct work *work)
{
    int result = stand_in_late_fault();
    if (result == CUDA_OK)
        result = work->fn(work->arg);
    if (result != CUDA_OK)
        stand_in_break(result);
    free(work->arg);
    free(work);
}

static void *run_stream(void *arg)
{
    struct cuda_stream *stream = arg;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!stream->ends && (!stream->first || held))
            pthread_cond_wait(&changed, &lock);
        struct work *work = stream->first;
        if (!work)
            break;
        stream->first = work->next;
        if (!stream->first)
            stream->last = &stream->first;
        pthread_mutex_unlock(&lock);
        carry_out(work);
        pthread_mutex_lock(&lock);
        stream->done++;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

void stand_in_hold(bool hold)
{
    pthread_mutex_lock(&lock);
    held = hold;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

int stand_in_call_stream_create(struct cuda_stream **stream, unsigned flags)
{
    int result = stand_in_enter("cuStreamCreate", true);
    if (result == CUDA_OK && flags != CUDA_STREAM_NON_BLOCKING)
        result = CUDA_INVALID_VALUE;
    if (result != CUDA_OK)
        return result;
    struct cuda_stream *made = calloc(1, sizeof *made);
    if (!made)
        return CUDA_OUT_OF_MEMORY;
    made->last = &made->first;
    pthread_mutex_lock(&lock);
    made->next = streams;
    streams = made;
    pthread_create(&made->thread, NULL, run_stream, made);
    pthread_mutex_unlock(&lock);
    *stream = made;
    return CUDA_OK;
}

/* What is on the stream is still carried out. */
int stand_in_call_stream_destroy(struct cuda_stream *stream)
{
    int result = stand_in_enter("cuStreamDestroy", true);
    if (result != CUDA_OK)
        return result;
    pthread_mutex_lock(&lock);
    bool exists = stream_exists(stream);
    for (struct cuda_event *event = events; exists && event; event = event->next)
        if (event->stream == stream)
            event->stream = NULL;
    struct cuda_stream **link = &streams;
    while (exists && *link != stream)
        link = &(*link)->next;
    if (exists) {
        *link = stream->next;
        stream->ends = true;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (!exists)
        return CUDA_INVALID_HANDLE;
    pthread_join(stream->thread, NULL);
    free(stream);
    return CUDA_OK;
}

int stand_in_enqueue(struct cuda_stream *stream, stand_in_work_fn *fn, void *arg)
{
    struct work *work = calloc(1, sizeof *work);
    if (!work)
        abort();
    *work = (struct work){ .fn = fn, .arg = arg };
    pthread_mutex_lock(&lock);
    bool exists = stream_exists(stream);
    if (exists) {
        *stream->last = work;
        stream->last = &work->next;
        stream->put++;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    if (!exists) {
        free(arg);
        free(work);
    }
    return exists ? CUDA_OK : CUDA_INVALID_HANDLE;
}

void stand_in_drain(void)
{
    pthread_mutex_lock(&lock);
    for (struct cuda_stream *stream = streams; stream; stream = stream->next)
        while (stream_exists(stream) && stream->done < stream->put)
            pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* ---- events ---- */

int stand_in_call_event_create(struct cuda_event **event, unsigned flags)
{
    int result = stand_in_enter("cuEventCreate", true);
    if (result == CUDA_OK && flags != CUDA_EVENT_DISABLE_TIMING)
        result = CUDA_INVALID_VALUE;
    if (result != CUDA_OK)
        return result;
    struct cuda_event *made = calloc(1, sizeof *made);
    if (!made)
        return CUDA_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    made->next = events;
    events = made;
    pthread_mutex_unlock(&lock);
    *event = made;
    return CUDA_OK;
}

int stand_in_call_event_destroy(struct cuda_event *event)
{
    int result = stand_in_enter("cuEventDestroy", true);
    if (result != CUDA_OK)
        return result;
    pthread_mutex_lock(&lock);
    bool exists = event_exists(event);
    struct cuda_event **link = &events;
    while (exists && *link != event)
        link = &(*link)->next;
    if (exists)
        *link = event->next;
    pthread_mutex_unlock(&lock);
    if (exists)
        free(event);
    return exists ? CUDA_OK : CUDA_INVALID_HANDLE;
}

int stand_in_call_event_record(struct cuda_event *event, struct cuda_stream *stream)
{
    int result = stand_in_enter("cuEventRecord", true);
    if (result != CUDA_OK)
        return result;
    pthread_mutex_lock(&lock);
    bool exists = event_exists(event) && stream_exists(stream);
    if (exists) {
        event->stream = stream;
        event->at = stream->put;
    }
    pthread_mutex_unlock(&lock);
    return exists ? CUDA_OK : CUDA_INVALID_HANDLE;
}

/* An error of the work says so when the event has passed, not before. */
int stand_in_call_event_query(struct cuda_event *event)
{
    pthread_mutex_lock(&lock);
    bool exists = event_exists(event);
    bool passed = exists && (!event->stream || event->stream->done >= event->at);
    pthread_mutex_unlock(&lock);
    int result = stand_in_enter("cuEventQuery", true);
    if (result != CUDA_OK)
        return result;
    return !exists ? CUDA_INVALID_HANDLE : passed ? CUDA_OK : CUDA_NOT_READY;
}

/* ---- copies ---- */

struct copy {
    void *to;
    const void *from;
    size_t nbytes;
};

static int run_copy(void *arg)
{
    const struct copy *copy = arg;
    memcpy(copy->to, copy->from, copy->nbytes);
    return CUDA_OK;
}

static int put_copy(const char *call, void *to, const void *from, size_t nbytes,
                    struct cuda_stream *stream)
{
    int result = stand_in_enter(call, true);
    if (result == CUDA_OK && (!to || !from))
        result = CUDA_INVALID_VALUE;
    if (result != CUDA_OK)
        return result;
    struct copy *copy = malloc(sizeof *copy);
    if (!copy)
        return CUDA_OUT_OF_MEMORY;
    *copy = (struct copy){ to, from, nbytes };
    return stand_in_enqueue(stream, run_copy, copy);
}

int stand_in_call_copy_to_host(void *host, uint64_t memory, size_t nbytes,
                               struct cuda_stream *stream)
{
    return put_copy("cuMemcpyDtoHAsync", stand_in_host_pointer(host, nbytes),
                    stand_in_pointer(memory, nbytes), nbytes, stream);
}

int stand_in_call_copy_from_host(uint64_t memory, const void *host, size_t nbytes,
                                 struct cuda_stream *stream)
{
    return put_copy("cuMemcpyHtoDAsync", stand_in_pointer(memory, nbytes),
                    stand_in_host_pointer(host, nbytes), nbytes, stream);
}

/* Host memory that the driver does not know is good, too: it is what is no device's. */
static void *anywhere(uint64_t address, size_t nbytes)
{
    void *memory = stand_in_pointer(address, nbytes);
    return memory ? memory : stand_in_pointer(address, 1) ? NULL : (void *)(uintptr_t)address;
}

int stand_in_call_copy(uint64_t to, uint64_t from, size_t nbytes, struct cuda_stream *stream)
{
    return put_copy("cuMemcpyAsync", anywhere(to, nbytes), anywhere(from, nbytes), nbytes, stream);
}

/* What fails meanwhile, is told. */
int stand_in_call_stream_synchronize(struct cuda_stream *stream)
{
    int result = stand_in_enter("cuStreamSynchronize", true);
    if (result != CUDA_OK)
        return result;
    pthread_mutex_lock(&lock);
    bool exists = stream_exists(stream);
    uint64_t put = exists ? stream->put : 0;
    while (exists && stream->done < put) {
        pthread_cond_wait(&changed, &lock);
        exists = stream_exists(stream);
    }
    pthread_mutex_unlock(&lock);
    return exists ? stand_in_enter("cuStreamSynchronize, at its end", true) : CUDA_INVALID_HANDLE;
}

struct stand_in_holdings stand_in_holdings(void)
{
    struct stand_in_holdings holdings = { 0 };
    stand_in_count_contexts(&holdings);
    stand_in_count_memory(&holdings);
    stand_in_count_images(&holdings);
    pthread_mutex_lock(&lock);
    for (const struct cuda_stream *stream = streams; stream; stream = stream->next)
        holdings.streams++;
    for (const struct cuda_event *event = events; event; event = event->next)
        holdings.events++;
    pthread_mutex_unlock(&lock);
    return holdings;
}
