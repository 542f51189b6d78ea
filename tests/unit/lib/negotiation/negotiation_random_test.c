/* SPDX-License-Identifier: Apache-2.0 */
/* Many names of all kinds, submitted in any order while others are under way: each is decided on
 * once, alike and in the same order on all ranks, with the right data. */
#include "tests/support/negotiation_net.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

enum { NAMES = 14, ROUNDS = 8 };

static struct net net;
static int round_of[NET_RANKS_MAX][NAMES]; /* the next to be submitted */
static bool flying[NET_RANKS_MAX][NAMES];
static char names[NAMES][16];

/* What a name is in a round: the same on all ranks, and now and then not as before. */
struct plan {
    enum collective_kind kind;
    int64_t count;
    bool nameless, wrong;
    int odd; /* the rank that says something else, if `wrong` */
};

static struct plan plan_of(int name, int round)
{
    static const enum collective_kind kinds[] = { COLLECTIVE_ALLREDUCE, COLLECTIVE_ALLREDUCE,
                                                  COLLECTIVE_ALLREDUCE, COLLECTIVE_ALLGATHER,
                                                  COLLECTIVE_BROADCAST, COLLECTIVE_BARRIER,
                                                  COLLECTIVE_ALLTOALL };
    static const int64_t counts[] = { 0, 1, 2, 17, 300, 1024, 1025, 200000 };
    int dice = (name * 31 + round / 4 * 17) % 97;
    struct plan plan = { .kind = kinds[name % 7], .count = counts[dice % 8] };
    plan.nameless = name == 5;
    plan.wrong = net.size > 1 && (name + round * 5) % 23 == 0 && name % 7 < 3;
    plan.odd = (name + round) % net.size;
    return plan;
}

static float element(int rank, int name, int round)
{
    return (float)(rank + name + round);
}

static float data[1100];

/* The bytes that a rank gives. */
static void give(struct offer *offer, int rank, int name, int round)
{
    bool is_root = rank == offer->description.root;
    enum collective_kind kind = offer->description.kind;
    int64_t count = offer->description.shape.dims[0];
    offer->complete = negotiation_is_inline(net.ranks[rank].negotiation, &offer->description) ||
                      kind == COLLECTIVE_BARRIER || (kind == COLLECTIVE_ALLGATHER && count < 500);
    offer->data = data;
    offer->nbytes = (size_t)count * sizeof *data;
    if (kind == COLLECTIVE_ALLGATHER)
        offer->nbytes = 8 + (offer->complete ? (size_t)rank * 4 : 0);
    else if (!offer->complete || (kind == COLLECTIVE_BROADCAST && !is_root))
        offer->nbytes = 0;
    for (size_t i = 0; i < offer->nbytes / sizeof *data; i++)
        data[i] = element(rank, name, round);
}

static struct offer make_offer(int rank, int name, int round)
{
    struct plan plan = plan_of(name, round);
    struct offer offer = { .name = names[name],
                           .description = net_description(plan.kind, plan.count),
                           .owner = &flying[rank][name] };
    offer.description.nameless = plan.nameless;
    offer.description.root = plan.kind == COLLECTIVE_BROADCAST ? round % net.size : 0;
    if (plan.kind == COLLECTIVE_BARRIER)
        offer.description.shape.ndims = 0;
    if (plan.kind == COLLECTIVE_ALLGATHER)
        offer.description.shape.dims[0] += rank;
    if (plan.wrong && plan.odd == rank)
        offer.description.shape.dims[0]++;
    give(&offer, rank, name, round);
    return offer;
}

static void check_reduction(const struct agreed *agreed, int name, int round)
{
    float expected = 0;
    for (int i = 0; i < net.size; i++)
        expected += element(i, name, round);
    ck_assert_uint_eq(agreed->nbytes, description_bytes(&agreed->description));
    bool same = true;
    for (size_t at = 0; at < agreed->nbytes; at += sizeof expected)
        same &= memcmp(agreed->data + at, &expected, sizeof expected) == 0;
    ck_assert(same);
}

static void check_list(const struct agreed *agreed, enum decision_kind kind, int name, int round)
{
    bool same = agreed->offsets[net.size] == agreed->nbytes;
    for (int i = 0; i < net.size; i++) {
        struct offer offer = make_offer(i, name, round);
        size_t nbytes = agreed->offsets[i + 1] - agreed->offsets[i];
        bool rows = kind == DECISION_BATCH && offer.description.kind == COLLECTIVE_ALLGATHER;
        same &= nbytes == (rows ? 8 : offer.nbytes) &&
                (nbytes == 0 || memcmp(agreed->data + agreed->offsets[i], data, nbytes) == 0);
    }
    ck_assert(same);
}

static void check_tensor(int rank, const struct decision *decision, const struct agreed *agreed)
{
    int name = atoi(agreed->name + 1), round = round_of[rank][name] - 1;
    struct plan plan = plan_of(name, round);
    ck_assert_ptr_eq(agreed->owner, &flying[rank][name]);
    ck_assert(flying[rank][name]);
    flying[rank][name] = false;
    if (plan.wrong) {
        ck_assert_int_eq(decision->kind, DECISION_FAILED);
        return;
    }
    ck_assert_int_eq(agreed->description.kind, plan.kind);
    bool runs = plan.kind == COLLECTIVE_ALLTOALL || plan.count > 1100 ||
                (plan.kind != COLLECTIVE_ALLGATHER && plan.kind != COLLECTIVE_BARRIER &&
                 !negotiation_is_inline(net.ranks[rank].negotiation, &agreed->description));
    if (plan.kind == COLLECTIVE_ALLREDUCE || plan.kind == COLLECTIVE_BROADCAST)
        ck_assert_int_eq(decision->kind, runs ? DECISION_BATCH : DECISION_DONE);
    if (agreed->offsets)
        check_list(agreed, decision->kind, name, round);
    else if (decision->kind == DECISION_DONE && plan.kind == COLLECTIVE_ALLREDUCE)
        check_reduction(agreed, name, round);
}

static void on_decision(struct net *source, int rank, const struct decision *decision)
{
    (void)source;
    for (int i = 0; i < decision->count; i++)
        check_tensor(rank, decision, &decision->tensors[i]);
}

/* A random rank submits a random name, if one can. Returns whether there is anything left. */
static bool submit_something(void)
{
    uint32_t all = (uint32_t)net.size * NAMES, start = net_random(&net, all);
    bool left = false;
    for (uint32_t i = 0; i < all; i++) {
        int rank = (int)((start + i) % all / NAMES), name = (int)((start + i) % NAMES);
        if (round_of[rank][name] == ROUNDS)
            continue;
        left = true;
        if (flying[rank][name])
            continue;
        struct offer offer = make_offer(rank, name, round_of[rank][name]++);
        flying[rank][name] = true;
        net_submit(&net, rank, &offer);
        break;
    }
    return left;
}

static void play(int size, const struct negotiation_settings *settings, uint64_t seed)
{
    memset(round_of, 0, sizeof round_of);
    memset(flying, 0, sizeof flying);
    for (int i = 0; i < NAMES; i++)
        snprintf(names[i], sizeof names[i], "n%d", i);
    net_init(&net, size, settings, seed);
    net.on_decision = on_decision;
    while (submit_something())
        for (uint32_t steps = net_random(&net, 4); steps > 0; steps--)
            net_step(&net);
    net_complete(&net);
    for (int i = 0; i < size * NAMES; i++)
        ck_assert_msg(!flying[i / NAMES][i % NAMES], "'%s' is in flight on rank %d for ever",
                      names[i % NAMES], i / NAMES);
    net_check_logs(&net);
    net_fini(&net);
}

static const struct negotiation_settings settings[] = {
    { { 64 << 20, 64 << 10 }, 4096, 1024, true, 1 }, { { 64 << 20, 64 << 10 }, 4096, 0, true, 1 },
    { { 64 << 20, 64 << 10 }, 4096, 3, true, 1 },    { { 0, 64 << 10 }, 0, 3, false, 1 },
    { { 5000, 64 << 10 }, 64, 8, false, 1 },         { { 64 << 20, 64 << 10 }, 4096, 3, true, 3 },
    { { 5000, 64 << 10 }, 64, 8, true, 32 },
};
enum { SETTINGS = sizeof settings / sizeof *settings };

START_TEST(each_name_is_decided_on_once_and_alike)
{
    static const int sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 32 };
    int size = sizes[_i / SETTINGS];
    for (uint64_t seed = 1; seed <= (size < 10 ? 3 : 1); seed++)
        play(size, &settings[_i % SETTINGS], seed * 1000 + (uint64_t)_i);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("random");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, each_name_is_decided_on_once_and_alike, 0, 10 * SETTINGS);
    Suite *all = suite_create("negotiation_random");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
