/* SPDX-License-Identifier: Apache-2.0 */
/* A group's count of requests when there is no memory for one, and its wait for what NCCL has at
 * work (reducer_impl.h), on a driver and a library that the test plays. Linked with
 * -Wl,--wrap=calloc. */
#include "lib/cuda/reducer_impl.h"
#include "tests/support/unit.h"

#include <stdlib.h>

enum { SET = 3, NOT_READY = 3 };

static bool no_memory;
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    return no_memory ? NULL : __real_calloc(count, size);
}

/* ---- the driver and the library ---- */

static int queries; /* of the event, which passes after NOT_READY of them */

static int push(struct cuda_context *context)
{
    (void)context;
    return CUDA_OK;
}

static int pop(struct cuda_context **context)
{
    *context = NULL;
    return CUDA_OK;
}

static int event_query(struct cuda_event *event)
{
    (void)event;
    return queries++ < NOT_READY ? CUDA_NOT_READY : CUDA_OK;
}

static int breaks_at; /* the query from which on the world is broken */

static int world_is_broken(void)
{
    return queries >= breaks_at;
}

static int has_ended(int process_set, int serial)
{
    (void)process_set;
    (void)serial;
    return 0;
}

static const struct cuda_driver driver = { .push = push, .pop = pop, .event_query = event_query };
static const struct device_module_library library = { .world_is_broken = world_is_broken,
                                                      .process_set_has_ended = has_ended };
static struct cuda_device device = { .driver = &driver };
static struct cuda_reducer reducer;
static struct cuda_group group;
static struct err err;

static void setup(void)
{
    reducer = (struct cuda_reducer){ .device = &device, .library = &library, .groups = &group };
    pthread_mutex_init(&reducer.lock, NULL);
    group = (struct cuda_group){
        .reducer = &reducer, .set = SET, .last = &group.first, .path = GROUP_NCCL, .at_work = true
    };
    err = (struct err){ .code = HVD_OK };
    queries = 0;
    breaks_at = 1000;
}

static void teardown(void)
{
    no_memory = false;
    pthread_mutex_destroy(&reducer.lock);
}

/* ---- sentences ---- */

/* A group that still counts a request would outlive its set. */
START_TEST(a_request_without_memory_does_not_count)
{
    static const int64_t rows[] = { 1, 1 };
    const struct hvd_device_allreduce allreduce = { .process_set = SET };
    const struct hvd_device_collective collective = {
        .process_set = SET, .size = 2, .rows = rows, .splits = rows
    };
    no_memory = true;
    ck_assert_int_eq(cuda_reducer_put(&reducer, &allreduce, &err), HVD_ERR_NOMEM);
    ck_assert_int_eq(cuda_reducer_put_collective(&reducer, &collective, &err), HVD_ERR_NOMEM);
    ck_assert_str_eq(err.text, "out of memory");
    ck_assert_int_eq(group.pending, 0);
    ck_assert_ptr_null(group.first);
}
END_TEST

START_TEST(what_nccl_has_at_work_is_waited_for)
{
    ck_assert_int_eq(cuda_group_finish_nccl(&group, &err), HVD_OK);
    ck_assert_int_eq(queries, NOT_READY + 1);
    ck_assert(!group.at_work);
    ck_assert_int_eq(group.path, GROUP_NCCL);
}
END_TEST

START_TEST(nothing_is_waited_for_without_work)
{
    group.at_work = false;
    ck_assert_int_eq(cuda_group_finish_nccl(&group, &err), HVD_OK);
    ck_assert_int_eq(queries, 0);
}
END_TEST

START_TEST(the_wait_ends_with_the_world)
{
    breaks_at = 2;
    ck_assert_int_eq(cuda_group_finish_nccl(&group, &err), HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text, "the world ended before NCCL was done");
    ck_assert_int_eq(queries, breaks_at);
    ck_assert(!group.at_work);
    ck_assert_int_eq(group.path, GROUP_UNKNOWN);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("group_requests");
    TCase *tcase = tcase_create("group_requests");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_request_without_memory_does_not_count);
    tcase_add_test(tcase, what_nccl_has_at_work_is_waited_for);
    tcase_add_test(tcase, nothing_is_waited_for_without_work);
    tcase_add_test(tcase, the_wait_ends_with_the_world);
    return unit_run(suite);
}
