/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that are cut short, changed or made up are refused, or taken for what they say; nothing
 * is read or written beyond what there is. */
#include "lib/collective/piece.h"
#include "lib/negotiation/message.h"
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
        net_complete(&net);
    }
    for (int i = 0; i < net.size && net.broken == HVD_OK; i++) {
        struct offer join = net_join("join");
        negotiation_submit(net.ranks[i].negotiation, &join, 0, NULL);
        if (i == net.size / 2)
            net_complete(&net);
    }
    net_complete(&net);
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

/* ---- decisions that are well formed, but not what was submitted ---- */

/* Rank 1 of 3 has told its parent what it submits; then it is told what has been decided. */
static void start_told(const struct offer *offer)
{
    struct wire_writer told = { 0 };
    net_init(&net, 3, &net_defaults, 1);
    net_submit(&net, 1, offer);
    ck_assert(negotiation_report(net.ranks[1].negotiation, &told));
    wire_writer_fini(&told);
}

static void put_data(struct wire_writer *body, int flags, size_t nbytes)
{
    static const unsigned char data[64];
    if (flags & TENSOR_REDUCTION) {
        wire_put_u32(body, (uint32_t)nbytes);
        wire_put_bytes(body, data, nbytes);
    }
    for (int i = 0; flags & TENSOR_LIST && i < net.size; i++)
        wire_put_u32(body, (uint32_t)(i == 0 ? nbytes : 0));
    if (flags & TENSOR_LIST)
        wire_put_bytes(body, data, nbytes);
}

static void put_tensor(struct wire_writer *body, const char *name,
                       const struct description *description, int flags)
{
    wire_put_u8(body, (uint8_t)flags);
    if (flags & (TENSOR_ASSIGN | TENSOR_SLOT))
        wire_put_u32(body, 0);
    if (!(flags & TENSOR_SLOT)) {
        message_put_name(body, name, strlen(name));
        description_encode(body, description);
    }
    put_data(body, flags, description_bytes(description));
}

static void put_run(struct wire_writer *body, int type, int algorithm, uint32_t count)
{
    wire_put_u8(body, (uint8_t)type);
    if (type != DOWN_RUN)
        return;
    wire_put_u8(body, (uint8_t)algorithm);
    wire_put_u8(body, piece_code(PIECE_MOST));
    wire_put_u32(body, count);
}

static void put_record(struct wire_writer *body, int type, uint32_t count)
{
    put_run(body, type, ALGORITHM_RING, count);
}

/* One that can do it. */
static int own_algorithm(const struct description *description)
{
    int algorithm = 0;
    while (!algorithm_can(algorithm, description_operation(description)))
        algorithm++;
    return algorithm;
}

/* What rank 1 makes of it. */
static int take(struct wire_writer *body, struct err *err)
{
    struct decision decision;
    struct negotiation *negotiation = net.ranks[1].negotiation;
    *err = (struct err){ 0 };
    ck_assert(!body->failed);
    ck_assert_int_eq(negotiation_apply(negotiation, body->data, body->length, err), HVD_OK);
    int rc = negotiation_next(negotiation, &decision, err);
    if (rc == 1)
        ck_assert_int_eq(negotiation_next(negotiation, &decision, err), 0);
    wire_writer_fini(body);
    return rc;
}

static struct offer offer_of(enum collective_kind kind, enum hvd_op op, bool complete)
{
    static const float data[2];
    struct offer offer = { .name = "x",
                           .description = net_description(kind, 2),
                           .data = data,
                           .nbytes = sizeof data,
                           .complete = complete };
    offer.description.op = op;
    return offer;
}

START_TEST(a_decision_has_the_data_that_its_kind_has)
{
    static const struct {
        enum collective_kind kind;
        enum hvd_op op;
        int done, run; /* the data that it has; -1 if there is no such decision */
    } rows[] = {
        { COLLECTIVE_ALLREDUCE, HVD_SUM, TENSOR_REDUCTION, 0 },
        { COLLECTIVE_ALLREDUCE, HVD_ADASUM, -1, 0 },
        { COLLECTIVE_REDUCESCATTER, HVD_SUM, TENSOR_REDUCTION, 0 },
        { COLLECTIVE_ALLGATHER, HVD_SUM, TENSOR_LIST, TENSOR_LIST },
        { COLLECTIVE_BROADCAST, HVD_SUM, TENSOR_LIST, 0 },
        { COLLECTIVE_ALLTOALL, HVD_SUM, TENSOR_LIST, TENSOR_LIST },
        { COLLECTIVE_ADD_SET, HVD_SUM, TENSOR_LIST, -1 },
        { COLLECTIVE_REMOVE_SET, HVD_SUM, 0, -1 },
        { COLLECTIVE_BARRIER, HVD_SUM, 0, -1 },
    };
    static const int data[] = { 0, TENSOR_REDUCTION, TENSOR_LIST, TENSOR_REDUCTION | TENSOR_LIST };
    bool done = _i % 2;
    for (size_t i = 0; i < 4; i++) {
        struct err err;
        struct wire_writer body = { 0 };
        struct offer offer = offer_of(rows[_i / 2].kind, rows[_i / 2].op, done);
        start_told(&offer);
        put_run(&body, done ? DOWN_DONE : DOWN_RUN, own_algorithm(&offer.description), 1);
        put_tensor(&body, "x", &offer.description, data[i]);
        bool good = data[i] == (done ? rows[_i / 2].done : rows[_i / 2].run);
        ck_assert_msg(take(&body, &err) == (good ? 1 : HVD_ERR_PROTOCOL), "%s, data %d: %s",
                      collective_name(rows[_i / 2].kind), data[i], err.text);
        end();
    }
}
END_TEST

START_TEST(an_algorithm_can_do_what_it_is_chosen_for)
{
    static const struct {
        enum collective_kind kind;
        enum hvd_op op;
        int data;
    } rows[] = {
        { COLLECTIVE_ALLREDUCE, HVD_SUM, 0 },     { COLLECTIVE_ALLREDUCE, HVD_ADASUM, 0 },
        { COLLECTIVE_REDUCESCATTER, HVD_SUM, 0 }, { COLLECTIVE_ALLGATHER, HVD_SUM, TENSOR_LIST },
        { COLLECTIVE_BROADCAST, HVD_SUM, 0 },     { COLLECTIVE_ALLTOALL, HVD_SUM, TENSOR_LIST },
    };
    for (int algorithm = 0; algorithm < 256; algorithm++) {
        struct err err;
        struct wire_writer body = { 0 };
        struct offer offer = offer_of(rows[_i].kind, rows[_i].op, false);
        start_told(&offer);
        put_run(&body, DOWN_RUN, algorithm, 1);
        put_tensor(&body, "x", &offer.description, rows[_i].data);
        bool good = algorithm_can(algorithm, description_operation(&offer.description));
        ck_assert_int_eq(take(&body, &err), good ? 1 : HVD_ERR_PROTOCOL);
        end();
    }
}
END_TEST

START_TEST(a_piece_is_a_power_of_two_in_the_range_of_pieces)
{
    for (int code = 0; code < 256; code++) {
        struct err err;
        struct wire_writer body = { 0 };
        struct offer offer = offer_of(COLLECTIVE_ALLREDUCE, HVD_SUM, false);
        start_told(&offer);
        put_record(&body, DOWN_RUN, 1);
        body.data[2] = (unsigned char)code;
        put_tensor(&body, "x", &offer.description, 0);
        bool good = code >= 15 && code <= 19;
        ck_assert_int_eq(take(&body, &err), good ? 1 : HVD_ERR_PROTOCOL);
        ck_assert_str_eq(err.text,
                         good ? "" : "allreduce 'x' is to be run in pieces of impossible size");
        end();
    }
}
END_TEST

START_TEST(a_result_has_the_size_of_its_tensor)
{
    for (size_t nbytes = 0; nbytes < 16; nbytes++) {
        struct err err;
        struct wire_writer body = { 0 };
        struct offer offer = offer_of(COLLECTIVE_ALLREDUCE, HVD_SUM, true);
        start_told(&offer);
        put_record(&body, DOWN_DONE, 1);
        put_tensor(&body, "x", &offer.description, 0);
        body.data[1] = TENSOR_REDUCTION;
        put_data(&body, TENSOR_REDUCTION, nbytes);
        ck_assert_int_eq(take(&body, &err), nbytes == 8 ? 1 : HVD_ERR_PROTOCOL);
        end();
    }
}
END_TEST

static void change(struct description *description, int what)
{
    switch (what) {
    case 0:
        description->kind = COLLECTIVE_REDUCESCATTER;
        break;
    case 1:
        description->dtype = HVD_FLOAT64;
        break;
    case 2:
        description->op = HVD_MAX;
        break;
    case 3:
        description->root = 1;
        break;
    case 4:
        description->prescale = 2;
        break;
    case 5:
        description->postscale = 2;
        break;
    case 6:
        description->shape.dims[0] = 3;
        break;
    case 7:
        description->shape = (struct shape){ 2, { 2, 1 } };
        break;
    case 8:
        description->group = description->group_size = 1;
        break;
    default:
        description->tag = 1;
    }
}
enum { CHANGES = 10 };

START_TEST(what_is_decided_is_what_was_submitted)
{
    static const int flags[] = { 0, TENSOR_ASSIGN };
    for (int i = 0; i < 4; i++) {
        struct err err;
        struct wire_writer body = { 0 };
        bool done = i % 2;
        struct offer offer = offer_of(COLLECTIVE_ALLREDUCE, HVD_SUM, done);
        start_told(&offer);
        change(&offer.description, _i);
        put_record(&body, done ? DOWN_DONE : DOWN_RUN, 1);
        put_tensor(&body, "x", &offer.description, flags[i / 2] | (done ? TENSOR_REDUCTION : 0));
        ck_assert_int_eq(take(&body, &err), HVD_ERR_PROTOCOL);
        ck_assert_msg(strstr(err.text, "which is not what was submitted"), "%s", err.text);
        end();
    }
}
END_TEST

/* The slot remembers one description, the next submission has it or another, and so has the
 * decision. */
START_TEST(a_slot_does_not_stand_for_what_was_not_submitted)
{
    static const struct {
        bool other_submitted, by_slot, other_decided, good;
    } rows[] = {
        { false, true, false, true },  { true, true, false, false }, { false, false, false, true },
        { false, false, true, false }, { true, false, true, true },  { true, false, false, false },
    };
    struct err err;
    struct wire_writer body = { 0 }, told = { 0 };
    struct offer offer = offer_of(COLLECTIVE_ALLREDUCE, HVD_SUM, false), other = offer;
    other.description.shape.dims[0] = 5;
    start_told(&offer);
    put_record(&body, DOWN_RUN, 1);
    put_tensor(&body, "x", &offer.description, TENSOR_ASSIGN);
    ck_assert_int_eq(take(&body, &err), 1);
    net_submit(&net, 1, rows[_i].other_submitted ? &other : &offer);
    ck_assert(negotiation_report(net.ranks[1].negotiation, &told));
    wire_writer_fini(&told);
    put_record(&body, DOWN_RUN, 1);
    put_tensor(&body, "x", rows[_i].other_decided ? &other.description : &offer.description,
               rows[_i].by_slot ? TENSOR_SLOT : TENSOR_ASSIGN);
    ck_assert_int_eq(take(&body, &err), rows[_i].good ? 1 : HVD_ERR_PROTOCOL);
    end();
}
END_TEST

/* On a rank that has joined, which knows nothing of the tensors. */
START_TEST(only_what_goes_together_is_fused)
{
    static const struct {
        enum collective_kind kind;
        enum hvd_dtype dtype;
        enum hvd_op op;
        double prescale;
        int64_t count;
        bool good;
    } rows[] = {
        { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_SUM, 1, 100, true },
        { COLLECTIVE_ALLREDUCE, HVD_FLOAT64, HVD_SUM, 1, 100, false },
        { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_MAX, 1, 100, false },
        { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_SUM, 2, 100, false },
        { COLLECTIVE_ALLREDUCE, HVD_FLOAT32, HVD_SUM, 1, PTRDIFF_MAX / 4, false },
        { COLLECTIVE_BARRIER, HVD_FLOAT32, HVD_SUM, 1, 100, false },
    };
    for (int first = 0; first < 2; first++) {
        struct err err;
        struct wire_writer body = { 0 };
        struct description odd = net_description(rows[_i].kind, rows[_i].count);
        struct description plain = net_description(COLLECTIVE_ALLREDUCE, 2);
        struct offer join = net_join("join");
        odd.dtype = rows[_i].dtype;
        odd.op = rows[_i].op;
        odd.prescale = rows[_i].prescale;
        start_told(&join);
        put_record(&body, DOWN_RUN, 2);
        put_tensor(&body, "x", first ? &odd : &plain, 0);
        put_tensor(&body, "y", first ? &plain : &odd, 0);
        ck_assert_int_eq(take(&body, &err), rows[_i].good ? 1 : HVD_ERR_PROTOCOL);
        end();
    }
}
END_TEST

/* A broadcast is not possible while a rank has joined. */
START_TEST(a_broadcast_by_devices_does_not_lack_a_rank)
{
    struct err err;
    struct wire_writer body = { 0 };
    struct description description = net_description(COLLECTIVE_BROADCAST, 2);
    struct offer join = net_join("join");
    description.memory = MEMORY_DEVICE_REDUCES;
    start_told(&join);
    put_record(&body, DOWN_RUN, 1);
    put_tensor(&body, "x", &description, TENSOR_ABSENT);
    ck_assert_int_eq(take(&body, &err), HVD_ERR_PROTOCOL);
    ck_assert(strstr(err.text, "broadcast 'x' is said to lack a rank"));
    end();
}
END_TEST

/* The devices reduce it, which a rank that has joined has no tensor for. */
START_TEST(a_joined_rank_is_not_asked_for_device_memory)
{
    static const struct {
        enum memory_kind memory;
        int flags;
        bool good;
    } rows[] = {
        { MEMORY_HOST, 0, true },
        { MEMORY_HOST, TENSOR_ABSENT, false },
        { MEMORY_DEVICE, 0, true },
        { MEMORY_DEVICE, TENSOR_ABSENT, false },
        { MEMORY_DEVICE_REDUCES, 0, false },
        { MEMORY_DEVICE_REDUCES, TENSOR_ABSENT, true },
    };
    struct err err;
    struct wire_writer body = { 0 };
    struct description description = net_description(COLLECTIVE_ALLREDUCE, 2);
    struct offer join = net_join("join");
    description.memory = rows[_i].memory;
    start_told(&join);
    put_record(&body, DOWN_RUN, 1);
    put_tensor(&body, "x", &description, rows[_i].flags);
    ck_assert_int_eq(take(&body, &err), rows[_i].good ? 1 : HVD_ERR_PROTOCOL);
    end();
}
END_TEST

/* Rank 1 of 3 has no children. The message says that all have joined. */
START_TEST(all_have_joined_only_when_the_own_join_is_known_and_nothing_waits)
{
    static const struct {
        bool submits, joins, reports, good;
    } rows[] = {
        { false, false, false, false },
        { false, true, false, false },
        { true, true, true, false },
        { false, true, true, true },
    };
    struct err err;
    struct wire_writer body = { 0 }, told = { 0 };
    struct offer offer = offer_of(COLLECTIVE_ALLREDUCE, HVD_SUM, true), join = net_join("join");
    net_init(&net, 3, &net_defaults, 1);
    if (rows[_i].submits)
        net_submit(&net, 1, &offer);
    if (rows[_i].joins)
        net_submit(&net, 1, &join);
    if (rows[_i].reports)
        ck_assert(negotiation_report(net.ranks[1].negotiation, &told));
    ck_assert(!rows[_i].reports || !negotiation_has_report(net.ranks[1].negotiation));
    wire_writer_fini(&told);
    wire_put_u8(&body, DOWN_JOINED);
    wire_put_u32(&body, 2);
    ck_assert_int_eq(take(&body, &err), rows[_i].good ? 1 : HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, rows[_i].good ? "" : "all are said to have joined, which is not so");
    end();
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
    tcase_add_loop_test(tcase, a_decision_has_the_data_that_its_kind_has, 0, 18);
    tcase_add_loop_test(tcase, an_algorithm_can_do_what_it_is_chosen_for, 0, 6);
    tcase_add_test(tcase, a_piece_is_a_power_of_two_in_the_range_of_pieces);
    tcase_add_test(tcase, a_result_has_the_size_of_its_tensor);
    tcase_add_loop_test(tcase, what_is_decided_is_what_was_submitted, 0, CHANGES);
    tcase_add_loop_test(tcase, a_slot_does_not_stand_for_what_was_not_submitted, 0, 6);
    tcase_add_loop_test(tcase, only_what_goes_together_is_fused, 0, 6);
    tcase_add_loop_test(tcase, a_joined_rank_is_not_asked_for_device_memory, 0, 6);
    tcase_add_test(tcase, a_broadcast_by_devices_does_not_lack_a_rank);
    tcase_add_loop_test(tcase, all_have_joined_only_when_the_own_join_is_known_and_nothing_waits, 0,
                        4);
    Suite *all = suite_create("negotiation_hostile");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
