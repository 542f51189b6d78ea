/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated accelerator as a program sees it: create it, allocate and fill its memory, run
 * kernels, wait for them. What libhvd sees is in accelerator_table.c.
 *
 * Fails when there is no memory or thread for it, when its memory is used up, and for kernels as
 * accelerator_inject() wants it. A pointer that is not its own is the program's mistake: assert. */
#include "examples/support/accelerator.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "examples/support/accelerator_event.h"
#include "examples/support/accelerator_impl.h"

static const char *const queue_names[ACCELERATOR_QUEUES] = {
    [HVD_DEVICE_TO_HOST] = "npu to host",
    [HVD_DEVICE_FROM_HOST] = "npu from host",
    [HVD_DEVICE_REDUCE] = "npu reduce",
    [ACCELERATOR_COMPUTE] = "npu compute",
};

static bool is_copying(int queue)
{
    return queue == HVD_DEVICE_TO_HOST || queue == HVD_DEVICE_FROM_HOST;
}

/* Starts the first `count` queues, or none. */
static int start_queues(struct accelerator *accelerator, int count)
{
    double bandwidth = accelerator->options.bytes_per_second;
    for (int i = 0; i < count; i++) {
        int error = accelerator_queue_start(&accelerator->queues[i], queue_names[i],
                                            is_copying(i) ? bandwidth : 0);
        if (error == 0)
            continue;
        while (i-- > 0)
            accelerator_queue_stop(&accelerator->queues[i]);
        return error;
    }
    return 0;
}

static void release(struct accelerator *accelerator)
{
    accelerator_memory_fini(&accelerator->memory);
    pthread_mutex_destroy(&accelerator->lock);
    free(accelerator);
}

int accelerator_create(struct accelerator **created, const struct accelerator_options *options,
                       struct problem *problem)
{
    *created = NULL;
    struct accelerator *accelerator = calloc(1, sizeof *accelerator);
    if (accelerator == NULL)
        return problem_nomem(problem);
    accelerator->options = *options;
    pthread_mutex_init(&accelerator->lock, NULL);
    int error = accelerator_memory_init(&accelerator->memory, options->memory);
    if (error == 0)
        error = start_queues(accelerator, ACCELERATOR_QUEUES);
    if (error != 0) {
        release(accelerator);
        return problem_set(problem, EXIT_STATUS_DATA, "an accelerator with %zu bytes of memory: %s",
                           options->memory, strerror(error));
    }
    accelerator_fill_table(accelerator);
    *created = accelerator;
    return 0;
}

void accelerator_destroy(struct accelerator *accelerator)
{
    if (accelerator == NULL)
        return;
    for (int i = 0; i < ACCELERATOR_QUEUES; i++)
        accelerator_queue_stop(&accelerator->queues[i]);
    release(accelerator);
}

const struct hvd_device *accelerator_table(struct accelerator *accelerator)
{
    return &accelerator->table;
}

const struct hvd_device_extension *accelerator_extension(const struct accelerator *accelerator)
{
    return &accelerator->extension;
}

void *accelerator_alloc(struct accelerator *accelerator, size_t nbytes)
{
    pthread_mutex_lock(&accelerator->lock);
    void *memory = accelerator_memory_take(&accelerator->memory, nbytes);
    pthread_mutex_unlock(&accelerator->lock);
    return memory;
}

void accelerator_free(struct accelerator *accelerator, void *memory)
{
    if (memory == NULL)
        return;
    pthread_mutex_lock(&accelerator->lock);
    accelerator_memory_give(&accelerator->memory, memory);
    pthread_mutex_unlock(&accelerator->lock);
}

void *accelerator_find(struct accelerator *accelerator, const void *device, size_t nbytes)
{
    pthread_mutex_lock(&accelerator->lock);
    void *bytes = accelerator_memory_find(&accelerator->memory, device, nbytes);
    pthread_mutex_unlock(&accelerator->lock);
    return bytes;
}

void *accelerator_pointer(struct accelerator *accelerator, const void *device)
{
    void *bytes = accelerator_find(accelerator, device, 0);
    assert(bytes != NULL);
    return bytes;
}

bool accelerator_strikes(struct accelerator *accelerator, unsigned *countdown)
{
    pthread_mutex_lock(&accelerator->lock);
    bool strikes = *countdown > 0 && --*countdown == 0;
    pthread_mutex_unlock(&accelerator->lock);
    return strikes;
}

struct kernel {
    struct accelerator_task task;
    struct accelerator *accelerator;
    accelerator_kernel_fn *run;
    void *arg;
    int fault;
};

static void run_kernel(struct accelerator_task *task, int *status)
{
    struct kernel *kernel = (struct kernel *)task;
    if (kernel->fault == 0)
        kernel->run(kernel->accelerator, kernel->arg);
    else if (*status == 0)
        *status = kernel->fault;
}

int accelerator_run(struct accelerator *accelerator, accelerator_kernel_fn *run, void *arg)
{
    struct accelerator_faults *faults = &accelerator->faults;
    if (accelerator_strikes(accelerator, &faults->refuse[ACCELERATOR_COMPUTE]))
        return ACCELERATOR_FAULT;
    struct kernel *kernel = malloc(sizeof *kernel);
    if (kernel == NULL)
        return ACCELERATOR_NOMEM;
    bool fails = accelerator_strikes(accelerator, &faults->fail[ACCELERATOR_COMPUTE]);
    *kernel = (struct kernel){ .task = { .run = run_kernel, .owned = true },
                               .accelerator = accelerator,
                               .run = run,
                               .arg = arg,
                               .fault = fails ? ACCELERATOR_FAULT : 0 };
    accelerator_queue_put(&accelerator->queues[ACCELERATOR_COMPUTE], &kernel->task);
    return 0;
}

/* Runs a kernel and waits for it; there is nothing that could fail. */
static void run_now(struct accelerator *accelerator, accelerator_kernel_fn *run, void *arg)
{
    struct accelerator_queue *queue = &accelerator->queues[ACCELERATOR_COMPUTE];
    struct kernel kernel = {
        .task = { .run = run_kernel }, .accelerator = accelerator, .run = run, .arg = arg
    };
    accelerator_queue_wait(queue, accelerator_queue_put(queue, &kernel.task));
}

struct transfer {
    void *to;
    const void *from;
    size_t nbytes;
};

static void copy(struct accelerator *accelerator, void *arg)
{
    (void)accelerator;
    struct transfer *transfer = arg;
    memcpy(transfer->to, transfer->from, transfer->nbytes);
}

void accelerator_write(struct accelerator *accelerator, void *device, const void *host,
                       size_t nbytes)
{
    struct transfer transfer = { accelerator_find(accelerator, device, nbytes), host, nbytes };
    assert(transfer.to != NULL);
    run_now(accelerator, copy, &transfer);
}

void accelerator_read(struct accelerator *accelerator, void *host, const void *device,
                      size_t nbytes)
{
    struct transfer transfer = { host, accelerator_find(accelerator, device, nbytes), nbytes };
    assert(transfer.from != NULL);
    run_now(accelerator, copy, &transfer);
}

static void nothing(struct accelerator *accelerator, void *arg)
{
    (void)accelerator, (void)arg;
}

void accelerator_synchronize(struct accelerator *accelerator)
{
    run_now(accelerator, nothing, NULL);
}

int accelerator_record(struct accelerator *accelerator, void *event)
{
    if (accelerator_strikes(accelerator, &accelerator->faults.record))
        return ACCELERATOR_FAULT;
    struct accelerator_queue *queue = &accelerator->queues[ACCELERATOR_COMPUTE];
    return accelerator_event_record(event, queue) < 0 ? ACCELERATOR_NOMEM : 0;
}

size_t accelerator_bytes_copied(const struct accelerator *accelerator)
{
    struct accelerator *locked = (struct accelerator *)accelerator;
    pthread_mutex_lock(&locked->lock);
    size_t copied = locked->copied;
    pthread_mutex_unlock(&locked->lock);
    return copied;
}

struct accelerator_holdings accelerator_holdings(const struct accelerator *accelerator)
{
    struct accelerator *locked = (struct accelerator *)accelerator;
    pthread_mutex_lock(&locked->lock);
    struct accelerator_holdings holdings = locked->holdings;
    holdings.memory = locked->memory.used;
    pthread_mutex_unlock(&locked->lock);
    return holdings;
}

void accelerator_inject(struct accelerator *accelerator, const struct accelerator_faults *faults)
{
    pthread_mutex_lock(&accelerator->lock);
    accelerator->faults = *faults;
    pthread_mutex_unlock(&accelerator->lock);
}
