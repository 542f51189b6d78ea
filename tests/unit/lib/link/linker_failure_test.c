/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that are unauthenticated, late, unresponsive or gone, unauthenticated clients at the door,
 * and a process that runs out of descriptors or memory. Linked with
 * -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc. */
#include "lib/base/descriptor.h"
#include "lib/link/socket.h"
#include "tests/support/linkers.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static int countdown; /* to the allocation that fails; 0 when none does */

static bool fails(void)
{
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

/* With the address of rank 1. */
static void check_text(const char *format)
{
    char expected[sizeof err.text];
    snprintf(expected, sizeof expected, format, peers[1].addresses.text[0]);
    ck_assert_str_eq(err.text, expected);
}

/* Moves one linker alone until it fails; returns how. */
static int move_until_failure(int rank, uint64_t now_ms)
{
    int rc = 0;
    for (int i = 0; i < MANY && rc >= 0; i++) {
        rc = linker_move(linkers[rank], now_ms, &err);
        for (int other = 0; other < nlinkers; other++)
            if (other != rank)
                linker_move(linkers[other], now_ms, &(struct err){ 0 });
    }
    return rc;
}

START_TEST(nobody_is_its_own_neighbour)
{
    open_linkers(1);
    ck_assert_int_eq(linker_want(linkers[0], &peers[0], 0, 0, &err), HVD_ERR_PROTOCOL);
    ck_assert(!linker_busy(linkers[0]));
}
END_TEST

START_TEST(an_impostor_is_named_by_who_dials_it)
{
    open_linkers(1);
    linkers_are_impostors = true;
    open_linkers(1);
    want_both_ways(0, 1, 0);
    ck_assert_int_eq(move_until_failure(0, 0), HVD_ERR_AUTH);
    check_text("link to rank 1 on node1: %s: it cannot prove that it is rank 1");
}
END_TEST

START_TEST(an_impostor_gets_no_link_from_who_is_dialled)
{
    linkers_are_impostors = true;
    open_linkers(1);
    linkers_are_impostors = false;
    open_linkers(1);
    want_both_ways(0, 1, 0);
    for (uint64_t now_ms = 0; now_ms < 1000; now_ms++)
        move_all(now_ms);
    ck_assert(linker_busy(linkers[0]) && linker_busy(linkers[1]));
    ck_assert(!linker_has(linkers[1], 0, 0));
}
END_TEST

/* It closes the connection, and may be dialled until time is up. */
START_TEST(a_rank_of_another_world_is_no_neighbour)
{
    struct rank_certifier other;
    rank_certifier_generate(&other);
    open_linker(&linkers_certifier, LINKERS_EPOCH);
    open_linker(_i == 0 ? &linkers_certifier : &other, LINKERS_EPOCH + (_i == 0));
    want_both_ways(0, 1, 0);
    for (uint64_t now_ms = 0; now_ms < 1000; now_ms++)
        move_all(now_ms);
    ck_assert(linker_busy(linkers[0]) && linker_busy(linkers[1]));
    ck_assert_int_eq(linker_move(linkers[0], LINKER_TIMEOUT_MS, &err), HVD_ERR_TIMEOUT);
}
END_TEST

START_TEST(a_rank_that_never_answers_is_given_thirty_seconds)
{
    open_linkers(2);
    ck_assert_int_eq(linker_want(linkers[0], &peers[1], 0, 5000, &err), HVD_OK);
    for (uint64_t now_ms = 5000; now_ms < 35000; now_ms++)
        ck_assert_int_eq(linker_move(linkers[0], now_ms, &err), 0);
    ck_assert_int_eq(linker_move(linkers[0], 35000, &err), HVD_ERR_TIMEOUT);
    check_text("no link from rank 0 to rank 1 on node1 within 30 s: %s: no answer");
}
END_TEST

START_TEST(a_rank_that_is_not_there_is_dialled_until_time_is_up)
{
    open_linkers(2);
    linker_destroy(linkers[--nlinkers]);
    want(0, 1, 0);
    for (uint64_t now_ms = 0; now_ms < LINKER_TIMEOUT_MS; now_ms++)
        ck_assert_int_eq(linker_move(linkers[0], now_ms, &err), 0);
    ck_assert_int_eq(linker_move(linkers[0], LINKER_TIMEOUT_MS, &err), HVD_ERR_TIMEOUT);
    check_text("no link from rank 0 to rank 1 on node1 within 30 s: %s: connection refused");
}
END_TEST

START_TEST(a_rank_that_never_dials_is_given_two_seconds_more)
{
    uint64_t until = UINT64_MAX;
    open_linkers(2);
    ck_assert_int_eq(linker_want(linkers[1], &peers[0], 0, 5000, &err), HVD_OK);
    linker_pollfds(linkers[1], NULL, 0, &until);
    ck_assert_uint_eq(until, 37000);
    ck_assert_int_eq(linker_move(linkers[1], 36999, &err), 0);
    ck_assert_int_eq(linker_move(linkers[1], 37000, &err), HVD_ERR_TIMEOUT);
    ck_assert_str_eq(err.text, "no link from rank 0 on node0 to rank 1 within 32 s");
}
END_TEST

static void check_missing(int rank, int peer, uint64_t timeout_ms, const char *text)
{
    ck_assert_int_eq(linker_want(linkers[rank], &peers[peer], 0, 0, &err), HVD_OK);
    ck_assert_int_eq(linker_move(linkers[rank], 0, &err), 0);
    ck_assert_int_eq(linker_move(linkers[rank], timeout_ms, &err), HVD_ERR_TIMEOUT);
    ck_assert_msg(strncmp(err.text, text, strlen(text)) == 0, "%s", err.text);
}

START_TEST(a_missing_link_is_reported_with_the_hosts_of_both_ranks)
{
    open_linker_at("node0", TRANSPORT_AUTO);
    open_linker_at("node1", TRANSPORT_AUTO);
    check_missing(0, 1, LINKER_TIMEOUT_MS,
                  "no link from rank 0 on node0 to rank 1 on node1 within 30 s: ");
    check_missing(1, 0, LINKER_TIMEOUT_MS + LINKER_GRACE_MS,
                  "no link from rank 0 on node0 to rank 1 on node1 within 32 s");
}
END_TEST

/* A dialler that says to be the rank that it dials has no key of a pair, so it gets no link at
 * all. */
START_TEST(a_higher_rank_does_not_dial)
{
    static const uint32_t sources[] = { 2, UINT32_MAX };
    open_linkers(2);
    for (int i = 0; i < 2; i++) {
        struct link *dialled = linkers_dial(sources[i], 1, 0);
        ck_assert(is_closed(dialled));
        ck_assert_ptr_null(linker_take(linkers[1], (int)sources[i], 0));
        link_close(dialled);
    }
}
END_TEST

START_TEST(no_more_than_1024_unwanted_links_are_kept)
{
    open_linkers(2);
    for (uint32_t channel = 0; channel < 1024; channel++)
        link_close(linkers_dial(0, 1, channel));
    struct link *unwanted = linkers_dial(0, 1, 1024);
    ck_assert(is_closed(unwanted));
    link_close(unwanted);
    want_both_ways(0, 1, 1025);
    link_up();
    check_link(0, 1, 1025);
}
END_TEST

static int knock(int rank)
{
    struct socket_address address;
    ck_assert_int_eq(socket_address_parse(&address, peers[rank].addresses.text[0], &err), HVD_OK);
    int fd = socket_connect(&address, &err);
    struct pollfd ready = { .fd = fd, .events = POLLOUT };
    ck_assert_int_eq(poll(&ready, 1, 10000), 1);
    return fd;
}

/* So many can be opened yet. */
static void limit_descriptors(int more)
{
    int next = dup(listeners[0]);
    close(next);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ (rlim_t)(next + more), 4096 });
}

/* Silent ones and those who say something. */
START_TEST(unauthenticated_clients_keep_nobody_from_linking_up)
{
    int unauthenticated[100];
    open_linkers(2);
    want_both_ways(0, 1, 0);
    for (int i = 0; i < 100; i++) {
        unauthenticated[i] = knock(1);
        if (i % 2)
            ck_assert_int_gt(socket_send(unauthenticated[i], "GET / HTTP/1.1\r\n\r\n", 18, &err),
                             0);
        move_all(0);
    }
    link_up();
    check_link(0, 1, 0);
    for (int i = 0; i < 100; i++)
        descriptor_close(unauthenticated[i]);
}
END_TEST

START_TEST(unauthenticated_clients_that_use_up_the_descriptors_do_not_keep_their_host_from_dialling)
{
    int unauthenticated[10];
    open_linkers(2);
    for (int i = 0; i < 10; i++)
        unauthenticated[i] = knock(0);
    want_both_ways(0, 1, 0);
    limit_descriptors(2); /* taken first: accepting comes before dialling */
    link_up();
    check_link(0, 1, 0);
    for (int i = 0; i < 10; i++)
        descriptor_close(unauthenticated[i]);
}
END_TEST

START_TEST(a_dialler_without_any_descriptor_left_says_so)
{
    open_linkers(2);
    want(0, 1, 0);
    limit_descriptors(0);
    ck_assert_int_eq(linker_move(linkers[0], 0, &err), HVD_ERR_SYSTEM);
    check_text("link to rank 1 on node1: %s: socket: Too many open files");
    limit_descriptors(1000);
}
END_TEST

START_TEST(an_acceptor_without_any_descriptor_left_says_so_before_the_dialler_gives_up)
{
    open_linkers(2);
    want(1, 0, 0);
    int knocking = knock(1);
    limit_descriptors(0);
    ck_assert_int_eq(linker_move(linkers[1], 100, &err), 0);
    ck_assert_int_eq(linker_move(linkers[1], 100 + LINKER_SHUT_MS - 1, &err), 0);
    ck_assert_int_eq(linker_move(linkers[1], 100 + LINKER_SHUT_MS, &err), HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text, "no link from rank 0 on node0: accept: Too many open files");
    descriptor_close(knocking);
    limit_descriptors(1000);
}
END_TEST

/* What was short once does not count against it when it is short again. */
START_TEST(an_acceptor_that_has_had_a_descriptor_meanwhile_goes_on)
{
    open_linkers(2);
    want(1, 0, 0);
    int first = knock(1);
    limit_descriptors(0);
    ck_assert_int_eq(linker_move(linkers[1], 100, &err), 0);
    limit_descriptors(1000);
    ck_assert_int_eq(linker_move(linkers[1], 300, &err), 0);
    int second = knock(1);
    limit_descriptors(0);
    ck_assert_int_eq(linker_move(linkers[1], 100 + LINKER_SHUT_MS, &err), 0);
    limit_descriptors(1000);
    descriptor_close(first);
    descriptor_close(second);
}
END_TEST

/* Rank 0 dials two; rank 1 keeps a link that it does not want. True if no allocation failed. */
static bool link_up_without_memory(int nth, bool on_one_host)
{
    int rc = HVD_OK;
    if (!on_one_host)
        open_linkers(2);
    for (int rank = 0; rank < 2 && on_one_host; rank++)
        open_linker_at("node0", TRANSPORT_AUTO);
    struct rank_credentials credentials = { 0 };
    countdown = nth;
    struct linker_options options = { .listener = NO_LISTENER, .credentials = &credentials };
    struct linker *another = linker_create(&options, &err);
    if (!another)
        rc = err.code;
    for (uint32_t channel = 0; channel < 2 && rc == HVD_OK; channel++)
        rc = linker_want(linkers[0], &peers[1], channel, 0, &err);
    for (int i = 0; i < MANY && rc >= 0 && linker_busy(linkers[0]); i++)
        for (int rank = 0; rank < 2 && rc >= 0; rank++)
            rc = linker_move(linkers[rank], 0, &err);
    bool enough = countdown > 0;
    countdown = 0;
    ck_assert_int_eq(rc < 0 ? rc : HVD_OK, enough ? HVD_OK : HVD_ERR_NOMEM);
    linker_destroy(another);
    linkers_teardown();
    return enough;
}

START_TEST(every_allocation_may_fail)
{
    int nth = 1;
    while (!link_up_without_memory(nth, _i))
        nth++;
    ck_assert_int_gt(nth, 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("linker_failure");
    TCase *tcase = tcase_create("linker_failure");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, linkers_setup, linkers_teardown);
    tcase_add_test(tcase, nobody_is_its_own_neighbour);
    tcase_add_test(tcase, an_impostor_is_named_by_who_dials_it);
    tcase_add_test(tcase, an_impostor_gets_no_link_from_who_is_dialled);
    tcase_add_loop_test(tcase, a_rank_of_another_world_is_no_neighbour, 0, 2);
    tcase_add_test(tcase, a_rank_that_never_answers_is_given_thirty_seconds);
    tcase_add_test(tcase, a_rank_that_is_not_there_is_dialled_until_time_is_up);
    tcase_add_test(tcase, a_rank_that_never_dials_is_given_two_seconds_more);
    tcase_add_test(tcase, a_missing_link_is_reported_with_the_hosts_of_both_ranks);
    tcase_add_test(tcase, a_higher_rank_does_not_dial);
    tcase_add_test(tcase, no_more_than_1024_unwanted_links_are_kept);
    tcase_add_test(tcase, unauthenticated_clients_keep_nobody_from_linking_up);
    tcase_add_test(
        tcase,
        unauthenticated_clients_that_use_up_the_descriptors_do_not_keep_their_host_from_dialling);
    tcase_add_test(tcase, a_dialler_without_any_descriptor_left_says_so);
    tcase_add_test(tcase,
                   an_acceptor_without_any_descriptor_left_says_so_before_the_dialler_gives_up);
    tcase_add_test(tcase, an_acceptor_that_has_had_a_descriptor_meanwhile_goes_on);
    tcase_add_loop_test(tcase, every_allocation_may_fail, 0, 2);
    return unit_run(suite);
}
