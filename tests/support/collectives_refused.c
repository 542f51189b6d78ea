/* SPDX-License-Identifier: Apache-2.0 */
/* The mistakes of one rank: the call is refused at once, with HVD_ERR_INVALID and a text that
 * names call and tensor, and nothing is submitted: the same names work right after. */
#include "tests/support/collectives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 12 };

static float input[COUNT * 64], output[COUNT * 64];
static const int64_t dims[] = { COUNT, 1, 1, 1, 1, 1, 1, 1, 1 };
static const int64_t negative[] = { 2, -3 };
static const int64_t huge[] = { (int64_t)1 << 40, (int64_t)1 << 40 };
static const int64_t large[] = { INT64_MAX };

/* A proper tensor, to be spoilt. */
static struct hvd_tensor proper(void)
{
    return (struct hvd_tensor){ .name = "refused",
                                .input = input,
                                .output = output,
                                .output_size = sizeof output,
                                .dtype = HVD_FLOAT32,
                                .ndims = 1,
                                .dims = dims };
}

static void refused(int rc, const char *what, const char *word)
{
    require(rc == HVD_ERR_INVALID, "%s: %s, not refused", what, hvd_strstatus(rc));
    require(strstr(hvd_last_error(), word), "%s: the text does not say '%s'", what, word);
}

static void sum_refused(const struct hvd_tensor *tensor, const char *what, const char *word)
{
    int64_t handle = -7;
    refused(hvd_allreduce_async(tensor, HVD_SUM, NULL, &handle), what, word);
    require(handle == -7 || hvd_poll(handle) == HVD_ERR_INVALID, "%s: a handle was given", what);
}

/* One member of the tensor is wrong. */
static void check_tensors(void)
{
    struct hvd_tensor tensor = proper();
    char name[HVD_NAME_MAX + 2];
    memset(name, 'n', sizeof name);
    name[HVD_NAME_MAX + 1] = 0;
#define SPOILT(member, value, what, word)                                                          \
    do {                                                                                           \
        tensor = proper();                                                                         \
        tensor.member = value;                                                                     \
        sum_refused(&tensor, what, word);                                                          \
    } while (0)
    SPOILT(name, name, "a name that is too long", "255");
    SPOILT(name,
           "bad\xff"
           "name",
           "a name that is not UTF-8", "UTF-8");
    SPOILT(name, "\xc0\x80", "a NUL in two bytes", "UTF-8");
    SPOILT(name, "\xed\xa0\x80", "half a surrogate", "UTF-8");
    SPOILT(input, NULL, "no input", "input");
    SPOILT(output, NULL, "no output", "output");
    SPOILT(dtype, (enum hvd_dtype)11, "element type 11", "refused");
    SPOILT(dtype, (enum hvd_dtype) - 1, "element type -1", "refused");
    SPOILT(ndims, -1, "-1 dimensions", "-1");
    SPOILT(ndims, HVD_DIMS_MAX + 1, "9 dimensions", "9");
    SPOILT(dims, NULL, "no dims", "dims");
    SPOILT(dims, large, "more than memory", "refused");
    SPOILT(output, (char *)input + 4, "an output that overlaps", "overlap");
    tensor = proper();
    tensor.ndims = 2;
    tensor.dims = negative;
    sum_refused(&tensor, "a negative dimension", "-3");
    tensor.dims = huge;
    sum_refused(&tensor, "2^80 elements", "refused");
    tensor = proper();
    require(strlen(name) == HVD_NAME_MAX + 1, "the name's length");
    name[HVD_NAME_MAX] = 0;
    int rc = hvd_allreduce(name, input, output, COUNT, HVD_FLOAT32, HVD_SUM);
    require(rc == HVD_OK, "a name of 255 bytes: %s", hvd_strstatus(rc));
}

static void check_arguments(void)
{
    struct hvd_tensor tensor = proper();
    int64_t handle;
    refused(hvd_allreduce_async(NULL, HVD_SUM, NULL, &handle), "no tensor", "tensor");
    refused(hvd_allreduce_async(&tensor, HVD_SUM, NULL, NULL), "no handle", "handle");
    refused(hvd_allreduce_async(&tensor, (enum hvd_op)6, NULL, &handle), "operation 6", "6");
    refused(hvd_allreduce_async(&tensor, (enum hvd_op) - 1, NULL, &handle), "operation -1", "-1");
    tensor.dtype = HVD_BOOL;
    refused(hvd_allreduce_async(&tensor, HVD_AVERAGE, NULL, &handle), "average of bool", "bool");
    tensor.dtype = HVD_INT32;
    refused(hvd_allreduce_async(&tensor, HVD_ADASUM, NULL, &handle), "Adasum of int32", "int32");
    refused(hvd_allreduce("refused", NULL, output, 1, HVD_FLOAT32, HVD_SUM), "NULL", "refused");
    refused(hvd_allreduce("refused", input, output, SIZE_MAX, HVD_FLOAT32, HVD_SUM),
            "SIZE_MAX elements", "refused");
    refused(hvd_allreduce("refused", input, output, SIZE_MAX / 4, HVD_FLOAT64, HVD_SUM),
            "elements of more bytes than there are", "refused");
    refused(hvd_broadcast("refused", NULL, 1, HVD_FLOAT32, 0), "broadcast of NULL", "refused");
    refused(hvd_broadcast("refused", input, 1, HVD_FLOAT32, world_size), "root", "refused");
    refused(hvd_broadcast("refused", input, 1, HVD_FLOAT32, -1), "root -1", "-1");
    refused(hvd_allgather("refused", input, NULL, 1, HVD_FLOAT32), "allgather to NULL", "refused");
}

static void check_scalars_and_shares(void)
{
    struct hvd_tensor tensor = proper();
    int64_t handle;
    refused(hvd_reducescatter_async(&tensor, HVD_MAX, NULL, &handle), "reduce-scatter of max",
            "max");
    refused(hvd_reducescatter_async(&tensor, HVD_ADASUM, NULL, &handle), "reduce-scatter Adasum",
            "adasum");
    tensor.output_size = 0;
    refused(hvd_reducescatter_async(&tensor, HVD_SUM, NULL, &handle), "no room for the share",
            "output_size");
    tensor = proper();
    tensor.ndims = 0;
    refused(hvd_allgather_async(&tensor, NULL, &handle), "allgather of a scalar", "scalar");
    refused(hvd_alltoall_async(&tensor, NULL, 0, NULL, &handle), "alltoall of a scalar", "scalar");
    refused(hvd_reducescatter_async(&tensor, HVD_SUM, NULL, &handle), "reduce-scatter of a scalar",
            "scalar");
}

static void check_splits(void)
{
    struct hvd_tensor tensor = proper();
    int64_t handle, splits[64] = { 0 }, odd[] = { world_size + 1 };
    tensor.output = NULL;
    refused(hvd_alltoall_async(&tensor, splits, world_size + 1, NULL, &handle), "too many splits",
            "refused");
    refused(hvd_alltoall_async(&tensor, splits, world_size - 1, NULL, &handle), "too few splits",
            "refused");
    splits[world_size - 1] = COUNT + 1;
    refused(hvd_alltoall_async(&tensor, splits, world_size, NULL, &handle), "more than there is",
            "refused");
    splits[world_size - 1] = -1;
    refused(hvd_alltoall_async(&tensor, splits, world_size, NULL, &handle), "a negative split",
            "-1");
    splits[0] = splits[world_size - 1] = INT64_MAX;
    refused(hvd_alltoall_async(&tensor, splits, world_size, NULL, &handle), "splits that overflow",
            "refused");
    tensor.dims = odd;
    if (world_size > 1)
        refused(hvd_alltoall_async(&tensor, NULL, 0, NULL, &handle), "rows without equal shares",
                "refused");
}

static void check_options(void)
{
    struct hvd_tensor tensor = proper();
    static const struct {
        struct hvd_options options;
        const char *what, *word;
    } rows[] = {
        { { .process_set = 99 }, "process set 99", "99" },
        { { .process_set = -1 }, "process set -1", "-1" },
        { { .prescale = __builtin_nan("") }, "a prescale that is NaN", "prescale" },
        { { .postscale = __builtin_inf() }, "a postscale that is infinite", "postscale" },
    };
    int64_t handle;
    for (size_t i = 0; i < LENGTH(rows); i++)
        refused(hvd_allreduce_async(&tensor, HVD_SUM, &rows[i].options, &handle), rows[i].what,
                rows[i].word);
    refused(hvd_barrier_async(&rows[0].options, &handle), "a barrier in set 99", "99");
    refused(hvd_join_async(&rows[0].options, &handle), "a join in set 99", "99");
}

static void check_groups(void)
{
    struct hvd_tensor group[] = { proper(), proper() };
    int64_t handle;
    refused(hvd_grouped_allreduce_async(group, 0, HVD_SUM, NULL, &handle), "an empty group", "0");
    refused(hvd_grouped_allreduce_async(group, -1, HVD_SUM, NULL, &handle), "-1 tensors", "-1");
    refused(hvd_grouped_allreduce_async(NULL, 2, HVD_SUM, NULL, &handle), "no tensors", "tensor");
    refused(hvd_grouped_allreduce_async(group, 2, HVD_SUM, NULL, &handle), "a name twice",
            "refused");
    group[1].name = NULL;
    refused(hvd_grouped_allreduce_async(group, 2, HVD_SUM, NULL, &handle), "a name for one",
            "name");
    group[1] = (struct hvd_tensor){ .name = "other",
                                    .input = input,
                                    .output = output,
                                    .dtype = HVD_FLOAT32,
                                    .ndims = 2,
                                    .dims = negative };
    refused(hvd_grouped_allreduce_async(group, 2, HVD_SUM, NULL, &handle), "one bad tensor", "-3");
}

/* The name is in flight on this rank until all ranks have submitted it and this one has waited. */
static void check_duplicates(void)
{
    struct hvd_tensor tensor = proper();
    struct hvd_tensor group[] = { { .name = "first",
                                    .input = input,
                                    .output = output,
                                    .dtype = HVD_FLOAT32,
                                    .ndims = 1,
                                    .dims = dims },
                                  proper() };
    int64_t handle, second;
    int rc = HVD_OK;
    bool late = my_rank == world_size - 1 && world_size > 1; /* submits after all ranks have
                                                              * tried */
    if (!late)
        rc = hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle);
    require(rc == HVD_OK, "the first of a name: %s", hvd_strstatus(rc));
    if (!late && world_size > 1) {
        refused(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &second), "a name in flight",
                "refused");
        refused(hvd_grouped_allreduce_async(group, 2, HVD_SUM, NULL, &second),
                "a group with a name in flight", "refused");
    }
    require(hvd_barrier() == HVD_OK, "a barrier");
    if (late)
        rc = hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle);
    require(rc == HVD_OK, "the late one: %s", hvd_strstatus(rc));
    finish(handle, NULL, "a name after a duplicate was refused");
    rc = hvd_allreduce("first", input, output, COUNT, HVD_FLOAT32, HVD_SUM);
    require(rc == HVD_OK, "a name of a refused group: %s", hvd_strstatus(rc));
}

static void check_handles(void)
{
    struct hvd_tensor tensor = proper();
    struct hvd_result result;
    int64_t handle;
    static const int64_t strange[] = { 0, -1, 1, 12345, INT64_MAX, INT64_MIN };
    for (size_t i = 0; i < LENGTH(strange); i++) {
        refused(hvd_wait(strange[i]), "a strange handle", "handle");
        refused(hvd_poll(strange[i]), "a strange handle", "handle");
        refused(hvd_wait_timeout(strange[i], 0, &result), "a strange handle", "handle");
    }
    require(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle) == HVD_OK, "an allreduce");
    finish(handle, NULL, "an allreduce");
    refused(hvd_wait(handle), "waiting twice", "handle");
    refused(hvd_poll(handle), "asking for what has been waited for", "handle");
    hvd_result_free(NULL);
    hvd_result_free(&(struct hvd_result){ 0 });
}

/* The last rank submits after the others have waited in vain. */
static void check_timeouts(void)
{
    struct hvd_tensor tensor = proper();
    int64_t handle;
    bool late = my_rank == world_size - 1;
    if (!late) {
        require(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle) == HVD_OK, "an allreduce");
        require(hvd_poll(handle) == 0, "what cannot be done is not");
        int rc = hvd_wait_timeout(handle, 10, NULL);
        require(rc == HVD_ERR_TIMEOUT, "waiting 10 ms in vain: %s", hvd_strstatus(rc));
        require(hvd_wait_timeout(handle, 0, NULL) == HVD_ERR_TIMEOUT, "waiting 0 ms in vain");
    }
    require(hvd_barrier() == HVD_OK, "a barrier");
    if (late)
        require(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle) == HVD_OK, "an allreduce");
    require(hvd_wait_timeout(handle, 60000, NULL) == HVD_OK, "waiting again");
}

/* The names that were refused are free, and nothing waits under them. */
static void check_name_works(void)
{
    for (int i = 0; i < COUNT; i++)
        input[i] = (float)(my_rank + i);
    int rc = hvd_allreduce("refused", input, output, COUNT, HVD_FLOAT32, HVD_SUM);
    require(rc == HVD_OK, "a name that was refused before: %s", hvd_strstatus(rc));
    for (int i = 0; i < COUNT; i++)
        require(output[i] == (float)(i * world_size + world_size * (world_size - 1) / 2),
                "element %d is %g", i, (double)output[i]);
}

static void check_before_init(void)
{
    struct hvd_tensor tensor = proper();
    int64_t handle;
    require(hvd_rank() == HVD_ERR_NOT_INITIALIZED, "hvd_rank before hvd_init");
    require(hvd_barrier() == HVD_ERR_NOT_INITIALIZED, "hvd_barrier before hvd_init");
    require(hvd_wait(5) == HVD_ERR_NOT_INITIALIZED, "hvd_wait before hvd_init");
    require(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle) == HVD_ERR_NOT_INITIALIZED,
            "hvd_allreduce_async before hvd_init");
    require(hvd_add_process_set((int[]){ 0 }, 1) == HVD_ERR_NOT_INITIALIZED,
            "hvd_add_process_set before hvd_init");
}

void test_refused(void)
{
    static void (*const checks[])(
        void) = { check_tensors,    check_arguments, check_scalars_and_shares,
                  check_splits,     check_options,   check_groups,
                  check_duplicates, check_handles,   check_timeouts };
    check_before_init();
    join_world();
    for (size_t i = 0; i < LENGTH(checks); i++) {
        checks[i]();
        check_name_works();
    }
}
