/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking forms of the public calls; see call.h. They fail as the public calls do. */
#include "lib/training/call.h"

#include <stdlib.h>

int call_answer(int rc, struct err *err)
{
    return rc < 0 ? fail(err, rc, "%s", hvd_last_error()) : rc;
}

int call_own_mistake_first(int rc, const struct err *own, struct err *err)
{
    if (rc >= 0 || own->code != HVD_ERR_INVALID)
        return rc;
    return fail(err, own->code, "%s", own->text);
}

int call_first_rank(int process_set, struct err *err)
{
    int first = 0;
    int rc = call_answer(hvd_process_set_rank(process_set), err);
    if (rc >= 0)
        rc = call_answer(hvd_process_set_ranks(process_set, &first, 1), err);
    return rc < 0 ? rc : first;
}

static int find_root(int process_set, const int *ranks, int size, int root, struct err *err)
{
    for (int i = 0; i < size; i++)
        if (ranks[i] == root)
            return HVD_OK;
    if (process_set == 0)
        return fail(err, HVD_ERR_INVALID, "root %d does not exist in a world of %d", root, size);
    return fail(err, HVD_ERR_INVALID, "root %d is not in process set %d", root, process_set);
}

int call_check_root(int process_set, int root, struct err *err)
{
    if (root < 0)
        return fail(err, HVD_ERR_INVALID, "root %d does not exist, a rank is 0 or more", root);
    int size = call_answer(hvd_process_set_size(process_set), err);
    if (size < 0)
        return size;
    int *ranks = calloc((size_t)size, sizeof *ranks);
    if (!ranks)
        return fail(err, HVD_ERR_NOMEM, "no memory for %d ranks", size);
    hvd_process_set_ranks(process_set, ranks, size);
    int rc = find_root(process_set, ranks, size, root, err);
    free(ranks);
    return rc;
}

static struct hvd_tensor some_bytes(const char *name, const int64_t *size)
{
    return (struct hvd_tensor){ .name = name, .dtype = HVD_UINT8, .ndims = 1, .dims = size };
}

int call_broadcast_bytes(const char *name, int process_set, void *data, size_t size, int root,
                         struct err *err)
{
    const struct hvd_options options = { .process_set = process_set };
    const int64_t dim = (int64_t)size;
    struct hvd_tensor tensor = some_bytes(name, &dim);
    int64_t handle;
    tensor.output = data;
    int rc = hvd_broadcast_async(&tensor, root, &options, &handle);
    return call_answer(rc < 0 ? rc : hvd_wait(handle), err);
}

int call_max(const char *name, int process_set, void *data, size_t count, enum hvd_dtype dtype,
             struct err *err)
{
    const struct hvd_options options = { .process_set = process_set };
    const int64_t dim = (int64_t)count;
    const struct hvd_tensor tensor = {
        .name = name, .input = data, .output = data, .dtype = dtype, .ndims = 1, .dims = &dim
    };
    int64_t handle;
    int rc = hvd_allreduce_async(&tensor, HVD_MAX, &options, &handle);
    return call_answer(rc < 0 ? rc : hvd_wait(handle), err);
}

int call_gather_bytes(const char *name, int process_set, const void *data, size_t size,
                      struct hvd_result *result, struct err *err)
{
    const struct hvd_options options = { .process_set = process_set };
    const int64_t dim = (int64_t)size;
    struct hvd_tensor tensor = some_bytes(name, &dim);
    int64_t handle;
    tensor.input = data;
    int rc = hvd_allgather_async(&tensor, &options, &handle);
    return call_answer(rc < 0 ? rc : hvd_wait_result(handle, result), err);
}
