/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that are cut short, changed or made up are refused, or taken for what they say; nothing
 * is read or written beyond what there is. */
#include "tests/support/negotiation_net.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct net net;

/* What is done to which message of a run. */
static struct {
    int message; /* its number; -1 for none */
    enum { NOTHING, CUT, FLIP, GROW } deed;
    size_t at;
    unsigned char mask;
} plan;
static int messages;
static size_t length; /* of the message that was picked */

static void on_message(struct net *source, struct wire_writer *message)
{
    (void)source;
    if (messages++ != plan.message)
        return;
    length = message->length;
    if (plan.deed == CUT)
        message->length = plan.at;
    else if (plan.deed == FLIP)
        message->data[plan.at % length] ^= plan.mask;
    else if (plan.deed == GROW)
        wire_put_u8(message, plan.mask);
}

static void submit(struct offer offer)
{
    for (int i = 0; i < net.size && net.broken == HVD_OK; i++) {
        struct err err;
        negotiation_submit(net.ranks[i].negotiation, &offer, 0, &err);
    }
}

static void submit_lists(void)
{
    struct offer gather = { .name = "gather",
                            .description = net_description(COLLECTIVE_ALLGATHER, 1),
                            .data = "12345678abcd",
                            .nbytes = 12,
                            .complete = true };
    struct offer send = { .name = "send",
                          .description = net_description(COLLECTIVE_BROADCAST, 3),
                          .complete = true };
    submit(gather);
    submit(send);
}

static void submit_reductions(int round)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    const float data[2] = { 1, 2 };
    struct offer run = net_allreduce(&net, "run", 3000, NULL), member = run;
    run.nbytes = member.nbytes = 0;
    member.name = "member";
    member.description.group = 5;
    member.description.group_size = 1;
    submit(run);
    submit(member);
    submit(net_allreduce(&net, names[round % 4], 2, data));
    struct offer odd = net_allreduce(&net, "odd", 1, data);
    for (int i = 0; i < net.size; i++) {
        odd.description.op = i == 4 ? HVD_MAX : HVD_SUM;
        negotiation_submit(net.ranks[i].negotiation, &odd, 0, NULL);
    }
}

/* Names of all sorts, a cache that is too small for them, and two joins. */
static void play(int size, int rounds)
{
    struct negotiation_settings settings = net_defaults;
    settings.cache_capacity = 4;
    net_init(&net, size, &settings, 3);
    net.tolerant = net.quiet = true;
    net.on_message = on_message;
    messages = 0;
    for (int round = 0; round < rounds && net.broken == HVD_OK; round++) {
        submit_lists();
        submit_reductions(round);
        net_settle(&net);
    }
    for (int i = 0; i < net.size && net.broken == HVD_OK; i++) {
        struct offer join = net_join("join");
        negotiation_submit(net.ranks[i].negotiation, &join, 0, NULL);
        if (i == net.size / 2)
            net_settle(&net);
    }
    net_settle(&net);
    ck_assert(net.broken == HVD_OK || net.broken == HVD_ERR_PROTOCOL);
}

/* A rank that was told nonsense can still be asked, and let go. */
static void end(void)
{
    struct waiting waiting;
    for (int i = 0; i < net.size; i++)
        for (int j = 0; negotiation_waiting(net.ranks[i].negotiation, j, &waiting); j++)
            ck_assert_ptr_nonnull(memchr(waiting.name, 0, HVD_NAME_MAX + 1));
    net_fini(&net);
}

static int run(int size, int rounds)
{
    play(size, rounds);
    int broken = net.broken;
    end();
    return broken;
}

START_TEST(an_honest_run_is_not_broken)
{
    plan.message = -1;
    ck_assert_int_eq(run(7, 3), HVD_OK);
    ck_assert_int_gt(messages, 40);
}
END_TEST

START_TEST(a_message_cut_at_any_byte_is_refused)
{
    plan.message = -1;
    plan.deed = CUT;
    run(7, 2);
    int total = messages;
    for (plan.message = _i; plan.message < total; plan.message += 8) {
        plan.at = 0;
        run(7, 2);
        for (size_t whole = length; plan.at < whole; plan.at += 1 + plan.at / 64) {
            int broken = run(7, 2);
            /* decisions that are cut between two records are fewer decisions */
            ck_assert_msg(broken == HVD_ERR_PROTOCOL || broken == HVD_OK, "message %d at %zu",
                          plan.message, plan.at);
        }
    }
}
END_TEST

START_TEST(a_byte_too_many_is_refused)
{
    plan.message = -1;
    plan.deed = GROW;
    run(7, 2);
    int total = messages;
    for (plan.message = 0; plan.message < total; plan.message++)
        for (plan.mask = 0; plan.mask < 9; plan.mask += 8)
            ck_assert_int_eq(run(7, 2), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(a_changed_message_does_no_harm)
{
    struct net dice = { .state = (uint64_t)_i };
    plan.message = -1;
    plan.deed = FLIP;
    run(7, 3);
    int total = messages;
    for (int i = 0; i < 600; i++) {
        plan.message = (int)net_random(&dice, (uint32_t)total);
        plan.at = net_random(&dice, 1000);
        plan.mask = (unsigned char)(i % 3 == 0 ? 0xff : 1u << net_random(&dice, 8));
        run(7, 3);
    }
}
END_TEST

START_TEST(noise_is_refused_or_harmless)
{
    struct net dice = { .state = (uint64_t)_i };
    plan.message = -1;
    for (int i = 0; i < 2000; i++) {
        unsigned char noise[40];
        struct decision decision;
        size_t size = net_random(&dice, sizeof noise);
        for (size_t j = 0; j < size; j++)
            noise[j] = (unsigned char)(net_random(&dice, 3) ? net_random(&dice, 4)
                                                            : net_random(&dice, 256));
        net_init(&net, 7, &net_defaults, 1);
        int rc = negotiation_receive(net.ranks[0].negotiation, 1, noise, size, 0, NULL);
        ck_assert(rc == HVD_OK || rc == HVD_ERR_PROTOCOL);
        rc = negotiation_apply(net.ranks[1].negotiation, noise, size, NULL);
        while (rc >= 0 && (rc = negotiation_next(net.ranks[1].negotiation, &decision, NULL)) > 0)
            ;
        ck_assert(rc == HVD_OK || rc == HVD_ERR_PROTOCOL);
        end();
    }
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("hostile");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, an_honest_run_is_not_broken);
    tcase_add_loop_test(tcase, a_message_cut_at_any_byte_is_refused, 0, 8);
    tcase_add_test(tcase, a_byte_too_many_is_refused);
    tcase_add_loop_test(tcase, a_changed_message_does_no_harm, 0, 4);
    tcase_add_loop_test(tcase, noise_is_refused_or_harmless, 0, 2);
    Suite *all = suite_create("negotiation_hostile");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
