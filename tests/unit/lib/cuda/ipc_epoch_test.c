/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds that follow each other in one process whose ranks read each other's GPU memory
 * (ipc_ranks.h). */
#include "tests/support/ipc_ranks.h"
#include "tests/support/live_rendezvous.h"
#include "tests/support/unit.h"

/* The device stays open. What the former world had open was closed, and its buffers are freed. */
static int reduce_in_epochs(int rank)
{
    ipc_start(rank, 2);
    for (int epoch = 0; epoch < 4; epoch++) {
        if (epoch > 0)
            init_world();
        ipc_check_one();
        REQUIRE(ipc_opened() == 1);
        if (epoch < 3)
            leave_world();
    }
    REQUIRE(stand_in_holdings().pieces <= 2);
    return ipc_leave();
}

START_TEST(each_world_has_its_own_buffers)
{
    struct live_rendezvous live;
    struct ranks ranks;
    live_rendezvous_start(&live, 2, 600000);
    ranks_start(&ranks, 2, &live.mini, reduce_in_epochs);
    ranks_wait_all(&ranks);
    live_rendezvous_stop(&live);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ipc_epoch");
    TCase *tcase = tcase_create("ipc_epoch");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 100);
    cuda_prepare();
    tcase_add_test(tcase, each_world_has_its_own_buffers);
    return unit_run(suite);
}
