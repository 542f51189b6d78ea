/* SPDX-License-Identifier: Apache-2.0 */
/* Which requests are woken by which events, with a request in every list of the table. */
#include "rendezvous/base/wait_table.h"

#include "tests/support/unit.h"

static struct wait_table table;
static struct waiter waiters[WAIT_TABLE_LISTS];
static struct wait_list woken;

/* Each of these hashes has a list of its own. */
static void set_up(void)
{
    wait_table_init(&table);
    TAILQ_INIT(&woken);
    for (int i = 0; i < WAIT_TABLE_LISTS; i++) {
        waiters[i] = (struct waiter){ 0 };
        waiter_join(&waiters[i], wait_table_list(&table, (uint32_t)i));
    }
}

static int count_woken(void)
{
    int count = 0;
    struct waiter *waiter;
    TAILQ_FOREACH(waiter, &woken, link)
    count++;
    return count;
}

START_TEST(an_event_wakes_those_that_wait_for_it)
{
    for (uint32_t hash = 0; hash < WAIT_TABLE_LISTS; hash++) {
        wait_table_mark(&table, hash);
        wait_table_mark(&table, hash);
        wait_table_wake(&table, &woken);
        ck_assert_ptr_eq(waiters[hash].in, &woken);
        ck_assert_int_eq(count_woken(), (int)hash + 1);
    }
}
END_TEST

START_TEST(all_can_be_woken)
{
    wait_table_wake_all(&table, &woken);
    ck_assert_int_eq(count_woken(), WAIT_TABLE_LISTS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wait_table");
    TCase *tcase = tcase_create("wait_table");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, an_event_wakes_those_that_wait_for_it);
    tcase_add_test(tcase, all_can_be_woken);
    return unit_run(suite);
}
