/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets: their numbers, and what is left when memory runs out for one. Linked with -Wl,--wrap for
 * what allocates them. */
#include "lib/engine/in_flight.h"

#include "tests/support/unit.h"

#include <stdlib.h>

enum { MANY = 200 }; /* more than the table has at first */

void *__real_calloc(size_t count, size_t size);
void *__real_reallocarray(void *memory, size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_reallocarray(void *memory, size_t count, size_t size);

static struct in_flight in_flight;
static int left = -1; /* allocations until one fails; negative: none fails */

static bool has_memory(void)
{
    return left < 0 || left-- > 0;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return has_memory() ? __real_calloc(count, size) : NULL;
}

void *__wrap_reallocarray(void *memory, size_t count, size_t size)
{
    return has_memory() ? __real_reallocarray(memory, count, size) : NULL;
}

static void setup(void)
{
    left = -1;
    in_flight_init(&in_flight, 0);
}

static void teardown(void)
{
    in_flight_fini(&in_flight);
}

START_TEST(each_ticket_is_found_by_its_number_until_it_is_given_back)
{
    struct ticket *tickets[MANY];
    for (int i = 0; i < MANY; i++) {
        tickets[i] = in_flight_ticket(&in_flight, 1);
        ck_assert_ptr_nonnull(tickets[i]);
    }
    for (int i = 0; i < MANY; i++)
        ck_assert_ptr_eq(in_flight_find(&in_flight, tickets[i]->number), tickets[i]);
    int64_t number = tickets[7]->number;
    in_flight_release(&in_flight, tickets[7]);
    ck_assert_ptr_null(in_flight_find(&in_flight, number));
    ck_assert_ptr_eq(in_flight_ticket(&in_flight, 1), tickets[7]);
    ck_assert_int_ne(tickets[7]->number, number);
    ck_assert_ptr_null(in_flight_find(&in_flight, number));
}
END_TEST

/* A ticket for two needs a table, a ticket and memory for the results. */
START_TEST(where_memory_runs_out_there_is_no_ticket_and_the_next_one_is_right)
{
    left = _i;
    ck_assert_ptr_null(in_flight_ticket(&in_flight, 2));
    left = -1;
    struct ticket *ticket = in_flight_ticket(&in_flight, 2);
    ck_assert_ptr_nonnull(ticket);
    ck_assert_int_eq(in_flight.tickets_count, 1); /* the one that there was is used */
    ck_assert_int_eq(ticket->count, 2);
    ck_assert_ptr_eq(in_flight_find(&in_flight, ticket->number), ticket);
}
END_TEST

START_TEST(where_memory_runs_out_for_more_tickets_those_that_there_are_stay)
{
    struct ticket *tickets[MANY];
    int count = 0;
    while ((tickets[count] = in_flight_ticket(&in_flight, 1))) {
        ck_assert_int_lt(++count, MANY);
        left = count == in_flight.tickets_capacity ? 0 : -1;
    }
    ck_assert_int_eq(in_flight.tickets_capacity, count);
    for (int i = 0; i < count; i++)
        ck_assert_ptr_eq(in_flight_find(&in_flight, tickets[i]->number), tickets[i]);
    left = -1;
    ck_assert_ptr_nonnull(in_flight_ticket(&in_flight, 1));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("in_flight");
    TCase *tcase = tcase_create("in_flight");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, each_ticket_is_found_by_its_number_until_it_is_given_back);
    tcase_add_loop_test(tcase, where_memory_runs_out_there_is_no_ticket_and_the_next_one_is_right,
                        0, 3);
    tcase_add_test(tcase, where_memory_runs_out_for_more_tickets_those_that_there_are_stay);
    return unit_run(suite);
}
