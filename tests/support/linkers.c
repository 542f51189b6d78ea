/* SPDX-License-Identifier: Apache-2.0 */
/* Linkers in one process; see linkers.h. */
#include "tests/support/linkers.h"

#include "lib/link/link_dial.h"
#include "lib/link/link_tcp.h"
#include "lib/link/listener.h"
#include "lib/link/socket.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

struct job_key linkers_key;
struct err err;
struct linker *linkers[LINKERS_MAX];
struct join_peer peers[LINKERS_MAX];
int listeners[LINKERS_MAX];
int nlinkers;

void open_linker(const struct job_key *with_key, uint32_t epoch)
{
    int rank = nlinkers++;
    struct listener listener;
    ck_assert_int_eq(listener_open(&listener, &(struct port_range){ 0 }, rank, true, &err), HVD_OK);
    listeners[rank] = listener.fd;
    peers[rank] = (struct join_peer){ .rank = rank, .addresses.count = 1 };
    snprintf(peers[rank].host, sizeof peers[rank].host, "node%d", rank);
    snprintf(peers[rank].addresses.text[0], JOIN_ADDRESS_MAX, "127.0.0.1:%u", listener.port);
    linkers[rank] = linker_create(listeners[rank], rank, epoch, with_key, NULL, &err);
    ck_assert_ptr_nonnull(linkers[rank]);
}

void open_linkers(int count)
{
    for (int rank = 0; rank < count; rank++)
        open_linker(&linkers_key, LINKERS_EPOCH);
}

void linkers_setup(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    ck_assert_int_eq(auth_init(NULL), HVD_OK);
    job_key_generate(&linkers_key);
}

void linkers_teardown(void)
{
    while (nlinkers > 0)
        linker_destroy(linkers[--nlinkers]);
}

void want(int rank, int peer, uint32_t channel)
{
    ck_assert_int_eq(linker_want(linkers[rank], &peers[peer], channel, 0, &err), HVD_OK);
}

void move_all(uint64_t now_ms)
{
    for (int rank = 0; rank < nlinkers; rank++)
        ck_assert_msg(linker_move(linkers[rank], now_ms, &err) >= 0, "%s", err.text);
}

bool anybody_is_busy(void)
{
    for (int rank = 0; rank < nlinkers; rank++)
        if (linker_busy(linkers[rank]))
            return true;
    return false;
}

void link_up(void)
{
    for (int i = 0; i < MANY && anybody_is_busy(); i++)
        move_all((uint64_t)i / 10);
    ck_assert(!anybody_is_busy());
}

void say(struct link *link, uint32_t word)
{
    struct iovec part = { &word, sizeof word };
    ck_assert_int_eq(link_try_send(link, &part, 1, &err), sizeof word);
}

uint32_t hear(struct link *link)
{
    uint32_t word = 0;
    struct pollfd ready = { .fd = link_pollable(link), .events = POLLIN };
    ck_assert_int_eq(poll(&ready, 1, 10000), 1);
    ck_assert_int_eq(link_try_receive(link, &word, sizeof word, &err), sizeof word);
    return word;
}

void check_link(int rank, int peer, uint32_t channel)
{
    struct link *ends[] = { linker_take(linkers[rank], peer, channel),
                            linker_take(linkers[peer], rank, channel) };
    ck_assert_ptr_nonnull(ends[0]);
    ck_assert_ptr_nonnull(ends[1]);
    uint32_t word = (uint32_t)(rank * LINKERS_MAX + peer) * 1000 + channel;
    say(ends[0], word);
    say(ends[1], ~word);
    ck_assert_uint_eq(hear(ends[1]), word);
    ck_assert_uint_eq(hear(ends[0]), ~word);
    link_close(ends[0]);
    link_close(ends[1]);
}

void want_both_ways(int rank, int peer, uint32_t channel)
{
    want(rank, peer, channel);
    want(peer, rank, channel);
}

struct link *linkers_dial(uint32_t source, int target, uint32_t channel)
{
    struct link_dial dialling;
    struct link_identity identity = {
        .epoch = LINKERS_EPOCH, .source = source, .target = (uint32_t)target, .channel = channel
    };
    link_dial_init(&dialling, &peers[target], &identity, &linkers_key);
    int rc = 0;
    for (int i = 0; i < MANY && rc == 0; i++) {
        rc = link_dial_move(&dialling, 0, &err);
        move_all(0);
    }
    ck_assert_int_eq(rc, 1);
    return link_tcp_create(link_dial_take(&dialling));
}

bool is_closed(struct link *link)
{
    char byte;
    struct pollfd ready = { .fd = link_pollable(link), .events = POLLIN };
    return poll(&ready, 1, 0) == 1 && link_try_receive(link, &byte, 1, &err) == HVD_ERR_PEER_LOST;
}
