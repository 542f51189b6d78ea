/* SPDX-License-Identifier: Apache-2.0 */
/* HVD_CHECK_NUMERICS: NaN and infinities are found wherever they are, the rank that gives one to a
 * reduction says so once for each tensor, or all ranks are told; without it nobody looks. */
#include "lib/engine/numerics.h"

#include "tests/support/elements.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const enum hvd_dtype dtypes[] = { HVD_FLOAT16, HVD_BFLOAT16, HVD_FLOAT32, HVD_FLOAT64 };
enum { DTYPES_FLOATING = sizeof dtypes / sizeof *dtypes };
static const struct {
    const char *name;
    double value;
} odd[] = { { "nan", NAN }, { "inf", INFINITY }, { "-inf", -INFINITY } };
enum { ODD = sizeof odd / sizeof *odd };

/* ---- finding them ---- */

enum { COUNT = 10000 };

START_TEST(the_first_odd_element_is_found)
{
    static const size_t places[] = { 0, 1, 4095, 4096, 8191, COUNT - 1 };
    enum hvd_dtype dtype = dtypes[_i];
    char *memory = calloc(COUNT + 1, 8);
    for (size_t shift = 0; shift < 2; shift++) {
        char *data = memory + shift; /* also where no element of C could be */
        for (size_t i = 0; i < COUNT; i++)
            element_put(dtype, data, i, i % 2 ? 65504 : -6e-8); /* halves have no larger ones */
        ck_assert_uint_eq(numerics_find(dtype, data, COUNT), COUNT);
        ck_assert_uint_eq(numerics_find(dtype, data, 0), 0);
        for (size_t p = 0; p < sizeof places / sizeof *places; p++)
            for (int o = 0; o < ODD; o++) {
                element_put(dtype, data, places[p], odd[o].value);
                ck_assert_uint_eq(numerics_find(dtype, data, COUNT), places[p]);
                element_put(dtype, data, places[p], 1);
            }
    }
    free(memory);
}
END_TEST

START_TEST(integers_have_none)
{
    static const unsigned char ones[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };
    static const enum hvd_dtype others[] = { HVD_UINT8, HVD_INT8,  HVD_UINT16, HVD_INT16,
                                             HVD_INT32, HVD_INT64, HVD_BOOL };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_uint_eq(numerics_find(others[i], ones, 1), 1);
}
END_TEST

/* ---- what a rank writes to stderr ---- */

static int said, saved;

static void listen_to_stderr(void)
{
    said = memfd_create("said", MFD_CLOEXEC);
    saved = dup(STDERR_FILENO);
    REQUIRE(said >= 0 && saved >= 0 && dup2(said, STDERR_FILENO) >= 0);
}

/* Returns the text; the next calls of REQUIRE are heard again. */
static const char *what_was_said(void)
{
    static char text[1 << 16];
    dup2(saved, STDERR_FILENO);
    ssize_t length = pread(said, text, sizeof text - 1, 0);
    REQUIRE(length >= 0);
    text[length] = '\0';
    return text;
}

static int lines_of(const char *text)
{
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* ---- worlds ---- */

enum { SMALL = 10, LARGE = 5000, GIVER = 1, AT = 7 };

static const char *setting; /* NULL: none */

static void begin(void)
{
    if (setting)
        setenv("HVD_CHECK_NUMERICS", setting, 1);
    setenv("HOROVOD_LOG_HIDE_TIME", "1", 1);
    listen_to_stderr();
    init_world();
}

/* Two at once, of which one has an odd element on the giver; twice. */
static void reduce(const char *name, enum hvd_dtype dtype, int64_t count, double value)
{
    static char data[2][LARGE * 8];
    char other[80];
    int64_t handles[2];
    snprintf(other, sizeof other, "%s.fine", name);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 2; i++) {
            struct hvd_tensor tensor = { .name = i == 0 ? name : other,
                                         .input = data[i],
                                         .output = data[i],
                                         .dtype = dtype,
                                         .ndims = 1,
                                         .dims = &count };
            for (int64_t k = 0; k < count; k++)
                element_put(dtype, data[i], (size_t)k, 1);
            if (i == 0 && hvd_rank() == GIVER % hvd_size())
                element_put(dtype, data[i], AT, value);
            REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handles[i]), HVD_OK);
        }
        for (int i = 0; i < 2; i++)
            REQUIRE_STATUS(hvd_wait(handles[i]), HVD_OK);
        REQUIRE(!isfinite(element_get(dtype, data[0], AT)));
        REQUIRE(element_get(dtype, data[1], AT) == hvd_size());
    }
}

static void name_tensor(char name[64], int dtype, int value, int64_t count)
{
    snprintf(name, 64, "g.%d.%d.%d", dtype, value, (int)count);
}

static int give_odd_elements(int rank)
{
    static const int64_t counts[] = { SMALL, LARGE };
    char name[64], line[256];
    begin();
    for (int d = 0; d < DTYPES_FLOATING; d++)
        for (int o = 0; o < ODD; o++)
            for (int c = 0; c < 2; c++) {
                name_tensor(name, d, o, counts[c]);
                reduce(name, dtypes[d], counts[c], odd[o].value);
            }
    const char *text = what_was_said();
    bool speaks = setting && rank == GIVER % hvd_size();
    REQUIRE(lines_of(text) == (speaks ? DTYPES_FLOATING * ODD * 2 : 0));
    for (int i = 0; i < DTYPES_FLOATING * ODD * 2 && speaks; i++) {
        int d = i / (ODD * 2), o = i / 2 % ODD;
        name_tensor(name, d, o, counts[i % 2]);
        snprintf(line, sizeof line,
                 "[W] [%d]: rank %d on testhost: allreduce '%s': element %d of %d is %s\n", rank,
                 rank, name, AT, (int)counts[i % 2], odd[o].name);
        REQUIRE(strstr(text, line) != NULL);
    }
    return leave_world();
}

START_TEST(the_rank_that_gives_it_says_so_once_for_each_tensor)
{
    setting = "1";
    ranks_run(&(struct mini_options){ .size = _i }, give_odd_elements);
}
END_TEST

START_TEST(without_the_variable_nothing_is_said)
{
    setting = NULL;
    ranks_run(&(struct mini_options){ .size = 2 }, give_odd_elements);
}
END_TEST

static int give_too_many(int rank)
{
    float value = NAN;
    (void)rank;
    begin();
    for (int i = 0; i < NUMERICS_TOLD_MAX + 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "m.%d", i);
        REQUIRE_STATUS(hvd_allreduce(name, &value, &value, 1, HVD_FLOAT32, HVD_MAX), HVD_OK);
    }
    const char *text = what_was_said();
    static const char end[] = "element 0 of 1 is nan; of further tensors nothing is said\n";
    REQUIRE(lines_of(text) == NUMERICS_TOLD_MAX);
    REQUIRE(strlen(text) > sizeof end && strcmp(text + strlen(text) - sizeof end + 1, end) == 0);
    return leave_world();
}

START_TEST(a_model_that_has_diverged_does_not_flood_the_output)
{
    setting = "warn";
    ranks_run(&(struct mini_options){ .size = 1 }, give_too_many);
}
END_TEST

static enum hvd_op op;
static int giver;

static int give_and_fail(int rank)
{
    double data[6] = { 1, 1, 1, 1, 1, 1 };
    char text[160];
    begin();
    snprintf(text, sizeof text, "rank %d on testhost: allreduce 'late': element 5 of 6 is -inf",
             giver);
    REQUIRE_STATUS(hvd_allreduce("fine", data, data, 6, HVD_FLOAT64, op), HVD_OK);
    if (rank == giver)
        data[5] = -INFINITY;
    int rc = hvd_allreduce("late", data, data, 6, HVD_FLOAT64, op);
    REQUIRE(strcmp(what_was_said(), "") == 0);
    REQUIRE_STATUS(rc, HVD_ERR_INVALID);
    require_text(text);
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_INVALID);
    require_text(text);
    return leave_world();
}

START_TEST(all_ranks_are_told_where_it_is_to_fail)
{
    setting = "fail";
    giver = _i;
    op = _i == 0 ? HVD_ADASUM : HVD_AVERAGE;
    ranks_run(&(struct mini_options){ .size = 3 }, give_and_fail);
}
END_TEST

static int scatter_and_fail(int rank)
{
    float data[4] = { 1, rank == 1 ? NAN : 1, 1, 1 };
    int64_t count = 4;
    struct hvd_tensor tensor = { .name = "s",
                                 .input = data,
                                 .output = data,
                                 .output_size = sizeof data,
                                 .dtype = HVD_FLOAT32,
                                 .ndims = 1,
                                 .dims = &count };
    begin();
    REQUIRE_STATUS(hvd_barrier(), HVD_OK); /* nobody is in hvd_init() any more */
    int rc = hvd_grouped_reducescatter(&tensor, 1, HVD_SUM, NULL);
    REQUIRE(strcmp(what_was_said(), "") == 0);
    REQUIRE_STATUS(rc, HVD_ERR_INVALID);
    require_text("rank 1 on testhost: reduce-scatter 's': element 1 of 4 is nan");
    return leave_world();
}

START_TEST(a_reduce_scatter_is_looked_at_too)
{
    setting = "fail";
    ranks_run(&(struct mini_options){ .size = 2 }, scatter_and_fail);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("numerics");
    TCase *tcase = tcase_create("numerics");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, the_first_odd_element_is_found, 0, DTYPES_FLOATING);
    tcase_add_test(tcase, integers_have_none);
    tcase_add_loop_test(tcase, the_rank_that_gives_it_says_so_once_for_each_tensor, 1, 4);
    tcase_add_test(tcase, without_the_variable_nothing_is_said);
    tcase_add_test(tcase, a_model_that_has_diverged_does_not_flood_the_output);
    tcase_add_loop_test(tcase, all_ranks_are_told_where_it_is_to_fail, 0, 3);
    tcase_add_test(tcase, a_reduce_scatter_is_looked_at_too);
    return unit_run(suite);
}
