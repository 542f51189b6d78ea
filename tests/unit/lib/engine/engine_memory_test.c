/* SPDX-License-Identifier: Apache-2.0 */
/* A training step that repeats allocates nothing and frees nothing, on any rank. Linked with
 * -Wl,--wrap for everything that allocates. */
#include "lib/hvd.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <stdio.h>

enum { TENSORS = 161, STEPS = 10, LIMIT = 200, LARGE = 160000, SHARED = 20000 };

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_reallocarray(void *memory, size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_reallocarray(void *memory, size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);

static atomic_int allocations, releases; /* by all threads of this process */

void *__wrap_malloc(size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __real_realloc(memory, size);
}

void *__wrap_reallocarray(void *memory, size_t count, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __real_reallocarray(memory, count, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __real_aligned_alloc(alignment, size);
}

void __wrap_free(void *memory)
{
    atomic_fetch_add(&releases, memory != NULL);
    __real_free(memory);
}

struct gradient {
    char name[24];
    float *data;
    int64_t count;
    int64_t handle;
};
static struct gradient gradients[TENSORS];
static float weights[LARGE], share[SHARED];

/* Some travel with the agreement, some are fused, some are worked on where they lie. */
static void make_gradients(void)
{
    for (int i = 0; i < TENSORS; i++) {
        struct gradient *gradient = &gradients[i];
        snprintf(gradient->name, sizeof gradient->name, "gradient%d", i);
        gradient->count = i % 16 == 0 ? LARGE : i % 3 == 0 ? 10 + i : 1100 + 100 * i;
        gradient->data = calloc(LARGE, sizeof *gradient->data);
    }
}

static void reduce_gradients(unsigned *seed)
{
    int order[TENSORS];
    for (int i = 0; i < TENSORS; i++) {
        int at = rand_r(seed) % (i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (int i = 0; i < TENSORS; i++) {
        struct gradient *gradient = &gradients[order[i]];
        const struct hvd_tensor tensor = { .name = gradient->name,
                                           .input = gradient->data,
                                           .output = gradient->data,
                                           .dtype = HVD_FLOAT32,
                                           .ndims = 1,
                                           .dims = &gradient->count };
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_AVERAGE, NULL, &gradient->handle), HVD_OK);
    }
    for (int i = 0; i < TENSORS; i++)
        REQUIRE_STATUS(hvd_wait(gradients[i].handle), HVD_OK);
}

static void reduce_scatter(void)
{
    int64_t handle, count = SHARED;
    const struct hvd_tensor tensor = { .name = "share",
                                       .input = weights,
                                       .output = share,
                                       .output_size = sizeof share,
                                       .dtype = HVD_FLOAT32,
                                       .ndims = 1,
                                       .dims = &count };
    REQUIRE_STATUS(hvd_reducescatter_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
}

static void step(unsigned *seed)
{
    reduce_gradients(seed);
    for (size_t count = 1; count < LARGE; count *= 50) {
        REQUIRE_STATUS(hvd_allreduce("sum", weights, weights, count, HVD_FLOAT32, HVD_MAX), HVD_OK);
        REQUIRE_STATUS(hvd_broadcast("weights", weights, count, HVD_FLOAT32, 1), HVD_OK);
    }
    reduce_scatter();
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
}

static void gather(unsigned *seed)
{
    (void)seed;
    static float all[4 * SHARED];
    REQUIRE_STATUS(hvd_allgather("few", weights, all, 10, HVD_FLOAT32), HVD_OK);
    REQUIRE_STATUS(hvd_allgather("many", weights, all, SHARED, HVD_FLOAT32), HVD_OK);
}

/* What is kept for use again is as much as has ever been needed at a time, and that depends on who
 * comes first: soon nothing is added any more. `unchanged` counts steps, on all ranks alike. */
static void repeat_until_nothing_is_allocated(void (*step_fn)(unsigned *seed), unsigned seed)
{
    int unchanged = 0;
    for (int i = 0; unchanged < STEPS; i++) {
        int32_t allocated = allocations, released = releases;
        REQUIRE(i < LIMIT);
        step_fn(&seed);
        int32_t changes = allocations - allocated + releases - released;
        REQUIRE_STATUS(hvd_allreduce("changes", &changes, &changes, 1, HVD_INT32, HVD_SUM), HVD_OK);
        unchanged = changes == 0 ? unchanged + 1 : 0;
    }
}

static int repeat_steps(int rank)
{
    init_world();
    make_gradients();
    repeat_until_nothing_is_allocated(step, (unsigned)rank);
    return leave_world();
}

START_TEST(a_step_that_repeats_allocates_nothing)
{
    ranks_run(&(struct mini_options){ .size = _i }, repeat_steps);
}
END_TEST

static int repeat_gathers(int rank)
{
    init_world();
    repeat_until_nothing_is_allocated(gather, (unsigned)rank);
    return leave_world();
}

START_TEST(the_short_allgather_allocates_nothing)
{
    ranks_run(&(struct mini_options){ .size = 2 }, repeat_gathers);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine_memory");
    TCase *tcase = tcase_create("engine_memory");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, a_step_that_repeats_allocates_nothing, 2, 5);
    tcase_add_test(tcase, the_short_allgather_allocates_nothing);
    return unit_run(suite);
}
