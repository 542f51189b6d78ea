/* SPDX-License-Identifier: Apache-2.0 */
/* Linkers in one process; see linkers.h. */
#include "tests/support/linkers.h"

#include "lib/link/link_dial.h"
#include "lib/link/listener.h"
#include "lib/link/socket.h"
#include "tests/support/credentials.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

struct rank_certifier linkers_certifier;
enum encryption linkers_encryption;
bool linkers_are_impostors;
struct err err;
struct linker *linkers[LINKERS_MAX];
struct join_peer peers[LINKERS_MAX];
int listeners[LINKERS_MAX], unix_listeners[LINKERS_MAX];
static struct network networks[LINKERS_MAX];
int nlinkers;

static void create_linker(const struct rank_certifier *certifier, uint32_t epoch,
                          const struct listener *listener, const struct network *network)
{
    int rank = nlinkers++;
    struct rank_credentials credentials;
    credentials_make(&credentials, certifier, epoch,
                     (uint32_t)(linkers_are_impostors ? rank + 1 : rank));
    credentials.rank = (uint32_t)rank;
    struct linker_options options = {
        .listener = *listener,
        .credentials = &credentials,
        .encryption = linkers_encryption,
        .network = network,
    };
    listeners[rank] = listener->fd;
    unix_listeners[rank] = listener->unix_fd;
    linkers[rank] = linker_create(&options, &err);
    ck_assert_ptr_nonnull(linkers[rank]);
}

static void open_listener(struct listener *listener)
{
    ck_assert_int_eq(listener_open(listener, &(struct port_range){ 0 }, nlinkers, true, &err),
                     HVD_OK);
}

void open_linker(const struct rank_certifier *certifier, uint32_t epoch)
{
    struct join_peer *peer = &peers[nlinkers];
    struct listener listener;
    open_listener(&listener);
    *peer = (struct join_peer){ .rank = nlinkers, .addresses.count = 1 };
    snprintf(peer->host, sizeof peer->host, "node%d", nlinkers);
    snprintf(peer->addresses.text[0], JOIN_ADDRESS_MAX, "127.0.0.1:%u", listener.port);
    create_linker(certifier, epoch, &listener, NULL);
}

void open_linkers(int count)
{
    for (int rank = 0; rank < count; rank++)
        open_linker(&linkers_certifier, LINKERS_EPOCH);
}

/* As a rank does that has just learnt its environment. */
void open_linker_at(const char *host, enum transport transport)
{
    struct network *network = &networks[nlinkers];
    struct join_peer *peer = &peers[nlinkers];
    struct interfaces lo = { .count = 1, .at = { { "lo", INTERFACE_LOOPBACK, { 0 }, 8 } } };
    struct sockaddr_in *in = (struct sockaddr_in *)&lo.at[0].address;
    struct listener listener;
    in->sin_family = AF_INET;
    in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(network_init(network, host, &lo, "", &err), HVD_OK);
    network->transport = transport;
    open_listener(&listener);
    if (transport != TRANSPORT_TCP)
        ck_assert_int_eq(listener_open_unix(&listener, &err), HVD_OK);
    *peer = (struct join_peer){ .rank = nlinkers };
    snprintf(peer->host, sizeof peer->host, "%s", host);
    network_addresses(network, &listener, &peer->addresses);
    create_linker(&linkers_certifier, LINKERS_EPOCH, &listener, network);
}

void linkers_setup(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    ck_assert_int_eq(auth_init(NULL), HVD_OK);
    linkers_encryption = ENCRYPTION_OFF;
    linkers_are_impostors = false;
    rank_certifier_generate(&linkers_certifier);
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
    struct pollfd ready = { .fd = link_pollable(link) };
    if (link_sleep(link, POLLIN, &ready.events))
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
    struct rank_credentials credentials;
    struct link_identity identity = {
        .epoch = LINKERS_EPOCH, .source = source, .target = (uint32_t)target, .channel = channel
    };
    credentials_make(&credentials, &linkers_certifier, LINKERS_EPOCH, source);
    link_dial_init(&dialling, &peers[target], &identity, &credentials);
    int rc = 0;
    for (int i = 0; i < MANY && rc == 0; i++) {
        rc = link_dial_move(&dialling, 0, &err);
        move_all(0);
    }
    ck_assert_int_eq(rc, 1);
    return link_dial_take(&dialling, &err);
}

bool is_closed(struct link *link)
{
    char byte;
    struct pollfd ready = { .fd = link_pollable(link), .events = POLLIN };
    return poll(&ready, 1, 0) == 1 && link_try_receive(link, &byte, 1, &err) == HVD_ERR_PEER_LOST;
}
