/* SPDX-License-Identifier: Apache-2.0 */
/* One collective of a rank; see collective.h. */
#include "lib/collective.h"

#include "lib/collective/ring_schedule.h"

#include <string.h>

typedef void start_fn(struct ring_flow *flow, const struct ring_task *task);

enum { PHASES_MAX = 2 };

static start_fn *const phases[][PHASES_MAX] = {
    [COLLECTIVE_ALLREDUCE] = { reduce_scatter_ring_start, allgather_ring_start },
    [COLLECTIVE_BROADCAST] = { broadcast_ring_start },
    [COLLECTIVE_ALLGATHER] = { allgather_ring_start },
    [COLLECTIVE_BARRIER] = { reduce_scatter_ring_start, allgather_ring_start },
};

static start_fn *current_phase(const struct collective *collective)
{
    return collective->phase < PHASES_MAX ? phases[collective->print.kind][collective->phase]
                                          : NULL;
}

/* Starts the current phase, and the one after it if there is nothing to do in it. */
static void begin_phase(struct collective *collective)
{
    for (start_fn *start; (start = current_phase(collective)); collective->phase++) {
        start(&collective->flow, &collective->task);
        if (!ring_flow_done(&collective->flow))
            return;
    }
}

static void end_phase_if_done(struct collective *collective)
{
    if (current_phase(collective) && ring_flow_done(&collective->flow)) {
        collective->phase++;
        begin_phase(collective);
    }
}

static void make_print(struct collective *collective, const struct request *request, int rank,
                       uint64_t number)
{
    collective->print = (struct fingerprint){
        .kind = request->kind,
        .dtype = (int)request->dtype,
        .op = (int)request->op,
        .root = request->root,
        .rank = rank,
        .number = number,
        .count = request->count,
    };
    fingerprint_set_name(&collective->print, request->name);
    fingerprint_encode(collective->print_out, &collective->print);
}

/* An allgather begins with the own part of the output in place. */
static void place_own_part(struct ring_task *task, const struct request *request)
{
    struct ring_block own;
    task->count *= (size_t)task->size;
    own = ring_chunk_block(task, task->rank);
    if (own.nbytes > 0 && task->output + own.offset != request->input)
        memcpy(task->output + own.offset, request->input, own.nbytes);
}

/* A barrier is complete on a rank only after the one element has come by all ranks. */
static void use_token(struct collective *collective)
{
    collective->token = 0;
    collective->task.input = collective->task.output = (unsigned char *)&collective->token;
    collective->task.count = 1;
    collective->task.element_size = sizeof collective->token;
    collective->task.reduce = reduce_function(HVD_INT32, HVD_SUM);
}

/* The operation of other collectives is 0, which is HVD_AVERAGE. */
static bool averages(const struct request *request)
{
    return request->kind == COLLECTIVE_ALLREDUCE && request->op == HVD_AVERAGE;
}

void collective_start(struct collective *collective, const struct request *request, int rank,
                      int size, uint64_t number, void *staging)
{
    collective->print_sent = collective->print_received = 0;
    collective->left = ring_left(rank, size);
    collective->phase = 0;
    make_print(collective, request, rank, number);
    collective->task = (struct ring_task){
        .rank = rank,
        .size = size,
        .root = request->root,
        .input = request->input,
        .output = request->output,
        .count = request->count,
        .element_size = dtype_size((int)request->dtype),
        .reduce = reduce_function(request->dtype, request->op),
        .divide = averages(request) ? divide_function(request->dtype) : NULL,
        .staging = staging,
    };
    if (request->kind == COLLECTIVE_ALLGATHER)
        place_own_part(&collective->task, request);
    if (request->kind == COLLECTIVE_BARRIER)
        use_token(collective);
    begin_phase(collective);
}

void collective_alone(const struct request *request)
{
    size_t nbytes = request->count * dtype_size((int)request->dtype);
    if (nbytes > 0 && request->output != request->input)
        memcpy(request->output, request->input, nbytes);
}

int collective_output(const struct collective *collective, struct iovec parts[2])
{
    int count = 0;
    size_t nbytes = FINGERPRINT_SIZE - collective->print_sent;
    if (nbytes > 0)
        parts[count++] =
            (struct iovec){ (unsigned char *)collective->print_out + collective->print_sent,
                            nbytes };
    const void *data =
        current_phase(collective) ? ring_flow_output(&collective->flow, &nbytes) : NULL;
    if (data)
        parts[count++] = (struct iovec){ (void *)data, nbytes };
    return count;
}

void collective_sent(struct collective *collective, size_t nbytes)
{
    size_t of_print = FINGERPRINT_SIZE - collective->print_sent;
    if (of_print > nbytes)
        of_print = nbytes;
    collective->print_sent += of_print;
    if (nbytes > of_print)
        ring_flow_sent(&collective->flow, nbytes - of_print);
    end_phase_if_done(collective);
}

void *collective_space(struct collective *collective, size_t *nbytes)
{
    *nbytes = FINGERPRINT_SIZE - collective->print_received;
    if (*nbytes > 0)
        return collective->print_in + collective->print_received;
    return current_phase(collective) ? ring_flow_space(&collective->flow, nbytes) : NULL;
}

static int check_print(const struct collective *collective, struct err *err)
{
    struct fingerprint other;
    int rc = fingerprint_decode(&other, collective->print_in, err);
    if (rc < 0)
        return fail_context(err, "rank %d", collective->left);
    if (other.rank != collective->left)
        return fail(err, HVD_ERR_PROTOCOL, "rank %d says it is rank %d", collective->left,
                    other.rank);
    return fingerprint_compare(&collective->print, &other, err);
}

int collective_received(struct collective *collective, size_t nbytes, struct err *err)
{
    if (collective->print_received < FINGERPRINT_SIZE) {
        collective->print_received += nbytes;
        return collective->print_received < FINGERPRINT_SIZE ? HVD_OK
                                                             : check_print(collective, err);
    }
    ring_flow_received(&collective->flow, nbytes);
    end_phase_if_done(collective);
    return HVD_OK;
}

bool collective_done(const struct collective *collective)
{
    return collective->print_sent == FINGERPRINT_SIZE &&
           collective->print_received == FINGERPRINT_SIZE && !current_phase(collective);
}
