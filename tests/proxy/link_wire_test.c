/* SPDX-License-Identifier: Apache-2.0 */
/* A fault at every byte of the handshake of a link between two ranks, either way: real sockets and
 * a relay between them, in one thread, with time as the test has it. Each rank gets a link that
 * works, or an error that names the other one, within the linker's own time. */
#include "lib/link/link_handshake.h"
#include "tests/proxy/relay.h"
#include "tests/support/linkers.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHANNEL = 7,
    QUIET_ROUNDS = 4,
    STEP_MS = 50,
    BOUND_MS = LINKER_TIMEOUT_MS + LINKER_GRACE_MS
};
enum { THERE_BYTES = LINK_HELLO_SIZE + PROOF_SIZE, BACK_BYTES = LINK_CHALLENGE_SIZE + 1 };

static const char *const faults[] = { "cut",    "reset",  "flip=0",   "flip=1",   "flip=2",
                                      "flip=3", "flip=4", "flip=5",   "flip=6",   "flip=7",
                                      "drop=3", "stall",  "double=3", "garbage=3" };
enum { FAULTS = sizeof faults / sizeof *faults };

static struct relay relay;
static uint64_t now_ms;
static struct err failures[2]; /* of the ranks; HVD_OK: none */

/* Rank 0 dials rank 1, by way of the relay. */
static void start(int way, unsigned offset, const char *name, bool once)
{
    struct relay_rules rules = { .count = 1, .faults[0] = { .way = way, .when_byte = -1 } };
    struct sockaddr_in at, to = { .sin_family = AF_INET };
    char text[64];
    snprintf(text, sizeof text, "%u:%s", offset, name);
    ck_assert_ptr_null(wire_fault_parse(&rules.faults[0].fault, text));
    rules.faults[0].once = once;
    open_linkers(2);
    char *address = peers[1].addresses.text[0];
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
    int listener = relay_listen(INADDR_LOOPBACK, 0, &at);
    ck_assert_int_ge(listener, 0);
    relay_init(&relay, &rules, listener, &to);
    snprintf(address, JOIN_ADDRESS_MAX, "127.0.0.1:%u", ntohs(at.sin_port));
    now_ms = 0;
    failures[0].code = failures[1].code = HVD_OK;
    want_both_ways(0, 1, CHANNEL);
}

static void stop(void)
{
    relay_fini(&relay);
    linkers_teardown();
}

static uint64_t bytes_moved(void)
{
    return relay.moved[RELAY_THERE] + relay.moved[RELAY_BACK] + relay.came + relay.struck;
}

static bool is_waiting(int rank)
{
    return failures[rank].code == HVD_OK && linker_busy(linkers[rank]);
}

/* One look of everybody. True if anything has happened. */
static bool look(void)
{
    uint64_t before = bytes_moved();
    bool moved = false;
    for (int rank = 0; rank < 2; rank++)
        if (failures[rank].code == HVD_OK)
            moved |= linker_move(linkers[rank], now_ms, &failures[rank]) != 0;
    relay_step(&relay, 0);
    return moved || bytes_moved() != before;
}

/* Nothing happens before. */
static uint64_t until(void)
{
    uint64_t until_ms = UINT64_MAX;
    for (int rank = 0; rank < 2; rank++)
        if (is_waiting(rank))
            linker_pollfds(linkers[rank], NULL, 0, &until_ms);
    return until_ms;
}

static void run(void)
{
    for (int quiet = 0; is_waiting(0) || is_waiting(1);) {
        quiet = look() ? 0 : quiet + 1;
        if (quiet < QUIET_ROUNDS)
            continue;
        uint64_t next = until();
        quiet = 0;
        now_ms = next > now_ms && next != UINT64_MAX ? next : now_ms + STEP_MS;
        ck_assert_uint_le(now_ms, BOUND_MS + STEP_MS);
    }
}

static void carry(struct link *from, struct link *to, uint32_t word)
{
    struct pollfd ready = { .fd = link_pollable(to), .events = POLLIN };
    say(from, word);
    while (poll(&ready, 1, 0) == 0)
        relay_step(&relay, 10);
    ck_assert_uint_eq(hear(to), word);
}

static void check_both_ways(void)
{
    struct link *ends[] = { linker_take(linkers[0], 1, CHANNEL),
                            linker_take(linkers[1], 0, CHANNEL) };
    carry(ends[0], ends[1], 1234567);
    carry(ends[1], ends[0], 7654321);
    link_close(ends[0]);
    link_close(ends[1]);
}

/* What the ranks have now. */
static void judge(const char *what)
{
    static const char *const others[] = { "rank 1 on node1", "rank 0 on node0" };
    for (int rank = 0; rank < 2; rank++)
        if (failures[rank].code != HVD_OK)
            ck_assert_msg(strstr(failures[rank].text, others[rank]), "%s: rank %d: %s", what, rank,
                          failures[rank].text);
    if (failures[0].code == HVD_OK && failures[1].code == HVD_OK)
        check_both_ways();
}

static void try_fault(int way, unsigned offset, const char *name, bool once)
{
    char what[64];
    snprintf(what, sizeof what, "%s %u:%s", way == RELAY_THERE ? "there" : "back", offset, name);
    start(way, offset, name, once);
    run();
    judge(what);
    if (!once)
        ck_assert_msg(failures[0].code != HVD_OK, "%s: a link in spite of it", what);
    stop();
}

/* How many bytes of the handshake there are for this fault: what comes twice at the very end of it
 * is behind it, and for frames to refuse. */
static unsigned count(int way, const char *name)
{
    unsigned nbytes = way == RELAY_THERE ? THERE_BYTES : BACK_BYTES;
    return strncmp(name, "double", 6) == 0 ? nbytes - 3 : nbytes;
}

START_TEST(a_fault_at_any_byte_of_a_handshake_leaves_a_link_or_an_error)
{
    for (int way = 0; way < RELAY_WAYS; way++)
        for (unsigned offset = 0; offset < count(way, faults[_i]); offset++)
            try_fault(way, offset, faults[_i], true);
}
END_TEST

START_TEST(a_fault_of_every_handshake_is_an_error)
{
    for (int way = 0; way < RELAY_WAYS; way++)
        for (unsigned offset = 0; offset < count(way, faults[_i]); offset += 13)
            try_fault(way, offset, faults[_i], false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link_wire");
    TCase *tcase = tcase_create("link_wire");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, linkers_setup, linkers_teardown);
    tcase_add_loop_test(tcase, a_fault_at_any_byte_of_a_handshake_leaves_a_link_or_an_error, 0,
                        FAULTS);
    tcase_add_loop_test(tcase, a_fault_of_every_handshake_is_an_error, 0, FAULTS);
    return unit_run(suite);
}
