/* SPDX-License-Identifier: Apache-2.0 */
/* Whole worlds of Adasum operations between which bytes are carried in pieces of random size and
 * order, against a plain recursion in double. ADASUM_SEED repeats a run. */
#include "lib/collective/adasum.h"
#include "lib/collective/adasum_schedule.h"
#include "tests/support/elements.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RANKS_MAX = 16, COUNT_MAX = 20000 };

static const int sizes[] = { 2, 3, 4, 5, 7, 8, 16 };
static const size_t counts[] = { 0, 1, 2, 3, 17, 289, 10007 };
static const enum hvd_dtype dtypes[] = { HVD_FLOAT16, HVD_BFLOAT16, HVD_FLOAT32, HVD_FLOAT64 };

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static uint64_t seed;

struct world {
    int size;
    enum hvd_dtype dtype;
    size_t count, nbytes;
    bool in_place;
    uint64_t random;
    struct operation_store *store;
    unsigned char *input[RANKS_MAX], *before[RANKS_MAX], *output[RANKS_MAX];
    struct operation *operation[RANKS_MAX];
};

/* Elements of both signs, and ranks that agree on them: vectors that nearly cancel each other have
 * a sum whose direction is made of rounding errors, on which the next level depends. */
static double sample(struct world *world, int rank, size_t i)
{
    double magnitude = (2 + random_number(&world->random)) * (1 + rank % 3);
    return i * 2654435761 >> 16 & 1 ? magnitude : -magnitude;
}

/* Results have a byte behind them that must not be touched. */
static void world_init(struct world *world, int size, enum hvd_dtype dtype, size_t count,
                       bool in_place)
{
    *world = (struct world){ .size = size, .dtype = dtype, .count = count, .in_place = in_place };
    world->nbytes = count * hvd_dtype_size(dtype);
    world->random = seed + count * 64 + (uint64_t)size * 4 + in_place;
    world->store = operation_store_create();
    for (int rank = 0; rank < size; rank++) {
        world->input[rank] = malloc(world->nbytes + 1);
        world->before[rank] = malloc(world->nbytes + 1);
        world->output[rank] = in_place ? world->input[rank] : malloc(world->nbytes + 1);
        memset(world->output[rank], 0xa5, world->nbytes + 1);
        for (size_t i = 0; i < count; i++)
            element_put(dtype, world->input[rank], i, sample(world, rank, i));
    }
}

static void world_fini(struct world *world)
{
    for (int rank = 0; rank < world->size; rank++) {
        ck_assert(world->output[rank][world->nbytes] == 0xa5);
        operation_fini(world->store, world->operation[rank]);
        free(world->input[rank]);
        free(world->before[rank]);
        if (!world->in_place)
            free(world->output[rank]);
    }
    operation_store_destroy(world->store);
}

/* Carries some of what can be sent from one rank to another, which must have room for it however
 * far it has come; says whether there was anything. */
static bool carry(struct world *world, int from, int to, bool everything)
{
    size_t offered, room;
    const void *data =
        world->operation[from]->type->output(world->operation[from], to, 0, &offered);
    void *space = world->operation[to]->type->space(world->operation[to], from, &room);
    if (offered == 0)
        return false;
    ck_assert_msg(room > 0, "rank %d lets rank %d wait", to, from);
    size_t most = offered < room ? offered : room;
    size_t nbytes = everything ? most : 1 + random_less_than(&world->random, most);
    struct err err = { .code = HVD_OK };
    memcpy(space, data, nbytes);
    world->operation[from]->type->sent(world->operation[from], to, nbytes);
    int rc = world->operation[to]->type->received(world->operation[to], from, nbytes, &err);
    ck_assert_msg(rc == HVD_OK, "%s", err.text);
    return true;
}

static bool all_done(const struct world *world)
{
    for (int rank = 0; rank < world->size; rank++)
        if (!world->operation[rank]->type->done(world->operation[rank]))
            return false;
    return true;
}

/* Every other pass carries everything, so that large worlds come to an end. */
static void carry_all(struct world *world)
{
    for (int pass = 0; !all_done(world); pass++) {
        bool moved = false;
        int first = (int)random_less_than(&world->random, (size_t)world->size);
        for (int i = 0; i < world->size; i++)
            for (int to = 0; to < world->size; to++) {
                int from = (first + i) % world->size;
                moved |= from != to && carry(world, from, to, pass % 2 == 1);
            }
        ck_assert_msg(moved, "nothing moves");
    }
}

static void world_run(struct world *world)
{
    for (int rank = 0; rank < world->size; rank++) {
        memcpy(world->before[rank], world->input[rank], world->nbytes);
        struct operation_task task = { .kind = OPERATION_ADASUM,
                                       .rank = rank,
                                       .size = world->size,
                                       .dtype = world->dtype,
                                       .op = HVD_ADASUM,
                                       .input = world->input[rank],
                                       .output = world->output[rank],
                                       .count = world->count };
        world->operation[rank] = adasum_start(world->store, &task, NULL);
        ck_assert_ptr_nonnull(world->operation[rank]);
    }
    carry_all(world);
}

static void check_equal_bits(const struct world *world)
{
    for (int rank = 0; rank < world->size; rank++) {
        ck_assert_mem_eq(world->output[rank], world->output[0], world->nbytes);
        if (!world->in_place)
            ck_assert_mem_eq(world->input[rank], world->before[rank], world->nbytes);
    }
}

/* a = Adasum of a and b */
static void reference_pair(double *a, const double *b, size_t count)
{
    double dot = 0, square_a = 0, square_b = 0;
    for (size_t i = 0; i < count; i++) {
        dot += a[i] * b[i];
        square_a += a[i] * a[i];
        square_b += b[i] * b[i];
    }
    double factor_a = square_a > 0 ? 1 - dot / (2 * square_a) : 1;
    double factor_b = square_b > 0 ? 1 - dot / (2 * square_b) : 1;
    for (size_t i = 0; i < count; i++)
        a[i] = a[i] * factor_a + b[i] * factor_b;
}

/* What `rank` has before the levels: its vector, and that of the rank that folds into it. */
static double *reference_leaf(const struct world *world, int rank)
{
    int extra = rank + adasum_core_size(world->size);
    double *a = calloc(world->count + 1, sizeof *a), *b = calloc(world->count + 1, sizeof *b);
    for (size_t i = 0; i < world->count; i++) {
        a[i] = element_get(world->dtype, world->before[rank], i);
        b[i] = extra < world->size ? element_get(world->dtype, world->before[extra], i) : 0;
    }
    if (extra < world->size)
        reference_pair(a, b, world->count);
    free(b);
    return a;
}

/* Of `ranks` ranks from `first` on. */
static double *reference(const struct world *world, int first, int ranks)
{
    if (ranks == 1)
        return reference_leaf(world, first);
    double *a = reference(world, first, ranks / 2);
    double *b = reference(world, first + ranks / 2, ranks / 2);
    reference_pair(a, b, world->count);
    free(b);
    return a;
}

/* In each of at most levels + 1 combinations a result is rounded once, and of halves the two
 * factors and products as well, in float32, which costs less than one more rounding; twice that
 * because an operand that is wrong by a rounding also turns the direction in which the other is
 * shortened. Of float64 the dot products are as inexact as the elements: by about the root of the
 * count. */
static double tolerance(const struct world *world, double largest)
{
    double roundings = 4.0 * (adasum_levels(world->size) + 1);
    return roundings * element_rounding(world->dtype) * largest *
           (world->dtype == HVD_FLOAT64 ? sqrt((double)world->count + 1) : 1);
}

static double largest_of(const struct world *world, const double *expected)
{
    double largest = 0;
    for (size_t i = 0; i < world->count; i++) {
        largest = fmax(largest, fabs(expected[i]));
        for (int rank = 0; rank < world->size; rank++)
            largest = fmax(largest, fabs(element_get(world->dtype, world->before[rank], i)));
    }
    return largest;
}

static void check_reference(const struct world *world)
{
    double *expected = reference(world, 0, adasum_core_size(world->size));
    double within = tolerance(world, largest_of(world, expected));
    for (size_t i = 0; i < world->count; i++) {
        double got = element_get(world->dtype, world->output[0], i);
        if (!(fabs(got - expected[i]) <= within))
            ck_abort_msg("element %zu of %zu %s of %d ranks is %.17g, not %.17g within %g", i,
                         world->count, dtype_name((int)world->dtype), world->size, got, expected[i],
                         within);
    }
    free(expected);
}

START_TEST(every_size_type_and_count_gives_the_reference_and_the_same_bits_everywhere)
{
    for (size_t d = 0; d < LENGTH(dtypes); d++)
        for (size_t c = 0; c < LENGTH(counts); c++)
            for (int in_place = 0; in_place < 2; in_place++) {
                struct world world;
                world_init(&world, sizes[_i], dtypes[d], counts[c], in_place);
                world_run(&world);
                check_equal_bits(&world);
                check_reference(&world);
                world_fini(&world);
            }
}
END_TEST

START_TEST(the_result_does_not_depend_on_how_bytes_are_cut)
{
    unsigned char *first = malloc(COUNT_MAX * sizeof(float));
    for (int run = 0; run < 3; run++) {
        struct world world;
        world_init(&world, 5, HVD_FLOAT32, COUNT_MAX, false);
        world.random ^= (uint64_t)run << 32; /* same data, other pieces */
        world_run(&world);
        if (run == 0)
            memcpy(first, world.output[0], world.nbytes);
        ck_assert_mem_eq(world.output[0], first, world.nbytes);
        world_fini(&world);
    }
    free(first);
}
END_TEST

START_TEST(equal_vectors_give_themselves)
{
    for (size_t d = 0; d < LENGTH(dtypes); d++) {
        struct world world;
        world_init(&world, sizes[_i], dtypes[d], 289, false);
        for (int rank = 1; rank < world.size; rank++)
            memcpy(world.input[rank], world.input[0], world.nbytes);
        world_run(&world);
        check_equal_bits(&world);
        ck_assert_mem_eq(world.output[0], world.before[0], world.nbytes);
        world_fini(&world);
    }
}
END_TEST

START_TEST(orthogonal_vectors_give_their_sum)
{
    for (size_t d = 0; d < LENGTH(dtypes); d++) {
        struct world world;
        world_init(&world, sizes[_i], dtypes[d], 1000, true);
        for (int rank = 0; rank < world.size; rank++)
            for (size_t i = 0; i < world.count; i++)
                if (i % (size_t)world.size != (size_t)rank)
                    element_put(world.dtype, world.input[rank], i, 0);
        world_run(&world);
        check_equal_bits(&world);
        for (size_t i = 0; i < world.count; i++)
            ck_assert(element_get(world.dtype, world.output[0], i) ==
                      element_get(world.dtype, world.before[i % (size_t)world.size], i));
        world_fini(&world);
    }
}
END_TEST

START_TEST(vectors_of_zeros_do_not_count)
{
    for (size_t d = 0; d < LENGTH(dtypes); d++)
        for (int only = 0; only < sizes[_i]; only++) {
            struct world world;
            world_init(&world, sizes[_i], dtypes[d], 17, false);
            for (int rank = 0; rank < world.size; rank++)
                if (rank != only)
                    memset(world.input[rank], 0, world.nbytes);
            world_run(&world);
            check_equal_bits(&world);
            ck_assert_mem_eq(world.output[0], world.before[only], world.nbytes);
            world_fini(&world);
        }
}
END_TEST

START_TEST(nothing_but_zeros_gives_zeros)
{
    struct world world;
    world_init(&world, sizes[_i], HVD_FLOAT32, 17, false);
    for (int rank = 0; rank < world.size; rank++)
        memset(world.input[rank], 0, world.nbytes);
    world_run(&world);
    check_equal_bits(&world);
    ck_assert_mem_eq(world.output[0], world.before[0], world.nbytes);
    world_fini(&world);
}
END_TEST

/* Which of the two is longer does not matter, only that what both have counts once. */
START_TEST(a_scaled_vector_counts_half_of_each)
{
    struct world world;
    world_init(&world, 2, HVD_FLOAT64, 289, false);
    for (size_t i = 0; i < world.count; i++)
        element_put(HVD_FLOAT64, world.input[1], i,
                    4 * element_get(HVD_FLOAT64, world.input[0], i));
    world_run(&world);
    for (size_t i = 0; i < world.count; i++) {
        double x = element_get(HVD_FLOAT64, world.before[0], i);
        double got = element_get(HVD_FLOAT64, world.output[0], i);
        ck_assert_double_le(fabs(got - 2.5 * x), 1e-13);
    }
    world_fini(&world);
}
END_TEST

START_TEST(nan_on_one_rank_is_seen_on_all)
{
    struct world world;
    world_init(&world, sizes[_i], HVD_FLOAT32, 289, false);
    element_put(HVD_FLOAT32, world.input[world.size - 1], 100, NAN);
    world_run(&world);
    check_equal_bits(&world);
    ck_assert(isnan(element_get(HVD_FLOAT32, world.output[0], 100)));
    world_fini(&world);
}
END_TEST

START_TEST(bytes_that_nobody_awaits_are_an_error)
{
    struct world world;
    world_init(&world, 4, HVD_FLOAT32, 100, false);
    struct operation_task task = { .kind = OPERATION_ADASUM,
                                   .rank = 0,
                                   .size = 4,
                                   .dtype = HVD_FLOAT32,
                                   .op = HVD_ADASUM,
                                   .input = world.input[0],
                                   .output = world.output[0],
                                   .count = 100 };
    struct operation *operation = adasum_start(world.store, &task, NULL);
    struct err err = { .code = HVD_OK };
    size_t nbytes;
    ck_assert_ptr_null(operation->type->space(operation, 3, &nbytes));
    ck_assert_uint_eq(nbytes, 0);
    ck_assert_int_eq(operation->type->received(operation, 3, 1, &err), HVD_ERR_PROTOCOL);
    ck_assert_ptr_nonnull(operation->type->space(operation, 1, &nbytes));
    ck_assert_int_eq(operation->type->received(operation, 1, nbytes + 1, &err), HVD_ERR_PROTOCOL);
    operation_fini(world.store, operation);
    world_fini(&world);
}
END_TEST

int main(void)
{
    const char *given = getenv("ADASUM_SEED");
    seed = given ? strtoull(given, NULL, 10) : 20240229;
    printf("# ADASUM_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    Suite *suite = suite_create("adasum");
    TCase *tcase = tcase_create("adasum");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    int all = (int)LENGTH(sizes);
    tcase_add_loop_test(
        tcase, every_size_type_and_count_gives_the_reference_and_the_same_bits_everywhere, 0, all);
    tcase_add_test(tcase, the_result_does_not_depend_on_how_bytes_are_cut);
    tcase_add_loop_test(tcase, equal_vectors_give_themselves, 0, all);
    tcase_add_loop_test(tcase, orthogonal_vectors_give_their_sum, 0, all);
    tcase_add_loop_test(tcase, vectors_of_zeros_do_not_count, 0, all);
    tcase_add_loop_test(tcase, nothing_but_zeros_gives_zeros, 0, all);
    tcase_add_test(tcase, a_scaled_vector_counts_half_of_each);
    tcase_add_loop_test(tcase, nan_on_one_rank_is_seen_on_all, 0, all);
    tcase_add_test(tcase, bytes_that_nobody_awaits_are_an_error);
    return unit_run(suite);
}
