/* SPDX-License-Identifier: Apache-2.0 */
/* The thread in which rank 0 serves the rendezvous, over sockets: each connection is served, in
 * whatever order the ranks come, and the thread ends when all have left. */
#include "lib/serve/rendezvous_thread.h"

#include "lib/base/clock.h"
#include "lib/base/rank_end.h"
#include "lib/hvd.h"
#include "lib/join/join_client.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

enum { SIZE = 4, PATIENCE_MS = 30000 };

static struct err err;
static struct job_key key;
static struct join_connection ranks[SIZE];

static struct rendezvous_thread *serve(int *port)
{
    struct listener listener;
    auth_init(NULL);
    job_key_generate(&key);
    ck_assert_int_eq(listener_open(&listener, &(struct port_range){ 0, 0 }, 0, true, &err), HVD_OK);
    *port = listener.port;
    return rendezvous_thread_start(&listener, SIZE, &key, PATIENCE_MS, &err);
}

static void come(int rank, int port)
{
    struct join_target target = { .host = "127.0.0.1",
                                  .port = port,
                                  .job = "",
                                  .key_of = -1,
                                  .server_name = "rank 0",
                                  .key = &key };
    struct join_hello hello = { .rank = rank, .size = SIZE, .worker = -1, .pid = 100 + rank };
    snprintf(hello.host, sizeof hello.host, "a");
    int rc = join_open(&ranks[rank], &target, monotonic_ms() + PATIENCE_MS, &err);
    ck_assert_msg(rc == HVD_OK, "%s", err.text);
    ck_assert_int_eq(join_hello(&ranks[rank], &hello, &err), HVD_OK);
}

static void expect_welcome(int rank)
{
    struct join_welcome welcome;
    int rc = join_wait(&ranks[rank], JOIN_ANSWER_MS, &welcome, &err);
    ck_assert_msg(rc == HVD_OK, "%s", err.text);
    ck_assert_int_eq(welcome.rank_info.rank, rank);
    ck_assert_int_eq(welcome.rank_info.size, SIZE);
}

/* The last rank first in the second run. */
START_TEST(every_rank_is_served_in_any_order)
{
    int port;
    struct rendezvous_thread *thread = serve(&port);
    const struct rank_end fine = rank_end_none();
    ck_assert_ptr_nonnull(thread);
    for (int i = 0; i < SIZE; i++)
        come(_i == 0 ? i : SIZE - 1 - i, port);
    for (int i = 0; i < SIZE; i++)
        expect_welcome(i);
    for (int i = 0; i < SIZE; i++) {
        join_goodbye(&ranks[i], &fine);
        join_close(&ranks[i]);
    }
    rendezvous_thread_leave(thread);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rendezvous_thread");
    TCase *tcase = tcase_create("rendezvous_thread");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, every_rank_is_served_in_any_order, 0, 2);
    return unit_run(suite);
}
