/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of the policy of elastic jobs: events, and the actions that follow. Actions are
 * compared as text:
 *
 *   +a:0,1        start workers 0 and 1 on host a       =0,1      intend these, in order of rank
 *   -2            remove worker 2                       !2        stop it
 *   done          the job is done                       fail TEXT the job has failed
 *   warn TEXT     a line for people                     lost 2 TEXT    worker 2 is given up */
#ifndef TESTS_SUPPORT_ELASTIC_PLAN_FIXTURE_H
#define TESTS_SUPPORT_ELASTIC_PLAN_FIXTURE_H

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

static inline void begin(const struct elastic_options *options)
{
    now_ms = 1000;
    epoch = 0;
    plan = elastic_plan_create(options, now_ms);
}

static inline void finish(void)
{
    elastic_plan_destroy(plan);
    plan = NULL;
}

static inline void put_action(struct text_buffer *text, const struct elastic_action *action)
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
    case ELASTIC_WARN:
        text_buffer_printf(text, "warn %s", action->text);
        return;
    case ELASTIC_GIVE_UP:
        text_buffer_printf(text, "lost %d %s", action->worker, action->text);
        return;
    case ELASTIC_FINISH:
        text_buffer_put_string(text, "done");
        return;
    case ELASTIC_FAIL:
        text_buffer_printf(text, "fail %s", action->text);
    }
}

/* All actions that are due. */
static inline const char *actions(void)
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

static inline void hosts(const char *text)
{
    struct host_list list = { 0 };
    struct err err;
    if (*text)
        ck_assert_int_eq(host_list_parse(&list, text, strlen(text), "hosts", &err), HVD_OK);
    elastic_plan_on_hosts(plan, &list, now_ms);
    host_list_fini(&list);
}

static inline void waits(int worker)
{
    elastic_plan_on_waiting(plan, worker, now_ms);
}

/* The members that were intended last become a world. */
static inline void world(void)
{
    elastic_plan_on_world(plan, epoch++, last_intended, last_count, now_ms);
}

/* The workers of the job are Horovod's own. */
static inline void comes_with_fixed_place(int worker)
{
    elastic_plan_on_fixed_place(plan, worker);
    waits(worker);
}

static inline void fails(int worker)
{
    elastic_plan_on_ended(plan, worker, false, now_ms);
}

static inline void finishes(int worker)
{
    elastic_plan_on_ended(plan, worker, true, now_ms);
}

static inline void pass(uint64_t ms)
{
    now_ms += ms;
    elastic_plan_on_time(plan, now_ms);
}

/* Two workers on one host, in their first world. */
static inline void begin_on_one_host(const struct elastic_options *options)
{
    begin(options);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    world();
}

/* Four workers on two hosts, in their first world. */
static inline void begin_on_two_hosts(const struct elastic_options *options)
{
    begin(options);
    hosts("a:2,b:2");
    EXPECT("+a:0,1 +b:2,3 =0,1,2,3");
    world();
    EXPECT("");
}

#endif
