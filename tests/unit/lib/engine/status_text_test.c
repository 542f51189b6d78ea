/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank tells a person while its data move. */
#include "lib/base/env_names.h"
#include "lib/engine/engine_impl.h"
#include "lib/hvd.h"
#include "lib/process.h"
#include "lib/world.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <string.h>

enum { LARGE = 1 << 16 };

/* What the counters stand for. */
enum { SUBMITTED, READ };

static struct engine *enter_engine(void)
{
    struct world *world = process_enter(NULL);
    REQUIRE(world != NULL);
    return world_engine(world);
}

static int64_t start_sum(void)
{
    static float data[LARGE];
    int64_t handle, count = LARGE;
    const struct hvd_tensor tensor = { .name = "large",
                                       .input = data,
                                       .output = data,
                                       .dtype = HVD_FLOAT32,
                                       .ndims = 1,
                                       .dims = &count };
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
    return handle;
}

/* Nothing of rank 1 moves until rank 0 has read its page. */
static void hold_engine(void)
{
    struct engine *engine = enter_engine();
    engine_lock(engine);
    atomic_fetch_add(&shared->counters[SUBMITTED], 1);
    wait_for(READ, 1);
    engine_unlock(engine);
    process_exit();
}

/* Whatever rank 0 knows of rank 1 has come; it may need some passes to act on it. */
static void read_page(void)
{
    static struct join_report report;
    struct engine *engine = enter_engine();
    do
        engine_report(engine, &report, sizeof report.text);
    while (strstr(report.text, "waiting for "));
    process_exit();
    atomic_fetch_add(&shared->counters[READ], 1);
    REQUIRE(strstr(report.text, "moving the data of allreduce 'large' since "));
    REQUIRE(!strstr(report.text, "in no collective"));
}

static int read_while_data_move(int rank)
{
    setenv(ENV_CYCLE_TIME, "0", 1);
    init_world();
    REQUIRE_STATUS(hvd_wait(start_sum()), HVD_OK); /* makes the links */
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    if (rank == 0)
        wait_for(SUBMITTED, 1);
    int64_t handle = start_sum();
    if (rank == 1)
        hold_engine();
    else
        read_page();
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    return leave_world();
}

START_TEST(the_page_names_the_tensor_whose_data_move)
{
    ranks_run(&(struct mini_options){ .size = 2 }, read_while_data_move);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("status_text");
    TCase *tcase = tcase_create("status_text");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, the_page_names_the_tensor_whose_data_move);
    return unit_run(suite);
}
