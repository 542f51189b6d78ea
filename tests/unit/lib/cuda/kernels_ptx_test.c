/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels scale as the loops of lib/reduce do, to the bit, except which NaN a NaN is. Their
 * PTX text is interpreted by the stand-in for the driver (tests/stand_in_cuda), not by a GPU. */
#include "lib/cuda/kernels_ptx.h"

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
    char *ptx = kernels_ptx();
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

static void check_kernel(enum hvd_dtype dtype, double factor)
{
    char name[KERNEL_NAME];
    size_t size = dtype_size((int)dtype);
    unsigned char in[COUNT * 8], expected[COUNT * 8];
    void *memory = stand_in_alloc(0, false, 2 * COUNT * size);
    unsigned char *there = stand_in_pointer((uintptr_t)memory, 2 * COUNT * size);
    uint64_t at = (uintptr_t)memory, bits;
    fill(in, size);
    scale_function(dtype)(expected, in, COUNT, factor);
    memcpy(there + COUNT * size, in, COUNT * size);
    kernel_name(name, dtype);
    const struct stand_in_kernel *kernel = stand_in_find(kernels, nkernels, name);
    ck_assert_msg(kernel, "no %s", name);
    memcpy(&bits, &factor, sizeof bits);
    const uint64_t parameters[] = { at, at + COUNT * size, COUNT, bits };
    ck_assert_int_eq(stand_in_interpret(kernel, parameters, BLOCKS, THREADS), CUDA_OK);
    for (size_t i = 0; i < COUNT; i++) {
        const unsigned char *got = there + i * size, *wanted = expected + i * size;
        bool same = memcmp(got, wanted, size) == 0 || (is_nan(dtype, got) && is_nan(dtype, wanted));
        uint64_t shown[3] = { 0 };
        memcpy(&shown[0], in + i * size, size);
        memcpy(&shown[1], got, size);
        memcpy(&shown[2], wanted, size);
        ck_assert_msg(same, "%s of %llx by %g: %llx, not %llx", name, (unsigned long long)shown[0],
                      factor, (unsigned long long)shown[1], (unsigned long long)shown[2]);
    }
    stand_in_release(memory);
}

START_TEST(a_kernel_gives_what_the_loop_of_the_host_gives)
{
    static const double factors[] = { 0.5, -3.25, 1e-9, 1e30 };
    enum hvd_dtype dtype = (enum hvd_dtype)_i;
    if (!kernel_exists(dtype))
        return;
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        check_kernel(dtype, factors[i]);
}
END_TEST

START_TEST(the_types_that_nccl_reduces_have_a_kernel_and_no_others)
{
    int nccl_dtype, nccl_op, types = 0;
    for (int dtype = 0; dtype < KERNEL_DTYPES; dtype++) {
        bool reduces = nccl_numbers((enum hvd_dtype)dtype, HVD_SUM, &nccl_dtype, &nccl_op);
        ck_assert_int_eq(kernel_exists((enum hvd_dtype)dtype), reduces);
        types += reduces;
    }
    ck_assert(!kernel_exists((enum hvd_dtype)KERNEL_DTYPES));
    ck_assert_int_eq(nkernels, types);
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
    tcase_add_loop_test(tcase, a_kernel_gives_what_the_loop_of_the_host_gives, 0, KERNEL_DTYPES);
    tcase_add_test(tcase, the_types_that_nccl_reduces_have_a_kernel_and_no_others);
    tcase_add_test(tcase, an_address_outside_of_memory_is_illegal);
    return unit_run(suite);
}
