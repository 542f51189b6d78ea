/* SPDX-License-Identifier: Apache-2.0 */
/* What repeats does not allocate; and when any allocation fails, that is said, and nothing leaks.
 * Linked with -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc. */
#include "tests/support/negotiation_net.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static int allocations;
static int countdown; /* to the allocation that fails; 0 when none does */

static bool fails(void)
{
    allocations++;
    return countdown > 0 && --countdown == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails() ? NULL : __real_realloc(memory, size);
}

enum { NAMES = 20 };

static struct net net;
static char names[NAMES][24];

/* Some are done with the agreement, some are run, and one is listed. */
static struct offer offer_of(int name)
{
    static const float data[64];
    if (name == 0)
        return (struct offer){ .name = names[0],
                               .description = net_description(COLLECTIVE_ALLGATHER, 3),
                               .data = data,
                               .nbytes = 20,
                               .complete = true };
    struct offer offer = net_allreduce(&net, names[name], name % 2 ? 1 + name : 50000, data);
    offer.nbytes = offer.complete ? offer.nbytes : 0;
    return offer;
}

/* Everybody has its messages' memory already. */
static void grow_links(void)
{
    static const char zeros[1 << 16];
    for (int i = 0; i < net.size; i++) {
        for (int j = 0; j < NET_QUEUE; j++) {
            wire_put_bytes(&net.ranks[i].up.messages[j], zeros, sizeof zeros);
            wire_put_bytes(&net.ranks[i].down.messages[j], zeros, sizeof zeros);
        }
        wire_put_bytes(&net.ranks[i].made, zeros, sizeof zeros);
    }
}

/* Rank 0 comes before the others, behind them, or among them. */
enum order { BEFORE, BEHIND, AMONG };

static void submit_rest(int name)
{
    for (int i = net.size - 1; i > 0; i--) {
        struct offer offer = offer_of(name);
        net_submit(&net, i, &offer);
    }
}

static void play_round(enum order order)
{
    for (int name = 0; name < NAMES; name++)
        if (order != BEFORE)
            submit_rest(name);
    if (order == BEHIND)
        net_complete(&net);
    for (int name = 0; name < NAMES; name++) {
        struct offer offer = offer_of(name);
        net_submit(&net, 0, &offer);
        if (order == AMONG)
            net_step(&net);
    }
    for (int name = 0; name < NAMES; name++)
        if (order == BEFORE)
            submit_rest(name);
    net_complete(&net);
}

START_TEST(what_repeats_does_not_allocate)
{
    for (int i = 0; i < NAMES; i++)
        snprintf(names[i], sizeof names[i], "layer.%d", i);
    net_init(&net, _i, &net_defaults, 1);
    net.quiet = true;
    grow_links();
    for (int round = 0; round < 30; round++)
        play_round((enum order)(round % 3));
    allocations = 0;
    for (int round = 0; round < 200; round++)
        play_round((enum order)(round % 3));
    ck_assert_int_eq(allocations, 0);
    net_fini(&net);
}
END_TEST

static const struct negotiation_settings small = { { 64 << 20, 64 << 10 }, 4096, 3, true, 1 };

/* Returns whether all allocations of it succeeded. */
static bool create_and_destroy(int which)
{
    struct err err = { 0 };
    int world[4] = { 0, 1, 2, 3 };
    countdown = which;
    struct negotiation *negotiation = negotiation_create(0, 4, world, &small, &err);
    bool done = countdown > 0;
    countdown = 0;
    ck_assert(!negotiation == !done);
    ck_assert(negotiation || err.code == HVD_ERR_NOMEM);
    negotiation_destroy(negotiation);
    return done;
}

START_TEST(a_negotiation_comes_about_or_not)
{
    int which = 1;
    while (!create_and_destroy(which))
        which++;
    ck_assert_int_gt(which, 5);
}
END_TEST

/* A submission that failed has changed nothing: it is tried again. */
static void submit(int rank, const struct offer *offer)
{
    struct negotiation *negotiation = net.ranks[rank].negotiation;
    struct err err = { 0 };
    int rc = negotiation_submit(negotiation, offer, 0, &err);
    if (rc == HVD_ERR_NOMEM && !negotiation_in_flight(negotiation, offer->name))
        rc = negotiation_submit(negotiation, offer, 0, &err);
    if (rc != HVD_OK)
        ck_abort_msg("%s", err.text);
}

static void play_all(void)
{
    struct offer join = net_join("join");
    for (int name = 0; name < 8 && net.broken == HVD_OK; name++) {
        for (int i = 0; i < net.size; i++) {
            struct offer offer = offer_of(name % 6);
            if (name % 6 == 3) {
                offer.description.group = 9;
                offer.description.group_size = 1;
            }
            offer.description.prescale = name == 5 && i == 2 ? 0.5 : 1;
            submit(i, &offer);
        }
        net_complete(&net);
    }
    for (int i = 0; i < net.size && net.broken == HVD_OK; i++) {
        struct offer offer = offer_of(1);
        submit(i, &join);
        submit(i, &offer);
    }
    net_complete(&net);
}

/* Returns whether the allocation existed. */
static bool run_with_failure(int which)
{
    net_init(&net, 7, &small, 5);
    net.quiet = net.tolerant = true;
    grow_links();
    countdown = which;
    play_all();
    bool existed = countdown == 0;
    countdown = 0;
    ck_assert(net.broken == HVD_OK || net.broken == HVD_ERR_NOMEM);
    ck_assert(existed || net.broken == HVD_OK);
    net_fini(&net);
    return existed;
}

START_TEST(any_allocation_may_fail)
{
    for (int i = 0; i < NAMES; i++)
        snprintf(names[i], sizeof names[i], "layer.%d", i);
    int which = 1;
    while (run_with_failure(which))
        which++;
    ck_assert_int_gt(which, 50);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("memory");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, what_repeats_does_not_allocate, 1, 8);
    tcase_add_test(tcase, a_negotiation_comes_about_or_not);
    tcase_add_test(tcase, any_allocation_may_fail);
    Suite *all = suite_create("negotiation_memory");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
