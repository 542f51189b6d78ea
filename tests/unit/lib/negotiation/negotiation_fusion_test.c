/* SPDX-License-Identifier: Apache-2.0 */
/* Which allreduces are run as one, and that groups are run when all of them are ready. */
#include "lib/negotiation/fusion_plan.h"
#include "tests/support/negotiation_net.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct net net;
static char order[1000]; /* what rank 0 has run: "a b+c " */

static void on_decision(struct net *source, int rank, const struct decision *decision)
{
    (void)source;
    for (int i = 0; rank == 0 && i < decision->count; i++) {
        strcat(order, i > 0 ? "+" : "");
        strcat(order, decision->tensors[i].name);
    }
    if (rank == 0)
        strcat(order, decision->kind == DECISION_FAILED ? "! " : " ");
}

static void start(int size, size_t threshold, bool group_fusion)
{
    struct negotiation_settings settings = net_defaults;
    settings.fusion.together = threshold;
    settings.group_fusion = group_fusion;
    settings.inline_max = 0;
    net_init(&net, size, &settings, 1);
    net.on_decision = on_decision;
    order[0] = '\0';
}

static struct offer tensor(const char *name, size_t nbytes)
{
    return (struct offer){ .name = name,
                           .description =
                               net_description(COLLECTIVE_ALLREDUCE, (int64_t)(nbytes / 4)) };
}

/* On all ranks, before anything is decided. */
static void submit(struct offer offer)
{
    for (int i = 0; i < net.size; i++)
        net_submit(&net, i, &offer);
}

START_TEST(tensors_that_go_together_are_run_as_one)
{
    struct offer other = tensor("other", 64), last = tensor("last", 64);
    other.description.dtype = HVD_INT32;
    last.description.postscale = 0.5;
    start(1, 1 << 20, true);
    for (int round = 0; round < 3; round++) {
        order[0] = '\0';
        submit(tensor("a", 64));
        submit(other);
        submit(tensor("b", 64));
        submit(last);
        submit(tensor("c", 64));
        net_complete(&net);
        ck_assert_str_eq(order, "a+b+c other last ");
    }
    net_fini(&net);
}
END_TEST

START_TEST(tensors_in_different_memory_are_not_fused)
{
    static const struct {
        enum memory_kind other, last;
        const char *order;
    } rows[] = {
        { MEMORY_HOST, MEMORY_DEVICE, "a+other last " },
        { MEMORY_DEVICE, MEMORY_HOST, "a+last other " },
        { MEMORY_DEVICE, MEMORY_DEVICE, "a other+last " },
        { MEMORY_DEVICE_REDUCES, MEMORY_DEVICE_REDUCES, "a other last " },
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct offer other = tensor("other", 64), last = tensor("last", 64);
        other.description.memory = rows[row].other;
        last.description.memory = rows[row].last;
        start(1, 1 << 20, true);
        submit(tensor("a", 64));
        submit(other);
        submit(last);
        net_complete(&net);
        ck_assert_str_eq(order, rows[row].order);
        net_fini(&net);
    }
}
END_TEST

START_TEST(the_threshold_is_kept_and_large_tensors_go_alone)
{
    static const struct {
        size_t threshold;
        const char *order;
    } rows[] = {
        { 0, "a b huge c d " },
        { 100, "a+d b huge c " }, /* 64 and 4 fit */
        { 200, "a+b+c+d huge " }, /* 64 + 64 + 64 + 4 */
        { 64 << 20, "a+b+c+d huge " },
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        start(1, rows[row].threshold, true);
        submit(tensor("a", 64));
        submit(tensor("b", 64));
        submit(tensor("huge", (64 << 10) + 4));
        submit(tensor("c", 64));
        submit(tensor("d", 4));
        ck_assert(negotiation_has_data(net.ranks[0].negotiation));
        net_complete(&net);
        ck_assert_str_eq(order, rows[row].order);
        ck_assert(!negotiation_has_data(net.ranks[0].negotiation));
        net_fini(&net);
    }
}
END_TEST

START_TEST(tensors_pile_up_until_data_may_be_moved)
{
    struct wire_writer body = { 0 };
    start(1, 1 << 20, true);
    submit(tensor("a", 64));
    submit(net_barrier("b"));
    struct negotiation *negotiation = net.ranks[0].negotiation;
    struct decision decision;
    ck_assert(negotiation_decide(negotiation, false, &body));
    ck_assert(!negotiation_decide(negotiation, false, &body));
    ck_assert_int_eq(negotiation_apply(negotiation, body.data, body.length, NULL), HVD_OK);
    ck_assert_int_eq(negotiation_next(negotiation, &decision, NULL), 1);
    ck_assert_str_eq(decision.tensors[0].name, "b");
    ck_assert_int_eq(negotiation_next(negotiation, &decision, NULL), 0);
    ck_assert(!negotiation_decide(negotiation, false, &body));
    ck_assert(negotiation_has_data(negotiation));
    submit(tensor("c", 64));
    net_complete(&net);
    ck_assert_str_eq(order, "a+c ");
    wire_writer_fini(&body);
    net_fini(&net);
}
END_TEST

static struct offer member(const char *name, uint64_t group, uint32_t size)
{
    struct offer offer = tensor(name, 64);
    offer.description.group = group;
    offer.description.group_size = size;
    return offer;
}

START_TEST(a_group_waits_for_its_last_member)
{
    start(_i, 1 << 20, true);
    for (int round = 0; round < 3; round++) {
        order[0] = '\0';
        submit(member("x", 7, 3));
        submit(member("p", 8, 1));
        net_complete(&net);
        ck_assert_str_eq(order, "p ");
        submit(member("y", 7, 3));
        net_complete(&net);
        ck_assert_str_eq(order, "p ");
        submit(member("z", 7, 3));
        net_complete(&net);
        ck_assert_str_eq(order, "p x+y+z ");
    }
    net_check_logs(&net);
    net_fini(&net);
}
END_TEST

START_TEST(groups_are_fused_with_others_only_if_they_may)
{
    for (int may = 0; may < 2; may++) {
        start(1, 1 << 20, may);
        submit(tensor("a", 64));
        submit(member("x", 7, 2));
        submit(member("u", 8, 2));
        submit(member("v", 8, 2));
        submit(member("y", 7, 2));
        submit(tensor("b", 64));
        net_complete(&net);
        ck_assert_str_eq(order, may ? "a+u+v+x+y+b " : "a+b u+v x+y ");
        net_fini(&net);
    }
}
END_TEST

START_TEST(a_member_that_fails_does_not_hold_up_its_group)
{
    start(_i, 1 << 20, true);
    for (int round = 0; round < 3; round++) {
        order[0] = '\0';
        submit(member("x", 7, 3));
        for (int i = 0; i < net.size; i++) {
            struct offer odd = member("y", 7, 3);
            odd.description.shape.dims[0] += i == 1;
            net_submit(&net, i, &odd);
        }
        net_complete(&net);
        ck_assert_str_eq(order, "y! ");
        submit(member("z", 7, 3));
        net_complete(&net);
        ck_assert_str_eq(order, "y! x+z ");
    }
    net_fini(&net);
}
END_TEST

START_TEST(a_group_that_is_not_complete_when_all_join_fails)
{
    start(_i, 1 << 20, true);
    submit(member("x", 7, 2));
    submit(net_join("join"));
    net_complete(&net);
    ck_assert_str_eq(order, "x! join ");
    ck_assert(strstr(net.seen[0].name, "join"));
    net_check_logs(&net);
    net_fini(&net);
}
END_TEST

START_TEST(a_group_in_flight_is_freed_with_the_rest)
{
    start(1, 1 << 20, true);
    submit(member("x", 7, 2));
    net_fini(&net);
}
END_TEST

START_TEST(ten_thousand_tensors_are_run_in_few_pieces)
{
    enum { COUNT = 10000 };
    static char names[COUNT][24];
    start(_i, 64 << 20, true);
    net.on_decision = NULL;
    net.quiet = true;
    for (int round = 0; round < 2; round++) {
        for (int at = 0; at < COUNT; at++) {
            snprintf(names[at], sizeof names[at], "tensor.%d", at);
            submit(tensor(names[at], 64));
        }
        net_complete(&net);
        for (int i = 0; i < net.size; i++)
            ck_assert_int_eq(negotiation_waiting_count(net.ranks[i].negotiation), 0);
    }
    ck_assert_uint_lt(net.messages_up, 40 * (size_t)net.size);
    net_fini(&net);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("fusion");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, tensors_that_go_together_are_run_as_one);
    tcase_add_test(tcase, tensors_in_different_memory_are_not_fused);
    tcase_add_test(tcase, the_threshold_is_kept_and_large_tensors_go_alone);
    tcase_add_test(tcase, tensors_pile_up_until_data_may_be_moved);
    tcase_add_loop_test(tcase, a_group_waits_for_its_last_member, 1, 6);
    tcase_add_test(tcase, groups_are_fused_with_others_only_if_they_may);
    tcase_add_loop_test(tcase, a_member_that_fails_does_not_hold_up_its_group, 2, 6);
    tcase_add_loop_test(tcase, a_group_that_is_not_complete_when_all_join_fails, 1, 6);
    tcase_add_test(tcase, a_group_in_flight_is_freed_with_the_rest);
    tcase_add_loop_test(tcase, ten_thousand_tensors_are_run_in_few_pieces, 1, 4);
    Suite *all = suite_create("negotiation_fusion");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
