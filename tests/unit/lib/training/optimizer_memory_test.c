/* SPDX-License-Identifier: Apache-2.0 */
/* An optimizer gets its memory when it is created, or fails then, with nothing left behind; a step
 * that repeats allocates nothing. Linked with -Wl,--wrap for everything that allocates. */
#include "lib/hvd_optimizer.h"

#include "tests/support/model.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <stdbool.h>

enum { STEPS = 10, LIMIT = 200 };

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);

static atomic_int allocations;              /* by all threads of this process */
static _Thread_local int held, fails_after; /* by this one; the n-th from now on fails */

static bool may_allocate(void)
{
    if (fails_after > 0 && --fails_after == 0)
        return false;
    held++;
    atomic_fetch_add(&allocations, 1);
    return true;
}

void *__wrap_malloc(size_t size)
{
    return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return may_allocate() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *memory, size_t size)
{
    if (!may_allocate())
        return NULL;
    held -= memory != NULL;
    return __real_realloc(memory, size);
}

void __wrap_free(void *memory)
{
    held -= memory != NULL;
    __real_free(memory);
}

static struct model model;

static const int few[] = { MODEL_W, MODEL_LARGE };
static const struct hvd_parameter_group group = { few, 2 };
static const struct hvd_optimizer_options everything = {
    .compression = HVD_COMPRESSION_FP16, .backward_passes = 2, .groups = &group, .ngroups = 1
};

static int create(struct hvd_optimizer **optimizer)
{
    return hvd_optimizer_create(model.parameters, MODEL_PARAMETERS, &everything, model_update,
                                &model, optimizer);
}

/* --- there is not enough --- */

static int fail_one_by_one(int rank)
{
    struct hvd_optimizer *optimizer;
    int rc = HVD_ERR_NOMEM, before, n;
    (void)rank;
    init_world();
    model_init(&model);
    for (n = 1; rc != HVD_OK; n++) {
        REQUIRE(n < LIMIT);
        before = held;
        fails_after = n;
        rc = create(&optimizer);
        fails_after = 0;
        REQUIRE(rc == HVD_OK || (rc == HVD_ERR_NOMEM && held == before));
    }
    REQUIRE(n > 10);
    hvd_optimizer_destroy(optimizer);
    REQUIRE(held == before);
    return leave_world();
}

START_TEST(every_allocation_may_fail)
{
    ranks_run(&(struct mini_options){ .size = 1 }, fail_one_by_one);
}
END_TEST

/* The allocations of rank 1, up to the one after which it meets the others. */
static int fail_on_one_rank(int rank)
{
    struct hvd_optimizer *optimizer;
    init_world();
    model_init(&model);
    REQUIRE_STATUS(create(&optimizer), HVD_OK);
    hvd_optimizer_destroy(optimizer);
    for (int n = 1; n <= 10; n++) {
        fails_after = rank == 1 ? n : 0;
        REQUIRE_STATUS(create(&optimizer), rank == 1 ? HVD_ERR_NOMEM : HVD_ERR_MISMATCH);
        REQUIRE(fails_after == 0);
        require_text(rank == 1 ? "optimizer: " : "optimizer: rank 1: ");
        require_text("memory");
    }
    REQUIRE_STATUS(create(&optimizer), HVD_OK);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(the_others_are_told_of_a_rank_without_memory)
{
    ranks_run(&(struct mini_options){ .size = 2 }, fail_on_one_rank);
}
END_TEST

/* --- there is enough --- */

static void repeat_until_nothing_is_allocated(struct hvd_optimizer *optimizer, int passes)
{
    int unchanged = 0;
    for (int i = 0; unchanged < STEPS; i++) {
        int32_t changes = atomic_load(&allocations);
        REQUIRE(i < LIMIT);
        for (int pass = 0; pass < passes; pass++)
            for (int k = 0; k < MODEL_PARAMETERS; k++)
                if (k != MODEL_B)
                    model_ready(&model, optimizer, k, 1);
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
        changes = atomic_load(&allocations) - changes;
        REQUIRE_STATUS(hvd_allreduce("changes", &changes, &changes, 1, HVD_INT32, HVD_SUM), HVD_OK);
        unchanged = changes == 0 ? unchanged + 1 : 0;
    }
}

static int repeat_steps(int rank)
{
    const struct hvd_optimizer_options options[] = {
        { .op = HVD_AVERAGE }, { .compression = HVD_COMPRESSION_BF16, .backward_passes = 3 }
    };
    (void)rank;
    init_world();
    for (int i = 0; i < 2; i++) {
        struct hvd_optimizer *optimizer = model_optimizer(&model, &options[i]);
        repeat_until_nothing_is_allocated(optimizer, i == 0 ? 1 : 3);
        hvd_optimizer_destroy(optimizer);
    }
    return leave_world();
}

START_TEST(steps_that_repeat_allocate_nothing)
{
    ranks_run(&(struct mini_options){ .size = 2 }, repeat_steps);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimizer_memory");
    TCase *tcase = tcase_create("optimizer_memory");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, every_allocation_may_fail);
    tcase_add_test(tcase, the_others_are_told_of_a_rank_without_memory);
    tcase_add_test(tcase, steps_that_repeat_allocate_nothing);
    return unit_run(suite);
}
