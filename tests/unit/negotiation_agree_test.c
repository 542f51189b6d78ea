/* SPDX-License-Identifier: Apache-2.0 */
/* What all ranks submit is decided on, alike and in one order everywhere; what travels with it is
 * reduced or listed in order of rank; what they disagree on fails, and they go on. */
#include "tests/support/negotiation_net.h"
#include "tests/support/reduce_reference.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct net net;

/* What the last decision of each rank was. */
static struct seen {
    int decisions, count, status, last_rank;
    enum decision_kind kind;
    void *owner;
    char name[HVD_NAME_MAX + 1], text[500];
    unsigned char data[4096];
    size_t nbytes, offsets[NET_RANKS_MAX + 1];
    bool has_list;
} seen[NET_RANKS_MAX];

static void on_decision(struct net *source, int rank, const struct decision *decision)
{
    struct seen *at = &seen[rank];
    const struct agreed *agreed = decision->tensors;
    at->decisions++;
    at->count = decision->count;
    at->status = decision->status;
    at->kind = decision->kind;
    at->owner = agreed->owner;
    at->last_rank = agreed->last_rank;
    snprintf(at->name, sizeof at->name, "%s", agreed->name);
    snprintf(at->text, sizeof at->text, "%s", decision->text ? decision->text : "");
    ck_assert_uint_le(agreed->nbytes, sizeof at->data);
    at->nbytes = agreed->nbytes;
    if (agreed->nbytes > 0)
        memcpy(at->data, agreed->data, agreed->nbytes);
    at->has_list = agreed->offsets;
    if (agreed->offsets)
        memcpy(at->offsets, agreed->offsets, ((size_t)source->size + 1) * sizeof *at->offsets);
}

static void start(int size)
{
    memset(seen, 0, sizeof seen);
    net_init(&net, size, &net_defaults, (uint64_t)size);
    net.on_decision = on_decision;
}

/* All ranks saw the same one decision since the last time. */
static void check_one(enum decision_kind kind, const char *name)
{
    for (int i = 0; i < net.size; i++) {
        ck_assert_msg(seen[i].decisions == 1, "rank %d saw %d", i, seen[i].decisions);
        ck_assert_msg(seen[i].kind == kind, "rank %d saw %d: %s", i, (int)seen[i].kind,
                      seen[i].text);
        ck_assert_str_eq(seen[i].name, name);
        seen[i].decisions = 0;
    }
    net_check_logs(&net);
}

START_TEST(nothing_is_said_when_nothing_was_submitted)
{
    start(_i);
    ck_assert(!net_step(&net));
    net_fini(&net);
}
END_TEST

START_TEST(small_data_is_reduced_with_the_agreement)
{
    start(_i);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < net.size; i++) {
            float data[2] = { (float)i, (float)round };
            struct offer offer = net_allreduce(&net, "grad", 2, data);
            offer.owner = &seen[i];
            net_submit(&net, i, &offer);
            ck_assert(negotiation_in_flight(net.ranks[i].negotiation, "grad"));
        }
        net_settle(&net);
        check_one(DECISION_DONE, "grad");
        float expected[2] = { (float)(_i * (_i - 1) / 2), (float)(round * _i) };
        for (int i = 0; i < net.size; i++) {
            ck_assert_ptr_eq(seen[i].owner, &seen[i]);
            ck_assert_uint_eq(seen[i].nbytes, sizeof expected);
            ck_assert_mem_eq(seen[i].data, expected, sizeof expected);
            ck_assert(!seen[i].has_list);
            ck_assert(!negotiation_in_flight(net.ranks[i].negotiation, "grad"));
            ck_assert_int_eq(negotiation_waiting_count(net.ranks[i].negotiation), 0);
        }
    }
    net_fini(&net);
}
END_TEST

START_TEST(large_data_is_run)
{
    start(_i);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < net.size; i++) {
            struct offer offer = net_allreduce(&net, "grad", 100000, NULL);
            offer.nbytes = 0;
            net_submit(&net, i, &offer);
        }
        net_settle(&net);
        check_one(DECISION_RUN, "grad");
        ck_assert_uint_eq(seen[0].nbytes, 0);
    }
    net_fini(&net);
}
END_TEST

START_TEST(lists_are_in_order_of_rank)
{
    start(_i);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < net.size; i++) {
            unsigned char data[64] = { (unsigned char)i };
            memset(data + 8, 'a' + i, sizeof data - 8);
            struct offer offer = { .name = "embed",
                                   .description = net_description(COLLECTIVE_ALLGATHER, i),
                                   .data = data,
                                   .nbytes = (size_t)(8 + i),
                                   .complete = round < 2 || i > 0 };
            net_submit(&net, i, &offer);
        }
        net_settle(&net);
        check_one(round < 2 ? DECISION_DONE : DECISION_RUN, "embed");
        for (int i = 0; i < net.size; i++) {
            ck_assert(seen[i].has_list);
            size_t at = 0;
            for (int j = 0; j < net.size; j++) {
                size_t nbytes = (size_t)(round < 2 ? 8 + j : 8);
                ck_assert_uint_eq(seen[i].offsets[j], at);
                ck_assert_int_eq(seen[i].data[at], j);
                if (nbytes > 8)
                    ck_assert_int_eq(seen[i].data[at + nbytes - 1], 'a' + j);
                at += nbytes;
            }
            ck_assert_uint_eq(seen[i].offsets[net.size], at);
            ck_assert_uint_eq(seen[i].nbytes, at);
        }
    }
    net_fini(&net);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("agree");
    tcase_add_loop_test(tcase, nothing_is_said_when_nothing_was_submitted, 1, 10);
    tcase_add_loop_test(tcase, small_data_is_reduced_with_the_agreement, 1, 31);
    tcase_add_loop_test(tcase, large_data_is_run, 1, 10);
    tcase_add_loop_test(tcase, lists_are_in_order_of_rank, 1, 25);
    Suite *all = suite_create("negotiation_agree");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
