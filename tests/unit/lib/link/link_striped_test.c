/* SPDX-License-Identifier: Apache-2.0 */
/* A link over several streams: bytes keep their order whatever each stream takes, who waits is
 * woken by the stream whose turn it is and by no other, and one that breaks is found. */
#include "lib/base/descriptor.h"
#include "lib/link/link_striped.h"
#include "lib/link/link_tcp.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STREAMS = 3, TOTAL = 5 * STREAMS * STRIPE_BLOCK + 1234 };

static struct err err;
static struct link *ends[2];
static struct link *streams[2][STREAMS]; /* owned by the ends */
static int fds[2][STREAMS];

static void setup(void)
{
    for (int i = 0; i < STREAMS; i++) {
        int pair[2];
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
        for (int end = 0; end < 2; end++) {
            fds[end][i] = pair[end];
            ck_assert_ptr_nonnull(streams[end][i] = link_tcp_create(pair[end]));
        }
    }
    for (int end = 0; end < 2; end++)
        ck_assert_ptr_nonnull(ends[end] = link_striped_create(streams[end], STREAMS, &err));
}

static void teardown(void)
{
    for (int end = 0; end < 2; end++)
        link_close(ends[end]);
}

static bool is_ready(struct link *link, short wanted)
{
    short events;
    if (!link_sleep(link, wanted, &events))
        return true;
    struct pollfd look = { .fd = link_pollable(link), .events = events };
    return poll(&look, 1, 0) > 0;
}

static size_t send_all(struct link *link, const unsigned char *data, size_t nbytes)
{
    struct iovec parts[] = { { (void *)data, nbytes / 3 },
                             { (void *)(data + nbytes / 3), nbytes - nbytes / 3 } };
    ssize_t sent = link_try_send(link, parts, 2, &err);
    ck_assert_int_ge(sent, 0);
    return (size_t)sent;
}

START_TEST(bytes_keep_their_order)
{
    unsigned char *out = malloc(TOTAL), *in = malloc(TOTAL);
    size_t sent = 0, received = 0, piece = (size_t[]){ 7, 5000, STRIPE_BLOCK, TOTAL }[_i];
    for (size_t i = 0; i < TOTAL; i++)
        out[i] = (unsigned char)(i * 2654435761u >> 24);
    while (received < TOTAL) {
        size_t rest = TOTAL - sent;
        sent += rest > 0 ? send_all(ends[0], out + sent, rest < piece ? rest : piece) : 0;
        ssize_t nbytes = link_try_receive(ends[1], in + received, TOTAL - received, &err);
        ck_assert_int_ge(nbytes, 0);
        received += (size_t)nbytes;
    }
    ck_assert_mem_eq(out, in, TOTAL);
    ck_assert(!is_ready(ends[1], POLLIN));
    free(out);
    free(in);
}
END_TEST

START_TEST(who_waits_is_woken_by_the_stream_whose_turn_it_is)
{
    unsigned char byte = 0;
    struct iovec part = { &byte, 1 };
    ck_assert(!is_ready(ends[1], POLLIN));
    ck_assert_int_eq(link_try_send(streams[0][1], &part, 1, &err), 1);
    ck_assert(!is_ready(ends[1], POLLIN));
    ck_assert_int_eq(link_try_send(ends[0], &part, 1, &err), 1);
    ck_assert(is_ready(ends[1], POLLIN));
    ck_assert(is_ready(ends[1], POLLOUT));
}
END_TEST

START_TEST(one_that_is_full_is_waited_for)
{
    unsigned char *data = calloc(1, TOTAL);
    size_t sent = 1, total = 0;
    while (sent > 0 && total < (size_t)64 * TOTAL)
        total += sent = send_all(ends[0], data, TOTAL);
    ck_assert_int_eq((int)sent, 0);
    ck_assert(!is_ready(ends[0], POLLOUT));
    while (link_try_receive(ends[1], data, TOTAL, &err) > 0)
        ;
    ck_assert(is_ready(ends[0], POLLOUT));
    free(data);
}
END_TEST

START_TEST(what_was_sent_arrives_before_the_end)
{
    unsigned char data[100] = "the last words", got[200];
    ck_assert_int_eq((int)send_all(ends[0], data, sizeof data), (int)sizeof data);
    link_close(ends[0]);
    ends[0] = NULL;
    ck_assert(is_ready(ends[1], POLLIN));
    ck_assert_int_eq(link_try_receive(ends[1], got, sizeof got, &err), (int)sizeof data);
    ck_assert_int_eq(link_check(ends[1], &err), HVD_OK);
    ck_assert_int_eq(link_try_receive(ends[1], got, sizeof got, &err), HVD_ERR_PEER_LOST);
}
END_TEST

START_TEST(one_that_breaks_out_of_turn_is_found)
{
    shutdown(fds[0][2], SHUT_RDWR);
    ck_assert(!is_ready(ends[1], POLLIN));
    ck_assert_int_eq(link_check(ends[1], &err), HVD_OK);
    ck_assert(!is_ready(ends[1], POLLIN));
    ck_assert_int_eq(link_check(ends[1], &err), HVD_ERR_PEER_LOST);
    ck_assert_str_eq(err.text, "one of 3 streams broke");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link_striped");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_loop_test(all, bytes_keep_their_order, 0, 4);
    tcase_add_test(all, who_waits_is_woken_by_the_stream_whose_turn_it_is);
    tcase_add_test(all, one_that_is_full_is_waited_for);
    tcase_add_test(all, what_was_sent_arrives_before_the_end);
    tcase_add_test(all, one_that_breaks_out_of_turn_is_found);
    suite_add_tcase(suite, all);
    return unit_run(suite);
}
