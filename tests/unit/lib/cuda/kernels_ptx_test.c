/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels scale and combine as the loops of lib/reduce do, to the bit, except which NaN a NaN
 * is. Their PTX text is interpreted by the stand-in for the driver (tests/stand_in_cuda), not by a
 * GPU. */
#include "lib/cuda/kernels_ptx.h"

#include "lib/cuda/kernels.h"
#include "lib/cuda/nccl.h"
#include "lib/reduce/reduce.h"
#include "tests/stand_in_cuda/stand_in.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 700, BLOCKS = 3, THREADS = 32 };

static struct stand_in_kernel *kernels;
static int nkernels;

static void read_kernels(void)
{
    char *ptx = kernels_ptx(KERNEL_ACTS);
    ck_assert_ptr_nonnull(ptx);
    ck_assert_int_eq(stand_in_parse(ptx, &kernels, &nkernels), CUDA_OK);
    free(ptx);
}

static void free_kernels(void)
{
    stand_in_free_kernels(kernels, nkernels);
}

static uint64_t next_bits(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* Bits of every kind: also infinities, NaNs, denormals, zeros of both signs. */
static void fill(unsigned char *in, size_t size)
{
    static const uint64_t special[] = { 0,
                                        UINT64_MAX,
                                        0x8000000000000000,
                                        0x7ff0000000000000,
                                        0x7ff8000000000000,
                                        0x7f800000ff800000,
                                        0x7fc0000080000000,
                                        0x7f807c00fc007e00,
                                        0x0001000100010001 };
    for (size_t at = 0; at + size <= COUNT * size; at += size) {
        uint64_t bits = next_bits();
        if (at / size % 7 == 0)
            bits = special[next_bits() % 9];
        memcpy(in + at, &bits, size);
    }
}

static bool is_nan(enum hvd_dtype dtype, const unsigned char *element)
{
    uint64_t bits = 0;
    memcpy(&bits, element, dtype_size((int)dtype));
    switch (dtype) {
    case HVD_FLOAT16:
        return (bits & 0x7fff) > 0x7c00;
    case HVD_BFLOAT16:
        return (bits & 0x7fff) > 0x7f80;
    case HVD_FLOAT32:
        return (bits & 0x7fffffff) > 0x7f800000;
    case HVD_FLOAT64:
        return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
    default:
        return false;
    }
}

/* Elements of a GPU's memory: the result, and two operands. */
struct vectors {
    enum hvd_dtype dtype;
    size_t size;
    void *memory;
    unsigned char *out, *left, *right;
};

static struct vectors vectors_make(enum hvd_dtype dtype)
{
    struct vectors vectors = { .dtype = dtype, .size = dtype_size((int)dtype) };
    size_t nbytes = COUNT * vectors.size;
    vectors.memory = stand_in_alloc(0, false, 3 * nbytes);
    vectors.out = stand_in_pointer((uintptr_t)vectors.memory, 3 * nbytes);
    vectors.left = vectors.out + nbytes;
    vectors.right = vectors.left + nbytes;
    fill(vectors.left, vectors.size);
    fill(vectors.right, vectors.size);
    return vectors;
}

/* The address of a vector on the GPU: 0 out, 1 left, 2 right. */
static uint64_t vectors_at(const struct vectors *vectors, int which)
{
    return (uintptr_t)vectors->memory + (uint64_t)which * COUNT * vectors->size;
}

static const struct stand_in_kernel *find_kernel(enum kernel_act act, enum hvd_dtype dtype)
{
    char name[KERNEL_NAME];
    kernel_name(name, act, dtype);
    const struct stand_in_kernel *kernel = stand_in_find(kernels, nkernels, name);
    ck_assert_msg(kernel, "no %s", name);
    return kernel;
}

static void require_elements(const struct vectors *vectors, enum kernel_act act,
                             const unsigned char *expected)
{
    char name[KERNEL_NAME];
    size_t size = vectors->size;
    kernel_name(name, act, vectors->dtype);
    for (size_t i = 0; i < COUNT; i++) {
        const unsigned char *got = vectors->out + i * size, *wanted = expected + i * size;
        bool same = memcmp(got, wanted, size) == 0 ||
                    (is_nan(vectors->dtype, got) && is_nan(vectors->dtype, wanted));
        uint64_t shown[4] = { 0 };
        memcpy(&shown[0], vectors->left + i * size, size);
        memcpy(&shown[1], vectors->right + i * size, size);
        memcpy(&shown[2], got, size);
        memcpy(&shown[3], wanted, size);
        ck_assert_msg(same, "%s of %llx and %llx: %llx, not %llx", name,
                      (unsigned long long)shown[0], (unsigned long long)shown[1],
                      (unsigned long long)shown[2], (unsigned long long)shown[3]);
    }
}

static void check_scale(enum hvd_dtype dtype, double factor)
{
    uint64_t bits;
    unsigned char expected[COUNT * 8];
    struct vectors vectors = vectors_make(dtype);
    scale_function(dtype)(expected, vectors.left, COUNT, factor);
    memcpy(&bits, &factor, sizeof bits);
    const uint64_t parameters[] = { vectors_at(&vectors, 0), vectors_at(&vectors, 1), COUNT, bits };
    ck_assert_int_eq(
        stand_in_interpret(find_kernel(KERNEL_SCALE, dtype), parameters, BLOCKS, THREADS), CUDA_OK);
    require_elements(&vectors, KERNEL_SCALE, expected);
    stand_in_release(vectors.memory);
}

START_TEST(a_kernel_scales_as_the_loop_of_the_host_does)
{
    static const double factors[] = { 0.5, -3.25, 1e-9, 1e30 };
    enum hvd_dtype dtype = (enum hvd_dtype)_i;
    if (!kernel_exists(KERNEL_SCALE, dtype))
        return;
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        check_scale(dtype, factors[i]);
}
END_TEST

static void check_reduction(enum kernel_act act, enum hvd_dtype dtype, int divisor)
{
    static const enum hvd_op ops[KERNEL_ACTS] = { [KERNEL_SUM] = HVD_SUM,
                                                  [KERNEL_PRODUCT] = HVD_PRODUCT,
                                                  [KERNEL_MIN] = HVD_MIN,
                                                  [KERNEL_MAX] = HVD_MAX };
    unsigned char expected[COUNT * 8];
    struct vectors vectors = vectors_make(dtype);
    if (act == KERNEL_AVERAGE)
        divide_function(dtype)(expected, vectors.left, vectors.right, COUNT, divisor);
    else
        reduce_function(dtype, ops[act])(expected, vectors.left, vectors.right, COUNT);
    const uint64_t parameters[] = { vectors_at(&vectors, 0), vectors_at(&vectors, 1),
                                    vectors_at(&vectors, 2), COUNT, (uint64_t)divisor };
    ck_assert_int_eq(stand_in_interpret(find_kernel(act, dtype), parameters, BLOCKS, THREADS),
                     CUDA_OK);
    require_elements(&vectors, act, expected);
    stand_in_release(vectors.memory);
}

START_TEST(a_kernel_combines_as_the_loop_of_the_host_does)
{
    static const int divisors[] = { 1, 2, 3, 7, 127, 1000, 1 << 24 };
    enum kernel_act act = (enum kernel_act)(_i / KERNEL_DTYPES);
    enum hvd_dtype dtype = (enum hvd_dtype)(_i % KERNEL_DTYPES);
    if (!kernel_exists(act, dtype))
        return;
    for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++)
        check_reduction(act, dtype, divisors[i]);
}
END_TEST

START_TEST(every_type_has_a_kernel_where_the_host_has_a_loop)
{
    int count = 0;
    for (int dtype = 0; dtype < KERNEL_DTYPES; dtype++) {
        enum hvd_dtype type = (enum hvd_dtype)dtype;
        ck_assert_int_eq(kernel_exists(KERNEL_SCALE, type), scale_function(type) != NULL);
        ck_assert_int_eq(kernel_exists(KERNEL_AVERAGE, type), divide_function(type) != NULL);
        ck_assert_int_eq(kernel_exists(KERNEL_MIN, type), reduce_function(type, HVD_MIN) != NULL);
        ck_assert_uint_eq(kernel_element_bytes(type), dtype_size(dtype));
        for (int act = 0; act < KERNEL_ACTS; act++)
            count += kernel_exists((enum kernel_act)act, type);
    }
    ck_assert_int_eq(nkernels, count);
    ck_assert(!kernel_exists(KERNEL_SCALE, (enum hvd_dtype)KERNEL_DTYPES));
    ck_assert_uint_eq(kernel_element_bytes((enum hvd_dtype)KERNEL_DTYPES), 0);
}
END_TEST

START_TEST(every_operation_but_adasum_has_kernels)
{
    enum kernel_act act, last;
    for (int op = HVD_AVERAGE; op <= HVD_PRODUCT; op++)
        ck_assert_int_eq(cuda_kernels_acts((enum hvd_op)op, &act, &last), op != HVD_ADASUM);
    ck_assert(!cuda_kernels_acts((enum hvd_op)(HVD_PRODUCT + 1), &act, &last));
    ck_assert(!cuda_kernels_acts((enum hvd_op) - 1, &act, &last));
}
END_TEST

START_TEST(a_register_that_is_not_declared_is_a_mistake_in_the_text)
{
    static const char *const lines[] = { "mov.u32 %r3, 0;", "mov.u32 %r4, 0;", "mov.u32 %q, 0;",
                                         "@%q bra done;" };
    struct stand_in_kernel *read;
    char text[400];
    int count;
    snprintf(text, sizeof text,
             ".version 6.0\n.visible .entry k(.param .u64 k_out)\n{\n.reg .pred %%p<1>;\n"
             ".reg .b32 %%r<4>;\n%s\ndone:\nret;\n}\n",
             lines[_i]);
    ck_assert_int_eq(stand_in_parse(text, &read, &count), _i == 0 ? CUDA_OK : CUDA_INVALID_PTX);
    if (_i == 0)
        stand_in_free_kernels(read, count);
}
END_TEST

START_TEST(the_types_that_nccl_reduces_can_be_scaled)
{
    int nccl_dtype, nccl_op;
    for (int dtype = 0; dtype < KERNEL_DTYPES; dtype++)
        if (nccl_numbers((enum hvd_dtype)dtype, HVD_SUM, &nccl_dtype, &nccl_op))
            ck_assert(kernel_exists(KERNEL_SCALE, (enum hvd_dtype)dtype));
}
END_TEST

START_TEST(an_address_outside_of_memory_is_illegal)
{
    const struct stand_in_kernel *kernel = stand_in_find(kernels, nkernels, "hvd_scale_float32");
    void *memory = stand_in_alloc(0, false, 64);
    uint64_t at = (uintptr_t)memory;
    const uint64_t beyond[] = { at, at, 17, 0 }, odd[] = { at + 2, at, 1, 0 };
    ck_assert_int_eq(stand_in_interpret(kernel, beyond, 1, 32), CUDA_ILLEGAL_ADDRESS);
    ck_assert_int_eq(stand_in_interpret(kernel, odd, 1, 32), CUDA_ILLEGAL_ADDRESS);
    stand_in_release(memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernels_ptx");
    TCase *tcase = tcase_create("kernels_ptx");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, read_kernels, free_kernels);
    tcase_add_loop_test(tcase, a_kernel_scales_as_the_loop_of_the_host_does, 0, KERNEL_DTYPES);
    tcase_add_loop_test(tcase, a_kernel_combines_as_the_loop_of_the_host_does, KERNEL_DTYPES,
                        KERNEL_ACTS * KERNEL_DTYPES);
    tcase_add_test(tcase, every_type_has_a_kernel_where_the_host_has_a_loop);
    tcase_add_test(tcase, every_operation_but_adasum_has_kernels);
    tcase_add_loop_test(tcase, a_register_that_is_not_declared_is_a_mistake_in_the_text, 0, 4);
    tcase_add_test(tcase, the_types_that_nccl_reduces_can_be_scaled);
    tcase_add_test(tcase, an_address_outside_of_memory_is_illegal);
    return unit_run(suite);
}
