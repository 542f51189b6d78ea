/* SPDX-License-Identifier: Apache-2.0 */
/* Dialling and accepting one rank on real sockets, with time as the test gives it: unauthenticated
 * clients of all kinds, and ranks that are slow, unresponsive or gone. */
#include "lib/base/descriptor.h"
#include "lib/link/link_accept.h"
#include "lib/link/link_dial.h"
#include "lib/link/listener.h"
#include "lib/link/socket.h"
#include "tests/support/credentials.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MANY = 100000 };

static struct rank_certifier certifier;
static struct rank_credentials ranks[3];
static const struct link_identity link01 = { .epoch = 1, .source = 0, .target = 1, .channel = 7 };
static const struct link_terms no_terms = { .encryption = ENCRYPTION_OFF };
static struct link_accept accepting;
static struct link_dial dialling;
static struct join_peer peer;
static int listener;
static struct link_connection accepted = { .fd = -1 }; /* what was handed over, and whose it is */
static struct link_identity accepted_identity;
static struct err err;

static void on_accepted(void *context, const struct link_identity *identity,
                        struct link_connection *connection)
{
    ck_assert_ptr_eq(context, &accepting);
    ck_assert_int_eq(accepted.fd, -1);
    accepted = *connection;
    accepted_identity = *identity;
}

static void start_accepting(struct rank_credentials *credentials)
{
    link_accept_init(&accepting, listener, credentials, on_accepted, &accepting);
}

/* A listener on loopback, and its address. */
static int listen_anew(char address[JOIN_ADDRESS_MAX])
{
    struct listener opened;
    ck_assert_int_eq(listener_open(&opened, &(struct port_range){ 0 }, 0, true, &err), HVD_OK);
    snprintf(address, JOIN_ADDRESS_MAX, "127.0.0.1:%u", opened.port);
    return opened.fd;
}

static void setup(void)
{
    ck_assert_int_eq(auth_init(NULL), HVD_OK);
    rank_certifier_generate(&certifier);
    for (uint32_t rank = 0; rank < 3; rank++)
        credentials_make(&ranks[rank], &certifier, link01.epoch, rank);
    peer = (struct join_peer){ .rank = 1, .host = "node1", .addresses.count = 1 };
    listener = listen_anew(peer.addresses.text[0]);
    start_accepting(&ranks[1]);
    link_dial_init(&dialling, &peer, &link01, &ranks[0]);
}

static void teardown(void)
{
    link_accept_fini(&accepting);
    link_dial_fini(&dialling);
    link_connection_close(&accepted);
    descriptor_close(listener);
}

static int connect_unauthenticated(void)
{
    struct socket_address address;
    ck_assert_int_eq(socket_address_parse(&address, peer.addresses.text[0], &err), HVD_OK);
    int fd = socket_connect(&address, &err);
    struct pollfd ready = { .fd = fd, .events = POLLOUT };
    ck_assert_int_eq(poll(&ready, 1, 10000), 1);
    return fd;
}

/* Both sides, until both are done, at a time that stands still. */
static void link_up(uint64_t now_ms)
{
    int dialled = 0;
    for (int i = 0; i < MANY && !(dialled && accepted.fd >= 0); i++) {
        dialled = dialled ? 1 : link_dial_move(&dialling, now_ms, &err);
        ck_assert_int_ge(dialled, 0);
        ck_assert_int_eq(link_accept_move(&accepting, now_ms, &err), HVD_OK);
    }
    ck_assert(dialled && accepted.fd >= 0);
}

static void check_link(void)
{
    struct link *left = link_dial_take(&dialling, &err);
    struct link *right = link_connection_link(&accepted, &err);
    char text[6] = "";
    struct iovec parts[] = { { (void *)"he", 2 }, { (void *)"llo", 3 } };
    struct pollfd ready = { .fd = link_pollable(right), .events = POLLIN };
    ck_assert_int_eq(link_try_receive(right, text, 5, &err), 0);
    ck_assert_int_eq(link_try_send(left, parts, 2, &err), 5);
    ck_assert_int_eq(poll(&ready, 1, 10000), 1);
    ck_assert_int_eq(link_try_receive(right, text, 5, &err), 5);
    ck_assert_str_eq(text, "hello");
    ck_assert_int_eq(link_check(left, &err), HVD_OK);
    link_close(left);
    ck_assert_int_eq(poll(&ready, 1, 10000), 1);
    ck_assert_int_eq(link_try_receive(right, text, 5, &err), HVD_ERR_PEER_LOST);
    link_close(right);
}

START_TEST(two_ranks_link_up_and_each_knows_which_link_it_is)
{
    link_up(0);
    ck_assert_mem_eq(&accepted_identity, &link01, sizeof link01);
    check_link();
}
END_TEST

START_TEST(sockets_are_greater_than_2_and_closed_at_exec)
{
    link_up(0);
    int fds[] = { listener, dialling.made.fd, accepted.fd };
    for (int i = 0; i < 3; i++) {
        ck_assert_int_gt(fds[i], STDERR_FILENO);
        ck_assert_int_eq(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
    }
}
END_TEST

START_TEST(links_send_small_messages_at_once_and_notice_a_silent_host)
{
    link_up(0);
    int fds[] = { dialling.made.fd, accepted.fd };
    for (int i = 0; i < 2; i++) {
        int nodelay = 0, keepalive = 0, probes = 0;
        socklen_t length = sizeof nodelay;
        getsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &nodelay, &length);
        getsockopt(fds[i], SOL_SOCKET, SO_KEEPALIVE, &keepalive, &length);
        getsockopt(fds[i], IPPROTO_TCP, TCP_KEEPCNT, &probes, &length);
        ck_assert(nodelay && keepalive);
        ck_assert_int_eq(probes, 30);
    }
}
END_TEST

START_TEST(a_hundred_unauthenticated_clients_do_not_keep_a_neighbour_out)
{
    int unauthenticated[100];
    for (int i = 0; i < 100; i++) {
        unauthenticated[i] = connect_unauthenticated();
        if (i % 2)
            ck_assert_int_gt(socket_send(unauthenticated[i], "garbage", 7, &err), 0);
        link_accept_move(&accepting, 0, &err);
    }
    ck_assert_int_le(accepting.count, PENDING_MAX);
    link_up(0);
    check_link();
    for (int i = 0; i < 100; i++)
        descriptor_close(unauthenticated[i]);
}
END_TEST

/* One descriptor is left for whoever knocks. */
START_TEST(unauthenticated_clients_that_use_up_the_descriptors_do_not_keep_a_neighbour_out)
{
    int unauthenticated[20];
    for (int i = 0; i < 20; i++)
        unauthenticated[i] = connect_unauthenticated();
    ck_assert_int_eq(link_dial_move(&dialling, 0, &err), 0);
    int next = dup(listener);
    close(next);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ (rlim_t)next + 1, 4096 });
    link_up(0);
    ck_assert_int_eq(accepted.fd, next);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 4096, 4096 });
    check_link();
    for (int i = 0; i < 20; i++)
        descriptor_close(unauthenticated[i]);
}
END_TEST

/* Nor does it wait for the listener, which would be readable all the time. */
START_TEST(a_process_without_any_descriptor_left_tries_again_after_a_while)
{
    int unauthenticated = connect_unauthenticated();
    int next = dup(listener);
    struct pollfd fd;
    uint64_t until = UINT64_MAX;
    close(next);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ (rlim_t)next, 4096 });
    ck_assert_int_eq(link_accept_move(&accepting, 1000, &err), HVD_OK);
    ck_assert_int_eq(accepting.error, EMFILE);
    ck_assert_int_eq(link_accept_pollfds(&accepting, &fd, 1, &until), 1);
    ck_assert_int_eq(fd.fd, -1);
    ck_assert_uint_eq(until, 1100);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 4096, 4096 });
    ck_assert_int_eq(link_accept_move(&accepting, 1099, &err), HVD_OK);
    ck_assert_int_eq(accepting.count, 0);
    ck_assert_int_eq(link_accept_move(&accepting, 1100, &err), HVD_OK);
    ck_assert_int_eq(accepting.count, 1);
    ck_assert_int_eq(accepting.error, 0);
    descriptor_close(unauthenticated);
}
END_TEST

START_TEST(a_listener_that_is_none_is_an_error)
{
    accepting.listener = connect_unauthenticated();
    ck_assert_int_eq(link_accept_move(&accepting, 0, &err), HVD_ERR_SYSTEM);
    descriptor_close(accepting.listener);
}
END_TEST

static bool is_open(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

/* The first of them has said something. */
START_TEST(a_full_pool_drops_the_oldest_that_is_silent)
{
    int unauthenticated[PENDING_MAX + 1];
    struct link_handshake hello;
    size_t length;
    link_handshake_initiate(&hello, &link01, &no_terms, &ranks[0]);
    for (int i = 0; i <= PENDING_MAX; i++) {
        unauthenticated[i] = connect_unauthenticated();
        const void *data = link_handshake_output(&hello, &length);
        if (i == 0)
            ck_assert_int_eq(socket_send(unauthenticated[0], data, length, &err), LINK_HELLO_SIZE);
        int before = accepting.count;
        while (accepting.count == before && i < PENDING_MAX)
            link_accept_move(&accepting, 0, &err);
    }
    struct pollfd dropped = { .fd = unauthenticated[1], .events = POLLIN };
    while (poll(&dropped, 1, 0) == 0)
        link_accept_move(&accepting, 0, &err);
    ck_assert_int_eq(accepting.count, PENDING_MAX);
    ck_assert(!is_open(unauthenticated[1]));
    for (int i = 2; i <= PENDING_MAX; i++)
        ck_assert(is_open(unauthenticated[i]));
    ck_assert_int_ne(accepting.pending[0].connection.handshake.awaits, AWAITS_HELLO);
    for (int i = 0; i <= PENDING_MAX; i++)
        descriptor_close(unauthenticated[i]);
}
END_TEST

START_TEST(an_unauthenticated_client_is_given_two_seconds)
{
    int unauthenticated = connect_unauthenticated();
    uint64_t until = UINT64_MAX;
    struct pollfd fds[2];
    link_accept_move(&accepting, 1000, &err);
    ck_assert_int_eq(accepting.count, 1);
    ck_assert_int_eq(link_accept_pollfds(&accepting, fds, 2, &until), 2);
    ck_assert_uint_eq(until, 3000);
    link_accept_move(&accepting, 2999, &err);
    ck_assert_int_eq(accepting.count, 1);
    link_accept_move(&accepting, 3000, &err);
    ck_assert_int_eq(accepting.count, 0);
    descriptor_close(unauthenticated);
}
END_TEST

START_TEST(a_client_with_a_recorded_hello_and_no_key_is_closed)
{
    struct link_handshake hello;
    size_t length;
    char byte;
    link_handshake_initiate(&hello, &link01, &no_terms, &ranks[0]);
    int unauthenticated = connect_unauthenticated();
    const void *data = link_handshake_output(&hello, &length);
    ck_assert_int_eq(socket_send(unauthenticated, data, length, &err), LINK_HELLO_SIZE);
    while (accepting.count == 0 || accepting.pending[0].connection.handshake.awaits == AWAITS_HELLO)
        link_accept_move(&accepting, 0, &err);
    ck_assert_int_eq(socket_send(unauthenticated, "0123456789abcdef0123456789abcdef", 32, &err),
                     32);
    while (accepting.count > 0)
        link_accept_move(&accepting, 0, &err);
    ck_assert_int_eq(accepted.fd, -1);
    struct pollfd ready = { .fd = unauthenticated, .events = POLLIN };
    while (poll(&ready, 1, 10000) == 1 && recv(unauthenticated, &byte, 1, 0) > 0)
        ;
    descriptor_close(unauthenticated);
    link_up(0);
    check_link();
}
END_TEST

/* The peer's first address is another listener, which stays as silent as the caller likes. */
static int put_decoy_first(void)
{
    memcpy(peer.addresses.text[1], peer.addresses.text[0], JOIN_ADDRESS_MAX);
    peer.addresses.count = 2;
    return listen_anew(peer.addresses.text[0]);
}

START_TEST(an_unresponsive_address_delays_the_next_by_a_quarter_of_a_second)
{
    int unresponsive = put_decoy_first();
    ck_assert_int_eq(link_dial_move(&dialling, 1000, &err), 0);
    ck_assert_uint_eq(link_dial_until(&dialling), 1250);
    ck_assert_int_eq(link_dial_move(&dialling, 1249, &err), 0);
    ck_assert_int_eq(dialling.count, 1);
    ck_assert_int_eq(link_dial_move(&dialling, 1250, &err), 0);
    ck_assert_int_eq(dialling.count, 2);
    link_up(1250);
    ck_assert_int_eq(dialling.count, 0);
    check_link();
    descriptor_close(unresponsive);
}
END_TEST

START_TEST(an_address_is_given_three_seconds)
{
    int unresponsive = put_decoy_first();
    descriptor_close(listener);
    listener = -1;
    ck_assert_int_eq(link_dial_move(&dialling, 0, &err), 0);
    ck_assert_int_eq(link_dial_move(&dialling, 250, &err), 0);
    ck_assert_uint_eq(link_dial_until(&dialling), 3000);
    ck_assert_int_eq(link_dial_move(&dialling, 2999, &err), 0);
    ck_assert_int_eq(dialling.state, DIAL_TRYING);
    ck_assert_int_eq(link_dial_move(&dialling, 3000, &err), 0);
    ck_assert_int_eq(dialling.state, DIAL_IDLE);
    char causes[DIAL_CAUSES_SIZE], expected[DIAL_CAUSES_SIZE];
    link_dial_causes(&dialling, causes);
    snprintf(expected, sizeof expected, "%s: no answer; %s: connection refused",
             peer.addresses.text[0], peer.addresses.text[1]);
    ck_assert_str_eq(causes, expected);
    descriptor_close(unresponsive);
}
END_TEST

/* Its own port on loopback, say, or an old listener of another job. */
START_TEST(an_address_where_nobody_listens_delays_nothing)
{
    descriptor_close(put_decoy_first());
    link_up(0);
    check_link();
}
END_TEST

/* What somebody else may have to say at an address that is not the rank's. */
static const struct {
    const char *name, *says;
    size_t length;
} decoys[] = {
    { "closes", "", 0 },
    { "says little", "220 mail.example.com ESMTP", 26 },
    { "says much",
      "220 mail.example.com ESMTP, and what else belongs to a long preamble of it, with as many "
      "words as it takes to fill a challenge, in which there are a key, a certificate of this key "
      "and a proof, besides what it was in earlier versions",
      232 },
};

_Static_assert(232 >= LINK_CHALLENGE_SIZE, "the longest decoy fills a challenge");

START_TEST(a_decoy_neither_fails_nor_hangs_anybody)
{
    int decoy = put_decoy_first(), fd;
    ck_assert_int_eq(link_dial_move(&dialling, 0, &err), 0);
    while ((fd = descriptor_accept(decoy)) < 0)
        ck_assert_int_eq(link_dial_move(&dialling, 0, &err), 0);
    if (decoys[_i].length > 0)
        ck_assert_int_gt(socket_send(fd, decoys[_i].says, decoys[_i].length, &err), 0);
    else
        descriptor_close(fd);
    link_up(250);
    check_link();
    if (decoys[_i].length > 0)
        descriptor_close(fd);
    descriptor_close(decoy);
}
END_TEST

/* Every host has the same address there, and this job's port on it. */
START_TEST(another_rank_of_the_job_is_no_link_to_this_one)
{
    static struct link_accept other;
    int decoy = put_decoy_first(), dialled = 0;
    link_accept_init(&other, decoy, &ranks[2], on_accepted, &accepting);
    for (int i = 0; i < MANY && !(dialled && accepted.fd >= 0); i++) {
        dialled = dialled ? 1 : link_dial_move(&dialling, 0, &err);
        ck_assert_int_ge(dialled, 0);
        link_accept_move(&other, 0, &err);
        link_accept_move(&accepting, 0, &err);
    }
    ck_assert_mem_eq(&accepted_identity, &link01, sizeof link01);
    check_link();
    link_accept_fini(&other);
    descriptor_close(decoy);
}
END_TEST

/* Both addresses are the rank's own, and both connections are there when it begins to hear them. */
START_TEST(of_two_connections_to_a_rank_one_becomes_the_link)
{
    memcpy(peer.addresses.text[1], peer.addresses.text[0], JOIN_ADDRESS_MAX);
    peer.addresses.count = 2;
    for (int i = 0; i < MANY && (dialling.count < 2 || !dialling.tries[1].try.handshaking); i++)
        ck_assert_int_eq(link_dial_move(&dialling, 250, &err), 0);
    ck_assert_int_eq(link_dial_move(&dialling, 500, &err), 0);
    for (int i = 0; i < MANY && (dialling.count < 2 || !dialling.tries[1].try.handshaking); i++)
        ck_assert_int_eq(link_dial_move(&dialling, 500, &err), 0);
    ck_assert_int_eq(dialling.count, 2);
    link_up(500); /* on_accepted() would not take a second one */
    for (int i = 0; i < MANY && accepting.count > 0; i++)
        link_accept_move(&accepting, 500, &err);
    ck_assert_int_eq(accepting.count, 0);
    check_link();
}
END_TEST

/* More than are tried at a time, all of them unresponsive but the last. */
START_TEST(many_unresponsive_addresses_are_tried_four_at_a_time)
{
    int unresponsive[6];
    memcpy(peer.addresses.text[6], peer.addresses.text[0], JOIN_ADDRESS_MAX);
    for (int i = 0; i < 6; i++)
        unresponsive[i] = listen_anew(peer.addresses.text[i]);
    peer.addresses.count = 7;
    for (uint64_t now_ms = 0; now_ms < 3000; now_ms += 250)
        ck_assert_int_eq(link_dial_move(&dialling, now_ms, &err), 0);
    ck_assert_int_eq(dialling.count, DIAL_TRIES_MAX);
    for (uint64_t now_ms = 3000; now_ms <= 3500; now_ms += 250)
        ck_assert_int_eq(link_dial_move(&dialling, now_ms, &err), 0);
    link_up(3500);
    check_link();
    for (int i = 0; i < 6; i++)
        descriptor_close(unresponsive[i]);
}
END_TEST

START_TEST(the_causes_fit_whatever_there_are)
{
    char causes[DIAL_CAUSES_SIZE];
    peer.addresses.count = JOIN_ADDRESSES_MAX;
    for (int i = 0; i < JOIN_ADDRESSES_MAX; i++)
        snprintf(peer.addresses.text[i], JOIN_ADDRESS_MAX,
                 "[2001:db8:1111:2222:3333:4444:5555:%x]:65535", 0x1000 + i);
    link_dial_causes(&dialling, causes);
    const char *more = strrchr(causes, ';');
    ck_assert_ptr_nonnull(more);
    ck_assert_uint_eq(strspn(more, "; 0123456789"), strlen(more) - strlen("more"));
}
END_TEST

START_TEST(a_rank_that_closes_is_dialled_again)
{
    link_dial_move(&dialling, 0, &err);
    int fd;
    while ((fd = descriptor_accept(listener)) < 0)
        link_dial_move(&dialling, 0, &err);
    descriptor_close(fd);
    while (dialling.state != DIAL_IDLE)
        ck_assert_int_eq(link_dial_move(&dialling, 0, &err), 0);
    ck_assert_int_eq(dialling.failed[0].status, HVD_ERR_PEER_LOST);
    link_up(dialling.until_ms);
    check_link();
}
END_TEST

/* Until the dialler has an answer of rank 2, which says to be rank 1. */
static int dial_without_success(void)
{
    static struct rank_credentials third;
    int rc = 0;
    third = ranks[2];
    third.rank = 1;
    start_accepting(&third);
    for (int i = 0; i < MANY && rc == 0; i++) {
        rc = link_dial_move(&dialling, 0, &err);
        link_accept_move(&accepting, 0, &err);
    }
    return rc;
}

START_TEST(a_rank_that_is_another_is_an_error)
{
    ck_assert_int_eq(dial_without_success(), HVD_ERR_AUTH);
}
END_TEST

static void take_hello(int fd)
{
    char hello[LINK_HELLO_SIZE];
    for (size_t length = 0; length < sizeof hello;) {
        ck_assert_int_eq(link_dial_move(&dialling, 0, &err), 0);
        ssize_t n = recv(fd, hello + length, sizeof hello - length, MSG_DONTWAIT);
        length += n > 0 ? (size_t)n : 0;
    }
}

/* It may be busy: unauthenticated clients at the other addresses do not make that final. */
START_TEST(an_unauthenticated_client_at_one_address_is_no_verdict_on_the_other)
{
    int decoy = put_decoy_first(), fd;
    start_accepting(&ranks[1]);
    ck_assert_int_eq(link_dial_move(&dialling, 0, &err), 0);
    while ((fd = descriptor_accept(decoy)) < 0)
        ck_assert_int_eq(link_dial_move(&dialling, 0, &err), 0);
    take_hello(fd); /* else close() would reset the connection, and what was said could be lost */
    ck_assert_int_gt(socket_send(fd, decoys[2].says, decoys[2].length, &err), 0);
    descriptor_close(fd);
    while ((fd = descriptor_accept(listener)) < 0)
        ck_assert_int_eq(link_dial_move(&dialling, 0, &err), 0);
    descriptor_close(fd);
    while (dialling.state != DIAL_IDLE)
        ck_assert_int_eq(link_dial_move(&dialling, 0, &err), 0);
    ck_assert_int_eq(dialling.failed[0].status, HVD_ERR_AUTH);
    ck_assert_int_eq(dialling.failed[1].status, HVD_ERR_PEER_LOST);
    descriptor_close(decoy);
    link_up(dialling.until_ms);
    check_link();
}
END_TEST

START_TEST(a_rank_without_an_address_is_an_error)
{
    peer.addresses.count = 0;
    ck_assert_int_eq(link_dial_move(&dialling, 0, &err), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(addresses_are_numeric_with_a_port)
{
    static const struct {
        const char *text;
        bool good;
    } rows[] = {
        { "127.0.0.1:80", true },
        { "[::1]:65535", true },
        { "", false },
        { "127.0.0.1", false },
        { "127.0.0.1:", false },
        { "127.0.0.1:0", false },
        { "127.0.0.1:65536", false },
        { "127.0.0.1:8x", false },
        { "localhost:80", false },
        { "[::1]", false },
        { "[::1:80", false },
        { "::1:80", false },
        { "[]:80", false },
        { "127.0.0.1:-8", false },
        { "127.0.0.1: 8", false },
        { "unix:00112233445566778899aabbccddeeff", true },
        { "unix:00112233445566778899AABBCCDDEEFF", false },
        { "unix:00112233445566778899aabbccddeef", false },
        { "unix:00112233445566778899aabbccddeeff0", false },
        { "unix:/run/0112233445566778899aabbccddeef", false },
        { "unix:", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct socket_address address;
        char text[SOCKET_ADDRESS_TEXT];
        int rc = socket_address_parse(&address, rows[i].text, &err);
        ck_assert_msg((rc == HVD_OK) == rows[i].good, "%s", rows[i].text);
        if (rc < 0)
            continue;
        socket_address_format(&address, text);
        ck_assert_str_eq(text, rows[i].text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link_connect");
    TCase *tcase = tcase_create("link_connect");
    descriptors_watch(tcase);
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, two_ranks_link_up_and_each_knows_which_link_it_is);
    tcase_add_test(tcase, sockets_are_greater_than_2_and_closed_at_exec);
    tcase_add_test(tcase, links_send_small_messages_at_once_and_notice_a_silent_host);
    tcase_add_test(tcase, a_hundred_unauthenticated_clients_do_not_keep_a_neighbour_out);
    tcase_add_test(tcase,
                   unauthenticated_clients_that_use_up_the_descriptors_do_not_keep_a_neighbour_out);
    tcase_add_test(tcase, a_process_without_any_descriptor_left_tries_again_after_a_while);
    tcase_add_test(tcase, a_listener_that_is_none_is_an_error);
    tcase_add_test(tcase, a_full_pool_drops_the_oldest_that_is_silent);
    tcase_add_test(tcase, an_unauthenticated_client_is_given_two_seconds);
    tcase_add_test(tcase, a_client_with_a_recorded_hello_and_no_key_is_closed);
    tcase_add_test(tcase, an_unresponsive_address_delays_the_next_by_a_quarter_of_a_second);
    tcase_add_test(tcase, an_address_is_given_three_seconds);
    tcase_add_test(tcase, an_address_where_nobody_listens_delays_nothing);
    tcase_add_loop_test(tcase, a_decoy_neither_fails_nor_hangs_anybody, 0,
                        sizeof decoys / sizeof *decoys);
    tcase_add_test(tcase, another_rank_of_the_job_is_no_link_to_this_one);
    tcase_add_test(tcase, of_two_connections_to_a_rank_one_becomes_the_link);
    tcase_add_test(tcase, many_unresponsive_addresses_are_tried_four_at_a_time);
    tcase_add_test(tcase, the_causes_fit_whatever_there_are);
    tcase_add_test(tcase, a_rank_that_closes_is_dialled_again);
    tcase_add_test(tcase, a_rank_that_is_another_is_an_error);
    tcase_add_test(tcase, an_unauthenticated_client_at_one_address_is_no_verdict_on_the_other);
    tcase_add_test(tcase, a_rank_without_an_address_is_an_error);
    tcase_add_test(tcase, addresses_are_numeric_with_a_port);
    return unit_run(suite);
}
