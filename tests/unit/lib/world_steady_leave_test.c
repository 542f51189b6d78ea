/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds that repeat a schedule, and ranks that join, come late, leave or die: the other ranks wait
 * for the first two, errors name the others, and nobody waits for ever. */
#include "lib/base/env_names.h"
#include "lib/engine/engine_impl.h"
#include "lib/hvd.h"
#include "lib/process.h"
#include "lib/world.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <unistd.h>

/* So many rounds are more than a schedule needs. */
enum { LEARNT = 100 };

/* ---- ranks that join and come late ---- */

static int join_after(int rank)
{
    int last;
    int32_t sum = rank;
    init_world();
    sum_rounds("a", LEARNT);
    if (rank != 1)
        REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
    REQUIRE(rank == 1 || sum == sum_of_numbers() - 1);
    REQUIRE_STATUS(hvd_join(&last), HVD_OK);
    REQUIRE(last != 1);
    sum_rounds("a", LEARNT);
    return leave_world();
}

START_TEST(a_rank_that_joins_contributes_zeros)
{
    ranks_run(&(struct mini_options){ .size = 3 }, join_after);
}
END_TEST

/* Rank 1 joins behind a tensor that it has committed to; the others leave the steady state before
 * they submit that tensor. */
static int join_behind_a_tensor(int rank)
{
    int last;
    int64_t handle, dims = 1, before;
    int32_t data = rank;
    struct hvd_tensor tensor = {
        .name = "a", .input = &data, .output = &data, .dtype = HVD_INT32, .ndims = 1, .dims = &dims
    };
    init_world();
    sum_rounds("a", LEARNT);
    before = hvd_bytes_sent();
    if (rank != 1)
        atomic_fetch_add(&shared->counters[0], 1);
    else
        wait_for(0, hvd_size() - 1);
    while (rank != 1 && hvd_bytes_sent() == before)
        usleep(1000);
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_join(&last), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    REQUIRE(data == sum_of_numbers());
    return leave_world();
}

START_TEST(a_join_comes_behind_tensors_that_were_committed_to)
{
    ranks_run(&(struct mini_options){ .size = _i }, join_behind_a_tensor);
}
END_TEST

/* Rank 0 waits until it leaves the steady state, which makes rank 1 answer. */
static int come_late(int rank)
{
    init_world();
    sum_rounds("a", LEARNT);
    int64_t before = hvd_bytes_sent();
    if (rank == 1)
        atomic_fetch_add(&shared->counters[0], 1);
    else
        wait_for(0, 1);
    while (rank == 1 && hvd_bytes_sent() == before)
        usleep(1000);
    sum_rounds("a", LEARNT);
    return leave_world();
}

START_TEST(a_rank_that_comes_late_is_waited_for)
{
    ranks_run(&(struct mini_options){ .size = 2 }, come_late);
}
END_TEST

/* What this rank knows of the steady state of the world. */
static struct steady read_state(void)
{
    struct world *world = process_enter(NULL);
    REQUIRE(world != NULL);
    struct engine *engine = world_engine(world);
    engine_lock(engine);
    struct steady state = engine->sets.at[0]->steady.state;
    engine_unlock(engine);
    process_exit();
    return state;
}

/* Rank 1 wants no steady state. Rank 0 does not know that, and begins some. */
static int stay_out(int rank)
{
    if (rank == 1)
        setenv(ENV_STEADY, "0", 1);
    init_world();
    for (int i = 0; i < LEARNT; i++) {
        sum_rounds("a", 1);
        REQUIRE(rank != 1 || read_state().phase != STEADY_ON);
    }
    REQUIRE(read_state().epoch > 0);
    return leave_world();
}

START_TEST(a_rank_that_wants_no_steady_state_leaves_each_at_once)
{
    ranks_run(&(struct mini_options){ .size = 2 }, stay_out);
}
END_TEST

/* ---- ranks that leave and die ---- */

/* Rank 1 leaves the world when no steady state is on; the root could have begun one just then. */
static int leave_early(int rank)
{
    init_world();
    if (rank == 1)
        return leave_world();
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_PEER_LEFT);
    REQUIRE(read_state().has_left[1]);
    return leave_world();
}

START_TEST(a_rank_that_leaves_the_world_declines_the_next_steady_state)
{
    ranks_run(&(struct mini_options){ .size = 2 }, leave_early);
}
END_TEST

static int leave_after(int rank)
{
    int32_t sum;
    init_world();
    sum_rounds("a", LEARNT);
    if (rank == 1)
        return leave_world();
    REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_ERR_PEER_LEFT);
    require_text("allreduce 'a': rank 1 on testhost left (hvd_shutdown or exit)");
    return leave_world();
}

START_TEST(a_rank_that_leaves_is_named)
{
    ranks_run(&(struct mini_options){ .size = _i }, leave_after);
}
END_TEST

static int leave_at_round;

/* Rank 1 does not wait for its last tensor: the others may get it, and begin a steady state that
 * rank 1 does not hear of. */
static int leave_with_a_tensor_in_flight(int rank)
{
    int32_t sum = rank;
    int64_t handle, dims = 1;
    struct hvd_tensor tensor = {
        .name = "a", .input = &sum, .output = &sum, .dtype = HVD_INT32, .ndims = 1, .dims = &dims
    };
    init_world();
    sum_rounds("a", leave_at_round);
    if (rank == 1) {
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle), HVD_OK);
        return leave_world();
    }
    int rc = sum_of_ranks("a", &sum);
    if (rc == HVD_OK)
        rc = sum_of_ranks("a", &sum);
    REQUIRE_STATUS(rc, HVD_ERR_PEER_LEFT);
    require_text("allreduce 'a': rank 1 on testhost left (hvd_shutdown or exit)");
    return leave_world();
}

START_TEST(a_rank_that_leaves_while_the_others_learn_a_schedule_is_named)
{
    for (leave_at_round = 13; leave_at_round < 18; leave_at_round++)
        ranks_run(&(struct mini_options){ .size = _i }, leave_with_a_tensor_in_flight);
}
END_TEST

static int die_after(int rank)
{
    int32_t sum;
    init_world();
    sum_rounds("a", LEARNT);
    if (rank == 1)
        kill(getpid(), SIGKILL);
    REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_ERR_PEER_LOST);
    require_text("rank 1");
    return leave_world();
}

START_TEST(a_rank_that_is_killed_is_named)
{
    ranks_run_but(&(struct mini_options){ .size = _i }, die_after, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world_steady_leave");
    TCase *tcase = tcase_create("world_steady_leave");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, a_rank_that_joins_contributes_zeros);
    ranks_add_test(tcase, a_join_comes_behind_tensors_that_were_committed_to, 2, 4);
    tcase_add_test(tcase, a_rank_that_comes_late_is_waited_for);
    tcase_add_test(tcase, a_rank_that_wants_no_steady_state_leaves_each_at_once);
    tcase_add_test(tcase, a_rank_that_leaves_the_world_declines_the_next_steady_state);
    ranks_add_test(tcase, a_rank_that_leaves_is_named, 2, 5);
    ranks_add_test(tcase, a_rank_that_leaves_while_the_others_learn_a_schedule_is_named, 2, 5);
    ranks_add_test(tcase, a_rank_that_is_killed_is_named, 2, 5);
    return unit_run(suite);
}
