/* SPDX-License-Identifier: Apache-2.0 */
/* Every public call from some thread while others make all the rest, over each transport: threads
 * reduce in their own and in allocated memory, process sets, devices and timelines come and go,
 * somebody asks, somebody forks; then the world is left from a thread while all others are inside.
 * Sums are right, and nobody hangs. What ThreadSanitizer says of it is the point. */
#include "lib/hvd.h"
#include "lib/hvd_device.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 3, ROUNDS = 12, LARGE = 50000 };

static const char *const transports[] = { "shm", "unix", "tcp" };

/* Once the world has been left under their feet, calls may fail. */
static atomic_int leaving;

static bool went_on(int rc)
{
    if (rc >= 0)
        return true;
    REQUIRE(atomic_load(&leaving));
    REQUIRE(rc == HVD_ERR_SHUT_DOWN || rc == HVD_ERR_PEER_LEFT);
    return false;
}

struct part {
    void (*body)(struct part *part);
    int number;
    bool asks; /* goes on until the others have ended */
    pthread_t thread;
};

static atomic_int busy; /* threads that do not ask */

static bool is_over(void)
{
    return atomic_load(&busy) == 0;
}

static void *run_part(void *arg)
{
    struct part *part = arg;
    part->body(part);
    if (!part->asks)
        atomic_fetch_sub(&busy, 1);
    return NULL;
}

/* ---- those who reduce ---- */

static void fill(int32_t *data, int64_t count, int round)
{
    for (int64_t i = 0; i < count; i++)
        data[i] = round % 1000 + (int32_t)(i % 7) + hvd_rank();
}

static void check(const int32_t *data, int64_t count, int round)
{
    for (int64_t i = 0; i < count; i++)
        REQUIRE(data[i] == RANKS * (round % 1000 + (int32_t)(i % 7)) + RANKS * (RANKS - 1) / 2);
}

/* HVD_OK, or how it failed. */
static int reduce(const char *name, int32_t *data, int64_t count, int device, int way)
{
    const struct hvd_tensor tensor = { .name = name,
                                       .input = data,
                                       .output = data,
                                       .dtype = HVD_INT32,
                                       .ndims = 1,
                                       .dims = &count,
                                       .device = device };
    int64_t handle;
    int rc = hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle);
    if (rc < 0)
        return rc;
    while (way == 1 && (rc = hvd_poll(handle)) == 0)
        sched_yield();
    while (way == 2 && (rc = hvd_wait_timeout(handle, 1, NULL)) == HVD_ERR_TIMEOUT)
        continue;
    return way == 2 ? rc : hvd_wait(handle);
}

static void reduce_and_check(struct part *part)
{
    static const int64_t counts[] = { 1, 300, LARGE, 0, 9000 };
    int32_t *data =
        part->number % 2 ? malloc(LARGE * sizeof *data) : hvd_alloc(LARGE * sizeof *data);
    char name[16];
    snprintf(name, sizeof name, "part%d", part->number);
    for (int round = 0; round < ROUNDS || atomic_load(&leaving); round++) {
        int64_t count = counts[(round + part->number) % 5];
        fill(data, count, round);
        if (!went_on(reduce(name, data, count, 0, (round + part->number) % 3)))
            break;
        check(data, count, round);
    }
    if (part->number % 2)
        free(data);
    else
        hvd_free(data);
}

static void add_and_remove_sets(struct part *part)
{
    (void)part;
    for (int round = 0; round < ROUNDS || atomic_load(&leaving); round++) {
        int64_t handle;
        int set = hvd_add_process_set((int[]){ 0, 2 }, 2);
        if (!went_on(set))
            return;
        const struct hvd_options options = { .process_set = set };
        if (hvd_process_set_included(set) == 1 &&
            (!went_on(hvd_barrier_async(&options, &handle)) || !went_on(hvd_wait(handle))))
            return;
        if (!went_on(hvd_remove_process_set(set)))
            return;
    }
}

/* ---- a device whose queues are never behind ---- */

static void *get_memory(void *context, size_t nbytes)
{
    (void)context;
    return malloc(nbytes);
}

static void put_memory(void *context, void *memory, size_t nbytes)
{
    (void)context, (void)nbytes;
    free(memory);
}

static int copy(void *context, void *to, const void *from, size_t nbytes)
{
    (void)context;
    memcpy(to, from, nbytes);
    return 0;
}

static void *new_event(void *context)
{
    (void)context;
    return malloc(1);
}

static void end_event(void *context, void *event)
{
    (void)context;
    free(event);
}

static int record(void *context, void *event, enum hvd_device_queue queue)
{
    (void)context, (void)event, (void)queue;
    return 0;
}

static int has_passed(void *context, void *event)
{
    (void)context, (void)event;
    return 1;
}

static const struct hvd_device prompt = { .name = "prompt",
                                          .alloc_pinned = get_memory,
                                          .free_pinned = put_memory,
                                          .copy_to_host = copy,
                                          .copy_from_host = copy,
                                          .create_event = new_event,
                                          .destroy_event = end_event,
                                          .record_event = record,
                                          .query_event = has_passed };

static void register_and_reduce(struct part *part)
{
    static int32_t data[900];
    (void)part;
    for (int round = 0; round < ROUNDS / 4 || atomic_load(&leaving); round++) {
        int device = hvd_register_device(&prompt);
        REQUIRE(device > 0);
        fill(data, 900, round);
        bool well = went_on(reduce("device", data, 900, device, 0));
        if (well)
            check(data, 900, round);
        int rc = hvd_unregister_device(device);
        REQUIRE(rc == HVD_OK || !well);
        if (!well)
            return;
    }
}

/* ---- those who ask until the others have ended ---- */

static void record_timelines(struct part *part)
{
    char file[] = "/tmp/world_races.XXXXXX";
    (void)part;
    close(mkstemp(file));
    while (!is_over() && went_on(hvd_start_timeline(file, 1))) {
        for (int i = 0; i < 50 && !is_over(); i++)
            sched_yield();
        if (!went_on(hvd_stop_timeline()))
            break;
    }
    unlink(file);
}

static void ask_everything(struct part *part)
{
    int ids[8], ranks[RANKS];
    (void)part;
    while (!is_over()) {
        int place = hvd_rank() | hvd_size() | hvd_local_rank() | hvd_cross_size();
        int sets = hvd_process_sets(ids, 8);
        if (sets > 0)
            (void)hvd_process_set_ranks(ids[sets - 1 < 7 ? sets - 1 : 7], ranks, RANKS);
        REQUIRE(hvd_poll(INT64_MAX) < 0 && *hvd_last_error());
        bool here = hvd_is_initialized() == 1 && hvd_bytes_sent() >= 0 &&
                    hvd_is_homogeneous() == 1 && place >= 0;
        REQUIRE(here || atomic_load(&leaving));
        sched_yield();
    }
}

static void get_memory_and_free_it(struct part *part)
{
    unsigned seed = (unsigned)part->number;
    void *held[16] = { NULL };
    while (!is_over()) {
        int at = rand_r(&seed) % 16;
        hvd_free(held[at]);
        held[at] = hvd_alloc((size_t)rand_r(&seed) % 70000);
        if (held[at])
            *(volatile char *)held[at] = 1;
        sched_yield();
    }
    for (int i = 0; i < 16; i++)
        hvd_free(held[i]);
}

/* The sanitizers' allocators do not survive fork() beside threads; our part makes no use of
 * them. */
static void fork_now_and_then(struct part *part)
{
    (void)part;
    for (int i = 0; i < 6 && !is_over(); i++) {
        int status = 1;
        pid_t pid = fork();
        if (pid == 0)
            _exit(hvd_rank() == HVD_ERR_FORKED ? 0 : 1);
        REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
        for (int pause = 0; pause < 100; pause++)
            sched_yield();
    }
}

static const struct part parts[] = {
    { reduce_and_check, 0, false, 0 },    { reduce_and_check, 1, false, 0 },
    { reduce_and_check, 2, false, 0 },    { add_and_remove_sets, 3, false, 0 },
    { register_and_reduce, 4, false, 0 }, { record_timelines, 5, true, 0 },
    { ask_everything, 6, true, 0 },       { get_memory_and_free_it, 7, true, 0 },
    { fork_now_and_then, 8, true, 0 },
};
enum { PARTS = sizeof parts / sizeof *parts };

static void start_parts(struct part *started)
{
    memcpy(started, parts, sizeof parts);
    for (int i = 0; i < PARTS; i++)
        atomic_fetch_add(&busy, !started[i].asks);
    for (int i = 0; i < PARTS; i++)
        REQUIRE(pthread_create(&started[i].thread, NULL, run_part, &started[i]) == 0);
}

static void join_parts(const struct part *started)
{
    for (int i = 0; i < PARTS; i++)
        REQUIRE(pthread_join(started[i].thread, NULL) == 0);
}

static const char *transport;

static int everything_at_once(int rank)
{
    struct part started[PARTS];
    (void)rank;
    setenv("HVD_TRANSPORT", transport, 1);
    init_world();
    start_parts(started);
    join_parts(started);
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    return leave_world();
}

START_TEST(every_call_may_be_made_while_all_others_are)
{
    transport = transports[_i];
    ranks_run(&(struct mini_options){ .size = RANKS }, everything_at_once);
}
END_TEST

/* Rank 0 leaves after a moment of its own, rank 1 when it is told so by its calls. */
static int leave_in_the_midst(int rank)
{
    struct part started[PARTS];
    setenv("HVD_TRANSPORT", transport, 1);
    init_world();
    atomic_store(&leaving, 1);
    start_parts(started);
    for (int i = 0; i < 300 && rank == 0; i++)
        sched_yield();
    if (rank == 0)
        leave_world();
    join_parts(started);
    return leave_world();
}

START_TEST(a_world_may_be_left_while_every_call_is_made)
{
    transport = transports[_i];
    ranks_run(&(struct mini_options){ .size = RANKS }, leave_in_the_midst);
}
END_TEST

/* ---- threads that are cancelled ---- */

static void *wait_in_a_barrier(void *asynchronous)
{
    int rc, before;
    pthread_setcanceltype(
        *(int *)asynchronous ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED, &before);
    atomic_store(&shared->counters[0], gettid());
    rc = hvd_barrier();
    atomic_store(&shared->counters[1], 1 - rc);
    for (;;)
        pthread_testcancel();
    return NULL;
}

static int asynchronous;

static int cancel_who_waits(int rank)
{
    void *end;
    pthread_t thread;
    int before;
    init_world();
    if (rank == 1) {
        wait_for(3, 1);
        REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    } else {
        REQUIRE(pthread_create(&thread, NULL, wait_in_a_barrier, &asynchronous) == 0);
        wait_for(0, 1);
        wait_until_asleep(atomic_load(&shared->counters[0]));
        REQUIRE(pthread_cancel(thread) == 0);
        atomic_store(&shared->counters[3], 1);
        REQUIRE(pthread_join(thread, &end) == 0 && (asynchronous || end == PTHREAD_CANCELED));
        REQUIRE(asynchronous || atomic_load(&shared->counters[1]) == 1);
    }
    check_collectives(100);
    REQUIRE(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before) == 0);
    REQUIRE(before == PTHREAD_CANCEL_ENABLE);
    return leave_world();
}

/* F99 */
START_TEST(a_thread_that_is_cancelled_while_it_waits_ends_after_its_call)
{
    asynchronous = _i;
    ranks_run(&(struct mini_options){ .size = 2 }, cancel_who_waits);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world_races");
    TCase *tcase = tcase_create("world_races");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, every_call_may_be_made_while_all_others_are, 0, 3);
    tcase_add_loop_test(tcase, a_world_may_be_left_while_every_call_is_made, 0, 3);
#if !defined __SANITIZE_ADDRESS__ /* takes the end of a cancelled thread for a mistake of its own */
    tcase_add_loop_test(tcase, a_thread_that_is_cancelled_while_it_waits_ends_after_its_call, 0, 2);
#else
    (void)a_thread_that_is_cancelled_while_it_waits_ends_after_its_call;
#endif
    return unit_run(suite);
}
