/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated accelerator as libhvd sees it: struct hvd_device filled in.
 *
 * Check the pointers, put the copy on the queue of its direction, record events behind it. A copy
 * is refused when there is no memory for its task, the device's is not all in one piece that was
 * allocated, or the host's has not come from alloc_pinned(). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "examples/support/accelerator_event.h"
#include "examples/support/accelerator_impl.h"

struct accelerator_pinned {
    struct accelerator_pinned *next;
    char *memory;
    size_t nbytes;
};

static void *alloc_pinned(void *context, size_t nbytes)
{
    struct accelerator *accelerator = context;
    struct accelerator_pinned *pinned = malloc(sizeof *pinned);
    char *memory = malloc(nbytes > 0 ? nbytes : 1);
    if (pinned == NULL || memory == NULL ||
        accelerator_strikes(accelerator, &accelerator->faults.pinned)) {
        free(memory);
        free(pinned);
        return NULL;
    }
    *pinned = (struct accelerator_pinned){ .memory = memory, .nbytes = nbytes };
    pthread_mutex_lock(&accelerator->lock);
    pinned->next = accelerator->pinned;
    accelerator->pinned = pinned;
    accelerator->holdings.pinned += nbytes;
    pthread_mutex_unlock(&accelerator->lock);
    return memory;
}

/* Takes it from the list; NULL if it is not there. */
static struct accelerator_pinned *unlist_pinned(struct accelerator *accelerator, const void *memory)
{
    pthread_mutex_lock(&accelerator->lock);
    struct accelerator_pinned **at = &accelerator->pinned;
    while (*at != NULL && (*at)->memory != memory)
        at = &(*at)->next;
    struct accelerator_pinned *found = *at;
    if (found != NULL) {
        *at = found->next;
        accelerator->holdings.pinned -= found->nbytes;
    }
    pthread_mutex_unlock(&accelerator->lock);
    return found;
}

static void free_pinned(void *context, void *memory, size_t nbytes)
{
    struct accelerator_pinned *pinned = unlist_pinned(context, memory);
    if (pinned == NULL || pinned->nbytes != nbytes)
        abort(); /* what was never given, or has another size: a mistake that a test must see */
    free(pinned->memory);
    free(pinned);
}

static bool is_pinned(struct accelerator *accelerator, const void *host, size_t nbytes)
{
    uintptr_t begin = (uintptr_t)host;
    bool found = false;
    pthread_mutex_lock(&accelerator->lock);
    for (struct accelerator_pinned *pinned = accelerator->pinned; pinned; pinned = pinned->next) {
        uintptr_t base = (uintptr_t)pinned->memory;
        if (begin >= base && begin - base <= pinned->nbytes)
            found = found || nbytes <= pinned->nbytes - (begin - base);
    }
    pthread_mutex_unlock(&accelerator->lock);
    return found;
}

struct copy {
    struct accelerator_task task;
    struct accelerator *accelerator;
    void *to;
    const void *from;
    int fault;
};

static void run_copy(struct accelerator_task *task, int *status)
{
    struct copy *copy = (struct copy *)task;
    if (copy->fault != 0) {
        *status = *status == 0 ? copy->fault : *status;
        return;
    }
    memcpy(copy->to, copy->from, task->nbytes);
    pthread_mutex_lock(&copy->accelerator->lock);
    copy->accelerator->copied += task->nbytes;
    pthread_mutex_unlock(&copy->accelerator->lock);
}

static int put_copy(struct accelerator *accelerator, enum hvd_device_queue queue, void *to,
                    const void *from, size_t nbytes)
{
    if (accelerator_strikes(accelerator, &accelerator->faults.refuse[queue]))
        return ACCELERATOR_FAULT;
    struct copy *copy = malloc(sizeof *copy);
    if (copy == NULL)
        return ACCELERATOR_NOMEM;
    bool fails = accelerator_strikes(accelerator, &accelerator->faults.fail[queue]);
    *copy = (struct copy){ .task = { .run = run_copy, .nbytes = nbytes, .owned = true },
                           .accelerator = accelerator,
                           .to = to,
                           .from = from,
                           .fault = fails ? ACCELERATOR_FAULT : 0 };
    accelerator_queue_put(&accelerator->queues[queue], &copy->task);
    return 0;
}

static int copy_to_host(void *context, void *host, const void *device, size_t nbytes)
{
    const void *from = accelerator_find(context, device, nbytes);
    if (from == NULL)
        return ACCELERATOR_ADDRESS;
    if (!is_pinned(context, host, nbytes))
        return ACCELERATOR_NOT_PINNED;
    return put_copy(context, HVD_DEVICE_TO_HOST, host, from, nbytes);
}

static int copy_from_host(void *context, void *device, const void *host, size_t nbytes)
{
    void *to = accelerator_find(context, device, nbytes);
    if (to == NULL)
        return ACCELERATOR_ADDRESS;
    if (!is_pinned(context, host, nbytes))
        return ACCELERATOR_NOT_PINNED;
    return put_copy(context, HVD_DEVICE_FROM_HOST, to, host, nbytes);
}

static void count_event(struct accelerator *accelerator, int difference)
{
    pthread_mutex_lock(&accelerator->lock);
    accelerator->holdings.events += difference;
    pthread_mutex_unlock(&accelerator->lock);
}

static void *create_event(void *context)
{
    struct accelerator *accelerator = context;
    if (accelerator_strikes(accelerator, &accelerator->faults.event))
        return NULL;
    struct accelerator_event *event = accelerator_event_create();
    if (event != NULL)
        count_event(accelerator, 1);
    return event;
}

static void destroy_event(void *context, void *event)
{
    if (event == NULL)
        return;
    accelerator_event_destroy(event);
    count_event(context, -1);
}

static int record_event(void *context, void *event, enum hvd_device_queue queue)
{
    struct accelerator *accelerator = context;
    if (queue > HVD_DEVICE_REDUCE)
        return ACCELERATOR_QUEUE;
    if (accelerator_strikes(accelerator, &accelerator->faults.record))
        return ACCELERATOR_FAULT;
    return accelerator_event_record(event, &accelerator->queues[queue]) < 0 ? ACCELERATOR_NOMEM : 0;
}

static int query_event(void *context, void *event)
{
    (void)context;
    return accelerator_event_query(event);
}

static int can_allreduce(void *context, enum hvd_dtype dtype, enum hvd_op op, int process_set)
{
    const struct accelerator_options *options = &((struct accelerator *)context)->options;
    return options->can_reduce == NULL ||
           options->can_reduce(options->reduce_arg, dtype, op, process_set);
}

/* A collective of the accelerator itself in its queue: the beginning of what the queue frees. */
struct queued_call {
    struct accelerator_task task;
    const struct accelerator_options *options;
    int fault; /* with which it fails when its turn comes; 0: it runs */
};

/* Allocates `nbytes`, which begin with a call; or says why the queue does not take it. */
static int queued_call_create(struct accelerator *accelerator, size_t nbytes,
                              void (*run)(struct accelerator_task *task, int *status),
                              struct queued_call **call)
{
    if (accelerator_strikes(accelerator, &accelerator->faults.refuse[HVD_DEVICE_REDUCE]))
        return ACCELERATOR_FAULT;
    struct queued_call *made = malloc(nbytes);
    if (made == NULL)
        return ACCELERATOR_NOMEM;
    bool fails = accelerator_strikes(accelerator, &accelerator->faults.fail[HVD_DEVICE_REDUCE]);
    *made = (struct queued_call){ .task = { .run = run, .owned = true },
                                  .options = &accelerator->options,
                                  .fault = fails ? ACCELERATOR_FAULT : 0 };
    *call = made;
    return 0;
}

/* The first failure of a queue is its status. */
static void queued_call_end(int rc, int *status)
{
    if (rc < 0 && *status == 0)
        *status = rc;
}

struct reduction {
    struct queued_call call;
    struct hvd_device_allreduce allreduce; /* with pointers for the processor */
};

static void run_reduction(struct accelerator_task *task, int *status)
{
    struct reduction *reduction = (struct reduction *)task;
    const struct accelerator_options *options = reduction->call.options;
    int rc = reduction->call.fault;
    queued_call_end(rc != 0 ? rc : options->reduce(options->reduce_arg, &reduction->allreduce),
                    status);
}

static int allreduce(void *context, const struct hvd_device_allreduce *wanted)
{
    struct accelerator *accelerator = context;
    size_t nbytes = wanted->count * hvd_dtype_size(wanted->dtype);
    const void *input = accelerator_find(accelerator, wanted->input, nbytes);
    void *output = accelerator_find(accelerator, wanted->output, nbytes);
    if (input == NULL || output == NULL)
        return ACCELERATOR_ADDRESS;
    struct queued_call *call;
    int rc = queued_call_create(accelerator, sizeof(struct reduction), run_reduction, &call);
    if (rc < 0)
        return rc;
    struct reduction *reduction = (struct reduction *)call;
    reduction->allreduce = *wanted;
    reduction->allreduce.input = input;
    reduction->allreduce.output = output;
    accelerator_queue_put(&accelerator->queues[HVD_DEVICE_REDUCE], &call->task);
    return 0;
}

static int can_collective(void *context, const struct hvd_device_collective *question)
{
    const struct accelerator_options *options = &((struct accelerator *)context)->options;
    if (question->kind > HVD_DEVICE_ALLTOALL)
        return 0; /* of a later library */
    return options->can_collective == NULL ||
           options->can_collective(options->reduce_arg, question);
}

struct movement {
    struct queued_call call;
    struct hvd_device_collective collective; /* with pointers for the processor */
    int64_t rows[];                          /* those of the collective, then its splits */
};

static void run_movement(struct accelerator_task *task, int *status)
{
    struct movement *movement = (struct movement *)task;
    const struct accelerator_options *options = movement->call.options;
    int rc = movement->call.fault;
    queued_call_end(rc != 0 ? rc : options->collective(options->reduce_arg, &movement->collective),
                    status);
}

/* How much of the output may be written. */
static size_t output_bytes(const struct hvd_device_collective *collective)
{
    size_t size = hvd_dtype_size(collective->dtype);
    switch (collective->kind) {
    case HVD_DEVICE_BROADCAST:
        return collective->count * size;
    case HVD_DEVICE_REDUCESCATTER:
        return (size_t)collective->rows[collective->rank] * collective->row_count * size;
    default:
        return collective->output_size;
    }
}

/* Turns a pointer into one for the processor; false if the memory is not there. */
static bool find_all(struct accelerator *accelerator, const void *device, size_t nbytes,
                     void **pointer)
{
    *pointer = nbytes > 0 ? accelerator_find(accelerator, device, nbytes) : NULL;
    return *pointer != NULL || nbytes == 0;
}

static void copy_rows(struct movement *movement, const struct hvd_device_collective *wanted)
{
    int size = wanted->size;
    movement->collective.rows = wanted->rows != NULL ? movement->rows : NULL;
    movement->collective.splits = wanted->splits != NULL ? movement->rows + size : NULL;
    for (int rank = 0; rank < size; rank++) {
        movement->rows[rank] = wanted->rows != NULL ? wanted->rows[rank] : 0;
        movement->rows[size + rank] = wanted->splits != NULL ? wanted->splits[rank] : 0;
    }
}

static int collective(void *context, const struct hvd_device_collective *wanted)
{
    struct accelerator *accelerator = context;
    void *input, *output;
    if (!find_all(accelerator, wanted->input, wanted->count * hvd_dtype_size(wanted->dtype),
                  &input) ||
        !find_all(accelerator, wanted->output, output_bytes(wanted), &output))
        return ACCELERATOR_ADDRESS;
    struct queued_call *call;
    size_t rows_bytes = 2 * (size_t)wanted->size * sizeof(int64_t);
    int rc =
        queued_call_create(accelerator, sizeof(struct movement) + rows_bytes, run_movement, &call);
    if (rc < 0)
        return rc;
    struct movement *movement = (struct movement *)call;
    movement->collective = *wanted;
    movement->collective.input = input;
    movement->collective.output = output;
    copy_rows(movement, wanted);
    accelerator_queue_put(&accelerator->queues[HVD_DEVICE_REDUCE], &call->task);
    return 0;
}

void accelerator_fill_table(struct accelerator *accelerator)
{
    bool reduces = accelerator->options.reduce != NULL;
    bool moves = accelerator->options.collective != NULL;
    accelerator->extension =
        (struct hvd_device_extension){ .size = sizeof accelerator->extension,
                                       .can_collective = moves ? can_collective : NULL,
                                       .collective = moves ? collective : NULL };
    accelerator->table = (struct hvd_device){
        .name = "npu",
        .context = accelerator,
        .alloc_pinned = alloc_pinned,
        .free_pinned = free_pinned,
        .copy_to_host = copy_to_host,
        .copy_from_host = copy_from_host,
        .create_event = create_event,
        .destroy_event = destroy_event,
        .record_event = record_event,
        .query_event = query_event,
        .can_allreduce = reduces ? can_allreduce : NULL,
        .allreduce = reduces ? allreduce : NULL,
    };
}
