/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcasts the state of one rank (hvd_training.h):
 *
 *   sort and check the lists, agree that all ranks have the same, start the broadcast of every
 *   tensor and of all scalars together, wait for all, and store the scalars.
 *
 * Before the first broadcast the call fails on every rank when the lists of one rank are not
 * acceptable or differ from the others, or when one rank is out of memory; then nothing has been
 * changed on any rank. Later the call waits for all broadcasts and fails with the first failure;
 * then the contents of the tensors are undefined, and the scalars are unchanged. */
#include "lib/hvd_training.h"

#include "lib/process.h"
#include "lib/reduce/reduce.h"
#include "lib/training/agreement.h"
#include "lib/training/call.h"
#include "lib/training/parameters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state {
    const char *call; /* in the names of tensors */
    int root, process_set;
    const struct hvd_parameter *tensors;
    int ntensors;
    const struct hvd_scalar *scalars;
    int nscalars;
    struct named *tensor_order, *scalar_order; /* owned, as all below */
    struct wire_writer lines;                  /* the properties that all ranks must share */
    unsigned char *packed;                     /* the scalars, in the order of their names */
    size_t packed_size;
    int64_t *handles; /* of the broadcasts in flight */
    int nhandles;
};

static void state_fini(struct state *state)
{
    free(state->tensor_order);
    free(state->scalar_order);
    wire_writer_fini(&state->lines);
    free(state->packed);
    free(state->handles);
}

static const struct hvd_parameter *tensor_at(const struct state *state, int k)
{
    return &state->tensors[state->tensor_order[k].place];
}

static const struct hvd_scalar *scalar_at(const struct state *state, int k)
{
    return &state->scalars[state->scalar_order[k].place];
}

/* ---- checks ---- */

static void put_lines(struct state *state)
{
    char root[32];
    int length = snprintf(root, sizeof root, "root %d\n", state->root);
    wire_put_bytes(&state->lines, root, (size_t)length);
    for (int k = 0; k < state->ntensors; k++)
        parameter_put_line(&state->lines, tensor_at(state, k));
    for (int k = 0; k < state->nscalars; k++)
        scalar_put_line(&state->lines, scalar_at(state, k));
    wire_put_u8(&state->lines, '\0');
}

/* Copies the scalars into one message, or back. */
static void pack(const struct state *state, bool back)
{
    unsigned char *at = state->packed;
    for (int k = 0; k < state->nscalars; k++) {
        const struct hvd_scalar *scalar = scalar_at(state, k);
        size_t size = dtype_size((int)scalar->dtype);
        memcpy(back ? scalar->value : at, back ? at : scalar->value, size);
        at += size;
    }
}

static int state_allocate(struct state *state, struct err *err)
{
    for (int k = 0; k < state->nscalars; k++)
        state->packed_size += dtype_size((int)scalar_at(state, k)->dtype);
    state->packed = malloc(state->packed_size + 1);
    state->handles = calloc((size_t)state->ntensors + 1, sizeof *state->handles);
    put_lines(state);
    if (!state->packed || !state->handles || state->lines.failed)
        return fail(err, HVD_ERR_NOMEM, "no memory for %d parameters and %d scalars",
                    state->ntensors, state->nscalars);
    return HVD_OK;
}

static int state_prepare(struct state *state, struct err *err)
{
    int rc = parameters_sort(state->tensors, state->ntensors, &state->tensor_order, err);
    if (rc == HVD_OK)
        rc = scalars_sort(state->scalars, state->nscalars, &state->scalar_order, err);
    if (rc == HVD_OK)
        rc = call_check_root(state->process_set, state->root, err);
    return rc < 0 ? rc : state_allocate(state, err);
}

/* ---- the broadcasts ---- */

/* Keeps the first failure. */
static void state_note(struct err *first, int rc)
{
    if (rc < 0 && first->code == HVD_OK)
        call_answer(rc, first);
}

static void state_start(struct state *state, const struct hvd_tensor *tensor, struct err *first)
{
    const struct hvd_options options = { .process_set = state->process_set };
    int rc = hvd_broadcast_async(tensor, state->root, &options, &state->handles[state->nhandles]);
    state->nhandles += rc == HVD_OK;
    state_note(first, rc);
}

static void start_tensor(struct state *state, int k, struct err *first)
{
    char name[HVD_NAME_MAX + 1];
    const struct hvd_parameter *parameter = tensor_at(state, k);
    const struct hvd_tensor tensor = { .name = name,
                                       .output = parameter->data,
                                       .dtype = parameter->dtype,
                                       .ndims = parameter->ndims,
                                       .dims = parameter->dims,
                                       .device = parameter->device };
    snprintf(name, sizeof name, "broadcast.%s", parameter->name);
    state_start(state, &tensor, first);
}

static void start_scalars(struct state *state, struct err *first)
{
    char name[HVD_NAME_MAX + 1];
    const int64_t size = (int64_t)state->packed_size;
    const struct hvd_tensor tensor = {
        .name = name, .output = state->packed, .dtype = HVD_UINT8, .ndims = 1, .dims = &size
    };
    snprintf(name, sizeof name, "hvd.%s.scalars", state->call);
    pack(state, false);
    state_start(state, &tensor, first);
}

/* After a failure all other broadcasts are still started and waited for, because other ranks wait
 * for them, too. */
static int state_run(struct state *state, struct err *err)
{
    struct err first = { .code = HVD_OK };
    for (int k = 0; k < state->ntensors; k++)
        start_tensor(state, k, &first);
    if (state->nscalars > 0)
        start_scalars(state, &first);
    for (int i = 0; i < state->nhandles; i++)
        state_note(&first, hvd_wait(state->handles[i]));
    if (first.code < 0)
        return fail(err, first.code, "%s", first.text);
    pack(state, true);
    return HVD_OK;
}

static int state_broadcast(struct state *state, struct err *err)
{
    struct err own = { .code = HVD_OK };
    state_prepare(state, &own);
    int rc = agreement_conclude(state->call, state->process_set, &own,
                                (const char *)state->lines.data, err);
    if (rc == HVD_OK)
        rc = state_run(state, err);
    state_fini(state);
    return rc;
}

int hvd_broadcast_parameters(const struct hvd_parameter *parameters, int count, int root,
                             int process_set)
{
    struct err err;
    struct state state = { .call = "broadcast_parameters",
                           .root = root,
                           .process_set = process_set,
                           .tensors = parameters,
                           .ntensors = count };
    int rc = state_broadcast(&state, &err);
    if (rc < 0)
        fail_context(&err, "broadcast parameters");
    return process_answer(rc, &err);
}

int hvd_broadcast_optimizer_state(const struct hvd_parameter *tensors, int ntensors,
                                  const struct hvd_scalar *scalars, int nscalars, int root,
                                  int process_set)
{
    struct err err;
    struct state state = { .call = "broadcast_optimizer_state",
                           .root = root,
                           .process_set = process_set,
                           .tensors = tensors,
                           .ntensors = ntensors,
                           .scalars = scalars,
                           .nscalars = nscalars };
    int rc = state_broadcast(&state, &err);
    if (rc < 0)
        fail_context(&err, "broadcast optimizer state");
    return process_answer(rc, &err);
}
