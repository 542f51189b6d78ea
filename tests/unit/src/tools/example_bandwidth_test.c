/* SPDX-License-Identifier: Apache-2.0 */
/* What hvd-bandwidth compares results with, and how it counts: elements of every type, the values
 * that ranks put in and that come out, sizes, and lists of options. */
#include "tests/support/unit.h"

#include <math.h>
#include <string.h>

#include "examples/support/element.h"
#include "lib/reduce/half.h"
#include "src/tools/bandwidth_data.h"
#include "src/tools/bandwidth_operations.h"
#include "src/tools/bandwidth_options.h"

enum { COUNT = 3000, RANKS_MAX = 5 };

static unsigned char memory[COUNT * 8];
static struct data_table table;

/* ---- elements ---- */

START_TEST(every_half_is_the_number_that_it_is)
{
    for (unsigned bits = 0; bits <= 0xffff; bits++) {
        uint16_t half = (uint16_t)bits, back = 0;
        double expected = (double)float16_to_float(half);
        double value = element_load(HVD_FLOAT16, &half);
        ck_assert(isnan(expected) ? isnan(value) : value == expected);
        element_store(HVD_FLOAT16, &back, value);
        ck_assert(isnan(expected) || back == half);
    }
}
END_TEST

START_TEST(whole_numbers_wrap_around_in_integers)
{
    static const struct {
        enum hvd_dtype dtype;
        double value, expected;
    } rows[] = {
        { HVD_UINT8, -1, 255 },        { HVD_UINT8, 257, 1 },        { HVD_INT8, 130, -126 },
        { HVD_UINT16, -2, 65534 },     { HVD_INT16, 32768, -32768 }, { HVD_INT32, -5, -5 },
        { HVD_INT64, -5, -5 },         { HVD_BOOL, 7, 1 },           { HVD_BOOL, 0, 0 },
        { HVD_BFLOAT16, 1.5, 1.5 },    { HVD_BFLOAT16, 257, 256 },   { HVD_FLOAT16, 1e6, INFINITY },
        { HVD_FLOAT32, -0.1f, -0.1f }, { HVD_FLOAT64, 0.1, 0.1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        element_store(rows[i].dtype, memory, rows[i].value);
        ck_assert_double_eq(element_load(rows[i].dtype, memory), rows[i].expected);
    }
}
END_TEST

/* ---- values ---- */

static double at(enum hvd_dtype dtype, const struct data_table *of, size_t i)
{
    return element_load(dtype, of->bytes + i * hvd_dtype_size(dtype));
}

/* What the ranks but `left_out` add up to, by op. */
static double combine(const struct data *data, size_t i, int left_out)
{
    static const double neutral[] = {
        [HVD_MIN] = INFINITY,
        [HVD_MAX] = -INFINITY,
        [HVD_PRODUCT] = 1,
    };
    double result = data->op == HVD_SUM ? 0 : neutral[data->op];
    for (int rank = 0; rank < data->ranks; rank++) {
        static struct data_table input;
        if (rank == left_out)
            continue;
        data_input(data, rank, 0, &input);
        double value = at(data->dtype, &input, i);
        result = data->op == HVD_SUM       ? result + value
                 : data->op == HVD_PRODUCT ? result * value
                 : data->op == HVD_MIN     ? fmin(result, value)
                                           : fmax(result, value);
    }
    return result;
}

START_TEST(a_reduction_is_that_of_what_the_ranks_put_in)
{
    static const enum hvd_op ops[] = { HVD_SUM, HVD_MIN, HVD_MAX, HVD_PRODUCT };
    for (int op = 0; op < 4; op++) {
        for (int ranks = 1; ranks <= RANKS_MAX; ranks++) {
            struct data data = { HVD_FLOAT64, true, ops[op], ranks, 42 };
            data_reduced(&data, &table);
            for (size_t i = 0; i < 50; i++)
                ck_assert_double_eq(at(HVD_FLOAT64, &table, i), combine(&data, i, -1));
        }
    }
}
END_TEST

START_TEST(no_rank_can_be_left_out)
{
    struct data data = { HVD_FLOAT64, true, HVD_SUM, 4, 42 };
    data_reduced(&data, &table);
    for (int rank = 0; rank < data.ranks; rank++) {
        int differ = 0;
        for (size_t i = 0; i < 50; i++)
            differ += at(HVD_FLOAT64, &table, i) != combine(&data, i, rank);
        ck_assert_int_gt(differ, 25);
    }
}
END_TEST

/* Of a reduction, a thing moved, and of every type. */
static struct data data_of_row(int row)
{
    struct data data = { (enum hvd_dtype)(row / 2), row % 2, HVD_SUM, 3, 42 };
    if (data.reduced)
        data_reduced(&data, &table);
    else
        data_input(&data, 1, 2, &table);
    return data;
}

START_TEST(each_wrong_element_is_counted_once)
{
    struct data data = data_of_row(_i);
    size_t size = hvd_dtype_size(data.dtype);
    data_write(&data, &table, memory, 500, COUNT);
    ck_assert_uint_eq(data_count_wrong(&data, &table, memory, 500, COUNT), 0);
    static const size_t places[] = { 0, 520, 521, 1541, 1542, COUNT - 1 };
    for (size_t i = 0; i < 6; i++) {
        unsigned char *element = memory + places[i] * size;
        element_store(data.dtype, element, element_load(data.dtype, element) == 0);
        ck_assert_uint_eq(data_count_wrong(&data, &table, memory, 500, COUNT), i + 1);
    }
}
END_TEST

START_TEST(what_lands_in_the_wrong_place_is_seen)
{
    struct data data = data_of_row(_i);
    for (size_t shift = 1; shift < 2000; shift = shift * 2 + 1) {
        data_write(&data, &table, memory, shift, COUNT);
        ck_assert_uint_gt(data_count_wrong(&data, &table, memory, 0, COUNT), COUNT / 10);
    }
}
END_TEST

START_TEST(an_average_may_be_rounded_either_way_and_no_further)
{
    struct data data = { HVD_FLOAT32, true, HVD_AVERAGE, 3, 42 };
    data_reduced(&data, &table);
    data_write(&data, &table, memory, 0, DATA_PERIOD);
    float *values = (float *)memory;
    for (size_t i = 0; i < DATA_PERIOD; i++)
        values[i] = nextafterf(values[i], INFINITY);
    ck_assert_uint_lt(data_count_wrong(&data, &table, memory, 0, DATA_PERIOD), DATA_PERIOD / 5);
    for (size_t i = 0; i < DATA_PERIOD; i++)
        values[i] *= 1.00001f;
    ck_assert_uint_gt(data_count_wrong(&data, &table, memory, 0, DATA_PERIOD), DATA_PERIOD / 2);
    values[0] = NAN;
    ck_assert_uint_ge(data_count_wrong(&data, &table, memory, 0, 1), 1);
}
END_TEST

/* ---- sizes ---- */

START_TEST(sizes_are_whole_elements_in_equal_parts)
{
    static const struct {
        int operation, ranks;
        enum hvd_dtype dtype;
        size_t asked, count, input, output, size;
    } rows[] = {
        { 0, 3, HVD_FLOAT32, 1024, 256, 256, 256, 1024 },
        { 0, 3, HVD_FLOAT32, 1, 1, 1, 1, 4 },
        { 0, 3, HVD_FLOAT64, 15, 1, 1, 1, 8 },
        { 1, 3, HVD_FLOAT32, 1024, 85, 85, 255, 1020 },
        { 1, 3, HVD_FLOAT32, 4, 1, 1, 3, 12 },
        { 2, 3, HVD_FLOAT16, 1024, 512, 512, 512, 1024 },
        { 3, 4, HVD_INT8, 1024, 256, 1024, 1024, 1024 },
        { 4, 4, HVD_INT64, 1024, 32, 128, 32, 1024 },
        { 4, 5, HVD_INT64, 8, 1, 5, 1, 40 },
        { 5, 4, HVD_UINT8, 1024, 0, 0, 0, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct operation *operation = &operations[rows[i].operation];
        struct transfer transfer = { .data = { .dtype = rows[i].dtype, .ranks = rows[i].ranks } };
        transfer.count = operation_count(operation, &transfer.data, rows[i].asked);
        ck_assert_uint_eq(transfer.count, rows[i].count);
        ck_assert_uint_eq(operation_input_count(operation, &transfer), rows[i].input);
        ck_assert_uint_eq(operation_output_count(operation, &transfer), rows[i].output);
        ck_assert_uint_eq(operation_size(operation, &transfer), rows[i].size);
    }
}
END_TEST

START_TEST(bus_bandwidth_is_that_of_the_busiest_link)
{
    static const struct {
        const char *name;
        double one, two, four;
    } rows[OPERATION_COUNT] = {
        { "allreduce", 0, 1, 1.5 },   { "allgather", 0, 0.5, 0.75 },     { "broadcast", 0, 1, 1 },
        { "alltoall", 0, 0.5, 0.75 }, { "reducescatter", 0, 0.5, 0.75 }, { "barrier", 0, 0, 0 },
    };
    for (int i = 0; i < OPERATION_COUNT; i++) {
        ck_assert_str_eq(operations[i].name, rows[i].name);
        ck_assert_double_eq(operations[i].factor(1), rows[i].one);
        ck_assert_double_eq(operations[i].factor(2), rows[i].two);
        ck_assert_double_eq(operations[i].factor(4), rows[i].four);
    }
}
END_TEST

/* ---- options ---- */

START_TEST(lists_become_bits_and_defaults_depend_on_the_layout)
{
    struct bandwidth_options options = bandwidth_defaults;
    struct problem problem = { 0 };
    options.operation_list = "barrier,allreduce";
    options.type_list = "float,double,float32";
    options.op_list = "all";
    options.latency = true;
    ck_assert_int_eq(bandwidth_options_check(&options, &problem), 0);
    ck_assert_uint_eq(options.operations, 1u << 5 | 1u << 0);
    ck_assert_uint_eq(options.types, 1u << HVD_FLOAT32 | 1u << HVD_FLOAT64);
    ck_assert_uint_eq(options.ops, 63);
    ck_assert_int_eq(options.max_size, 1 << 20);
    ck_assert_int_eq(options.step_factor, 2);
}
END_TEST

static const struct {
    const char *text;
    bool cuda;
    int ordinal;
} devices[] = {
    { "host", false, -1 },
    { "cuda", true, -1 },
    { "cuda:0", true, 0 },
    { "cuda:0012", true, 12 },
};

START_TEST(a_device_is_the_host_or_a_gpu)
{
    struct bandwidth_options options = bandwidth_defaults;
    struct problem problem = { 0 };
    options.device = devices[_i].text;
    ck_assert_int_eq(bandwidth_options_check(&options, &problem), 0);
    ck_assert_int_eq(options.cuda, devices[_i].cuda);
    ck_assert_int_eq(options.ordinal, devices[_i].ordinal);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("bandwidth");
    TCase *tests = tcase_create("bandwidth");
    tcase_add_test(tests, every_half_is_the_number_that_it_is);
    tcase_add_test(tests, whole_numbers_wrap_around_in_integers);
    tcase_add_test(tests, a_reduction_is_that_of_what_the_ranks_put_in);
    tcase_add_test(tests, no_rank_can_be_left_out);
    tcase_add_loop_test(tests, each_wrong_element_is_counted_once, 0, 2 * ELEMENT_TYPES);
    tcase_add_loop_test(tests, what_lands_in_the_wrong_place_is_seen, 0, 2 * ELEMENT_TYPES);
    tcase_add_test(tests, an_average_may_be_rounded_either_way_and_no_further);
    tcase_add_test(tests, sizes_are_whole_elements_in_equal_parts);
    tcase_add_test(tests, bus_bandwidth_is_that_of_the_busiest_link);
    tcase_add_test(tests, lists_become_bits_and_defaults_depend_on_the_layout);
    tcase_add_loop_test(tests, a_device_is_the_host_or_a_gpu, 0, sizeof devices / sizeof *devices);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
