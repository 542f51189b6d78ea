/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks disagree on fails on all of them, with a text that names them, and they go on. */
#include "tests/support/negotiation_net.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct net net;
static struct net_seen *seen; /* by its ranks */

static void start(int size)
{
    net_init(&net, size, &net_defaults, (uint64_t)size);
    seen = net.seen;
}

/* One rank says something else than the others. */
static void change_dtype(struct offer *offer)
{
    offer->description.dtype = HVD_INT32;
}
static void change_kind(struct offer *offer)
{
    offer->description.kind = COLLECTIVE_BROADCAST;
}
static void change_shape(struct offer *offer)
{
    offer->description.shape.dims[0] = 3;
    offer->nbytes = 12;
}
static void change_factor(struct offer *offer)
{
    offer->description.prescale = 0.5;
}
static void change_op(struct offer *offer)
{
    offer->description.op = HVD_MAX;
}
static void change_group(struct offer *offer)
{
    offer->description.group = 77;
    offer->description.group_size = 2;
}
static void change_root(struct offer *offer)
{
    offer->description.root = 1;
}

START_TEST(what_ranks_disagree_on_fails_on_all_and_they_go_on)
{
    static const struct {
        void (*change)(struct offer *offer);
        const char *text;
    } rows[] = {
        { change_dtype, "int32" }, { change_kind, "broadcast" }, { change_shape, "[3]" },
        { change_factor, "0.5" },  { change_op, "max" },         { change_group, "group" },
        { change_root, "root" },
    };
    const float data[3] = { 1, 2, 3 };
    start(_i);
    for (size_t row = 0; row < 3 * sizeof rows / sizeof *rows; row++) {
        size_t at = row / 3;
        int odd = (int)row % net.size;
        for (int i = 0; i < net.size; i++) {
            struct offer offer = net_allreduce(&net, "grad", 2, data);
            offer.owner = &seen[i];
            if (i == odd)
                rows[at].change(&offer);
            net_submit(&net, i, &offer);
        }
        net_complete(&net);
        net_check_one(&net, DECISION_FAILED, "grad");
        char who[20];
        snprintf(who, sizeof who, "rank %d", odd);
        for (int i = 0; i < net.size; i++) {
            ck_assert_int_eq(seen[i].status, HVD_ERR_MISMATCH);
            ck_assert_msg(strstr(seen[i].text, rows[at].text), "%s", seen[i].text);
            ck_assert_msg(strstr(seen[i].text, who), "%s", seen[i].text);
            ck_assert_ptr_eq(seen[i].owner, &seen[i]);
        }
        for (int i = 0; i < net.size; i++) {
            struct offer offer = net_allreduce(&net, "grad", 2, data);
            net_submit(&net, i, &offer);
        }
        net_complete(&net);
        net_check_one(&net, DECISION_DONE, "grad");
        ck_assert_float_eq((float)net.size, ((const float *)(const void *)seen[0].data)[0]);
    }
    net_fini(&net);
}
END_TEST

START_TEST(a_name_that_changes_its_shape_on_all_ranks_is_agreed_on)
{
    const float data[20] = { 1 };
    start(5);
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < net.size; i++) {
            struct offer offer = net_allreduce(&net, "grad", 1 + round / 2, data);
            net_submit(&net, i, &offer);
        }
        net_complete(&net);
        net_check_one(&net, DECISION_DONE, "grad");
        ck_assert_uint_eq(seen[0].nbytes, 4 * (size_t)(1 + round / 2));
    }
    net_fini(&net);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("mismatch");
    tcase_add_loop_test(tcase, what_ranks_disagree_on_fails_on_all_and_they_go_on, 2, 10);
    tcase_add_test(tcase, a_name_that_changes_its_shape_on_all_ranks_is_agreed_on);
    Suite *all = suite_create("negotiation_mismatch");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
