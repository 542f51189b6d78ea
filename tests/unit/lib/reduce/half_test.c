/* SPDX-License-Identifier: Apache-2.0 */
/* float16 and bfloat16: every value, every tie between two neighbours, and random floats; one at a
 * time, and by way of the inner loops of each path that this machine has. */
#include "lib/reduce/half.h"
#include "lib/reduce/reduce_path.h"
#include "tests/support/reduce_reference.h"
#include "tests/support/unit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

enum { VALUES = 65536 };

static const struct half {
    const char *name;
    enum hvd_dtype dtype;
    const struct half_format *format;
    float (*widen)(uint16_t half);
    uint16_t (*narrow)(float value);
    uint16_t one, infinite, quiet;
} halves[] = {
    { "float16", HVD_FLOAT16, &reference_float16, float16_to_float, float16_from_float, 0x3c00,
      0x7c00, 0x0200 },
    { "bfloat16", HVD_BFLOAT16, &reference_bfloat16, bfloat16_to_float, bfloat16_from_float, 0x3f80,
      0x7f80, 0x0040 },
};
enum { HALVES = sizeof halves / sizeof *halves };

static bool is_nan(const struct half *half, unsigned int value)
{
    return (value & 0x7fff) > half->infinite;
}

/* An assertion per value would take most of the time. */
static void check(const struct half *half, unsigned int value, bool right)
{
    if (!right)
        ck_abort_msg("%s 0x%04x is wrong", half->name, value);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static uint64_t seed(void)
{
    const char *given = getenv("SEED");
    uint64_t value = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 0x9e3779b97f4a7c15;
    printf("# SEED=0x%llx\n", (unsigned long long)value);
    fflush(stdout);
    return value | 1;
}

START_TEST(every_value_survives_widening_and_narrowing)
{
    const struct half *half = &halves[_i];
    for (unsigned int value = 0; value < VALUES; value++) {
        float wide = half->widen((uint16_t)value);
        float expected = reference_widen(half->format, (uint16_t)value);
        if (is_nan(half, value)) {
            check(half, value, isnan(wide) && half->narrow(wide) == (value | half->quiet));
            continue;
        }
        check(half, value, float_to_bits(wide) == float_to_bits(expected));
        check(half, value, half->narrow(wide) == value);
    }
}
END_TEST

START_TEST(what_lies_between_two_values_goes_to_the_closest_and_ties_to_the_even_one)
{
    const struct half *half = &halves[_i];
    for (unsigned int value = 0; value < half->infinite; value++) {
        double low = half->widen((uint16_t)value), high = half->widen((uint16_t)(value + 1));
        if (isinf(high))
            high = 2 * low - half->widen((uint16_t)(value - 1));
        float middle = (float)((low + high) / 2);
        unsigned int even = value + value % 2;
        check(half, value, half->narrow(middle) == even);
        check(half, value, half->narrow(-middle) == (even | 0x8000));
        check(half, value, half->narrow(nextafterf(middle, 0)) == value);
        check(half, value, half->narrow(nextafterf(middle, INFINITY)) == value + 1);
    }
    check(half, half->infinite, half->narrow(FLT_MAX) == half->infinite);
    check(half, half->infinite, half->narrow(-INFINITY) == (half->infinite | 0x8000));
    check(half, 0, half->narrow(FLT_TRUE_MIN) == 0);
}
END_TEST

START_TEST(random_floats_are_narrowed_as_the_reference_does)
{
    const struct half *half = &halves[_i];
    uint64_t state = seed();
    for (int i = 0; i < 300000; i++) {
        float value = float_from_bits((uint32_t)(next_random(&state) >> 16));
        if (half->narrow(value) != reference_narrow(half->format, value))
            ck_abort_msg("%s of bits 0x%08x is wrong", half->name, float_to_bits(value));
    }
}
END_TEST

static uint16_t left[VALUES], right[VALUES], out[VALUES], expected[VALUES];

static void check_arrays(const struct half *half, const char *path, enum hvd_op op)
{
    for (unsigned int i = 0; i < VALUES; i++)
        if (out[i] != expected[i])
            ck_abort_msg("%s %s on %s: 0x%04x and 0x%04x give 0x%04x, not 0x%04x", half->name,
                         op == HVD_AVERAGE ? "average" : op_name((int)op), path, left[i], right[i],
                         out[i], expected[i]);
}

/* All operations on `left` and `right`, on each path, against the reference. */
static void check_pairs(const struct half *half)
{
    const struct reduce_path *path;
    for (int o = 0; o < REFERENCE_OPS; o++) {
        enum hvd_op op = reference_ops[o];
        reference_reduce(half->dtype, op, 3, expected, left, right, VALUES);
        for (size_t i = 0; (path = reduce_path_at(i)); i++) {
            if (op == HVD_AVERAGE)
                path->divide[half->dtype](out, left, right, VALUES, 3);
            else
                path->reduce[half->dtype][op](out, left, right, VALUES);
            check_arrays(half, path->name, op);
        }
    }
}

START_TEST(every_value_with_chosen_ones_is_right_on_every_path)
{
    const struct half *half = &halves[_i];
    const unsigned int one = half->one, infinite = half->infinite;
    /* zeros, the least and the greatest denormal and normal number, 1 and its neighbour, infinity,
     * a quiet and a signalling NaN */
    const unsigned int chosen[] = {
        0x8000,
        1,
        half->quiet * 2u - 1,
        half->quiet * 2u,
        one,
        one + 1,
        infinite - 1,
        infinite | 0x8000,
        infinite | half->quiet | 5,
        infinite | 1,
    };
    for (size_t c = 0; c < sizeof chosen / sizeof *chosen; c++) {
        for (unsigned int i = 0; i < VALUES; i++) {
            left[i] = (uint16_t)i;
            right[i] = (uint16_t)chosen[c];
        }
        check_pairs(half);
    }
}
END_TEST

START_TEST(random_pairs_are_right_on_every_path)
{
    uint64_t state = seed();
    for (unsigned int i = 0; i < VALUES; i++) {
        left[i] = (uint16_t)(next_random(&state) >> 24);
        right[i] = (uint16_t)(next_random(&state) >> 24);
    }
    check_pairs(&halves[_i]);
}
END_TEST

/* Neighbours in size, so that a sum keeps digits of both. */
START_TEST(random_pairs_of_like_size_are_right_on_every_path)
{
    uint64_t state = seed();
    for (unsigned int i = 0; i < VALUES; i++) {
        uint64_t bits = next_random(&state) >> 24;
        left[i] = (uint16_t)bits;
        right[i] = (uint16_t)(((bits >> 16) % 0x2000 + (bits & 0xffff)) ^ (bits >> 32 & 0x8000));
    }
    check_pairs(&halves[_i]);
}
END_TEST

START_TEST(an_average_may_pass_what_a_half_can_hold)
{
    const struct half *half = &halves[_i];
    const struct reduce_path *path;
    uint16_t large = (uint16_t)(half->infinite - 1), result;
    float sum = half->widen(large) * 2;
    for (size_t i = 0; (path = reduce_path_at(i)); i++) {
        path->divide[half->dtype](&result, &large, &large, 1, 4);
        ck_assert_uint_eq(result, isinf(sum) ? half->infinite : half->narrow(sum / 4));
    }
}
END_TEST

enum { MOST = 70 }; /* more than any instruction takes */

static void check_widening(const struct half *half, convert_fn *widen, unsigned int from,
                           size_t count)
{
    unsigned char wide[MOST * sizeof(float) + 1];
    for (size_t i = 0; i < count; i++)
        left[i] = (uint16_t)(from + i);
    widen(wide + 1, left, count);
    for (size_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, wide + 1 + i * sizeof value, sizeof value);
        if (is_nan(half, left[i]))
            check(half, left[i], half->narrow(value) == (left[i] | half->quiet));
        else
            check(half, left[i], float_to_bits(value) == float_to_bits(half->widen(left[i])));
    }
}

static void check_narrowing(const struct half *half, convert_fn *narrow, uint64_t *state,
                            size_t count)
{
    unsigned char wide[MOST * sizeof(float) + 1] = { 0 }, narrowed[MOST * sizeof(uint16_t) + 1];
    for (size_t i = 0; i < count; i++) {
        float value = float_from_bits((uint32_t)(next_random(state) >> 16));
        memcpy(wide + 1 + i * sizeof value, &value, sizeof value);
        expected[i] = half->narrow(value);
    }
    narrow(narrowed + 1, wide + 1, count);
    ck_assert_mem_eq(narrowed + 1, expected, count * sizeof *expected);
}

START_TEST(arrays_are_converted_on_every_path_as_single_values_are)
{
    const struct half *half = &halves[_i];
    const struct reduce_path *path;
    uint64_t state = seed();
    for (size_t p = 0; (path = reduce_path_at(p)); p++)
        for (unsigned int from = 0, count; from < VALUES; from += count) {
            count = 1 + from % MOST;
            check_widening(half, path->widen[half->dtype], from, count);
            check_narrowing(half, path->narrow[half->dtype], &state, count);
        }
}
END_TEST

#ifdef __SSE2__
/* A program may have asked for that, or the compiler of one of its libraries. */
START_TEST(flushing_denormals_to_zero_leaves_float16_alone)
{
    const struct reduce_path *path;
    for (unsigned int i = 0; i < VALUES; i++) {
        left[i] = (uint16_t)(i & 0x83ff);
        right[i] = (uint16_t)(i >> 6);
    }
    reference_reduce(HVD_FLOAT16, HVD_SUM, 1, expected, left, right, VALUES);
    unsigned int before = _mm_getcsr();
    for (size_t i = 0; (path = reduce_path_at(i)); i++) {
        _mm_setcsr(before | 0x8040);
        path->reduce[HVD_FLOAT16][HVD_SUM](out, left, right, VALUES);
        _mm_setcsr(before);
        check_arrays(&halves[0], path->name, HVD_SUM);
    }
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("half");
    TCase *tcase = tcase_create("half");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, every_value_survives_widening_and_narrowing, 0, HALVES);
    tcase_add_loop_test(tcase,
                        what_lies_between_two_values_goes_to_the_closest_and_ties_to_the_even_one,
                        0, HALVES);
    tcase_add_loop_test(tcase, random_floats_are_narrowed_as_the_reference_does, 0, HALVES);
    tcase_add_loop_test(tcase, every_value_with_chosen_ones_is_right_on_every_path, 0, HALVES);
    tcase_add_loop_test(tcase, random_pairs_are_right_on_every_path, 0, HALVES);
    tcase_add_loop_test(tcase, random_pairs_of_like_size_are_right_on_every_path, 0, HALVES);
    tcase_add_loop_test(tcase, an_average_may_pass_what_a_half_can_hold, 0, HALVES);
    tcase_add_loop_test(tcase, arrays_are_converted_on_every_path_as_single_values_are, 0, HALVES);
#ifdef __SSE2__
    tcase_add_test(tcase, flushing_denormals_to_zero_leaves_float16_alone);
#endif
    return unit_run(suite);
}
