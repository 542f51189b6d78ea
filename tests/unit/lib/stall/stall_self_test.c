/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of one rank to a probe is about the names that the probe asks for. */
#include "lib/stall/stall_self.h"

#include "tests/support/unit.h"

#include <string.h>

#define MS 1000000ull

static const char *const waits_for[] = { "asked", "not asked" };

/* This rank has submitted both names at 100 ms. */
static int see_waiting(void *arg, int index, struct waiting *waiting)
{
    (void)arg;
    if (index >= 2)
        return 0;
    *waiting = (struct waiting){
        .name = waits_for[index], .kind = COLLECTIVE_ALLREDUCE, .since_ns = 100 * MS, .own = true
    };
    return 1;
}

static void name(struct stall_names *names, const char *text)
{
    names->at[names->count].kind = COLLECTIVE_ALLREDUCE;
    strcpy(names->at[names->count++].text, text);
}

/* The probe lies where an earlier one asked for one name more. */
START_TEST(a_name_that_only_an_earlier_probe_asked_for_is_not_answered)
{
    const struct stall_options options = {
        .rank = 1, .size = 2, .host = "testhost", .view.waiting = see_waiting
    };
    struct stall_probe probe = { .id = 7 };
    struct stall_answer answer;
    name(&probe.names, "asked");
    name(&probe.names, "not asked");
    probe.names.count--;
    stall_self_answer(&options, 0, &probe, &answer, 400 * MS);
    ck_assert_int_eq(answer.nnames, 1);
    ck_assert_uint_eq(answer.name[0].age_ms, 300);
    ck_assert_int_eq(answer.name[0].missing.count, 0);
    ck_assert_uint_eq(answer.name[1].age_ms, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stall_self");
    TCase *tcase = tcase_create("stall_self");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, a_name_that_only_an_earlier_probe_asked_for_is_not_answered);
    return unit_run(suite);
}
