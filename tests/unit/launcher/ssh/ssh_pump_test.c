/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a pump. Without a channel a pump ends at once, as after the end of a connection; or a
 * channel stands in for one, which has ended. Linked with -Wl,--wrap=libssh2_channel_read_ex,
 * --wrap=libssh2_channel_eof,--wrap=libssh2_channel_wait_closed. */
#include "launcher/ssh/ssh_pump.h"
#include "tests/support/unit.h"

#include <sys/socket.h>
#include <unistd.h>

static uv_loop_t loop;
static struct ssh_session *session;
static int host, user; /* the other ends of the connection and of a descriptor */
static int ends, events;

static void make_pair(int pair[2])
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
}

static void on_end(void *context, const char *text, bool lost)
{
    (void)context, (void)text, (void)lost;
    ends++;
}

static const struct ssh_pump_events pump_events = { .on_end = on_end };

static bool at_end;     /* of the channel, which has no bytes */
static int closed_with; /* what waiting for the host to close it gives */
ssize_t __real_libssh2_channel_read_ex(LIBSSH2_CHANNEL *channel, int stream, char *data,
                                       size_t size);
ssize_t __wrap_libssh2_channel_read_ex(LIBSSH2_CHANNEL *channel, int stream, char *data,
                                       size_t size);
int __real_libssh2_channel_eof(LIBSSH2_CHANNEL *channel);
int __wrap_libssh2_channel_eof(LIBSSH2_CHANNEL *channel);
int __wrap_libssh2_channel_wait_closed(LIBSSH2_CHANNEL *channel);

ssize_t __wrap_libssh2_channel_read_ex(LIBSSH2_CHANNEL *channel, int stream, char *data,
                                       size_t size)
{
    return at_end ? 0 : __real_libssh2_channel_read_ex(channel, stream, data, size);
}

int __wrap_libssh2_channel_eof(LIBSSH2_CHANNEL *channel)
{
    return at_end ? 1 : __real_libssh2_channel_eof(channel);
}

int __wrap_libssh2_channel_wait_closed(LIBSSH2_CHANNEL *channel)
{
    (void)channel;
    return closed_with;
}

static void setup(void)
{
    int pair[2];
    uv_loop_init(&loop);
    make_pair(pair);
    host = pair[1];
    session = ssh_session_create(&loop, pair[0]);
    ends = events = 0;
    at_end = false;
}

static void teardown(void)
{
    ssh_session_close(session);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    close(host);
    close(user);
}

static void on_event(uv_poll_t *poll, int status, int happened)
{
    (void)status, (void)happened;
    events++;
    uv_close((uv_handle_t *)poll, NULL);
}

/* Hosts of an elastic job are closed while others are connected. */
START_TEST(a_pump_that_is_closed_long_after_its_end_takes_no_events_from_another_handle)
{
    int pair[2], again[2];
    uv_poll_t poll;
    make_pair(pair);
    struct ssh_pump *pump = ssh_pump_start(&loop, session, NULL, pair[0], &pump_events, NULL);
    ck_assert_int_eq(ends, 1);
    close(pair[1]);
    make_pair(again);
    ck_assert_int_eq(dup2(again[0], pair[0]), pair[0]); /* the same number, if it was not so */
    user = again[1];
    uv_poll_init(&loop, &poll, pair[0]);
    uv_poll_start(&poll, UV_READABLE, on_event);
    uv_run(&loop, UV_RUN_NOWAIT); /* now the loop asks the kernel for its events */
    ssh_pump_close(pump);
    ck_assert_int_eq(write(user, "x", 1), 1);
    uv_run(&loop, UV_RUN_NOWAIT);
    ck_assert_int_eq(events, 1);
    close(pair[0]);
}
END_TEST

/* The exit status comes between the end and the close. */
START_TEST(a_pump_ends_when_the_host_closes_the_channel_and_soon_if_it_does_not)
{
    int pair[2];
    make_pair(pair);
    user = pair[1];
    at_end = true;
    closed_with = _i == 0 ? 0 : LIBSSH2_ERROR_EAGAIN;
    struct ssh_pump *pump = ssh_pump_start(&loop, session, NULL, pair[0], &pump_events, NULL);
    ck_assert_int_eq(ends, _i == 0);
    while (ends == 0)
        uv_run(&loop, UV_RUN_ONCE);
    ssh_pump_close(pump);
    ck_assert_int_eq(ends, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ssh_pump");
    TCase *ending = tcase_create("ending");
    tcase_add_checked_fixture(ending, setup, teardown);
    tcase_add_test(ending,
                   a_pump_that_is_closed_long_after_its_end_takes_no_events_from_another_handle);
    tcase_add_loop_test(ending,
                        a_pump_ends_when_the_host_closes_the_channel_and_soon_if_it_does_not, 0, 2);
    suite_add_tcase(suite, ending);
    ssh_session_prepare();
    return unit_run(suite);
}
