/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcasts that all ranks of a host read from one copy: when they are chosen, on all ranks alike;
 * whose memory it is, and that it comes back; ranks that end in the middle of one. Linked with
 * -Wl,--wrap, to count such broadcasts and the memory of the shared heap, and to let both fail. */
#include "lib/base/env_names.h"
#include "lib/collective/broadcast_linear.h"
#include "lib/engine/engine_impl.h"
#include "lib/hvd.h"
#include "lib/memory/shared_heap.h"
#include "lib/process.h"
#include "lib/world.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KIB = 1024, LEAST = 64 * KIB, LARGE = 4 * 1024 * KIB };

/* What the counters of all ranks stand for. */
enum { STARTED, WITH_COPY, TAKEN, FREED };

/* Of this rank. */
static bool stops;        /* when it starts such a broadcast */
static bool lacks_memory; /* for an operation */
static bool lacks_heap;

struct operation *__real_broadcast_linear_start(struct operation_store *store,
                                                const struct operation_task *task, struct err *err);
struct operation *__wrap_broadcast_linear_start(struct operation_store *store,
                                                const struct operation_task *task, struct err *err);
void *__real_shared_heap_alloc(size_t nbytes);
void *__wrap_shared_heap_alloc(size_t nbytes);
void __real_shared_heap_free(void *memory);
void __wrap_shared_heap_free(void *memory);

static void count(int counter, bool that)
{
    atomic_fetch_add(&shared->counters[counter], that);
}

static int counted(int counter)
{
    return atomic_load(&shared->counters[counter]);
}

struct operation *__wrap_broadcast_linear_start(struct operation_store *store,
                                                const struct operation_task *task, struct err *err)
{
    if (lacks_memory) {
        *err = (struct err){ .code = HVD_ERR_NOMEM, .text = "no memory for a test" };
        return NULL;
    }
    count(STARTED, true);
    count(WITH_COPY, task->shared);
    if (stops)
        raise(SIGSTOP);
    return __real_broadcast_linear_start(store, task, err);
}

void *__wrap_shared_heap_alloc(size_t nbytes)
{
    void *memory = lacks_heap ? NULL : __real_shared_heap_alloc(nbytes);
    count(TAKEN, memory);
    return memory;
}

void __wrap_shared_heap_free(void *memory)
{
    count(FREED, memory);
    __real_shared_heap_free(memory);
}

/* ---- values ---- */

static unsigned char value_at(size_t at, size_t nbytes)
{
    return (unsigned char)(at * 11 + at / LEAST + nbytes);
}

static int broadcast_in(int set, unsigned char *data, size_t nbytes, int root)
{
    int64_t handle, dims = (int64_t)nbytes;
    const struct hvd_tensor tensor = {
        .name = "b", .output = data, .dtype = HVD_UINT8, .ndims = 1, .dims = &dims
    };
    int rc =
        hvd_broadcast_async(&tensor, root, &(struct hvd_options){ .process_set = set }, &handle);
    return rc < 0 ? rc : hvd_wait(handle);
}

/* The root is given as rank of the world. */
static void check_broadcast(int set, unsigned char *data, size_t nbytes, int root)
{
    bool is_root = hvd_rank() == root;
    for (size_t i = 0; i < nbytes; i++)
        data[i] = is_root ? value_at(i, nbytes) : 0;
    data[nbytes] = 77;
    REQUIRE_STATUS(broadcast_in(set, data, nbytes, root), HVD_OK);
    for (size_t i = 0; i < nbytes; i++)
        REQUIRE(data[i] == value_at(i, nbytes));
    REQUIRE(data[nbytes] == 77);
}

/* All ranks have counted what they have to count. */
static void meet(void)
{
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
}

/* So many such broadcasts have started since `before`, on all ranks together. The agreement of the
 * next barrier comes after the end of all of them. */
static void require_started(int *before, int expected)
{
    meet();
    int now = counted(STARTED);
    REQUIRE(now - *before == expected);
    *before = now;
    meet();
}

static const size_t sizes[] = { LEAST,     LEAST + 1,     2 * LEAST - 1,  2 * LEAST,
                                8 * LEAST, 8 * LEAST - 1, 8 * LEAST + 1,  9 * LEAST - 1,
                                LARGE,     LARGE + 12345, 16 * LEAST + 3, 3 * LEAST,
                                548 * KIB };

enum { SIZES = sizeof sizes / sizeof *sizes };

static int broadcast_all_sizes(int rank)
{
    (void)rank;
    unsigned char *data = malloc(2 * LARGE);
    int started = 0;
    init_world();
    int size = hvd_size();
    check_broadcast(0, data, LEAST - 1, 1);
    require_started(&started, 0);
    for (int i = 0; i < SIZES; i++)
        check_broadcast(0, data, sizes[i], i % size);
    require_started(&started, size * SIZES);
    REQUIRE(counted(WITH_COPY) == SIZES);
    free(data);
    return leave_world();
}

START_TEST(from_64_kib_on_each_root_copies_once)
{
    ranks_run(&(struct mini_options){ .size = _i }, broadcast_all_sizes);
    ck_assert_int_eq(counted(TAKEN), counted(FREED));
}
END_TEST

static int broadcast_between_two(int rank)
{
    (void)rank;
    unsigned char *data = malloc(2 * LARGE);
    init_world();
    check_broadcast(0, data, LARGE, 1);
    free(data);
    return leave_world();
}

START_TEST(two_ranks_have_nobody_to_share_a_copy_with)
{
    ranks_run(&(struct mini_options){ .size = 2 }, broadcast_between_two);
    ck_assert_int_eq(counted(STARTED), 0);
}
END_TEST

/* ---- memory ---- */

static int broadcast_exported(int rank)
{
    (void)rank;
    init_world();
    unsigned char *data = hvd_alloc(LARGE + 1);
    int started = 0;
    for (int i = 0; i < 4; i++)
        check_broadcast(0, data, LARGE - (size_t)i, i % hvd_size());
    require_started(&started, 4 * hvd_size());
    hvd_free(data);
    return leave_world();
}

START_TEST(shared_memory_is_read_where_it_lies)
{
    ranks_run(&(struct mini_options){ .size = 3 }, broadcast_exported);
    ck_assert_int_eq(counted(WITH_COPY), 0);
    ck_assert_int_eq(counted(TAKEN), counted(FREED));
}
END_TEST

/* Tensors that are fused want more of the memory that broadcasts have used. */
static int broadcast_and_reduce(int rank)
{
    enum { TENSORS = 40, COUNT = 3000 };
    static float sums[TENSORS][COUNT];
    unsigned char *data = malloc(LARGE + 1);
    init_world();
    for (int round = 0; round < 12; round++) {
        int64_t handles[TENSORS], dims = COUNT;
        char name[16];
        check_broadcast(0, data, LARGE - (size_t)round, round % hvd_size());
        for (int i = 0; i < TENSORS; i++) {
            snprintf(name, sizeof name, "t%d", i);
            for (int j = 0; j < COUNT; j++)
                sums[i][j] = (float)(rank + i + j);
            const struct hvd_tensor tensor = { .name = name,
                                               .input = sums[i],
                                               .output = sums[i],
                                               .dtype = HVD_FLOAT32,
                                               .ndims = 1,
                                               .dims = &dims };
            REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handles[i]), HVD_OK);
        }
        for (int i = 0; i < TENSORS; i++) {
            REQUIRE_STATUS(hvd_wait(handles[i]), HVD_OK);
            for (int j = 0; j < COUNT; j++)
                REQUIRE(sums[i][j] == (float)(3 + 3 * (i + j)));
        }
    }
    free(data);
    return leave_world();
}

START_TEST(broadcasts_and_fused_tensors_use_the_same_memory_in_turn)
{
    ranks_run(&(struct mini_options){ .size = 3 }, broadcast_and_reduce);
    ck_assert_int_eq(counted(TAKEN), counted(FREED));
}
END_TEST

/* In some broadcasts the root has no memory, in others it has. */
static int broadcast_without_heap(int rank)
{
    unsigned char *data = malloc(2 * LARGE);
    int started = 0;
    init_world();
    for (int i = 0; i < 12; i++) {
        lacks_heap = i % 4 == rank;
        check_broadcast(0, data, sizes[i], i / 4);
    }
    require_started(&started, 3 * 12);
    free(data);
    return leave_world();
}

START_TEST(a_root_without_shared_memory_sends_each_rank_its_own)
{
    ranks_run(&(struct mini_options){ .size = 3 }, broadcast_without_heap);
    ck_assert_int_lt(counted(WITH_COPY), 12);
    ck_assert_int_eq(counted(TAKEN), counted(FREED));
}
END_TEST

static int lacking;

static int broadcast_without_memory(int rank)
{
    unsigned char *data = calloc(1, LARGE);
    init_world();
    lacks_memory = rank == lacking;
    REQUIRE_STATUS(broadcast_in(0, data, LARGE, 1), HVD_ERR_NOMEM);
    if (rank != lacking) {
        char part[40];
        snprintf(part, sizeof part, "rank %d on testhost", lacking);
        require_text(part);
    }
    require_text("no memory for a test");
    hvd_shutdown();
    free(data);
    return 0;
}

START_TEST(a_rank_without_memory_is_an_error_of_all)
{
    lacking = _i;
    ranks_run(&(struct mini_options){ .size = 3 }, broadcast_without_memory);
}
END_TEST

/* ---- sets ---- */

static int broadcast_in_a_set(int rank)
{
    unsigned char *data = malloc(2 * LARGE);
    int started = 0;
    init_world();
    for (int round = 0; round < 3; round++) {
        int set = hvd_add_process_set((int[]){ 1, 3, 4 }, 3);
        REQUIRE(set > 0);
        if (rank == 1 || rank >= 3) {
            check_broadcast(set, data, LARGE, 3);
            check_broadcast(set, data, LEAST, 4);
        }
        require_started(&started, 6);
        REQUIRE_STATUS(hvd_remove_process_set(set), HVD_OK);
        meet();
        REQUIRE(counted(TAKEN) == counted(FREED));
        meet();
    }
    free(data);
    return leave_world();
}

START_TEST(a_set_of_some_ranks_shares_and_gives_back_when_it_is_removed)
{
    ranks_run(&(struct mini_options){ .size = 5 }, broadcast_in_a_set);
}
END_TEST

/* ---- sockets ---- */

static const char *transport;
static int who; /* has the transport; -1: all */

static int broadcast_over_sockets(int rank)
{
    unsigned char *data = malloc(2 * LARGE);
    if (who < 0 || rank == who)
        setenv(ENV_TRANSPORT, transport, 1);
    init_world();
    for (int i = 0; i < SIZES; i++)
        check_broadcast(0, data, sizes[i], i % hvd_size());
    meet();
    REQUIRE(counted(STARTED) == 0);
    free(data);
    return leave_world();
}

START_TEST(over_sockets_nothing_is_shared)
{
    static const char *const names[] = { "tcp", "unix" };
    transport = names[_i];
    who = -1;
    ranks_run(&(struct mini_options){ .size = 4 }, broadcast_over_sockets);
}
END_TEST

/* The root of a tree of seven ranks has no link to some of them. */
START_TEST(one_rank_without_shared_memory_is_known_to_the_root)
{
    transport = "unix";
    who = _i;
    ranks_run(&(struct mini_options){ .size = 7 }, broadcast_over_sockets);
}
END_TEST

/* Neither of a world of sockets nor of a copy: each rank is sent its own. */
static int broadcast_forced(int rank)
{
    (void)rank;
    unsigned char *data = malloc(2 * LARGE);
    int started = 0;
    setenv(ENV_ALGORITHM, "linear", 1);
    setenv(ENV_TRANSPORT, transport, 1);
    init_world();
    for (int i = 0; i < SIZES; i++)
        check_broadcast(0, data, sizes[i], i % hvd_size());
    require_started(&started, SIZES * hvd_size());
    REQUIRE(counted(WITH_COPY) == 0);
    free(data);
    return leave_world();
}

START_TEST(over_sockets_it_is_right_without_a_copy)
{
    static const char *const names[] = { "tcp", "unix" };
    transport = names[_i];
    ranks_run(&(struct mini_options){ .size = 3 }, broadcast_forced);
}
END_TEST

/* Rank 1 sends rank 0 a frame that no rank makes. */
static int note_with_a_body(int rank)
{
    struct err err;
    init_world();
    meet();
    if (rank == 1) {
        struct world *world = process_enter(&err);
        REQUIRE(world != NULL);
        struct engine *engine = world_engine(world);
        engine_lock(engine);
        tree_link_put(&engine->sets.at[0]->tree.up, TREE_SOCKETS, "x", 1);
        engine_unlock(engine);
        process_exit();
    }
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_PROTOCOL);
    if (rank == 0)
        require_text("rank 1: a malformed note about sockets");
    hvd_shutdown();
    return 0;
}

START_TEST(a_note_about_sockets_has_no_body)
{
    ranks_run(&(struct mini_options){ .size = 2 }, note_with_a_body);
}
END_TEST

/* ---- ends in the middle ---- */

enum { SLOW = 2 };

static int dying;

/* Rank SLOW stops when it has begun, and has read nothing: the root, which has a copy of less than
 * the whole, cannot end. Then one of them dies. */
static int broadcast_until_a_death(int rank)
{
    unsigned char *data = calloc(1, LARGE);
    char part[40];
    init_world();
    stops = rank == SLOW;
    REQUIRE_STATUS(broadcast_in(0, data, LARGE, 1), HVD_ERR_PEER_LOST);
    snprintf(part, sizeof part, "rank %d", dying);
    require_text(part);
    hvd_shutdown();
    free(data);
    return 0;
}

START_TEST(a_rank_that_dies_in_the_middle_fails_the_others)
{
    enum { RANKS = 4 };
    struct mini_rendezvous mini;
    struct ranks ranks;
    int status;
    dying = _i;
    mini_rendezvous_start(&mini, &(struct mini_options){ .size = RANKS });
    ranks_start(&ranks, RANKS, &mini, broadcast_until_a_death);
    ck_assert_int_eq(waitpid(ranks.pids[SLOW], &status, WUNTRACED), ranks.pids[SLOW]);
    ck_assert(WIFSTOPPED(status));
    wait_for(STARTED, RANKS);
    ck_assert_int_eq(kill(ranks.pids[dying], SIGKILL), 0);
    ck_assert_int_eq(kill(ranks.pids[SLOW], SIGCONT), 0);
    ranks_wait_all_but(&ranks, dying, 128 + SIGKILL);
    mini_rendezvous_stop(&mini);
}
END_TEST

/* The slow rank is told nothing by a death: the others leave. It must not read what is free. */
static int broadcast_and_leave(int rank)
{
    unsigned char *data = malloc(LARGE + 1);
    init_world();
    for (int i = 0; i < 20; i++) {
        stops = rank == SLOW && i == 10;
        check_broadcast(0, data, LARGE - (size_t)i, 1);
    }
    free(data);
    return leave_world();
}

START_TEST(a_slow_reader_is_waited_for)
{
    struct mini_rendezvous mini;
    struct ranks ranks;
    int status;
    mini_rendezvous_start(&mini, &(struct mini_options){ .size = 3 });
    ranks_start(&ranks, 3, &mini, broadcast_and_leave);
    ck_assert_int_eq(waitpid(ranks.pids[SLOW], &status, WUNTRACED), ranks.pids[SLOW]);
    ck_assert(WIFSTOPPED(status));
    wait_for(STARTED, 11 * 3);
    ck_assert_int_eq(kill(ranks.pids[SLOW], SIGCONT), 0);
    ranks_wait_all(&ranks);
    mini_rendezvous_stop(&mini);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("broadcast_shared");
    TCase *tests = tcase_create("broadcast_shared");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 120);
    ranks_add_test(tests, from_64_kib_on_each_root_copies_once, 3, 6);
    tcase_add_test(tests, two_ranks_have_nobody_to_share_a_copy_with);
    tcase_add_test(tests, shared_memory_is_read_where_it_lies);
    tcase_add_test(tests, broadcasts_and_fused_tensors_use_the_same_memory_in_turn);
    tcase_add_test(tests, a_root_without_shared_memory_sends_each_rank_its_own);
    tcase_add_loop_test(tests, a_rank_without_memory_is_an_error_of_all, 0, 3);
    tcase_add_test(tests, a_set_of_some_ranks_shares_and_gives_back_when_it_is_removed);
    tcase_add_loop_test(tests, over_sockets_nothing_is_shared, 0, 2);
    tcase_add_loop_test(tests, one_rank_without_shared_memory_is_known_to_the_root, 2, 5);
    tcase_add_loop_test(tests, over_sockets_it_is_right_without_a_copy, 0, 2);
    tcase_add_test(tests, a_note_about_sockets_has_no_body);
    tcase_add_loop_test(tests, a_rank_that_dies_in_the_middle_fails_the_others, 1, 3);
    tcase_add_test(tests, a_slow_reader_is_waited_for);
    return unit_run(suite);
}
