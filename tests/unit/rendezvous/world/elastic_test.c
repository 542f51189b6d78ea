/* SPDX-License-Identifier: Apache-2.0 */
/* The next world of an elastic job: each transition, and what holds for any history. */
#include "rendezvous/world/elastic.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

enum { WORKERS = 12 };

static struct elastic elastic;
static int owners[WORKERS]; /* their addresses are what counts */

static void setup_elastic(void)
{
    elastic_init(&elastic);
}

static void teardown_elastic(void)
{
    elastic_fini(&elastic);
}

static int come_as(int worker, int pid, void *owner, void **replaced, struct err *err)
{
    struct join_hello hello = { .rank = -1, .worker = worker, .host = "a", .pid = pid };
    *replaced = NULL;
    return elastic_come(&elastic, &hello, owner, 0, replaced, err);
}

static void come(int worker)
{
    void *replaced;
    ck_assert_int_eq(come_as(worker, 100 + worker, &owners[worker], &replaced, NULL), HVD_OK);
}

static int intend_all(int count, const int *workers, struct err *err)
{
    struct rendezvous_member members[WORKERS + 1];
    for (int i = 0; i < count; i++)
        members[i] = (struct rendezvous_member){ workers[i], "a" };
    return elastic_intend(&elastic, members, count, err);
}

static void intend(int count, const int *workers)
{
    ck_assert_int_eq(intend_all(count, workers, NULL), HVD_OK);
}

static void expect_nothing(void)
{
    struct elastic_action action;
    ck_assert(!elastic_next(&elastic, &action));
}

/* The world is made. */
static void expect_world(uint32_t epoch, int count, const int *workers)
{
    struct elastic_action action;
    ck_assert(elastic_next(&elastic, &action));
    ck_assert_int_eq(action.act, ELASTIC_WORLD);
    ck_assert_uint_eq(elastic_epoch(&elastic), epoch);
    ck_assert_int_eq(elastic.nmembers, count);
    for (int i = 0; i < count; i++) {
        int worker = elastic.members[i].worker;
        ck_assert_int_eq(worker, workers[i]);
        ck_assert_ptr_eq(elastic_hello_of(&elastic, worker)->owner, &owners[worker]);
    }
    elastic_made(&elastic, epoch);
}

static void expect_update(uint32_t serial, int hosts)
{
    struct elastic_action action;
    ck_assert(elastic_next(&elastic, &action));
    ck_assert_int_eq(action.act, ELASTIC_UPDATE);
    ck_assert_uint_eq(action.update.serial, serial);
    ck_assert_int_eq(action.update.hosts, hosts);
}

static void expect_refused(int worker)
{
    struct elastic_action action;
    ck_assert(elastic_next(&elastic, &action));
    ck_assert_int_eq(action.act, ELASTIC_REFUSE);
    ck_assert_int_eq(action.worker, worker);
    elastic_gone(&elastic, worker);
}

#define THESE(...)                                                                                 \
    (sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)), (int[])                                        \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

START_TEST(without_workers_or_members_nothing_happens)
{
    expect_nothing();
    come(0);
    expect_nothing();
    intend(0, NULL);
    expect_nothing();
}
END_TEST

START_TEST(a_world_is_made_when_the_last_member_has_come)
{
    intend(THESE(2, 0, 1));
    come(0);
    come(1);
    expect_nothing();
    come(2);
    expect_world(0, THESE(2, 0, 1));
    expect_nothing();
    ck_assert_int_eq(elastic_state_of(&elastic, 0), ELASTIC_PRESENT);
}
END_TEST

START_TEST(a_world_is_made_when_those_that_wait_are_intended)
{
    come(0);
    come(1);
    come(2);
    intend(THESE(1, 2));
    expect_world(0, THESE(1, 2));
    expect_nothing();
    ck_assert_int_eq(elastic_state_of(&elastic, 0), ELASTIC_WAITING);
}
END_TEST

START_TEST(a_member_that_dies_while_it_waits_is_forgotten)
{
    intend(THESE(0, 1));
    come(0);
    elastic_gone(&elastic, 0);
    come(1);
    expect_nothing();
    intend(THESE(1));
    expect_world(0, THESE(1));
}
END_TEST

START_TEST(a_running_world_is_told_of_other_members_once)
{
    intend(THESE(0, 1));
    come(0);
    come(1);
    expect_world(0, THESE(0, 1));
    intend(THESE(0, 1, 2));
    expect_update(1, JOIN_HOSTS_ADDED);
    expect_nothing();
    intend(THESE(0));
    expect_update(2, JOIN_HOSTS_REMOVED);
    intend(THESE(0, 2));
    expect_update(3, JOIN_HOSTS_REMOVED | JOIN_HOSTS_ADDED);
    expect_nothing();
    come(2);
    expect_nothing();
    come(0);
    expect_world(1, THESE(0, 2));
    ck_assert_int_eq(elastic_state_of(&elastic, 1), ELASTIC_ABSENT);
}
END_TEST

START_TEST(the_same_members_in_another_order_are_no_news)
{
    intend(THESE(0, 1));
    come(0);
    come(1);
    expect_world(0, THESE(0, 1));
    intend(THESE(1, 0));
    expect_nothing();
    come(0);
    come(1);
    expect_world(1, THESE(1, 0));
}
END_TEST

START_TEST(a_broken_world_is_told_nothing)
{
    intend(THESE(0, 1));
    come(0);
    come(1);
    expect_world(0, THESE(0, 1));
    elastic_broke(&elastic);
    intend(THESE(1));
    expect_nothing();
    come(1);
    expect_world(1, THESE(1));
}
END_TEST

START_TEST(the_same_process_replaces_its_hello)
{
    void *replaced;
    come(0);
    ck_assert_int_eq(come_as(0, 100, &owners[1], &replaced, NULL), HVD_OK);
    ck_assert_ptr_eq(replaced, &owners[0]);
    ck_assert_int_eq(elastic.waiting, 1);
}
END_TEST

START_TEST(another_process_with_the_number_is_refused)
{
    void *replaced;
    struct err err;
    come(0);
    ck_assert_int_eq(come_as(0, 101, &owners[1], &replaced, &err), HVD_ERR_ENVIRONMENT);
    ck_assert_str_eq(err.text, "HVD_WORKER is 0, but worker 0 is another process (pid 100)");
    intend(THESE(0));
    expect_world(0, THESE(0));
    ck_assert_int_eq(come_as(0, 101, &owners[1], &replaced, &err), HVD_ERR_ENVIRONMENT);
}
END_TEST

START_TEST(a_removed_worker_is_refused_while_it_waits_and_when_it_comes)
{
    void *replaced;
    come(0);
    ck_assert_int_eq(elastic_remove(&elastic, 0, NULL), HVD_OK);
    expect_refused(0);
    expect_nothing();
    ck_assert_int_eq(come_as(0, 100, &owners[0], &replaced, NULL), HVD_ERR_REMOVED);
    ck_assert_int_eq(elastic_remove(&elastic, 7, NULL), HVD_OK);
    ck_assert_int_eq(come_as(7, 107, &owners[7], &replaced, NULL), HVD_ERR_REMOVED);
}
END_TEST

START_TEST(members_that_cannot_be_are_refused_and_the_former_stay)
{
    struct err err;
    intend(THESE(0));
    elastic_remove(&elastic, 1, NULL);
    ck_assert_int_eq(intend_all(THESE(0, 1), &err), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "worker 1 was removed");
    ck_assert_int_eq(intend_all(THESE(2, 2), &err), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "a worker is there twice in a world of 2");
    ck_assert_int_eq(intend_all(THESE(-1), &err), HVD_ERR_INVALID);
    ck_assert_int_eq(elastic_intend(&elastic, NULL, WORLD_SIZE_MAX + 1, &err), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "there can be no world of 131073");
    ck_assert_int_eq(intend_all(THESE(WORKER_NUMBER_MAX + 1), &err), HVD_ERR_INVALID);
    ck_assert_int_eq(elastic_remove(&elastic, WORKER_NUMBER_MAX + 1, &err), HVD_ERR_INVALID);
    come(0);
    expect_world(0, THESE(0));
}
END_TEST

/* A process that has been in epoch 6, of another rendezvous, is in no epoch before 7. */
START_TEST(the_epoch_is_one_that_all_members_may_join)
{
    void *replaced;
    struct join_hello hello = { .rank = -1, .worker = 1, .host = "a", .pid = 101, .epoch = 7 };
    intend(THESE(0, 1));
    come(0);
    ck_assert_int_eq(elastic_come(&elastic, &hello, &owners[1], 0, &replaced, NULL), HVD_OK);
    expect_world(7, THESE(0, 1));
    come(0);
    hello.epoch = 8;
    ck_assert_int_eq(elastic_come(&elastic, &hello, &owners[1], 0, &replaced, NULL), HVD_OK);
    expect_world(8, THESE(0, 1));
}
END_TEST

/* ---- any history ---- */

static struct {
    bool waits, present, removed, intended, of_world, dead;
    int welcomed; /* how often in this epoch */
} model[WORKERS];
static struct {
    int64_t epoch; /* the last */
    bool running;
    int updates; /* since the last intention */
    uint32_t serial, random;
} history;

static uint32_t draw(uint32_t below)
{
    history.random = history.random * 1664525u + 1013904223u;
    return (history.random >> 8) % below;
}

static bool differs(void)
{
    for (int i = 0; i < WORKERS; i++)
        if (model[i].intended != model[i].of_world)
            return true;
    return false;
}

static void check_world(void)
{
    uint32_t epoch = elastic_epoch(&elastic);
    ck_assert_int_gt(epoch, history.epoch);
    history.epoch = epoch;
    history.running = true;
    for (int i = 0; i < WORKERS; i++)
        model[i].welcomed = 0;
    for (int i = 0; i < elastic.nmembers; i++) {
        int worker = elastic.members[i].worker;
        ck_assert(model[worker].waits && model[worker].intended && !model[worker].removed);
        ck_assert_int_eq(model[worker].welcomed++, 0);
        model[worker].waits = false;
    }
    for (int i = 0; i < WORKERS; i++) {
        ck_assert_int_eq(model[i].welcomed, model[i].intended);
        model[i].present = model[i].of_world = model[i].intended;
    }
    elastic_made(&elastic, epoch);
}

static void check_update(const struct join_update *update)
{
    ck_assert(history.running && differs());
    ck_assert_int_eq(history.updates++, 0);
    ck_assert_uint_gt(update->serial, history.serial);
    history.serial = update->serial;
}

/* What must have happened when nothing is left to do. */
static void check_quiet(void)
{
    int members = 0, missing = 0, waiting = 0;
    for (int i = 0; i < WORKERS; i++) {
        members += model[i].intended;
        missing += model[i].intended && !model[i].waits;
        waiting += model[i].waits;
        ck_assert(!(model[i].waits && model[i].removed));
        ck_assert_int_eq(elastic_state_of(&elastic, i) == ELASTIC_WAITING, model[i].waits);
    }
    ck_assert(members == 0 || missing > 0);
    ck_assert_int_eq(elastic.waiting, waiting);
}

static void drain(void)
{
    struct elastic_action action;
    while (elastic_next(&elastic, &action)) {
        if (action.act == ELASTIC_WORLD) {
            check_world();
        } else if (action.act == ELASTIC_UPDATE) {
            check_update(&action.update);
        } else {
            ck_assert(model[action.worker].waits && model[action.worker].removed);
            model[action.worker].waits = false;
            elastic_gone(&elastic, action.worker);
        }
    }
    check_quiet();
}

static void random_intention(void)
{
    int workers[WORKERS], count = 0;
    for (int i = 0; i < WORKERS; i++) {
        model[i].intended = !model[i].removed && !model[i].dead && draw(3) > 0;
        if (model[i].intended)
            workers[count++] = i;
    }
    for (int i = count - 1; i > 0; i--) {
        int other = (int)draw((uint32_t)i + 1), worker = workers[i];
        workers[i] = workers[other];
        workers[other] = worker;
    }
    history.updates = 0;
    intend(count, workers);
    bool expected = history.running && differs();
    drain();
    ck_assert(history.updates == expected || history.updates == 0);
}

static void random_come(int worker)
{
    void *replaced;
    bool waited = model[worker].waits;
    if (model[worker].dead)
        return;
    int rc = come_as(worker, 100 + worker, &owners[worker], &replaced, NULL);
    ck_assert_int_eq(rc, model[worker].removed ? HVD_ERR_REMOVED : HVD_OK);
    if (rc < 0)
        return;
    ck_assert_ptr_eq(replaced, waited ? &owners[worker] : NULL);
    model[worker].waits = true;
    model[worker].present = false;
}

static void random_event(void)
{
    int worker = (int)draw(WORKERS);
    switch (draw(8)) {
    case 0:
        random_intention();
        break;
    case 1:
        elastic_gone(&elastic, worker);
        model[worker].waits = false;
        break;
    case 2:
        if (draw(20) == 0) {
            elastic_remove(&elastic, worker, NULL);
            model[worker].removed = true;
        }
        break;
    case 3:
        elastic_broke(&elastic);
        history.running = false;
        break;
    default:
        random_come(worker);
    }
    drain();
}

START_TEST(no_history_makes_two_worlds_of_an_epoch_or_refuses_the_innocent)
{
    memset(model, 0, sizeof model);
    memset(&history, 0, sizeof history);
    history.epoch = -1;
    history.random = (uint32_t)_i * 2654435761u;
    for (int i = 0; i < 400; i++)
        random_event();
}
END_TEST

START_TEST(unmodified_workers_wait_without_an_owner)
{
    struct elastic_action action;
    const int both[] = { 0, 1 };
    for (int worker = 0; worker < 2; worker++) {
        const struct rank_info place = { .rank = worker, .size = 2 };
        ck_assert_int_eq(elastic_place(&elastic, worker, &place, NULL), HVD_OK);
    }
    intend(2, both);
    ck_assert_int_eq(elastic_find_placed(&elastic, 0, 2, 1), 1);
    ck_assert_int_eq(elastic_find_placed(&elastic, 0, 1, 1), -1);
    ck_assert_int_eq(elastic_find_placed(&elastic, 0, 0, 2), -1);
    ck_assert_int_eq(elastic_come_gloo(&elastic, 0, 0, NULL), HVD_OK);
    expect_nothing();
    ck_assert_int_eq(elastic_come_gloo(&elastic, 1, 0, NULL), HVD_OK);
    ck_assert(elastic_has_gloo(&elastic) && elastic_is_gloo(&elastic, 1));
    ck_assert(elastic_next(&elastic, &action));
    ck_assert_int_eq(action.act, ELASTIC_WORLD);
    elastic_made(&elastic, 0);
    ck_assert_int_eq(elastic_find_placed(&elastic, 0, 2, 1), -1);
    ck_assert_int_eq(elastic_come_gloo(&elastic, 1, 0, NULL), HVD_OK);
    ck_assert_int_eq(elastic_state_of(&elastic, 1), ELASTIC_WAITING);
    ck_assert_int_eq(elastic_remove(&elastic, 0, NULL), HVD_OK);
    ck_assert_int_eq(elastic_come_gloo(&elastic, 0, 0, NULL), HVD_ERR_REMOVED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic");
    TCase *tcase = tcase_create("elastic");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup_elastic, teardown_elastic);
    tcase_add_test(tcase, without_workers_or_members_nothing_happens);
    tcase_add_test(tcase, a_world_is_made_when_the_last_member_has_come);
    tcase_add_test(tcase, a_world_is_made_when_those_that_wait_are_intended);
    tcase_add_test(tcase, a_member_that_dies_while_it_waits_is_forgotten);
    tcase_add_test(tcase, a_running_world_is_told_of_other_members_once);
    tcase_add_test(tcase, the_same_members_in_another_order_are_no_news);
    tcase_add_test(tcase, a_broken_world_is_told_nothing);
    tcase_add_test(tcase, the_same_process_replaces_its_hello);
    tcase_add_test(tcase, another_process_with_the_number_is_refused);
    tcase_add_test(tcase, a_removed_worker_is_refused_while_it_waits_and_when_it_comes);
    tcase_add_test(tcase, members_that_cannot_be_are_refused_and_the_former_stay);
    tcase_add_test(tcase, the_epoch_is_one_that_all_members_may_join);
    tcase_add_test(tcase, unmodified_workers_wait_without_an_owner);
    tcase_add_loop_test(tcase, no_history_makes_two_worlds_of_an_epoch_or_refuses_the_innocent, 0,
                        200);
    return unit_run(suite);
}
