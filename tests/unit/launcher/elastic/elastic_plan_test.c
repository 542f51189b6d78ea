/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of elastic jobs: each of its rules, as events and the actions that follow. Actions are
 * compared as text:
 *
 *   +a:0,1        start workers 0 and 1 on host a       =0,1      intend these, in order of rank
 *   -2            remove worker 2                       !2        stop it
 *   done          the job is done                       fail TEXT the job has failed */
#include "launcher/base/text_buffer.h"
#include "launcher/elastic/elastic_plan.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct elastic_plan *plan;
static uint64_t now_ms;
static int epoch;
static int last_intended[64], last_count;
static char taken[2000];

static const struct elastic_options two_to_four = {
    .np = 2, .min = 2, .max = 4, .timeout_ms = 600000
};

static void begin(const struct elastic_options *options)
{
    now_ms = 1000;
    epoch = 0;
    plan = elastic_plan_create(options, now_ms);
}

static void finish(void)
{
    elastic_plan_destroy(plan);
    plan = NULL;
}

static void put_action(struct text_buffer *text, const struct elastic_action *action)
{
    if (text->length > 0)
        text_buffer_put_string(text, " ");
    switch (action->kind) {
    case ELASTIC_START:
        text_buffer_printf(text, "+%s:", action->host->name);
        for (int i = 0; i < action->count; i++)
            text_buffer_printf(text, i ? ",%d" : "%d", action->worker + i);
        return;
    case ELASTIC_INTEND:
        last_count = action->count;
        for (int i = 0; i < action->count; i++) {
            last_intended[i] = action->members[i].worker;
            text_buffer_printf(text, i ? ",%d" : "=%d", action->members[i].worker);
        }
        return;
    case ELASTIC_REMOVE:
        text_buffer_printf(text, "-%d", action->worker);
        return;
    case ELASTIC_STOP:
        text_buffer_printf(text, "!%d", action->worker);
        return;
    case ELASTIC_FINISH:
        text_buffer_put_string(text, "done");
        return;
    case ELASTIC_FAIL:
        text_buffer_printf(text, "fail %s", action->text);
    }
}

/* All actions that are due. */
static const char *actions(void)
{
    struct text_buffer text = { 0 };
    struct elastic_action action;
    while (elastic_plan_next(plan, &action))
        put_action(&text, &action);
    char *made = text_buffer_take(&text);
    ck_assert_uint_lt(strlen(made), sizeof taken);
    strcpy(taken, made);
    free(made);
    return taken;
}

#define EXPECT(expected) ck_assert_str_eq(actions(), expected)

static void hosts(const char *text)
{
    struct host_list list = { 0 };
    struct err err;
    if (*text)
        ck_assert_int_eq(host_list_parse(&list, text, strlen(text), "hosts", &err), HVD_OK);
    elastic_plan_on_hosts(plan, &list, now_ms);
    host_list_fini(&list);
}

static void waits(int worker)
{
    elastic_plan_on_waiting(plan, worker, now_ms);
}

/* What was intended last becomes a world. */
static void world(void)
{
    elastic_plan_on_world(plan, epoch++, last_intended, last_count, now_ms);
}

/* The workers of the job are Horovod's own. */
static void comes_with_fixed_place(int worker)
{
    elastic_plan_on_fixed_place(plan, worker);
    waits(worker);
}

static void fails(int worker)
{
    elastic_plan_on_ended(plan, worker, false, now_ms);
}

static void finishes(int worker)
{
    elastic_plan_on_ended(plan, worker, true, now_ms);
}

static void pass(uint64_t ms)
{
    now_ms += ms;
    elastic_plan_on_time(plan, now_ms);
}

/* Four workers on two hosts, in their first world. */
static void begin_on_two_hosts(const struct elastic_options *options)
{
    begin(options);
    hosts("a:2,b:2");
    EXPECT("+a:0,1 +b:2,3 =0,1,2,3");
    world();
    EXPECT("");
}

/* ---- start ---- */

START_TEST(the_first_world_waits_for_np_slots)
{
    begin(&two_to_four);
    hosts("a:1");
    EXPECT("");
    ck_assert_str_eq(elastic_plan_waits_for(plan),
                     "waiting for slots: 1 slot on 1 host, 2 needed (-np)");
    hosts("a:1,b:1");
    EXPECT("+a:0 +b:1 =0,1");
    ck_assert_ptr_null(elastic_plan_waits_for(plan));
    finish();
}
END_TEST

START_TEST(the_first_world_takes_all_slots_up_to_the_maximum)
{
    begin(&two_to_four);
    hosts("a:3,b:3,c:1");
    EXPECT("+a:0,1,2 +b:3 =0,1,2,3");
    finish();
}
END_TEST

START_TEST(new_workers_know_their_place)
{
    struct elastic_action action;
    begin(&two_to_four);
    hosts("a:1,b:2");
    ck_assert(elastic_plan_next(plan, &action));
    ck_assert_int_eq(action.places[0].size, 3);
    ck_assert_int_eq(action.places[0].cross_size, 2);
    ck_assert(elastic_plan_next(plan, &action));
    const struct rank_info *last = &action.places[1];
    ck_assert_int_eq(last->rank, 2);
    ck_assert_int_eq(last->local_rank, 1);
    ck_assert_int_eq(last->local_size, 2);
    ck_assert_int_eq(last->cross_rank, 0);
    ck_assert_int_eq(last->cross_size, 1);
    ck_assert_int_eq(action.places[0].cross_rank, 1);
    finish();
}
END_TEST

START_TEST(slots_that_never_come_end_the_job)
{
    begin(&two_to_four);
    hosts("a:1");
    ck_assert_uint_eq(elastic_plan_next_ms(plan), 601000);
    pass(599999);
    EXPECT("");
    pass(1);
    EXPECT("fail too few slots for 600 s (--elastic-timeout): 1 slot on 1 host, and 2 are needed "
           "(-np)");
    ck_assert_uint_eq(elastic_plan_next_ms(plan), ELASTIC_NEVER);
    finish();
}
END_TEST

START_TEST(a_program_that_cannot_be_started_ends_the_job_at_once)
{
    begin(&two_to_four);
    hosts("a:2,b:2");
    EXPECT("+a:0,1 +b:2,3 =0,1,2,3");
    fails(0);
    EXPECT("-1 =2,3");
    fails(2);
    EXPECT("");
    fails(3);
    EXPECT("fail no rank is left that could go on");
    finish();
}
END_TEST

START_TEST(nothing_follows_a_failure)
{
    begin(&two_to_four);
    hosts("a:2,b:2");
    EXPECT("+a:0,1 +b:2,3 =0,1,2,3");
    waits(0);
    pass(600000);
    EXPECT("fail no world within 600 s (--elastic-timeout): rank 1 on a, ranks 2, 3 on b have not "
           "called hvd_init");
    fails(2);
    EXPECT("");
    pass(600000);
    EXPECT("");
    finish();
}
END_TEST

START_TEST(ranks_that_never_come_end_the_job)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    waits(0);
    pass(600000);
    EXPECT("fail no world within 600 s (--elastic-timeout): rank 1 on a has not called hvd_init");
    finish();
}
END_TEST

START_TEST(a_rank_that_does_not_come_back_is_named)
{
    begin_on_two_hosts(&two_to_four);
    for (int worker = 0; worker < 3; worker++)
        waits(worker);
    pass(ELASTIC_HEAR_MS);
    EXPECT("=0,1,2,3");
    pass(600000);
    EXPECT("fail no world within 600 s (--elastic-timeout): rank 3 on b has not called hvd_init");
    finish();
}
END_TEST

/* Its place among the others is that of its first world, so that rank 0 has the state. */
START_TEST(a_worker_that_comes_late_is_behind_those_that_have_the_state)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    world();
    hosts("a:2,b:2");
    EXPECT("+b:2,3");
    waits(3);
    EXPECT("");
    pass(ELASTIC_GATHER_MS);
    EXPECT("=0,1,3");
    world();
    waits(2);
    EXPECT("=0,1,3,2");
    world();
    fails(0);
    EXPECT("-1 =3,2");
    finish();
}
END_TEST

static const struct elastic_options two_that_cool_down = { .np = 2,
                                                           .min = 2,
                                                           .max = 2,
                                                           .timeout_ms = 600000,
                                                           .cooldown_low_ms = 1000,
                                                           .cooldown_high_ms = 1000 };

/* Of two workers, one has come. */
static void begin_with_one_of_two(void)
{
    begin(&two_that_cool_down);
    hosts("a:1,b:1");
    EXPECT("+a:0 +b:1 =0,1");
    waits(0);
}

START_TEST(a_worker_that_is_started_again_and_again_does_not_put_off_the_timeout)
{
    begin_with_one_of_two();
    int worker = 1;
    while (now_ms < 1000 + two_that_cool_down.timeout_ms) {
        fails(worker++);
        EXPECT("");
        pass(1000);
        if (now_ms < 1000 + two_that_cool_down.timeout_ms)
            ck_assert_ptr_nonnull(strstr(actions(), "+b:"));
    }
    ck_assert_ptr_nonnull(
        strstr(actions(), "(--elastic-timeout): rank 1 on b has not called hvd_init"));
    finish();
}
END_TEST

/* The slot is lost half a second before the time is up. */
START_TEST(a_slot_lost_just_before_the_timeout_was_not_missing_all_the_time)
{
    begin_with_one_of_two();
    pass(599500);
    fails(1);
    pass(500);
    EXPECT("fail no world within 600 s (--elastic-timeout): 1 slot on 1 host, and 2 are needed "
           "(--min-np)");
    finish();
}
END_TEST

/* The line has room for some hosts; the rest is counted. */
START_TEST(many_hosts_whose_ranks_do_not_come_are_counted)
{
    static const struct elastic_options options = {
        .np = 60, .min = 60, .max = 60, .timeout_ms = 600000
    };
    char list[600] = "";
    for (int i = 0; i < 30; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%snode-number-%02d:2",
                 i ? "," : "", i);
    begin(&options);
    hosts(list);
    pass(600000);
    const char *failure = strstr(actions(), "fail ");
    ck_assert_str_eq(failure,
                     "fail no world within 600 s (--elastic-timeout): "
                     "ranks 0, 1 on node-number-00, ranks 2, 3 on node-number-01, "
                     "ranks 4, 5 on node-number-02, ranks 6, 7 on node-number-03, "
                     "ranks 8, 9 on node-number-04, ranks 10, 11 on node-number-05 and 48 others "
                     "have not called hvd_init");
    finish();
}
END_TEST

/* The name of the first host leaves room for hardly more. */
START_TEST(the_number_of_other_ranks_is_not_cut)
{
    static const struct elastic_options options = {
        .np = 3, .min = 3, .max = 3, .timeout_ms = 600000
    };
    char name[182], list[200], expected[300];
    for (int i = 0; i < 181; i++)
        name[i] = i % 60 == 59 ? '.' : 'h';
    strcpy(name + 180, "h");
    snprintf(list, sizeof list, "%s:1,b:1,c:1", name);
    snprintf(expected, sizeof expected,
             "fail no world within 600 s (--elastic-timeout): rank 0 on %s and 2 others have not "
             "called hvd_init",
             name);
    begin(&options);
    hosts(list);
    pass(600000);
    ck_assert_str_eq(strstr(actions(), "fail "), expected);
    finish();
}
END_TEST

START_TEST(ranks_on_a_host_with_a_long_name_are_counted)
{
    char list[300];
    for (int i = 0; i < 252; i++)
        list[i] = i % 63 == 62 ? '.' : 'h';
    strcpy(list + 251, ":2");
    begin(&two_to_four);
    hosts(list);
    pass(600000);
    ck_assert_str_eq(
        strstr(actions(), "fail "),
        "fail no world within 600 s (--elastic-timeout): 2 ranks have not called hvd_init");
    finish();
}
END_TEST

/* ---- failures ---- */

START_TEST(a_host_with_a_failure_is_avoided_and_its_other_workers_are_removed)
{
    begin_on_two_hosts(&two_to_four);
    fails(1);
    EXPECT("-0 =2,3");
    world();
    EXPECT("");
    pass(ELASTIC_LEAVE_MS - 1);
    EXPECT("");
    finish();
}
END_TEST

START_TEST(a_removed_worker_that_stays_is_stopped_once)
{
    begin_on_two_hosts(&two_to_four);
    fails(1);
    EXPECT("-0 =2,3");
    world();
    ck_assert_uint_eq(elastic_plan_next_ms(plan), now_ms + ELASTIC_LEAVE_MS);
    pass(ELASTIC_LEAVE_MS);
    EXPECT("!0");
    pass(ELASTIC_LEAVE_MS);
    EXPECT("");
    fails(0);
    EXPECT("");
    finish();
}
END_TEST

START_TEST(a_job_with_one_host_gives_up_one_slot)
{
    static const struct elastic_options options = { .np = 4, .min = 2, .max = 4, .timeout_ms = 9 };
    begin(&options);
    hosts("a:4");
    EXPECT("+a:0,1,2,3 =0,1,2,3");
    world();
    fails(0);
    EXPECT("=1,2,3");
    world();
    fails(2);
    EXPECT("=1,3");
    finish();
}
END_TEST

START_TEST(a_host_without_which_the_world_is_too_small_loses_one_slot_only)
{
    static const struct elastic_options options = { .np = 3, .min = 3, .max = 4, .timeout_ms = 9 };
    begin_on_two_hosts(&options);
    fails(1);
    EXPECT("=0,2,3");
    finish();
}
END_TEST

START_TEST(a_free_slot_replaces_a_worker_that_failed_without_delay_for_the_others)
{
    static const struct elastic_options options = { .np = 4, .min = 2, .max = 4, .timeout_ms = 9 };
    begin(&options);
    hosts("a:2,b:2,c:2");
    EXPECT("+a:0,1 +b:2,3 =0,1,2,3");
    world();
    fails(3);
    EXPECT("-2 +c:4,5 =0,1");
    world();
    EXPECT("");
    waits(4);
    EXPECT("");
    waits(5);
    EXPECT("=0,1,4,5");
    finish();
}
END_TEST

START_TEST(survivors_that_are_too_few_wait_for_new_workers)
{
    static const struct elastic_options options = { .np = 2, .min = 2, .max = 2, .timeout_ms = 9 };
    begin(&options);
    hosts("a:1,b:1,c:1");
    EXPECT("+a:0 +b:1 =0,1");
    world();
    fails(1);
    EXPECT("+c:2 =0,2");
    finish();
}
END_TEST

START_TEST(fixed_hosts_that_can_never_be_enough_end_the_job_at_once)
{
    struct elastic_options options = two_to_four;
    options.hosts_are_fixed = true;
    begin(&options);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    world();
    fails(0);
    EXPECT("fail too few slots are left: 1 slot on 1 host, and 2 are needed (--min-np)");
    finish();
}
END_TEST

START_TEST(with_too_few_ranks_the_job_waits_for_hosts_of_the_script)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    world();
    fails(0);
    EXPECT("");
    ck_assert_str_eq(elastic_plan_waits_for(plan),
                     "waiting for slots: 1 slot on 1 host, 2 needed (--min-np)");
    pass(599999);
    hosts("a:2,b:1");
    EXPECT("+b:2 =1,2");
    finish();
}
END_TEST

START_TEST(with_too_few_ranks_the_wait_ends)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    world();
    fails(0);
    pass(600000);
    EXPECT("fail too few slots for 600 s (--elastic-timeout): 1 slot on 1 host, and 2 are needed "
           "(--min-np)");
    finish();
}
END_TEST

START_TEST(without_a_survivor_the_state_is_lost)
{
    begin_on_two_hosts(&two_to_four);
    fails(0);
    fails(1);
    fails(2);
    fails(3);
    EXPECT("-1 =2,3 fail no rank is left that could go on");
    finish();
}
END_TEST

START_TEST(new_workers_alone_are_no_survivors)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    world();
    hosts("a:2,b:2");
    EXPECT("+b:2,3");
    waits(2);
    fails(0);
    fails(1);
    ck_assert_ptr_nonnull(strstr(actions(), "fail no rank is left"));
    finish();
}
END_TEST

START_TEST(ranks_that_come_before_the_news_of_a_failure_wait_for_it)
{
    begin_on_two_hosts(&two_to_four);
    waits(0);
    waits(2);
    EXPECT("");
    fails(3);
    EXPECT("-2 =0,1");
    finish();
}
END_TEST

START_TEST(a_world_whose_ranks_come_back_by_themselves_is_made_again)
{
    begin_on_two_hosts(&two_to_four);
    waits(2);
    EXPECT("");
    ck_assert_uint_eq(elastic_plan_next_ms(plan), now_ms + ELASTIC_HEAR_MS);
    waits(0);
    pass(ELASTIC_HEAR_MS);
    EXPECT("=0,1,2,3");
    pass(600000);
    EXPECT("fail no world within 600 s (--elastic-timeout): rank 1 on a, rank 3 on b have not "
           "called hvd_init");
    finish();
}
END_TEST

/* ---- cool-down ---- */

START_TEST(a_host_comes_back_after_the_cool_down_which_doubles)
{
    struct elastic_options options = two_to_four;
    options.cooldown_low_ms = 10000;
    options.cooldown_high_ms = 30000;
    static const uint64_t delays[] = { 10000, 20000, 30000, 30000 };
    begin_on_two_hosts(&options);
    int first = 2;
    for (int i = 0; i < 4; i++) {
        char started[40];
        fails(first);
        fails(first + 1);
        actions();
        world();
        ck_assert_uint_eq(elastic_plan_next_ms(plan), now_ms + delays[i]);
        pass(delays[i] - 1);
        EXPECT("");
        pass(1);
        first = i == 0 ? 4 : first + 2;
        snprintf(started, sizeof started, "+b:%d,%d", first, first + 1);
        EXPECT(started);
        waits(first);
        waits(first + 1);
        actions();
        world();
    }
    finish();
}
END_TEST

START_TEST(a_slot_comes_back_after_the_cool_down)
{
    static const struct elastic_options options = { .np = 3,
                                                    .min = 2,
                                                    .max = 4,
                                                    .timeout_ms = 60000,
                                                    .cooldown_low_ms = 1000,
                                                    .cooldown_high_ms = 2000 };
    begin(&options);
    hosts("a:3");
    EXPECT("+a:0,1,2 =0,1,2");
    world();
    fails(1);
    EXPECT("=0,2");
    world();
    pass(1000);
    EXPECT("+a:3");
    waits(3);
    EXPECT("=0,2,3");
    finish();
}
END_TEST

START_TEST(a_removed_worker_keeps_its_slot_until_it_ends)
{
    struct elastic_options options = two_to_four;
    options.cooldown_low_ms = options.cooldown_high_ms = 1000;
    begin_on_two_hosts(&options);
    fails(3);
    EXPECT("-2 =0,1");
    world();
    pass(1000);
    EXPECT("+b:4");
    fails(2);
    EXPECT("+b:5");
    finish();
}
END_TEST

START_TEST(a_failed_host_does_not_become_good_by_leaving)
{
    begin_on_two_hosts(&two_to_four);
    fails(2);
    fails(3);
    EXPECT("-3 =0,1");
    world();
    hosts("a:2");
    hosts("a:2,b:2");
    EXPECT("");
    finish();
}
END_TEST

/* ---- growth and shrinking ---- */

START_TEST(a_world_grows_when_all_new_workers_wait)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    world();
    hosts("a:2,b:1,c:1");
    EXPECT("+b:2 +c:3");
    waits(3);
    EXPECT("");
    waits(2);
    EXPECT("=0,1,2,3");
    world();
    EXPECT("");
    finish();
}
END_TEST

START_TEST(a_world_does_not_wait_long_for_the_last_new_worker)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    world();
    hosts("a:2,b:1,c:1");
    EXPECT("+b:2 +c:3");
    waits(3);
    ck_assert_uint_eq(elastic_plan_next_ms(plan), now_ms + ELASTIC_GATHER_MS);
    pass(ELASTIC_GATHER_MS);
    EXPECT("=0,1,3");
    world();
    waits(2);
    EXPECT("=0,1,3,2");
    finish();
}
END_TEST

START_TEST(a_new_worker_that_fails_does_not_disturb_the_world)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    world();
    hosts("a:2,b:2");
    EXPECT("+b:2,3");
    fails(2);
    EXPECT("-3");
    finish();
}
END_TEST

START_TEST(a_new_worker_that_exits_with_0_before_it_joins_has_finished_nothing)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    world();
    hosts("a:2,b:1");
    EXPECT("+b:2");
    finishes(2);
    EXPECT("");
    fails(1);
    EXPECT("");
    finish();
}
END_TEST

START_TEST(a_new_worker_that_was_intended_and_fails_is_taken_out_again)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    world();
    hosts("a:2,b:1");
    EXPECT("+b:2");
    waits(2);
    EXPECT("=0,1,2");
    fails(2);
    EXPECT("=0,1");
    finish();
}
END_TEST

START_TEST(a_new_worker_that_fails_beside_members_costs_a_slot_only)
{
    begin(&two_to_four);
    hosts("a:1,b:2");
    EXPECT("+a:0 +b:1,2 =0,1,2");
    world();
    hosts("a:1,b:3");
    EXPECT("+b:3");
    fails(3);
    EXPECT("");
    finish();
}
END_TEST

START_TEST(a_host_that_is_not_found_any_more_loses_its_workers)
{
    begin_on_two_hosts(&two_to_four);
    hosts("b:2");
    EXPECT("-1 -0 =2,3");
    pass(10 * ELASTIC_LEAVE_MS); /* the world that they are in still runs */
    EXPECT("");
    world();
    pass(ELASTIC_LEAVE_MS);
    EXPECT("!0 !1");
    finish();
}
END_TEST

START_TEST(a_host_with_fewer_slots_loses_its_youngest_workers)
{
    static const struct elastic_options options = { .np = 4, .min = 1, .max = 9, .timeout_ms = 9 };
    begin(&options);
    hosts("a:3,b:1");
    EXPECT("+a:0,1,2 +b:3 =0,1,2,3");
    world();
    hosts("a:1,b:1");
    EXPECT("-2 -1 =0,3");
    finish();
}
END_TEST

START_TEST(workers_stay_on_a_lost_host_until_others_can_replace_them)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    world();
    hosts("b:2");
    EXPECT("+b:2,3");
    waits(2);
    waits(3);
    EXPECT("=0,1,2,3");
    world();
    EXPECT("-1 -0 =2,3");
    finish();
}
END_TEST

START_TEST(a_host_that_flaps_leaves_nobody_behind)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    world();
    hosts("a:2,b:2");
    EXPECT("+b:2,3");
    hosts("a:2");
    EXPECT("-3 -2");
    hosts("a:2,b:2");
    EXPECT("");
    fails(2);
    EXPECT("+b:4");
    pass(ELASTIC_LEAVE_MS);
    EXPECT("!3");
    finish();
}
END_TEST

START_TEST(the_oldest_survivor_is_rank_0)
{
    static const struct elastic_options options = {
        .np = 4, .min = 1, .max = 9, .timeout_ms = 9, .cooldown_low_ms = 1, .cooldown_high_ms = 1
    };
    begin_on_two_hosts(&options);
    fails(0);
    fails(1);
    EXPECT("-1 =2,3");
    world();
    pass(1);
    EXPECT("+a:4,5");
    waits(4);
    waits(5);
    EXPECT("=2,3,4,5");
    finish();
}
END_TEST

START_TEST(ranks_of_one_host_stand_together)
{
    static const struct elastic_options options = { .np = 4, .min = 1, .max = 9, .timeout_ms = 9 };
    begin_on_two_hosts(&options);
    hosts("a:3,b:2");
    EXPECT("+a:4");
    waits(4);
    EXPECT("=0,1,4,2,3");
    finish();
}
END_TEST

/* ---- resets ---- */

START_TEST(the_limit_of_resets_ends_the_job_when_one_more_is_necessary)
{
    struct elastic_options options = two_to_four;
    options.reset_limit = 1;
    options.min = 1;
    begin_on_two_hosts(&options);
    fails(3);
    EXPECT("-2 =0,1");
    world();
    fails(1);
    EXPECT("fail a further world is needed after 1 reset (--reset-limit)");
    finish();
}
END_TEST

START_TEST(growth_is_not_necessary)
{
    struct elastic_options options = two_to_four;
    options.reset_limit = 1;
    begin(&options);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    world();
    hosts("a:2,b:1");
    EXPECT("+b:2");
    waits(2);
    EXPECT("=0,1,2");
    world();
    hosts("a:2,b:2");
    EXPECT("");
    finish();
}
END_TEST

/* ---- the end ---- */

START_TEST(the_job_is_done_when_all_have_finished)
{
    begin_on_two_hosts(&two_to_four);
    finishes(2);
    finishes(0);
    finishes(1);
    EXPECT("");
    finishes(3);
    EXPECT("done");
    finish();
}
END_TEST

START_TEST(the_success_of_one_does_not_stop_the_others)
{
    begin_on_two_hosts(&two_to_four);
    finishes(0);
    EXPECT("");
    fails(1);
    EXPECT("=2,3");
    world();
    finishes(2);
    finishes(3);
    EXPECT("done");
    finish();
}
END_TEST

START_TEST(a_worker_that_finishes_is_not_replaced)
{
    begin_on_two_hosts(&two_to_four);
    finishes(0);
    hosts("a:2,b:2,c:2");
    EXPECT("");
    finish();
}
END_TEST

START_TEST(workers_that_were_to_join_are_removed_when_one_finishes)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    world();
    hosts("a:2,b:2");
    EXPECT("+b:2,3");
    finishes(0);
    EXPECT("-2 -3");
    finishes(1);
    EXPECT("done");
    finish();
}
END_TEST

START_TEST(too_few_that_finish_are_a_failure)
{
    begin_on_two_hosts(&two_to_four);
    finishes(0);
    fails(1);
    fails(2);
    EXPECT("=2,3 =3");
    fails(3);
    EXPECT("fail only 1 rank finished, and 2 are needed (--min-np)");
    finish();
}
END_TEST

START_TEST(workers_that_do_not_use_the_library_may_finish)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    finishes(1);
    finishes(0);
    ck_assert_ptr_nonnull(strstr(actions(), "done"));
    finish();
}
END_TEST

START_TEST(the_status_of_a_removed_worker_does_not_count)
{
    begin_on_two_hosts(&two_to_four);
    hosts("b:2");
    EXPECT("-1 -0 =2,3");
    finishes(0);
    EXPECT("");
    world();
    fails(1);
    EXPECT("");
    finishes(2);
    finishes(3);
    EXPECT("done");
    finish();
}
END_TEST

START_TEST(events_about_others_change_nothing)
{
    static const int unknown[] = { -1, 4, 7, 8 };
    begin_on_two_hosts(&two_to_four);
    fails(-1);
    finishes(4);
    waits(77);
    elastic_plan_on_world(plan, 0, unknown, 0, now_ms);
    finish();
}
END_TEST

/* ---- workers whose places are fixed ---- */

static void begin_with_fixed_places(void)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    comes_with_fixed_place(0);
    comes_with_fixed_place(1);
    world();
    EXPECT("");
}

START_TEST(workers_with_fixed_places_join_together)
{
    begin_with_fixed_places();
    hosts("a:2,b:1,c:1");
    EXPECT("+b:2 +c:3");
    comes_with_fixed_place(2);
    pass(10 * ELASTIC_GATHER_MS);
    EXPECT("");
    comes_with_fixed_place(3);
    EXPECT("=0,1,2,3");
    finish();
}
END_TEST

START_TEST(others_are_started_when_those_have_joined)
{
    begin_with_fixed_places();
    hosts("a:2,b:1");
    EXPECT("+b:2");
    hosts("a:2,b:1,c:1");
    EXPECT("");
    comes_with_fixed_place(2);
    EXPECT("=0,1,2");
    world();
    EXPECT("+c:3");
    finish();
}
END_TEST

START_TEST(workers_whose_places_are_wrong_are_stopped_at_once_and_replaced)
{
    begin_with_fixed_places();
    hosts("a:2,b:1,c:1");
    EXPECT("+b:2 +c:3");
    comes_with_fixed_place(2);
    hosts("a:2,b:1");
    EXPECT("-3 -2 !2");
    fails(3);
    EXPECT("");
    fails(2);
    EXPECT("+b:4");
    comes_with_fixed_place(4);
    EXPECT("=0,1,4");
    finish();
}
END_TEST

START_TEST(a_first_world_that_loses_a_worker_is_started_again)
{
    begin(&two_to_four);
    hosts("a:3");
    EXPECT("+a:0,1,2 =0,1,2");
    comes_with_fixed_place(0);
    fails(1);
    EXPECT("-0 -2 !0 !2");
    fails(0);
    EXPECT("");
    fails(2);
    EXPECT("+a:3,4 =3,4");
    finish();
}
END_TEST

/* ---- Horovod's scenarios (integration/elastic_common.py) ---- */

/* Sizes s, 2s, s; the third world is that of 127.0.0.1, whose first rank was s. */
START_TEST(horovod_hosts_added_and_removed)
{
    struct elastic_options options = two_to_four;
    begin(&options);
    hosts("localhost:2");
    EXPECT("+localhost:0,1 =0,1");
    world();
    hosts("localhost:2,127.0.0.1:2");
    EXPECT("+127.0.0.1:2,3");
    waits(2);
    waits(3);
    EXPECT("=0,1,2,3");
    world();
    hosts("127.0.0.1:2");
    EXPECT("-1 -0 =2,3");
    world();
    ck_assert_int_eq(epoch, 3);
    finish();
}
END_TEST

START_TEST(horovod_hosts_added_and_removed_with_one_slot)
{
    static const struct elastic_options options = { .np = 1, .min = 1, .max = 2, .timeout_ms = 9 };
    begin(&options);
    hosts("localhost:1");
    EXPECT("+localhost:0 =0");
    world();
    hosts("localhost:1,127.0.0.1:1");
    EXPECT("+127.0.0.1:1");
    waits(1);
    EXPECT("=0,1");
    world();
    hosts("127.0.0.1:1");
    EXPECT("-0 =1");
    world();
    ck_assert_int_eq(epoch, 3);
    finish();
}
END_TEST

/* Sizes 4, 2, 2; the first rank of the second world was 2; two rendezvous. */
static void horovod_failure(bool fixed)
{
    struct elastic_options options = two_to_four;
    options.hosts_are_fixed = fixed;
    begin(&options);
    hosts("localhost:2,127.0.0.1:2");
    EXPECT("+localhost:0,1 +127.0.0.1:2,3 =0,1,2,3");
    world();
    fails(0);
    EXPECT("-1 =2,3");
    world();
    fails(1);
    finishes(2);
    finishes(3);
    EXPECT("done");
    ck_assert_int_eq(epoch, 2);
    finish();
}

START_TEST(horovod_single_rank_failure)
{
    horovod_failure(false);
}
END_TEST

START_TEST(horovod_fault_tolerance_without_scaling)
{
    horovod_failure(true);
}
END_TEST

START_TEST(horovod_all_ranks_failure)
{
    begin_on_two_hosts(&two_to_four);
    fails(0);
    fails(1);
    fails(2);
    fails(3);
    ck_assert_ptr_nonnull(strstr(actions(), "fail "));
    finish();
}
END_TEST

/* Horovod ends at once. A script may name other hosts, for which we wait; fixed hosts end. */
START_TEST(horovod_all_hosts_blacklisted)
{
    for (int fixed = 0; fixed < 2; fixed++) {
        struct elastic_options options = two_to_four;
        options.hosts_are_fixed = fixed;
        begin_on_two_hosts(&options);
        fails(0);
        fails(2);
        EXPECT(fixed ? "-1 =2,3 fail too few slots are left: 1 slot on 1 host, 1 host avoided "
                       "after a failure, and 2 are needed (--min-np)"
                     : "-1 =2,3");
        pass(600000);
        EXPECT(fixed ? ""
                     : "!1 fail too few slots for 600 s (--elastic-timeout): 1 slot on 1 host, 1 "
                       "host avoided after a failure, and 2 are needed (--min-np)");
        finish();
    }
}
END_TEST

START_TEST(horovod_min_hosts_timeout)
{
    static const struct elastic_options options = {
        .np = 4, .min = 4, .max = 4, .timeout_ms = 1000
    };
    begin_on_two_hosts(&options);
    fails(0);
    EXPECT("");
    pass(1000);
    EXPECT("fail too few slots for 1 s (--elastic-timeout): 3 slots on 2 hosts, and 4 are needed "
           "(--min-np)");
    finish();
}
END_TEST

START_TEST(horovod_reset_limit)
{
    for (int limit = 1; limit <= 2; limit++) {
        struct elastic_options options = two_to_four;
        options.reset_limit = limit;
        begin(&options);
        hosts("localhost:2");
        actions();
        world();
        hosts("localhost:2,127.0.0.1:2");
        actions();
        waits(2);
        waits(3);
        EXPECT("=0,1,2,3");
        world();
        hosts("127.0.0.1:2");
        EXPECT(limit == 1 ? "-1 -0 fail a further world is needed after 1 reset (--reset-limit)"
                          : "-1 -0 =2,3");
        finish();
    }
}
END_TEST

START_TEST(horovod_resurrecting_blacklisted_hosts)
{
    struct elastic_options options = two_to_four;
    options.cooldown_low_ms = 1000;
    options.cooldown_high_ms = 2000;
    begin_on_two_hosts(&options);
    fails(3);
    fails(2);
    EXPECT("-2 =0,1");
    world();
    pass(1000);
    EXPECT("+b:4,5");
    waits(4);
    waits(5);
    EXPECT("=0,1,4,5");
    world();
    fails(5);
    EXPECT("-4 =0,1");
    world();
    fails(4);
    pass(1000);
    EXPECT("");
    pass(1000);
    EXPECT("+b:6,7");
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic_plan");
    TCase *rules = tcase_create("rules");
    tcase_add_test(rules, the_first_world_waits_for_np_slots);
    tcase_add_test(rules, the_first_world_takes_all_slots_up_to_the_maximum);
    tcase_add_test(rules, new_workers_know_their_place);
    tcase_add_test(rules, slots_that_never_come_end_the_job);
    tcase_add_test(rules, a_program_that_cannot_be_started_ends_the_job_at_once);
    tcase_add_test(rules, nothing_follows_a_failure);
    tcase_add_test(rules, ranks_that_never_come_end_the_job);
    tcase_add_test(rules, a_rank_that_does_not_come_back_is_named);
    tcase_add_test(rules, a_worker_that_comes_late_is_behind_those_that_have_the_state);
    tcase_add_test(rules, a_worker_that_is_started_again_and_again_does_not_put_off_the_timeout);
    tcase_add_test(rules, a_slot_lost_just_before_the_timeout_was_not_missing_all_the_time);
    tcase_add_test(rules, many_hosts_whose_ranks_do_not_come_are_counted);
    tcase_add_test(rules, the_number_of_other_ranks_is_not_cut);
    tcase_add_test(rules, ranks_on_a_host_with_a_long_name_are_counted);
    tcase_add_test(rules, a_host_with_a_failure_is_avoided_and_its_other_workers_are_removed);
    tcase_add_test(rules, a_removed_worker_that_stays_is_stopped_once);
    tcase_add_test(rules, a_job_with_one_host_gives_up_one_slot);
    tcase_add_test(rules, a_host_without_which_the_world_is_too_small_loses_one_slot_only);
    tcase_add_test(rules, a_free_slot_replaces_a_worker_that_failed_without_delay_for_the_others);
    tcase_add_test(rules, survivors_that_are_too_few_wait_for_new_workers);
    tcase_add_test(rules, fixed_hosts_that_can_never_be_enough_end_the_job_at_once);
    tcase_add_test(rules, with_too_few_ranks_the_job_waits_for_hosts_of_the_script);
    tcase_add_test(rules, with_too_few_ranks_the_wait_ends);
    tcase_add_test(rules, without_a_survivor_the_state_is_lost);
    tcase_add_test(rules, new_workers_alone_are_no_survivors);
    tcase_add_test(rules, ranks_that_come_before_the_news_of_a_failure_wait_for_it);
    tcase_add_test(rules, a_world_whose_ranks_come_back_by_themselves_is_made_again);
    tcase_add_test(rules, a_host_comes_back_after_the_cool_down_which_doubles);
    tcase_add_test(rules, a_slot_comes_back_after_the_cool_down);
    tcase_add_test(rules, a_removed_worker_keeps_its_slot_until_it_ends);
    tcase_add_test(rules, a_failed_host_does_not_become_good_by_leaving);
    tcase_add_test(rules, a_world_grows_when_all_new_workers_wait);
    tcase_add_test(rules, a_world_does_not_wait_long_for_the_last_new_worker);
    tcase_add_test(rules, a_new_worker_that_fails_does_not_disturb_the_world);
    tcase_add_test(rules, a_new_worker_that_exits_with_0_before_it_joins_has_finished_nothing);
    tcase_add_test(rules, a_new_worker_that_was_intended_and_fails_is_taken_out_again);
    tcase_add_test(rules, a_new_worker_that_fails_beside_members_costs_a_slot_only);
    tcase_add_test(rules, a_host_that_is_not_found_any_more_loses_its_workers);
    tcase_add_test(rules, a_host_with_fewer_slots_loses_its_youngest_workers);
    tcase_add_test(rules, workers_stay_on_a_lost_host_until_others_can_replace_them);
    tcase_add_test(rules, a_host_that_flaps_leaves_nobody_behind);
    tcase_add_test(rules, the_oldest_survivor_is_rank_0);
    tcase_add_test(rules, ranks_of_one_host_stand_together);
    tcase_add_test(rules, the_limit_of_resets_ends_the_job_when_one_more_is_necessary);
    tcase_add_test(rules, growth_is_not_necessary);
    tcase_add_test(rules, the_job_is_done_when_all_have_finished);
    tcase_add_test(rules, the_success_of_one_does_not_stop_the_others);
    tcase_add_test(rules, a_worker_that_finishes_is_not_replaced);
    tcase_add_test(rules, workers_that_were_to_join_are_removed_when_one_finishes);
    tcase_add_test(rules, too_few_that_finish_are_a_failure);
    tcase_add_test(rules, workers_that_do_not_use_the_library_may_finish);
    tcase_add_test(rules, the_status_of_a_removed_worker_does_not_count);
    tcase_add_test(rules, events_about_others_change_nothing);
    suite_add_tcase(suite, rules);
    TCase *fixed = tcase_create("fixed places");
    tcase_add_test(fixed, workers_with_fixed_places_join_together);
    tcase_add_test(fixed, others_are_started_when_those_have_joined);
    tcase_add_test(fixed, workers_whose_places_are_wrong_are_stopped_at_once_and_replaced);
    tcase_add_test(fixed, a_first_world_that_loses_a_worker_is_started_again);
    suite_add_tcase(suite, fixed);
    TCase *horovod = tcase_create("horovod");
    tcase_add_test(horovod, horovod_hosts_added_and_removed);
    tcase_add_test(horovod, horovod_hosts_added_and_removed_with_one_slot);
    tcase_add_test(horovod, horovod_single_rank_failure);
    tcase_add_test(horovod, horovod_fault_tolerance_without_scaling);
    tcase_add_test(horovod, horovod_all_ranks_failure);
    tcase_add_test(horovod, horovod_all_hosts_blacklisted);
    tcase_add_test(horovod, horovod_min_hosts_timeout);
    tcase_add_test(horovod, horovod_reset_limit);
    tcase_add_test(horovod, horovod_resurrecting_blacklisted_hosts);
    suite_add_tcase(suite, horovod);
    return unit_run(suite);
}
