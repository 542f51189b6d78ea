/* SPDX-License-Identifier: Apache-2.0 */
/* A world of one rank, where nothing depends on another process: what the engine counts, where it
 * works, how long data wait, and what it writes. */
#include "lib/base/env_names.h"
#include "lib/engine/engine_impl.h"
#include "lib/hvd.h"
#include "lib/process.h"
#include "lib/world.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* More than comes along with the agreement. */
enum { MOVED = 2 * INLINE_MAX };

static char file[64];

static void make_file(void)
{
    snprintf(file, sizeof file, "/tmp/hvd-engine-XXXXXX");
    int fd = mkstemp(file);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

static void remove_file(void)
{
    unlink(file);
}

static const char *file_text(void)
{
    static char text[1 << 16];
    FILE *stream = fopen(file, "re");
    ck_assert_ptr_nonnull(stream);
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    fclose(stream);
    return text;
}

static void sum(const char *name, size_t count)
{
    static unsigned char input[MOVED], output[MOVED];
    ck_assert_int_eq(hvd_allreduce(name, input, output, count, HVD_UINT8, HVD_SUM), HVD_OK);
}

/* ---- counting ---- */

START_TEST(a_collective_counts_when_it_is_done)
{
    static struct join_report report;
    struct err err;
    ck_assert_int_eq(hvd_init(), HVD_OK);
    sum("small", 10);
    sum("large", MOVED);
    ck_assert_int_eq(hvd_barrier(), HVD_OK);
    struct world *world = process_enter(&err);
    engine_report(world_engine(world), &report, sizeof report.text);
    process_exit();
    ck_assert_uint_eq(report.stats.operations[STATS_ALLREDUCE].count, 2);
    ck_assert_uint_eq(report.stats.operations[STATS_ALLREDUCE].bytes, 10 + MOVED);
    ck_assert_uint_eq(report.stats.operations[STATS_BARRIER].count, 1);
}
END_TEST

/* ---- memory ---- */

static bool has_buffer(void)
{
    struct err err;
    bool has = false;
    struct engine *engine = world_engine(process_enter(&err));
    engine_lock(engine);
    for (int i = 0; i < WINDOW_SIZE; i++)
        has |= engine->sets.at[0]->batches.memory[i].buffer != NULL;
    engine_unlock(engine);
    process_exit();
    return has;
}

/* Only tensors that are fused are copied to one place. */
START_TEST(a_tensor_that_is_alone_is_reduced_where_it_lies)
{
    static int32_t data[2][INLINE_MAX / 2];
    const int64_t count = INLINE_MAX / 2;
    struct hvd_tensor pair[2];
    ck_assert_int_eq(hvd_init(), HVD_OK);
    sum("alone", MOVED);
    ck_assert(!has_buffer());
    for (int i = 0; i < 2; i++)
        pair[i] = (struct hvd_tensor){ .name = i ? "b" : "a",
                                       .input = data[i],
                                       .output = data[i],
                                       .dtype = HVD_INT32,
                                       .ndims = 1,
                                       .dims = &count };
    ck_assert_int_eq(hvd_grouped_allreduce(pair, 2, HVD_SUM, NULL), HVD_OK);
    ck_assert(has_buffer());
}
END_TEST

/* ---- the cycle ---- */

START_TEST(data_wait_for_the_end_of_the_cycle)
{
    static int32_t data[MOVED];
    const int64_t count = MOVED;
    const struct hvd_tensor tensor = {
        .name = "a", .input = data, .output = data, .dtype = HVD_INT32, .ndims = 1, .dims = &count
    };
    int64_t handle;
    setenv(ENV_CYCLE_TIME, "60000", 1);
    ck_assert_int_eq(hvd_init(), HVD_OK);
    ck_assert_int_eq(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(hvd_barrier(), HVD_OK);
        ck_assert_int_eq(hvd_poll(handle), 0);
    }
    ck_assert_int_eq(hvd_shutdown(), HVD_OK);
}
END_TEST

/* ---- files ---- */

START_TEST(rank_0_writes_the_timeline_with_the_negotiation_in_it)
{
    make_file();
    setenv(ENV_TIMELINE, file, 1);
    ck_assert_int_eq(hvd_init(), HVD_OK);
    sum("small", 10);
    ck_assert_int_eq(hvd_barrier(), HVD_OK);
    ck_assert_int_eq(hvd_shutdown(), HVD_OK);
    ck_assert_ptr_nonnull(strstr(file_text(), "\"NEGOTIATE_ALLREDUCE\""));
    ck_assert_ptr_nonnull(strstr(file_text(), "\"NEGOTIATE_BARRIER\""));
    remove_file();
}
END_TEST

/* The threshold of each line of the log of autotuning, which has at least `least` of them. */
static void check_thresholds(const char *expected, int least)
{
    char columns[6][64];
    int lines = 0;
    const char *line = file_text();
    while ((line = strchr(line, '\n')) && *++line) {
        int found = sscanf(line, "%63[^,],%63[^,],%63[^,],%63[^,],%63[^,],%63[^,]", columns[0],
                           columns[1], columns[2], columns[3], columns[4], columns[5]);
        ck_assert_int_eq(found, 6);
        ck_assert_str_eq(columns[5], expected);
        lines++;
    }
    ck_assert_int_ge(lines, least);
}

START_TEST(who_wants_nothing_fused_gets_nothing_fused_by_autotuning)
{
    make_file();
    setenv(ENV_FUSION_THRESHOLD, "0", 1);
    setenv(ENV_AUTOTUNE, "1", 1);
    setenv(ENV_AUTOTUNE_LOG, file, 1);
    setenv(ENV_AUTOTUNE_WARMUP_SAMPLES, "0", 1);
    setenv(ENV_AUTOTUNE_STEPS_PER_SAMPLE, "1", 1);
    setenv(ENV_AUTOTUNE_MAX_SAMPLES, "4", 1);
    ck_assert_int_eq(hvd_init(), HVD_OK);
    for (int i = 0; i < 50; i++)
        sum("step", 10);
    ck_assert_int_eq(hvd_shutdown(), HVD_OK);
    check_thresholds("0.000", 4);
    remove_file();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine_alone");
    TCase *tcase = tcase_create("engine_alone");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_collective_counts_when_it_is_done);
    tcase_add_test(tcase, a_tensor_that_is_alone_is_reduced_where_it_lies);
    tcase_add_test(tcase, data_wait_for_the_end_of_the_cycle);
    tcase_add_test(tcase, rank_0_writes_the_timeline_with_the_negotiation_in_it);
    tcase_add_test(tcase, who_wants_nothing_fused_gets_nothing_fused_by_autotuning);
    return unit_run(suite);
}
