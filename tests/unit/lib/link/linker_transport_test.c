/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of one host and of several: which way their links take, and what is said of one that is
 * less than it could be. Linked with -Wl,--wrap=geteuid. */
#include "lib/base/descriptor.h"
#include "lib/link/link_dial.h"
#include "lib/link/socket.h"
#include "tests/support/linkers.h"
#include "tests/support/log_capture.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

uid_t __real_geteuid(void);
uid_t __wrap_geteuid(void);

static bool is_somebody_else; /* this process, for itself: so the others are somebody else for it */

uid_t __wrap_geteuid(void)
{
    return __real_geteuid() + (is_somebody_else ? 1 : 0);
}

static void setup(void)
{
    is_somebody_else = false;
    linkers_setup();
    log_capture_start();
}

static void teardown(void)
{
    log_capture_stop();
    linkers_teardown();
}

static const char *type_of(int rank, int peer, uint32_t channel)
{
    struct link *link = linker_take(linkers[rank], peer, channel);
    const char *type = transport_name(link->type->transport);
    link_close(link);
    return type;
}

static void check_types(const char *type)
{
    ck_assert_str_eq(type_of(0, 1, 0), type);
    ck_assert_str_eq(type_of(1, 0, 0), type);
}

/* ---- HVD_TRANSPORT ---- */

static const struct {
    enum transport lower, higher;
    const char *type;
} settings[] = {
    { TRANSPORT_AUTO, TRANSPORT_AUTO, "shm" },  { TRANSPORT_AUTO, TRANSPORT_SHM, "shm" },
    { TRANSPORT_SHM, TRANSPORT_AUTO, "shm" },   { TRANSPORT_SHM, TRANSPORT_SHM, "shm" },
    { TRANSPORT_UNIX, TRANSPORT_AUTO, "unix" }, { TRANSPORT_AUTO, TRANSPORT_UNIX, "unix" },
    { TRANSPORT_UNIX, TRANSPORT_UNIX, "unix" }, { TRANSPORT_TCP, TRANSPORT_TCP, "tcp" },
    { TRANSPORT_TCP, TRANSPORT_AUTO, "tcp" },   { TRANSPORT_AUTO, TRANSPORT_TCP, "tcp" },
    { TRANSPORT_TCP, TRANSPORT_UNIX, "tcp" },   { TRANSPORT_UNIX, TRANSPORT_TCP, "tcp" },
};

START_TEST(of_two_settings_the_lesser_is_taken)
{
    open_linker_at("node0", settings[_i].lower);
    open_linker_at("node0", settings[_i].higher);
    want_both_ways(0, 1, 0);
    want_both_ways(0, 1, 1);
    link_up();
    check_types(settings[_i].type);
    check_link(0, 1, 1);
}
END_TEST

/* Nobody is asked for what its own setting, or that of the other one, forbids; who wanted more says
 * why it has less. */
static const struct {
    enum transport lower, higher;
    const char *said;
} notes[] = {
    { TRANSPORT_AUTO, TRANSPORT_SHM, "" },
    { TRANSPORT_UNIX, TRANSPORT_UNIX, "" },
    { TRANSPORT_TCP, TRANSPORT_TCP, "" },
    { TRANSPORT_AUTO, TRANSPORT_UNIX,
      "[I] [0]: rank 0 on node0: no shared memory with rank 1: its HVD_TRANSPORT wants none; "
      "using unix\n" },
    { TRANSPORT_UNIX, TRANSPORT_AUTO,
      "[I] [1]: rank 1 on node0: no shared memory with rank 0: its HVD_TRANSPORT wants none; "
      "using unix\n" },
    { TRANSPORT_AUTO, TRANSPORT_TCP,
      "[I] [0]: rank 0 on node0: no shared memory with rank 1: it listens at no unix socket; "
      "using tcp\n" },
    { TRANSPORT_TCP, TRANSPORT_AUTO,
      "[I] [1]: rank 1 on node0: no shared memory with rank 0: it has not dialled the unix socket; "
      "using tcp\n" },
    { TRANSPORT_UNIX, TRANSPORT_TCP,
      "[I] [0]: rank 0 on node0: no unix socket with rank 1: it listens at no unix socket; "
      "using tcp\n" },
};

START_TEST(who_has_less_than_it_could_says_so_once)
{
    open_linker_at("node0", notes[_i].lower);
    open_linker_at("node0", notes[_i].higher);
    for (uint32_t channel = 0; channel < 3; channel++)
        want_both_ways(0, 1, channel);
    link_up();
    ck_assert_str_eq(log_captured(), notes[_i].said);
}
END_TEST

/* It is not known who has come before the link is wanted. */
START_TEST(it_is_said_of_a_link_that_was_there_before_it_was_wanted)
{
    open_linker_at("node0", TRANSPORT_UNIX);
    open_linker_at("node0", TRANSPORT_AUTO);
    want(0, 1, 0);
    link_up();
    ck_assert_str_eq(log_captured(), "");
    want(1, 0, 0);
    ck_assert_ptr_nonnull(strstr(log_captured(), "rank 1 on node0: no shared memory with rank 0"));
}
END_TEST

/* Moves both until one fails, while time goes on; returns how, and fills in who. */
static int move_until_failure(int *rank)
{
    for (uint64_t now_ms = 0; now_ms < 10000; now_ms++)
        for (*rank = 0; *rank < 2; ++*rank) {
            int rc = linker_move(linkers[*rank], now_ms, &err);
            if (rc < 0)
                return rc;
        }
    return 0;
}

static const struct {
    enum transport lower, higher;
    int failing;
    const char *text;
} insistences[] = {
    { TRANSPORT_SHM, TRANSPORT_UNIX, 0,
      "HVD_TRANSPORT is shm: no shared memory with rank 1 on node0: its HVD_TRANSPORT wants none" },
    { TRANSPORT_UNIX, TRANSPORT_SHM, 1,
      "HVD_TRANSPORT is shm: no shared memory with rank 0 on node0: its HVD_TRANSPORT wants none" },
    { TRANSPORT_TCP, TRANSPORT_SHM, 1,
      "HVD_TRANSPORT is shm: no shared memory with rank 0 on node0: it has not dialled the unix "
      "socket" },
};

START_TEST(who_insists_on_shared_memory_fails_without)
{
    int rank;
    open_linker_at("node0", insistences[_i].lower);
    open_linker_at("node0", insistences[_i].higher);
    want_both_ways(0, 1, 0);
    ck_assert_int_eq(move_until_failure(&rank), HVD_ERR_ENVIRONMENT);
    ck_assert_int_eq(rank, insistences[_i].failing);
    ck_assert_str_eq(err.text, insistences[_i].text);
}
END_TEST

START_TEST(who_insists_does_not_dial_who_has_no_unix_socket)
{
    open_linker_at("node0", TRANSPORT_SHM);
    open_linker_at("node0", TRANSPORT_TCP);
    ck_assert_int_eq(linker_want(linkers[0], &peers[1], 0, 0, &err), HVD_ERR_ENVIRONMENT);
    ck_assert_str_eq(err.text, "HVD_TRANSPORT is shm: no shared memory with rank 1 on node0: "
                               "it listens at no unix socket");
}
END_TEST

START_TEST(who_insists_fails_at_a_link_that_was_there_before)
{
    open_linker_at("node0", TRANSPORT_UNIX);
    open_linker_at("node0", TRANSPORT_SHM);
    want(0, 1, 0);
    link_up();
    ck_assert_int_eq(linker_want(linkers[1], &peers[0], 0, 0, &err), HVD_ERR_ENVIRONMENT);
}
END_TEST

/* ---- hosts ---- */

/* Even those who insist: it is about the ranks of one host. */
START_TEST(between_hosts_there_is_tcp_and_nothing_is_said_about_it)
{
    open_linker_at("node0", TRANSPORT_SHM);
    open_linker_at("node1", TRANSPORT_SHM);
    open_linker_at("node1", TRANSPORT_AUTO);
    want_both_ways(0, 1, 0);
    want_both_ways(0, 2, 0);
    want_both_ways(1, 2, 0);
    link_up();
    check_types("tcp");
    ck_assert_str_eq(type_of(0, 2, 0), "tcp");
    ck_assert_str_eq(type_of(1, 2, 0), "shm");
    ck_assert_str_eq(log_captured(), "");
}
END_TEST

/* As in a container with the same host name: the last address, which is the unix socket's. */
static char *hide_socket(int rank)
{
    struct join_addresses *addresses = &peers[rank].addresses;
    char *text = addresses->text[addresses->count - 1];
    ck_assert_int_eq(strncmp(text, "unix:", 5), 0);
    text[5] = text[5] == '0' ? '1' : '0';
    return text;
}

START_TEST(where_the_socket_is_not_there_tcp_is_used)
{
    open_linker_at("node0", TRANSPORT_AUTO);
    open_linker_at("node0", TRANSPORT_AUTO);
    hide_socket(1);
    want(0, 1, 0);
    link_up();
    ck_assert_str_eq(type_of(0, 1, 0), "tcp");
    ck_assert_str_eq(log_captured(),
                     "[I] [0]: rank 0 on node0: no shared memory with rank 1: no such socket here "
                     "(another network namespace?); using tcp\n");
}
END_TEST

/* The rank may be about to be known as lost, so it does not fail in the first moment. */
START_TEST(who_insists_and_finds_no_socket_fails_before_a_second_has_passed)
{
    uint64_t now_ms = 0;
    int rc = 0;
    char expected[sizeof err.text];
    open_linker_at("node0", TRANSPORT_SHM);
    open_linker_at("node0", TRANSPORT_SHM);
    const char *name = hide_socket(1);
    want(0, 1, 0);
    while (rc == 0 && now_ms < 10000)
        rc = linker_move(linkers[0], now_ms++, &err);
    ck_assert_int_eq(rc, HVD_ERR_ENVIRONMENT);
    ck_assert(now_ms > 300 && now_ms < 1000);
    snprintf(expected, sizeof expected,
             "HVD_TRANSPORT is shm: no shared memory with rank 1 on node0: %s: no such socket here "
             "(another network namespace?)",
             name);
    ck_assert_str_eq(err.text, expected);
}
END_TEST

/* hello; challenge; proof and offer; ready and answer: nobody waits for an answer more often than
 * over TCP. */
START_TEST(agreeing_on_memory_takes_no_time_of_its_own)
{
    open_linker_at("node0", TRANSPORT_AUTO);
    open_linker_at("node0", TRANSPORT_AUTO);
    want_both_ways(0, 1, 0);
    for (int i = 0; i < 3; i++)
        move_all(0);
    ck_assert(!anybody_is_busy());
    check_types("shm");
}
END_TEST

/* ---- users ---- */

/* For who is somebody else the other one is. */
static void move_as_unauthenticated(int unauthenticated)
{
    for (uint64_t i = 0; i < MANY && anybody_is_busy(); i++)
        for (int rank = 0; rank < 2; rank++) {
            is_somebody_else = rank == unauthenticated;
            ck_assert_msg(linker_move(linkers[rank], i, &err) >= 0, "%s", err.text);
        }
    ck_assert(!anybody_is_busy());
}

START_TEST(who_dials_does_not_speak_to_a_socket_of_another_user)
{
    char expected[200];
    open_linker_at("node0", TRANSPORT_AUTO);
    open_linker_at("node0", TRANSPORT_AUTO);
    want_both_ways(0, 1, 0);
    move_as_unauthenticated(0);
    check_types("tcp");
    snprintf(expected, sizeof expected,
             "rank 0 on node0: no shared memory with rank 1: it belongs to another user (uid %lu); "
             "using tcp\n",
             (unsigned long)getuid());
    ck_assert_ptr_nonnull(strstr(log_captured(), expected));
}
END_TEST

START_TEST(who_accepts_does_not_listen_to_another_user)
{
    open_linker_at("node0", TRANSPORT_AUTO);
    open_linker_at("node0", TRANSPORT_AUTO);
    want_both_ways(0, 1, 0);
    move_as_unauthenticated(1);
    check_types("tcp");
}
END_TEST

/* ---- a socket that is there is waited for ---- */

START_TEST(a_rank_that_is_late_is_not_dialled_over_tcp_meanwhile)
{
    uint64_t until_ms = UINT64_MAX;
    open_linker_at("node0", TRANSPORT_AUTO);
    open_linker_at("node0", TRANSPORT_AUTO);
    want_both_ways(0, 1, 0);
    for (uint64_t now_ms = 0; now_ms < LINKER_TIMEOUT_MS; now_ms += 100) {
        ck_assert_int_eq(linker_move(linkers[0], now_ms, &err), 0);
        ck_assert_int_eq(linker_pollfds(linkers[0], NULL, 0, &until_ms), 2 + 1);
    }
    for (int i = 0; i < MANY && anybody_is_busy(); i++)
        move_all(LINKER_TIMEOUT_MS - 1);
    check_types("shm");
}
END_TEST

START_TEST(a_rank_that_closes_is_dialled_there_again)
{
    open_linker_at("node0", TRANSPORT_AUTO);
    open_linker_at("node0", TRANSPORT_AUTO);
    want_both_ways(0, 1, 0);
    for (int times = 0; times < 3; times++) {
        int fd;
        uint64_t now_ms = (uint64_t)times * 1000;
        ck_assert_int_eq(linker_move(linkers[0], now_ms, &err), 0);
        while ((fd = descriptor_accept(unix_listeners[1])) < 0)
            ck_assert_int_eq(linker_move(linkers[0], now_ms, &err), 0);
        descriptor_close(fd);
        ck_assert_int_eq(linker_move(linkers[0], now_ms, &err), 0);
    }
    for (int i = 0; i < MANY && anybody_is_busy(); i++)
        move_all(10000);
    check_types("shm");
}
END_TEST

static int knock(int rank)
{
    struct socket_address address;
    const struct join_addresses *addresses = &peers[rank].addresses;
    ck_assert_int_eq(socket_address_parse(&address, addresses->text[addresses->count - 1], &err),
                     HVD_OK);
    return socket_connect(&address, &err);
}

/* Its queue is full: that is no reason to go another way. */
START_TEST(a_rank_that_is_busy_is_dialled_a_little_later)
{
    enum { QUEUE = 8 };
    int knocking[QUEUE], count = 0;
    uint64_t until_ms = UINT64_MAX;
    open_linker_at("node0", TRANSPORT_AUTO);
    open_linker_at("node0", TRANSPORT_AUTO);
    ck_assert_int_eq(listen(unix_listeners[1], 0), 0);
    while (count < QUEUE && (knocking[count] = knock(1)) >= 0)
        count++;
    ck_assert_int_lt(count, QUEUE);
    ck_assert_int_eq(err.code, HVD_ERR_TIMEOUT);
    want_both_ways(0, 1, 0);
    ck_assert_int_eq(linker_move(linkers[0], 1000, &err), 0);
    ck_assert_int_eq(linker_pollfds(linkers[0], NULL, 0, &until_ms), 2);
    ck_assert_uint_eq(until_ms, 1020);
    for (uint64_t i = 0; i < MANY && anybody_is_busy(); i++)
        move_all(1000 + i);
    check_types("shm");
    for (int i = 0; i < count; i++)
        descriptor_close(knocking[i]);
}
END_TEST

START_TEST(unauthenticated_clients_at_the_unix_socket_keep_nobody_out)
{
    int unauthenticated[100];
    open_linker_at("node0", TRANSPORT_AUTO);
    open_linker_at("node0", TRANSPORT_AUTO);
    want_both_ways(0, 1, 0);
    for (int i = 0; i < 100; i++) {
        unauthenticated[i] = knock(1);
        ck_assert_int_ge(unauthenticated[i], 0);
        if (i % 2)
            ck_assert_int_gt(socket_send(unauthenticated[i], "GET / HTTP/1.1\r\n\r\n", 18, &err),
                             0);
        move_all(0);
    }
    link_up();
    check_types("shm");
    for (int i = 0; i < 100; i++)
        descriptor_close(unauthenticated[i]);
}
END_TEST

START_TEST(an_impostor_is_named_with_both_ways)
{
    int rank;
    open_linker_at("node0", TRANSPORT_AUTO);
    linkers_are_impostors = true;
    open_linker_at("node0", TRANSPORT_AUTO);
    want_both_ways(0, 1, 0);
    ck_assert_int_eq(move_until_failure(&rank), HVD_ERR_AUTH);
    ck_assert_int_eq(strncmp(err.text, "link to rank 1 on node0: unix:", 30), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "; 127.0.0.1:"));
}
END_TEST

/* ---- many, and none ---- */

START_TEST(twenty_ranks_of_two_hosts_link_up_all_to_all)
{
    enum { COUNT = 20 };
    for (int rank = 0; rank < COUNT; rank++)
        open_linker_at(rank < COUNT / 2 ? "node0" : "node1", TRANSPORT_AUTO);
    for (int rank = 0; rank < COUNT; rank++)
        for (int peer = 0; peer < COUNT; peer++)
            if (peer != rank)
                want(rank, peer, 0);
    link_up();
    for (int rank = 0; rank < COUNT; rank++)
        for (int peer = rank + 1; peer < COUNT; peer++)
            check_link(rank, peer, 0);
    ck_assert_str_eq(log_captured(), "");
}
END_TEST

START_TEST(waiting_for_what_the_linker_names_is_enough)
{
    open_linker_at("node0", TRANSPORT_AUTO);
    open_linker_at("node0", TRANSPORT_AUTO);
    want_both_ways(0, 1, 0);
    while (anybody_is_busy()) {
        uint64_t until = UINT64_MAX;
        struct pollfd fds[16];
        move_all(0);
        int count = linker_pollfds(linkers[0], fds, 8, &until);
        count += linker_pollfds(linkers[1], fds + count, 8, &until);
        if (anybody_is_busy() && until > 0)
            ck_assert_int_gt(poll(fds, (nfds_t)count, 10000), 0);
    }
    check_link(0, 1, 0);
}
END_TEST

START_TEST(a_linker_can_be_destroyed_at_any_moment)
{
    for (int moves = 0; moves < 12; moves++) {
        open_linker_at("node0", TRANSPORT_AUTO);
        open_linker_at("node0", moves % 2 ? TRANSPORT_AUTO : TRANSPORT_UNIX);
        want_both_ways(0, 1, 0);
        want(0, 1, 1);
        for (int i = 0; i < moves; i++)
            move_all(0);
        linkers_teardown();
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("linker_transport");
    TCase *tcase = tcase_create("linker_transport");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, of_two_settings_the_lesser_is_taken, 0,
                        sizeof settings / sizeof *settings);
    tcase_add_loop_test(tcase, who_has_less_than_it_could_says_so_once, 0,
                        sizeof notes / sizeof *notes);
    tcase_add_test(tcase, it_is_said_of_a_link_that_was_there_before_it_was_wanted);
    tcase_add_loop_test(tcase, who_insists_on_shared_memory_fails_without, 0,
                        sizeof insistences / sizeof *insistences);
    tcase_add_test(tcase, who_insists_does_not_dial_who_has_no_unix_socket);
    tcase_add_test(tcase, who_insists_fails_at_a_link_that_was_there_before);
    tcase_add_test(tcase, between_hosts_there_is_tcp_and_nothing_is_said_about_it);
    tcase_add_test(tcase, where_the_socket_is_not_there_tcp_is_used);
    tcase_add_test(tcase, who_insists_and_finds_no_socket_fails_before_a_second_has_passed);
    tcase_add_test(tcase, agreeing_on_memory_takes_no_time_of_its_own);
    tcase_add_test(tcase, who_dials_does_not_speak_to_a_socket_of_another_user);
    tcase_add_test(tcase, who_accepts_does_not_listen_to_another_user);
    tcase_add_test(tcase, a_rank_that_is_late_is_not_dialled_over_tcp_meanwhile);
    tcase_add_test(tcase, a_rank_that_closes_is_dialled_there_again);
    tcase_add_test(tcase, a_rank_that_is_busy_is_dialled_a_little_later);
    tcase_add_test(tcase, unauthenticated_clients_at_the_unix_socket_keep_nobody_out);
    tcase_add_test(tcase, an_impostor_is_named_with_both_ways);
    tcase_add_test(tcase, twenty_ranks_of_two_hosts_link_up_all_to_all);
    tcase_add_test(tcase, waiting_for_what_the_linker_names_is_enough);
    tcase_add_test(tcase, a_linker_can_be_destroyed_at_any_moment);
    return unit_run(suite);
}
