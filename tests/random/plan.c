/* SPDX-License-Identifier: Apache-2.0 */
/* Making random programs; see plan.h. */
#include "tests/random/plan.h"

#include "tests/support/elements.h"

#include <stdio.h>

enum { NAMES = 24, LARGE = 40000 };

static const enum hvd_dtype dtypes[] = { HVD_UINT8, HVD_INT32, HVD_INT64, HVD_FLOAT32,
                                         HVD_FLOAT64 };
static const enum hvd_op ops[] = { HVD_SUM, HVD_MIN, HVD_MAX, HVD_PRODUCT };
enum { DTYPES = sizeof dtypes / sizeof *dtypes, OPS = sizeof ops / sizeof *ops };

/* Nothing, little, odd, and now and then much. */
static int64_t some_rows(uint64_t *state)
{
    switch (random_less_than(state, 8)) {
    case 0:
        return 0;
    case 1:
        return (int64_t)random_less_than(state, LARGE);
    default:
        return (int64_t)random_less_than(state, 40);
    }
}

static bool reduces(const struct step *step)
{
    return step->kind == ALLREDUCE || step->kind == REDUCESCATTER;
}

static void make_step(struct step *step, uint64_t *state, const struct members *members)
{
    *step = (struct step){ .kind = (enum kind)random_less_than(state, KINDS),
                           .dtype = dtypes[random_less_than(state, DTYPES)],
                           .op = ops[random_less_than(state, OPS)],
                           .rows = some_rows(state),
                           .width = 1 + (int64_t)random_less_than(state, 3),
                           .salt = (unsigned)random_less_than(state, 1000),
                           .members = members,
                           .odd_rank = -1 };
    if (step->kind == REDUCESCATTER)
        step->op = HVD_SUM;
    step->root = members->ranks[random_less_than(state, (size_t)members->count)];
    if (random_less_than(state, 6) == 0 && members->count > 1)
        step->odd_rank = members->ranks[random_less_than(state, (size_t)members->count)];
}

/* Different names in one program, but the same ones again in the next. */
void plan_make(struct plan *plan, uint64_t seed, int number, const struct members *sets, int nsets)
{
    uint64_t state = seed * 1000003 + (uint64_t)number * 7919 + 1;
    for (int i = 0; i < 8; i++)
        next_random(&state);
    plan->count = 1 + (int)random_less_than(&state, STEPS_MAX);
    size_t name = random_less_than(&state, NAMES);
    for (int i = 0; i < plan->count; i++) {
        struct step *step = &plan->steps[i];
        make_step(step, &state, &sets[random_less_than(&state, (size_t)nsets)]);
        snprintf(step->name, sizeof step->name, "name.%zu", (name + (size_t)i) % NAMES);
    }
}

static int other_root(const struct step *step)
{
    const struct members *members = step->members;
    int index = 0;
    while (members->ranks[index] != step->root)
        index++;
    return members->ranks[(index + 1) % members->count];
}

/* What differs depends on the salt, and on what can. */
struct step plan_odd_step(const struct step *step)
{
    struct step odd = *step;
    switch (step->salt % 4) {
    case 0:
        odd.dtype = dtypes[(step->salt / 4) % DTYPES];
        if (odd.dtype != step->dtype)
            return odd;
        break;
    case 1:
        odd.kind = (enum kind)((step->kind + 1 + step->salt % (KINDS - 1)) % KINDS);
        odd.op = HVD_SUM;
        return odd;
    case 2:
        odd.op = step->op == HVD_SUM ? HVD_MAX : HVD_SUM;
        odd.root = other_root(step);
        if (step->kind == ALLREDUCE || step->kind == BROADCAST)
            return odd;
        break;
    default:
        break;
    }
    odd = *step;
    odd.width++;
    return odd;
}

double step_value(const struct step *step, int rank, size_t i)
{
    size_t mixed = i * 7 + (size_t)rank * 13 + step->salt;
    return reduces(step) && step->op == HVD_PRODUCT ? (double)(mixed % 2 + 1)
                                                    : (double)(mixed % 5 + 1);
}

int64_t step_split(const struct step *step, int rank, int index)
{
    return ((int64_t)step->salt + rank * 3 + index * 5) % 4 * (step->rows / 4 + 1);
}

int64_t step_rows(const struct step *step, int rank)
{
    int64_t rows = 0;
    if (step->kind == ALLGATHER)
        return (step->rows + rank * 3) % (step->rows / 2 + 5);
    if (step->kind != ALLTOALL)
        return step->rows;
    for (int i = 0; i < step->members->count; i++)
        rows += step_split(step, rank, i);
    return rows + step->salt % 2; /* of which the last is sent to nobody */
}
