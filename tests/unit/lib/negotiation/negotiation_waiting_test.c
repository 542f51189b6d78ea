/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank knows of who is waited for can be asked on every rank, and the root can be
 * watched. */
#include "tests/support/negotiation_net.h"
#include "tests/support/unit.h"

static struct net net;

static void start(int size)
{
    net_init(&net, size, &net_defaults, (uint64_t)size);
}

static void check_missing(int rank, const char *ranks, const char *unsure)
{
    struct waiting waiting;
    char text[100] = "";
    ck_assert_int_eq(negotiation_waiting(net.ranks[rank].negotiation, 0, &waiting), 1);
    ck_assert_int_eq(negotiation_waiting(net.ranks[rank].negotiation, 1, &waiting), 0);
    ck_assert_int_eq(negotiation_waiting(net.ranks[rank].negotiation, 0, &waiting), 1);
    ck_assert_str_eq(waiting.name, "x");
    ck_assert_int_eq(waiting.kind, COLLECTIVE_ALLREDUCE);
    ck_assert(waiting.own == negotiation_in_flight(net.ranks[rank].negotiation, "x"));
    ck_assert_str_eq(rank_ranges_text(text, sizeof text, &waiting.missing, NULL), ranks);
    ck_assert_str_eq(rank_ranges_text(text, sizeof text, &waiting.unsure, NULL), unsure);
}

START_TEST(who_is_waited_for_is_known)
{
    const float data[1] = { 1 };
    start(9); /* below rank 0: 1-2, 3-4, 5-6, 7-8 */
    struct offer offer = net_allreduce(&net, "x", 1, data);
    for (int i = 0; i < net.size; i++)
        if (i != 0 && i != 4 && i != 5)
            net_submit(&net, i, &offer);
    net_complete(&net);
    check_missing(0, "rank 0", "ranks 3-6");
    check_missing(3, "rank 4", "");
    check_missing(1, "", "");
    check_missing(8, "", "");
    ck_assert_int_eq(negotiation_waiting_count(net.ranks[4].negotiation), 0);
    for (int i = 0; i < 6; i++)
        if (i == 0 || i == 4 || i == 5)
            net_submit(&net, i, &offer);
    net_complete(&net);
    net_check_one(&net, DECISION_DONE, "x");
    net_fini(&net);
}
END_TEST

static bool contains(const struct rank_ranges *ranges, int rank)
{
    for (int i = 0; i < ranges->count; i++)
        if (ranges->range[i].first <= rank && rank < ranges->range[i].end)
            return true;
    return false;
}

/* Whichever rank pauses, and wherever it is asked. */
START_TEST(nobody_is_said_to_miss_what_it_has_submitted)
{
    static const int sizes[] = { 6, 16, 32, 64 };
    const float data[1] = { 1 };
    struct waiting waiting;
    for (int paused = 0; paused < sizes[_i]; paused++) {
        start(sizes[_i]);
        struct offer offer = net_allreduce(&net, "x", 1, data);
        for (int i = 0; i < net.size; i++)
            if (i != paused && i != 3 * paused)
                net_submit(&net, i, &offer);
        net_complete(&net);
        for (int asked = 0; asked < net.size; asked++) {
            if (!negotiation_waiting(net.ranks[asked].negotiation, 0, &waiting))
                continue;
            for (int i = 0; i < net.size; i++)
                ck_assert(!contains(&waiting.missing, i) || i == paused || i == 3 * paused);
            ck_assert(asked != 0 || contains(&waiting.missing, paused) ||
                      contains(&waiting.unsure, paused));
        }
        net_submit(&net, paused, &offer);
        if (3 * paused != paused && 3 * paused < net.size)
            net_submit(&net, 3 * paused, &offer);
        net_complete(&net);
        net_check_one(&net, DECISION_DONE, "x");
        net_fini(&net);
    }
}
END_TEST

/* What the root's observer saw. */
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
        net_complete(&net);
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
    tcase_add_loop_test(tcase, nobody_is_said_to_miss_what_it_has_submitted, 0, 4);
    tcase_add_test(tcase, an_observer_sees_who_is_ready_and_what_is_decided);
    Suite *all = suite_create("negotiation_waiting");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
