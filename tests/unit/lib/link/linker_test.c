/* SPDX-License-Identifier: Apache-2.0 */
/* Who wants a link gets it, whenever and in whichever order both sides want it, and the idle wait
 * for nothing but their listener. */
#include "tests/support/linkers.h"
#include "tests/support/unit.h"

#include <string.h>
#include <sys/resource.h>

START_TEST(nothing_is_fine)
{
    linker_destroy(NULL);
    open_linkers(2);
    ck_assert(!linker_busy(linkers[0]));
    ck_assert_ptr_null(linker_take(linkers[0], 1, 0));
    ck_assert_int_eq(linker_move(linkers[0], 0, &err), 0);
}
END_TEST

START_TEST(a_world_of_one_waits_for_nothing)
{
    uint64_t until = UINT64_MAX;
    struct rank_credentials credentials = { 0 };
    struct linker_options options = { .listener = NO_LISTENER, .credentials = &credentials };
    struct linker *alone = linker_create(&options, &err);
    ck_assert_int_eq(linker_move(alone, 0, &err), 0);
    ck_assert_int_eq(linker_pollfds(alone, NULL, 0, &until), 0);
    ck_assert_uint_eq(until, UINT64_MAX);
    linker_destroy(alone);
}
END_TEST

START_TEST(two_ranks_that_want_a_link_get_it)
{
    open_linkers(2);
    want_both_ways(0, 1, 0);
    ck_assert(linker_busy(linkers[0]) && linker_busy(linkers[1]));
    link_up();
    check_link(0, 1, 0);
    ck_assert_ptr_null(linker_take(linkers[0], 1, 0));
}
END_TEST

START_TEST(a_move_says_once_that_a_wanted_link_has_come)
{
    open_linkers(2);
    want_both_ways(0, 1, 0);
    int said[2] = { 0, 0 };
    for (int i = 0; i < MANY && anybody_is_busy(); i++)
        for (int rank = 0; rank < 2; rank++)
            said[rank] += linker_move(linkers[rank], 0, &err);
    ck_assert(said[0] == 1 && said[1] == 1);
    ck_assert_int_eq(linker_move(linkers[0], 0, &err), 0);
    ck_assert_int_eq(linker_move(linkers[1], 0, &err), 0);
}
END_TEST

START_TEST(five_ranks_have_a_link_for_each_pair_and_channel)
{
    open_linkers(5);
    for (int pair = 0; pair < 25; pair++)
        for (uint32_t channel = 0; channel < 3; channel++)
            if (pair / 5 != pair % 5)
                want(pair / 5, pair % 5, channel);
    link_up();
    for (int pair = 0; pair < 25; pair++)
        for (uint32_t channel = 0; channel < 3; channel++)
            if (pair / 5 < pair % 5)
                check_link(pair / 5, pair % 5, channel);
}
END_TEST

START_TEST(a_link_that_comes_before_it_is_wanted_is_kept)
{
    uint64_t until = UINT64_MAX;
    open_linkers(2);
    want(0, 1, 4);
    for (int i = 0; i < MANY && linker_busy(linkers[0]); i++) {
        ck_assert_int_ge(linker_move(linkers[0], 0, &err), 0);
        ck_assert_int_eq(linker_move(linkers[1], 0, &err), 0);
    }
    want(1, 0, 4);
    ck_assert(!linker_busy(linkers[1]));
    linker_pollfds(linkers[1], NULL, 0, &until);
    ck_assert_uint_eq(until, 0);
    ck_assert_int_eq(linker_move(linkers[1], 0, &err), 1);
    check_link(0, 1, 4);
}
END_TEST

START_TEST(links_are_made_later_and_again_too)
{
    open_linkers(3);
    for (uint32_t channel = 0; channel < 4; channel++) {
        want_both_ways(0, 2, channel / 2);
        want_both_ways(1, 2, channel / 2);
        link_up();
        check_link(0, 2, channel / 2);
        check_link(1, 2, channel / 2);
    }
}
END_TEST

START_TEST(an_idle_linker_waits_for_its_listener_alone)
{
    open_linkers(2);
    for (uint32_t channel = 0; channel < 2; channel++) {
        for (int rank = 0; rank < 2; rank++) {
            uint64_t until = UINT64_MAX;
            struct pollfd fds[2];
            ck_assert_int_eq(linker_pollfds(linkers[rank], fds, 2, &until), 1);
            ck_assert_int_eq(fds[0].fd, listeners[rank]);
            ck_assert_int_eq(fds[0].events, POLLIN);
            ck_assert_uint_eq(until, UINT64_MAX);
        }
        want_both_ways(0, 1, channel);
        link_up();
        move_all(0);
    }
}
END_TEST

START_TEST(what_does_not_fit_into_the_poll_array_is_counted_only)
{
    open_linkers(4);
    for (int peer = 1; peer < 4; peer++)
        want(0, peer, 0);
    ck_assert_int_eq(linker_move(linkers[0], 0, &err), 0);
    for (int capacity = 0; capacity <= 5; capacity++) {
        struct pollfd fds[5];
        uint64_t until = UINT64_MAX;
        memset(fds, 0xff, sizeof fds);
        ck_assert_int_eq(linker_pollfds(linkers[0], fds, capacity, &until), 4);
        ck_assert_uint_eq(until, 3000);
        for (int i = 0; i < 5; i++)
            ck_assert_int_eq(fds[i].fd >= 0, i < capacity && i < 4);
    }
}
END_TEST

/* What a poll() of what the linker asks for cannot see is not needed: no other call is made. */
START_TEST(waiting_for_what_the_linker_names_is_enough)
{
    open_linkers(2);
    want_both_ways(0, 1, 0);
    while (anybody_is_busy()) {
        uint64_t until = UINT64_MAX;
        struct pollfd fds[8];
        move_all(0);
        int count = linker_pollfds(linkers[0], fds, 4, &until);
        count += linker_pollfds(linkers[1], fds + count, 4, &until);
        if (anybody_is_busy() && until > 0)
            ck_assert_int_gt(poll(fds, (nfds_t)count, 10000), 0);
    }
    check_link(0, 1, 0);
}
END_TEST

START_TEST(sixty_ranks_link_up_all_to_all)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    int count = limit.rlim_cur >= 8000 ? 60 : 20;
    open_linkers(count);
    for (int rank = 0; rank < count; rank++)
        for (int peer = 0; peer < count; peer++)
            if (peer != rank)
                want(rank, peer, 0);
    link_up();
    for (int rank = 0; rank < count; rank++)
        for (int peer = rank + 1; peer < count; peer++)
            check_link(rank, peer, 0);
}
END_TEST

START_TEST(no_more_than_32_are_dialled_at_once)
{
    uint64_t until = UINT64_MAX;
    open_linkers(40);
    for (int peer = 1; peer < 40; peer++)
        want(0, peer, 0);
    ck_assert_int_eq(linker_move(linkers[0], 0, &err), 0);
    ck_assert_int_eq(linker_pollfds(linkers[0], NULL, 0, &until), 1 + 32);
    ck_assert_uint_eq(until, 3000);
    linker_move(linkers[0], 3000, &err); /* nobody has answered: the rest has its turn */
    ck_assert_int_eq(linker_pollfds(linkers[0], NULL, 0, &until), 1 + 7);
}
END_TEST

START_TEST(wanting_twice_is_wanting_once)
{
    open_linkers(2);
    want(0, 1, 0);
    want_both_ways(0, 1, 0);
    link_up();
    check_link(0, 1, 0);
    move_all(0);
    ck_assert_ptr_null(linker_take(linkers[0], 1, 0));
    ck_assert_ptr_null(linker_take(linkers[1], 0, 0));
}
END_TEST

START_TEST(the_newest_of_several_links_is_taken)
{
    open_linkers(2);
    struct link *dialled[3];
    for (uint32_t i = 0; i < 3; i++) {
        dialled[i] = linkers_dial(0, 1, 6);
        say(dialled[i], i);
    }
    struct link *taken = linker_take(linkers[1], 0, 6);
    ck_assert_uint_eq(hear(taken), 2);
    ck_assert(is_closed(dialled[0]) && is_closed(dialled[1]));
    ck_assert_ptr_null(linker_take(linkers[1], 0, 6));
    link_close(taken);
    for (int i = 0; i < 3; i++)
        link_close(dialled[i]);
}
END_TEST

START_TEST(what_is_forgotten_is_not_waited_for_and_makes_room)
{
    uint64_t until = UINT64_MAX;
    open_linkers(40);
    for (int peer = 1; peer < 40; peer++)
        want(0, peer, 6);
    want(0, 39, 7);
    ck_assert_int_eq(linker_move(linkers[0], 0, &err), 0);
    linker_forget(linkers[0], 6);
    ck_assert(linker_busy(linkers[0]));
    want(39, 0, 7);
    link_up();
    check_link(0, 39, 7);
    ck_assert_int_eq(linker_pollfds(linkers[0], NULL, 0, &until), 1);
    ck_assert_int_eq(linker_move(linkers[0], LINKER_TIMEOUT_MS, &err), 0);
}
END_TEST

START_TEST(a_link_that_nobody_has_taken_is_closed_when_it_is_forgotten)
{
    open_linkers(2);
    ck_assert(!linker_keeps_links(linkers[1]));
    struct link *dialled[] = { linkers_dial(0, 1, 5), linkers_dial(0, 1, 6),
                               linkers_dial(0, 1, 5) };
    linker_forget(linkers[1], 5);
    ck_assert(linker_keeps_links(linkers[1]));
    ck_assert(is_closed(dialled[2]));
    ck_assert(!is_closed(dialled[1]));
    ck_assert_ptr_null(linker_take(linkers[1], 0, 5));
    linker_forget(linkers[1], 6);
    ck_assert(!linker_keeps_links(linkers[1]));
    for (int i = 0; i < 3; i++)
        link_close(dialled[i]);
}
END_TEST

START_TEST(a_linker_can_be_destroyed_at_any_moment)
{
    for (int moves = 0; moves < 12; moves++) {
        open_linkers(3);
        want_both_ways(0, 1, 0);
        want_both_ways(0, 2, 0);
        want(1, 2, 0);
        want(1, 2, 1);
        for (int i = 0; i < moves; i++)
            move_all(0);
        linkers_teardown();
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("linker");
    TCase *tcase = tcase_create("linker");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, linkers_setup, linkers_teardown);
    tcase_add_test(tcase, nothing_is_fine);
    tcase_add_test(tcase, a_world_of_one_waits_for_nothing);
    tcase_add_test(tcase, two_ranks_that_want_a_link_get_it);
    tcase_add_test(tcase, a_move_says_once_that_a_wanted_link_has_come);
    tcase_add_test(tcase, five_ranks_have_a_link_for_each_pair_and_channel);
    tcase_add_test(tcase, a_link_that_comes_before_it_is_wanted_is_kept);
    tcase_add_test(tcase, links_are_made_later_and_again_too);
    tcase_add_test(tcase, an_idle_linker_waits_for_its_listener_alone);
    tcase_add_test(tcase, what_does_not_fit_into_the_poll_array_is_counted_only);
    tcase_add_test(tcase, waiting_for_what_the_linker_names_is_enough);
    tcase_add_test(tcase, sixty_ranks_link_up_all_to_all);
    tcase_add_test(tcase, no_more_than_32_are_dialled_at_once);
    tcase_add_test(tcase, wanting_twice_is_wanting_once);
    tcase_add_test(tcase, the_newest_of_several_links_is_taken);
    tcase_add_test(tcase, what_is_forgotten_is_not_waited_for_and_makes_room);
    tcase_add_test(tcase, a_link_that_nobody_has_taken_is_closed_when_it_is_forgotten);
    tcase_add_test(tcase, a_linker_can_be_destroyed_at_any_moment);
    return unit_run(suite);
}
