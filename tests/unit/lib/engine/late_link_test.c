/* SPDX-License-Identifier: Apache-2.0 */
/* A link that arrives at a rank after its process set has ended: nobody takes it there, and the
 * rank that has dialled must not wait for data. Linked with -Wl,--wrap, to hold up what must come
 * late: what the leaver hears, the links of the root, and the end of the set on rank 0. */
#include "lib/engine/engine_impl.h"
#include "lib/hvd.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <sched.h>

/* The leaver is between rank 0 and the root in the tree. Rank 0 and the root have no link to each
 * other before the broadcast. */
enum { SIZE = 6, LEAVER = 1, ROOT = 2, LAST = 5, LARGE = 1 << 18 };

/* What the counters stand for. */
enum { HELD_UP, DECIDED, DONE };

/* Of this rank. */
static bool hears_nothing;
static bool accepts_nobody;
static bool ends_when_linked;

int __real_set_receive_from_parent(struct process_set *set, struct err *err);
int __wrap_set_receive_from_parent(struct process_set *set, struct err *err);
int __real_linker_move(struct linker *linker, uint64_t now_ms, struct err *err);
int __wrap_linker_move(struct linker *linker, uint64_t now_ms, struct err *err);
int __real_set_want_data(struct process_set *set, const int *ranks, int count, struct err *err);
int __wrap_set_want_data(struct process_set *set, const int *ranks, int count, struct err *err);
void __real_set_end(struct process_set *set, int who, const struct rank_end *end);
void __wrap_set_end(struct process_set *set, int who, const struct rank_end *end);

int __wrap_set_receive_from_parent(struct process_set *set, struct err *err)
{
    return hears_nothing ? 0 : __real_set_receive_from_parent(set, err);
}

int __wrap_linker_move(struct linker *linker, uint64_t now_ms, struct err *err)
{
    return accepts_nobody ? 0 : __real_linker_move(linker, now_ms, err);
}

int __wrap_set_want_data(struct process_set *set, const int *ranks, int count, struct err *err)
{
    if (ends_when_linked)
        atomic_fetch_add(&shared->counters[DECIDED], 1);
    return __real_set_want_data(set, ranks, count, err);
}

static void wait_for_link(struct process_set *set, int rank)
{
    struct err err;
    while (!set->links.channels[rank]) {
        REQUIRE(linker_move(set->engine->linker, monotonic_ms(), &err) >= 0);
        REQUIRE(set_take_links(set, &err) == HVD_OK);
        sched_yield();
    }
}

void __wrap_set_end(struct process_set *set, int who, const struct rank_end *end)
{
    if (ends_when_linked)
        wait_for_link(set, ROOT);
    __real_set_end(set, who, end);
    accepts_nobody = ends_when_linked = false;
}

static int start_broadcast(const char *name, float *data, int root, int64_t *handle)
{
    const struct hvd_tensor tensor = {
        .name = name, .output = data, .dtype = HVD_FLOAT32, .ndims = 1, .dims = &(int64_t){ LARGE }
    };
    return hvd_broadcast_async(&tensor, root, NULL, handle);
}

/* The leaver has all but its part in the decision behind it, and does not pass the decision on. */
static int leave(void)
{
    wait_for(DECIDED, 1);
    leave_world();
    wait_for(DONE, SIZE - 1);
    return 0;
}

/* All ranks know where all are, so that nobody asks the leaver for it later. */
static void learn_addresses(float *data)
{
    int64_t handle;
    REQUIRE_STATUS(start_broadcast("first", data, LAST, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
}

static int broadcast_without_the_leaver(int rank)
{
    static float data[LARGE];
    int64_t handle;
    int32_t sum;
    init_world();
    learn_addresses(data);
    if (rank != 0)
        REQUIRE_STATUS(start_broadcast("x", data, ROOT, &handle), HVD_OK);
    REQUIRE_STATUS(sum_of_ranks("order", &sum), HVD_OK);
    hears_nothing = rank == LEAVER;
    accepts_nobody = rank == ROOT;
    ends_when_linked = rank == 0;
    atomic_fetch_add(&shared->counters[HELD_UP], 1);
    if (rank == LEAVER)
        return leave();
    wait_for(HELD_UP, SIZE);
    if (rank == 0)
        REQUIRE_STATUS(start_broadcast("x", data, ROOT, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_ERR_PEER_LEFT);
    atomic_fetch_add(&shared->counters[DONE], 1);
    wait_for(DONE, SIZE - 1);
    return leave_world();
}

START_TEST(a_rank_does_not_wait_for_data_of_a_set_that_has_ended_there)
{
    ranks_run(&(struct mini_options){ .size = SIZE }, broadcast_without_the_leaver);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("late_link");
    TCase *tcase = tcase_create("late_link");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_rank_does_not_wait_for_data_of_a_set_that_has_ended_there);
    return unit_run(suite);
}
