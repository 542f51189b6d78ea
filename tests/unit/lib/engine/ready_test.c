/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors whose input a device still makes: when the engine polls their events next. */
#include "lib/engine/engine_impl.h"
#include "tests/support/unit.h"

START_TEST(an_event_is_polled_after_a_while)
{
    struct tensor tensor = { .ready = &tensor };
    struct process_set set = { .state = SET_READY };
    ck_assert_uint_eq(ready_deadline(&set), UINT64_MAX);
    set.ready.unmade = (struct tensor_list){ &tensor, &tensor, 1 };
    uint64_t before_ns = monotonic_ns();
    uint64_t deadline_ns = ready_deadline(&set);
    ck_assert_uint_ge(deadline_ns, before_ns + STAGE_POLL_NS);
    ck_assert_uint_le(deadline_ns, monotonic_ns() + STAGE_POLL_NS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ready");
    TCase *tcase = tcase_create("ready");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, an_event_is_polled_after_a_while);
    return unit_run(suite);
}
