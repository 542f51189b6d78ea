/* SPDX-License-Identifier: Apache-2.0 */
/* Steps carried out and checked; see carry_out.h. */
#include "tests/random/carry_out.h"

#include "tests/support/elements.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int index_in(const struct members *members, int rank)
{
    for (int i = 0; i < members->count; i++)
        if (members->ranks[i] == rank)
            return i;
    return -1;
}

static void *room(const struct attempt *attempt, int64_t rows)
{
    size_t nbytes = (size_t)(rows * attempt->step.width) * hvd_dtype_size(attempt->step.dtype);
    void *memory = malloc(nbytes + 1);
    if (!memory)
        abort();
    return memory;
}

static void fill(const struct attempt *attempt, void *data, int64_t rows)
{
    for (size_t i = 0; i < (size_t)(rows * attempt->step.width); i++)
        element_put(attempt->step.dtype, data, i, step_value(&attempt->step, attempt->rank, i));
}

static int start(struct attempt *attempt, const struct hvd_tensor *tensor)
{
    const struct step *step = &attempt->step;
    const struct hvd_options options = { .process_set = step->members->set };
    int64_t splits[MEMBERS_MAX];
    for (int i = 0; i < step->members->count; i++)
        splits[i] = step_split(step, attempt->rank, i);
    switch (step->kind) {
    case ALLREDUCE:
        return hvd_allreduce_async(tensor, step->op, &options, &attempt->handle);
    case BROADCAST:
        return hvd_broadcast_async(tensor, step->root, &options, &attempt->handle);
    case ALLGATHER:
        return hvd_allgather_async(tensor, &options, &attempt->handle);
    case ALLTOALL:
        return hvd_alltoall_async(tensor, splits, step->members->count, &options, &attempt->handle);
    default:
        return hvd_reducescatter_async(tensor, step->op, &options, &attempt->handle);
    }
}

bool attempt_submit(struct attempt *attempt, const struct step *step, int rank, bool in_place)
{
    *attempt = (struct attempt){ .step = step->odd_rank == rank ? plan_odd_step(step) : *step,
                                 .rank = rank };
    const struct step *own = &attempt->step;
    if (index_in(own->members, rank) < 0)
        return false;
    bool gathers = own->kind == ALLGATHER || own->kind == ALLTOALL;
    int64_t dims[] = { step_rows(own, rank), own->width };
    attempt->input = room(attempt, dims[0]);
    fill(attempt, attempt->input, dims[0]);
    if (gathers)
        attempt->output = NULL;
    else
        attempt->output =
            in_place || own->kind == BROADCAST ? attempt->input : room(attempt, dims[0]);
    const struct hvd_tensor tensor = {
        .name = own->name,
        .input = attempt->input,
        .output = attempt->output,
        .output_size = gathers ? 0 : (size_t)(dims[0] * dims[1]) * hvd_dtype_size(own->dtype),
        .dtype = own->dtype,
        .ndims = 2,
        .dims = dims,
    };
    if (start(attempt, &tensor) == HVD_OK)
        return true;
    fprintf(stderr, "random: %s is refused: %s\n", own->name, hvd_last_error());
    exit(1);
}

/* ---- what must come of it ---- */

static double reduced(const struct step *step, size_t i)
{
    double result = step_value(step, step->members->ranks[0], i);
    for (int m = 1; m < step->members->count; m++) {
        double value = step_value(step, step->members->ranks[m], i);
        switch (step->op) {
        case HVD_MIN:
            result = value < result ? value : result;
            break;
        case HVD_MAX:
            result = value > result ? value : result;
            break;
        case HVD_PRODUCT:
            result *= value;
            break;
        default:
            result += value;
        }
    }
    return result;
}

/* `count` elements from `at` on are those of a rank's input from `from` on. */
static bool is_of_rank(const struct step *step, const void *data, size_t at, size_t count, int rank,
                       size_t from)
{
    for (size_t i = 0; i < count; i++)
        if (element_get(step->dtype, data, at + i) != step_value(step, rank, from + i))
            return false;
    return true;
}

static bool is_gathered(const struct attempt *attempt, const struct hvd_result *result)
{
    const struct step *step = &attempt->step;
    int me = index_in(step->members, attempt->rank);
    size_t at = 0, width = (size_t)step->width;
    for (int m = 0; m < step->members->count; m++) {
        int rank = step->members->ranks[m];
        int64_t from = 0, rows = step_rows(step, rank);
        if (step->kind == ALLTOALL) {
            for (int i = 0; i < me; i++)
                from += step_split(step, rank, i);
            rows = step_split(step, rank, me);
        }
        if (result->rows[m] != rows ||
            !is_of_rank(step, result->data, at, (size_t)rows * width, rank, (size_t)from * width))
            return false;
        at += (size_t)rows * width;
    }
    return result->size == at * hvd_dtype_size(step->dtype);
}

static bool is_reduced(const struct attempt *attempt, const struct hvd_result *result)
{
    const struct step *step = &attempt->step;
    int me = index_in(step->members, attempt->rank), size = step->members->count;
    int64_t from = 0, rows = step->rows;
    if (step->kind == REDUCESCATTER) {
        for (int i = 0; i < me; i++)
            from += hvd_share(step->rows, size, i);
        rows = hvd_share(step->rows, size, me);
    }
    for (size_t i = 0; i < (size_t)(rows * step->width); i++)
        if (element_get(step->dtype, result->data, i) !=
            reduced(step, (size_t)(from * step->width) + i))
            return false;
    return result->dim0 == rows;
}

static bool is_right(const struct attempt *attempt, const struct hvd_result *result)
{
    const struct step *step = &attempt->step;
    if (step->kind == BROADCAST)
        return is_of_rank(step, result->data, 0, (size_t)(step->rows * step->width), step->root, 0);
    return step->kind == ALLGATHER || step->kind == ALLTOALL ? is_gathered(attempt, result)
                                                             : is_reduced(attempt, result);
}

/* Both sides are named. */
static const char *check_mismatch(const struct step *step, int rc)
{
    char odd[24];
    const char *text = hvd_last_error(), *first = strstr(text, " on rank");
    snprintf(odd, sizeof odd, " on rank %d", step->odd_rank);
    if (rc != HVD_ERR_MISMATCH)
        return "no mismatch";
    if (!strstr(text, step->name))
        return "a mismatch that does not say of what";
    if (!strstr(text, odd) || !first || !strstr(first + 1, " on rank"))
        return "a mismatch that does not name both sides";
    return NULL;
}

static int wait_for(int64_t handle, int way, struct hvd_result *result)
{
    int rc;
    while (way == 1 && hvd_poll(handle) == 0)
        sched_yield();
    while (way == 2 && (rc = hvd_wait_timeout(handle, 1, result)) != HVD_OK)
        if (rc != HVD_ERR_TIMEOUT)
            return rc;
    return way == 2 ? HVD_OK : hvd_wait_result(handle, result);
}

const char *attempt_finish(struct attempt *attempt, int way)
{
    struct hvd_result result = { NULL };
    const char *wrong = NULL;
    int rc = wait_for(attempt->handle, way, &result);
    if (attempt->step.odd_rank >= 0)
        wrong = check_mismatch(&attempt->step, rc);
    else if (rc != HVD_OK)
        wrong = hvd_last_error();
    else if (!is_right(attempt, &result))
        wrong = "a wrong result";
    if (rc == HVD_OK)
        hvd_result_free(&result);
    if (attempt->output != attempt->input)
        free(attempt->output);
    free(attempt->input);
    return wrong;
}
