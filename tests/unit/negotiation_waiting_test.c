/* SPDX-License-Identifier: Apache-2.0 */
/* Who is waited for can be asked on every rank, and the top can be watched. */
#include "tests/support/negotiation_net.h"
#include "tests/support/unit.h"

static struct net net;

static void start(int size)
{
    net_init(&net, size, &net_defaults, (uint64_t)size);
}

static void check_missing(int rank, const char *ranks)
{
    struct waiting waiting;
    char text[100] = "";
    ck_assert_int_eq(negotiation_waiting(net.ranks[rank].negotiation, 0, &waiting), 1);
    ck_assert_int_eq(negotiation_waiting(net.ranks[rank].negotiation, 1, &waiting), 0);
    ck_assert_int_eq(negotiation_waiting(net.ranks[rank].negotiation, 0, &waiting), 1);
    ck_assert_str_eq(waiting.name, "x");
    ck_assert_int_eq(waiting.kind, COLLECTIVE_ALLREDUCE);
    ck_assert(waiting.own == negotiation_in_flight(net.ranks[rank].negotiation, "x"));
    if (waiting.missing.count > 0)
        rank_ranges_text(text, sizeof text, &waiting.missing, NULL);
    ck_assert_str_eq(text, ranks);
}

START_TEST(who_is_waited_for_is_known)
{
    const float data[1] = { 1 };
    start(9); /* below rank 0: 1-2, 3-4, 5-6, 7-8 */
    struct offer offer = net_allreduce(&net, "x", 1, data);
    for (int i = 0; i < net.size; i++)
        if (i != 0 && i != 4 && i != 5)
            net_submit(&net, i, &offer);
    net_settle(&net);
    check_missing(0, "ranks 0, 3-6");
    check_missing(3, "rank 4");
    check_missing(1, "");
    check_missing(8, "");
    ck_assert_int_eq(negotiation_waiting_count(net.ranks[4].negotiation), 0);
    for (int i = 0; i < 6; i++)
        if (i == 0 || i == 4 || i == 5)
            net_submit(&net, i, &offer);
    net_settle(&net);
    net_check_one(&net, DECISION_DONE, "x");
    net_fini(&net);
}
END_TEST

/* What the top's observer saw. */
static int ranks_ready, names_decided;

static void on_ready(void *arg, const char *name, enum collective_kind kind, int first, int end)
{
    ck_assert_ptr_eq(arg, &net);
    ck_assert_str_eq(name, "x");
    ck_assert_int_eq(kind, COLLECTIVE_ALLREDUCE);
    ranks_ready += end - first;
}

static void on_decided(void *arg, const char *name, enum collective_kind kind)
{
    ck_assert_ptr_eq(arg, &net);
    ck_assert_str_eq(name, "x");
    ck_assert_int_eq(kind, COLLECTIVE_ALLREDUCE);
    names_decided++;
}

START_TEST(an_observer_sees_who_is_ready_and_what_is_decided)
{
    static const struct negotiation_observer observer = { on_ready, on_decided, &net };
    const float data[1] = { 1 };
    ranks_ready = names_decided = 0;
    start(9);
    negotiation_observe(net.ranks[0].negotiation, &observer);
    for (int round = 1; round <= 3; round++) {
        struct offer offer = net_allreduce(&net, "x", 1, data);
        for (int i = 0; i < net.size; i++)
            net_submit(&net, i, &offer);
        net_settle(&net);
        ck_assert_int_eq(ranks_ready, 9 * round);
        ck_assert_int_eq(names_decided, round);
    }
    net_fini(&net);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("waiting");
    tcase_add_test(tcase, who_is_waited_for_is_known);
    tcase_add_test(tcase, an_observer_sees_who_is_ready_and_what_is_decided);
    Suite *all = suite_create("negotiation_waiting");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
