/* SPDX-License-Identifier: Apache-2.0 */
/* Averages of metrics over the ranks, by name; and names that are not the same everywhere. */
#include "lib/hvd.h"
#include "lib/hvd_training.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ROWS(table) (int)(sizeof(table) / sizeof *(table))

/* The bits are compared by what all ranks give in return. */
static void require_same_everywhere(double value)
{
    uint64_t bits[RANKS_MAX], mine;
    memcpy(&mine, &value, sizeof mine);
    REQUIRE_STATUS(hvd_allgather("bits", &mine, bits, 1, HVD_INT64), HVD_OK);
    for (int rank = 0; rank < hvd_size(); rank++)
        REQUIRE(bits[rank] == mine);
}

static int average(int rank)
{
    init_world();
    int size = hvd_size();
    double expected = 0;
    struct hvd_metric metrics[3];
    metrics[rank % 3] = (struct hvd_metric){ "loss", 1.0 / (rank + 3) };
    metrics[(rank + 1) % 3] = (struct hvd_metric){ "accuracy", rank };
    metrics[(rank + 2) % 3] = (struct hvd_metric){ "lossy", rank == 0 ? NAN : 1 };
    REQUIRE_STATUS(hvd_average_metrics(metrics, 3, 0), HVD_OK);
    for (int i = 0; i < size; i++)
        expected += 1.0 / (i + 3);
    REQUIRE(metrics[rank % 3].value == expected / size);
    REQUIRE(metrics[(rank + 1) % 3].value == (size - 1) / 2.0);
    REQUIRE(isnan(metrics[(rank + 2) % 3].value));
    require_same_everywhere(metrics[rank % 3].value);
    require_same_everywhere(metrics[(rank + 2) % 3].value);
    REQUIRE_STATUS(hvd_average_metrics(NULL, 0, 0), HVD_OK);
    return leave_world();
}

START_TEST(metrics_are_averaged_by_name_and_the_same_everywhere)
{
    ranks_run(&(struct mini_options){ .size = _i }, average);
}
END_TEST

static int average_in_a_set(int rank)
{
    init_world();
    struct hvd_metric metric = { "loss", rank };
    int set = hvd_add_process_set((const int[]){ 2, 0 }, 2);
    int rc = hvd_average_metrics(&metric, 1, set);
    REQUIRE_STATUS(rc, rank == 1 ? HVD_ERR_INVALID : HVD_OK);
    REQUIRE(metric.value == 1);
    metric.name = rank == 2 ? "cost" : "loss";
    rc = hvd_average_metrics(&metric, 1, set);
    REQUIRE_STATUS(rc, rank == 1 ? HVD_ERR_INVALID : HVD_ERR_MISMATCH);
    if (rank != 1)
        require_text("average metrics: rank 2 has a metric 'cost', rank 0 has none");
    return leave_world();
}

START_TEST(a_process_set_has_averages_of_its_own)
{
    ranks_run(&(struct mini_options){ .size = 3 }, average_in_a_set);
}
END_TEST

/* Rank 1 of 3 has the second list. */
static const struct {
    const char *first[3], *second[3];
    int own;
    const char *own_text, *text;
} differences[] = {
    { { "loss" },
      { "cost" },
      HVD_ERR_MISMATCH,
      "rank 1 has a metric 'cost', rank 0 has none",
      "rank 1 has a metric 'cost', rank 0 has none" },
    { { "loss" },
      { "losses" },
      HVD_ERR_MISMATCH,
      "rank 0 has a metric 'loss', rank 1 has none",
      "rank 0 has a metric 'loss', rank 1 has none" },
    { { "loss", "rate" },
      { "rate" },
      HVD_ERR_MISMATCH,
      "rank 0 has a metric 'loss', rank 1 has none",
      "rank 0 has a metric 'loss', rank 1 has none" },
    { { "loss" },
      { "loss", "a\nb" },
      HVD_ERR_MISMATCH,
      "rank 1 has a metric 'a\\x0ab', rank 0 has none",
      "rank 1 has a metric 'a\\x0ab', rank 0 has none" },
    { { NULL },
      { "loss" },
      HVD_ERR_MISMATCH,
      "rank 1 has a metric 'loss', rank 0 has none",
      "rank 1 has a metric 'loss', rank 0 has none" },
    { { "loss" },
      { NULL },
      HVD_ERR_MISMATCH,
      "rank 0 has a metric 'loss', rank 1 has none",
      "rank 0 has a metric 'loss', rank 1 has none" },
    { { "loss" },
      { "loss", "" },
      HVD_ERR_INVALID,
      "metric 1: the name is empty",
      "rank 1: metric 1: the name is empty" },
    { { "loss" },
      { "loss", "loss" },
      HVD_ERR_INVALID,
      "metric 'loss' is given twice",
      "rank 1: metric 'loss' is given twice" },
};

static int fill(struct hvd_metric *metrics, const char *const *names)
{
    int count = 0;
    for (; count < 3 && names[count]; count++)
        metrics[count] = (struct hvd_metric){ names[count], 7 };
    return count;
}

static int differ(int rank)
{
    char text[500];
    init_world();
    for (int i = 0; i < ROWS(differences); i++) {
        struct hvd_metric metrics[3];
        int count = fill(metrics, rank == 1 ? differences[i].second : differences[i].first);
        int rc = hvd_average_metrics(metrics, count, 0);
        REQUIRE_STATUS(rc, rank == 1 ? differences[i].own : HVD_ERR_MISMATCH);
        snprintf(text, sizeof text, "average metrics: %s",
                 rank == 1 ? differences[i].own_text : differences[i].text);
        require_text(text);
        for (int k = 0; k < count; k++)
            REQUIRE(metrics[k].value == 7);
    }
    struct hvd_metric metric = { "loss", rank };
    int rc = hvd_average_metrics(rank == 2 ? NULL : &metric, 1, 0);
    REQUIRE_STATUS(rc, rank == 2 ? HVD_ERR_INVALID : HVD_ERR_MISMATCH);
    require_text("a list of 1 metrics at NULL");
    REQUIRE_STATUS(hvd_average_metrics(&metric, 1, 0), HVD_OK);
    REQUIRE(metric.value == 1);
    return leave_world();
}

START_TEST(a_difference_is_quoted_on_all_ranks_and_changes_nothing)
{
    ranks_run(&(struct mini_options){ .size = 3 }, differ);
}
END_TEST

/* Built with -Wl,--wrap=calloc,--wrap=realloc: the next one finds no memory. */
static bool calloc_fails, realloc_fails;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static bool happens_once(bool *what)
{
    bool happens = *what;
    *what = false;
    return happens;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return happens_once(&calloc_fails) ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return happens_once(&realloc_fails) ? NULL : __real_realloc(memory, size);
}

static int run_out_of_memory(int rank)
{
    init_world();
    for (int i = 0; i < 2; i++) {
        struct hvd_metric metric = { "loss", rank };
        calloc_fails = rank == 1 && i == 0;
        realloc_fails = rank == 1 && i == 1;
        int rc = hvd_average_metrics(&metric, 1, 0);
        REQUIRE(!calloc_fails && !realloc_fails);
        REQUIRE_STATUS(rc, rank == 1 ? HVD_ERR_NOMEM : HVD_ERR_MISMATCH);
        require_text(rank == 1 ? "average metrics: out of memory"
                               : "average metrics: rank 1: out of memory");
        REQUIRE(metric.value == rank);
    }
    return leave_world();
}

START_TEST(a_rank_without_memory_fails_on_all)
{
    ranks_run(&(struct mini_options){ .size = 3 }, run_out_of_memory);
}
END_TEST

/* What rank 1 sends under the name of the call, byte by byte. */
static const struct {
    const char *bytes;
    size_t size;
    int code;
    const char *text;
} messages[] = {
    { "", 0, HVD_ERR_PROTOCOL, "rank 1 sent no list of metrics" },
    { "\0", 1, HVD_ERR_MISMATCH, "rank 0 has a metric 'loss', rank 1 has none" },
    { "\0\4\0\0\0los", 8, HVD_ERR_PROTOCOL, "rank 1 sent no list of metrics" },
    { "\0\xff\xff\xff\xffloss", 9, HVD_ERR_PROTOCOL, "rank 1 sent no list of metrics" },
    { "\0\4\0\0\0loss\0\0\0", 12, HVD_ERR_PROTOCOL, "rank 1 sent no list of metrics" },
    { "\1\3\0\0\0a\nb", 8, HVD_ERR_MISMATCH, "rank 1: a?b" },
    { "\1\xff\0\0\0ab", 7, HVD_ERR_MISMATCH, "rank 1: " },
};

static void send_bytes(const char *bytes, size_t size)
{
    int64_t dim = (int64_t)size, handle;
    const struct hvd_tensor tensor = {
        .name = "hvd.average_metrics", .input = bytes, .dtype = HVD_UINT8, .ndims = 1, .dims = &dim
    };
    struct hvd_result result;
    REQUIRE_STATUS(hvd_allgather_async(&tensor, NULL, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait_result(handle, &result), HVD_OK);
    hvd_result_free(&result);
}

static int send_strange_messages(int rank)
{
    init_world();
    for (int i = 0; i < ROWS(messages); i++) {
        struct hvd_metric metric = { "loss", 7 };
        if (rank == 1) {
            send_bytes(messages[i].bytes, messages[i].size);
            continue;
        }
        REQUIRE_STATUS(hvd_average_metrics(&metric, 1, 0), messages[i].code);
        require_text(messages[i].text);
        REQUIRE(metric.value == 7);
    }
    return leave_world();
}

START_TEST(a_message_that_is_none_is_an_error)
{
    ranks_run(&(struct mini_options){ .size = 3 }, send_strange_messages);
}
END_TEST

START_TEST(alone_a_rank_has_its_own_average)
{
    struct hvd_metric metric = { "loss", 0.1 };
    ck_assert_int_eq(hvd_average_metrics(&metric, 1, 0), HVD_ERR_NOT_INITIALIZED);
    ck_assert_int_eq(hvd_init(), HVD_OK);
    ck_assert_int_eq(hvd_average_metrics(&metric, 1, 0), HVD_OK);
    ck_assert(metric.value == 0.1);
    ck_assert_int_eq(hvd_average_metrics(&metric, -1, 0), HVD_ERR_INVALID);
    ck_assert_str_eq(hvd_last_error(), "average metrics: a list of -1 metrics");
    ck_assert_int_eq(hvd_shutdown(), HVD_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("average_metrics");
    TCase *tcase = tcase_create("average_metrics");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, metrics_are_averaged_by_name_and_the_same_everywhere, 1, 6);
    tcase_add_test(tcase, a_process_set_has_averages_of_its_own);
    tcase_add_test(tcase, a_difference_is_quoted_on_all_ranks_and_changes_nothing);
    tcase_add_test(tcase, a_rank_without_memory_fails_on_all);
    tcase_add_test(tcase, a_message_that_is_none_is_an_error);
    tcase_add_test(tcase, alone_a_rank_has_its_own_average);
    return unit_run(suite);
}
