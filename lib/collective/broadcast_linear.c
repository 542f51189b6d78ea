/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcast from the root to each other rank; see broadcast_linear.h. */
#include "lib/collective/broadcast_linear.h"

#include "lib/collective/linear_flow.h"
#include "lib/collective/operation_impl.h"

_Static_assert(OPERATION_SHARED % LINEAR_PIECE == 0 && OPERATION_SHARED >= 2 * LINEAR_PIECE,
               "what is shared holds pieces");

struct broadcast_linear {
    struct operation operation;
    int root;

    /* At the root; readers are the other ranks, in order of rank. */
    struct linear_flow flow;

    /* At the others: where the next bytes go, and how many are missing. */
    unsigned char *place;
    size_t missing;

    size_t sent[]; /* of the flow */
};

static struct broadcast_linear *linear_of(const struct operation *operation)
{
    return (struct broadcast_linear *)(void *)operation;
}

int broadcast_linear_peers(int rank, int size, int root, int *peers)
{
    int count = 0;
    for (int peer = 0; peer < size; peer++)
        if (peer != rank && (peer == root || rank == root))
            peers[count++] = peer;
    return count;
}

/* ---- the root ---- */

static int reader_of(const struct broadcast_linear *own, int peer)
{
    return peer < own->root ? peer : peer - 1;
}

static const void *root_output(struct operation *operation, int peer, size_t ahead, size_t *nbytes)
{
    struct broadcast_linear *own = linear_of(operation);
    return linear_flow_output(&own->flow, reader_of(own, peer), ahead, nbytes);
}

static void root_sent(struct operation *operation, int peer, size_t nbytes)
{
    struct broadcast_linear *own = linear_of(operation);
    linear_flow_sent(&own->flow, reader_of(own, peer), nbytes);
}

static void *root_space(struct operation *operation, int peer, size_t *nbytes)
{
    (void)operation;
    (void)peer;
    *nbytes = 0;
    return NULL;
}

static int root_received(struct operation *operation, int peer, size_t nbytes, struct err *err)
{
    (void)operation;
    (void)nbytes;
    return fail(err, HVD_ERR_PROTOCOL, "nothing is awaited from rank %d of the set", peer);
}

static bool root_done(const struct operation *operation)
{
    return linear_flow_done(&linear_of(operation)->flow);
}

static const struct operation_type root_type = {
    .algorithm = "linear",
    .output = root_output,
    .sent = root_sent,
    .space = root_space,
    .received = root_received,
    .done = root_done,
};

/* ---- the others ---- */

static const void *reader_output(struct operation *operation, int peer, size_t ahead,
                                 size_t *nbytes)
{
    (void)operation;
    (void)peer;
    (void)ahead;
    *nbytes = 0;
    return NULL;
}

static void reader_sent(struct operation *operation, int peer, size_t nbytes)
{
    (void)operation;
    (void)peer;
    (void)nbytes;
}

static void *reader_space(struct operation *operation, int peer, size_t *nbytes)
{
    const struct broadcast_linear *own = linear_of(operation);
    *nbytes = peer == own->root ? own->missing : 0;
    return *nbytes > 0 ? own->place : NULL;
}

static int reader_received(struct operation *operation, int peer, size_t nbytes, struct err *err)
{
    struct broadcast_linear *own = linear_of(operation);
    if (peer != own->root || nbytes > own->missing)
        return fail(err, HVD_ERR_PROTOCOL, "rank %d of the set sends %zu bytes where %zu fit", peer,
                    nbytes, peer == own->root ? own->missing : 0);
    own->place += nbytes;
    own->missing -= nbytes;
    return HVD_OK;
}

static bool reader_done(const struct operation *operation)
{
    return linear_of(operation)->missing == 0;
}

static const struct operation_type reader_type = {
    .algorithm = "linear",
    .output = reader_output,
    .sent = reader_sent,
    .space = reader_space,
    .received = reader_received,
    .done = reader_done,
};

struct operation *broadcast_linear_start(struct operation_store *store,
                                         const struct operation_task *task, struct err *err)
{
    bool is_root = task->rank == task->root;
    int readers = is_root ? task->size - 1 : 0;
    size_t nbytes = task->count * dtype_size((int)task->dtype);
    struct broadcast_linear *own =
        operation_alloc(store, sizeof *own + (size_t)readers * sizeof *own->sent);
    if (!own) {
        fail(err, HVD_ERR_NOMEM, "no memory for an operation of %d ranks", task->size);
        return NULL;
    }
    *own = (struct broadcast_linear){ .operation.type = is_root ? &root_type : &reader_type,
                                      .root = task->root,
                                      .place = task->output,
                                      .missing = is_root ? 0 : nbytes };
    own->flow = (struct linear_flow){ .data = task->output,
                                      .nbytes = nbytes,
                                      .buffer = task->shared,
                                      .size = OPERATION_SHARED,
                                      .far = task->shared_far,
                                      .sent = own->sent,
                                      .readers = readers };
    linear_flow_begin(&own->flow);
    return &own->operation;
}
