/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of collectives; see request.h. */
#include "lib/request.h"

#include "lib/reduce/reduce.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const char *const calls[] = {
    [COLLECTIVE_ALLREDUCE] = "hvd_allreduce",
    [COLLECTIVE_BROADCAST] = "hvd_broadcast",
    [COLLECTIVE_ALLGATHER] = "hvd_allgather",
    [COLLECTIVE_BARRIER] = "hvd_barrier",
};

/* True if [a, a + a_size) and [b, b + b_size) have a byte in common. */
static int overlap(const void *a, size_t a_size, const void *b, size_t b_size)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x < y + b_size && y < x + a_size;
}

/* A rank's part has `nbytes`, the output of an allgather `size` times as many; the own part may be
 * the input. */
static int check_overlap(const struct request *request, int rank, int size, size_t nbytes,
                         struct err *err)
{
    const char *input = request->input, *output = request->output;
    bool gathers = request->kind == COLLECTIVE_ALLGATHER;
    const char *own = output + (gathers ? (size_t)rank * nbytes : 0);
    if (input == own || !overlap(input, nbytes, output, (gathers ? (size_t)size : 1) * nbytes))
        return HVD_OK;
    return fail(err, HVD_ERR_INVALID, "input and output overlap in part");
}

static int check_memory(const struct request *request, int rank, int size, struct err *err)
{
    size_t element = dtype_size((int)request->dtype);
    if (request->count > (size_t)PTRDIFF_MAX / element / (size_t)size)
        return fail(err, HVD_ERR_INVALID, "count %zu is more than memory can hold", request->count);
    if (request->count > 0 && (!request->input || !request->output))
        return fail(err, HVD_ERR_INVALID, "%s is NULL but count is %zu",
                    request->input ? "output" : "input", request->count);
    size_t nbytes = request->count * element;
    return nbytes > 0 ? check_overlap(request, rank, size, nbytes, err) : HVD_OK;
}

static int check_op(const struct request *request, struct err *err)
{
    const char *dtype = dtype_name((int)request->dtype), *op = op_name((int)request->op);
    if (*op == '?')
        return fail(err, HVD_ERR_INVALID, "%d is not an operation", (int)request->op);
    if (!reduce_function(request->dtype, request->op))
        return fail(err, HVD_ERR_INVALID, "there is no %s of %s; sum is or, product is and", op,
                    dtype);
    return HVD_OK;
}

static int check(const struct request *request, int rank, int size, struct err *err)
{
    if (strnlen(request->name, NAME_MAX_LENGTH + 1) > NAME_MAX_LENGTH)
        return fail(err, HVD_ERR_INVALID, "the name is longer than %d bytes", NAME_MAX_LENGTH);
    if (dtype_size((int)request->dtype) == 0)
        return fail(err, HVD_ERR_INVALID, "%d is not an element type", (int)request->dtype);
    int rc = request->kind == COLLECTIVE_ALLREDUCE ? check_op(request, err) : HVD_OK;
    if (rc < 0)
        return rc;
    if (request->root < 0 || request->root >= size)
        return fail(err, HVD_ERR_INVALID, "root %d does not exist in a world of %d", request->root,
                    size);
    return request->kind == COLLECTIVE_BARRIER ? HVD_OK : check_memory(request, rank, size, err);
}

int request_check(const struct request *request, int rank, int size, struct err *err)
{
    int rc = check(request, rank, size, err);
    return rc < 0 ? fail_context(err, "%s", calls[request->kind]) : rc;
}
