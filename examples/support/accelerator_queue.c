/* SPDX-License-Identifier: Apache-2.0 */
/* One thread for each queue: take the first task, wait until a copy of its size is over, do it,
 * tell those who wait. The bytes move at the end of the time that a copy takes, so that whoever
 * reads what is not there yet, or overwrites what has not left yet, gets it wrong every time.
 *
 * Only accelerator_queue_start() fails, when there can be no further thread. */
#include "examples/support/accelerator_queue.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum { NS_PER_S = 1000000000 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
    struct timespec end = { .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
        ;
}

uint64_t accelerator_copy_end(uint64_t put_ns, uint64_t previous_ns, size_t nbytes,
                              double bytes_per_second)
{
    uint64_t begin_ns = put_ns > previous_ns ? put_ns : previous_ns;
    if (bytes_per_second <= 0 || nbytes == 0)
        return begin_ns;
    return begin_ns + (uint64_t)((double)nbytes / bytes_per_second * NS_PER_S) + 1;
}

/* NULL when the queue is empty and is to stop. */
static struct accelerator_task *take(struct accelerator_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->first == NULL && !queue->stopping)
        pthread_cond_wait(&queue->changed, &queue->lock);
    struct accelerator_task *task = queue->first;
    if (task != NULL && (queue->first = task->next) == NULL)
        queue->last = &queue->first;
    pthread_mutex_unlock(&queue->lock);
    return task;
}

static void count_done(struct accelerator_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->done++;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

static void *serve(void *arg)
{
    struct accelerator_queue *queue = arg;
    struct accelerator_task *task;
    uint64_t copied_ns = 0;
    int status = 0;
    while ((task = take(queue)) != NULL) {
        if (queue->bytes_per_second > 0 && task->nbytes > 0) {
            copied_ns = accelerator_copy_end(task->put_ns, copied_ns, task->nbytes,
                                             queue->bytes_per_second);
            sleep_until(copied_ns);
        }
        bool owned = task->owned;
        task->run(task, &status);
        if (owned)
            free(task);
        count_done(queue);
    }
    return NULL;
}

/* A thread that takes none of the program's signals. */
static int start_thread(struct accelerator_queue *queue, const char *name)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&queue->thread, NULL, serve, queue);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        pthread_setname_np(queue->thread, name);
    return error;
}

int accelerator_queue_start(struct accelerator_queue *queue, const char *name,
                            double bytes_per_second)
{
    *queue = (struct accelerator_queue){ .bytes_per_second = bytes_per_second };
    queue->last = &queue->first;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
    int error = start_thread(queue, name);
    if (error != 0) {
        pthread_cond_destroy(&queue->changed);
        pthread_mutex_destroy(&queue->lock);
    }
    return error;
}

void accelerator_queue_stop(struct accelerator_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->stopping = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    pthread_join(queue->thread, NULL);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
}

uint64_t accelerator_queue_put(struct accelerator_queue *queue, struct accelerator_task *task)
{
    task->next = NULL;
    task->put_ns = now_ns();
    pthread_mutex_lock(&queue->lock);
    *queue->last = task;
    queue->last = &task->next;
    uint64_t number = ++queue->put;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    return number;
}

void accelerator_queue_wait(struct accelerator_queue *queue, uint64_t number)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->done < number)
        pthread_cond_wait(&queue->changed, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
}
