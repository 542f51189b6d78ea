/* SPDX-License-Identifier: Apache-2.0 */
/* Connections over real loopback sockets, with a stand-in for the rendezvous that says everything
 * back, unless the first byte asks for something else. */
#include "rendezvous/tcp_connection.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LARGE = 24 << 20, MEDIUM = 64 << 10, CONNECTIONS_MAX = 300 };

/* The stand-in */

struct rendezvous_connection {
    struct rendezvous_stream *stream;
    struct rendezvous *rendezvous;
};

struct rendezvous {
    bool refuses;
    int accepted, hung_up, open;
    size_t received;
    char story[64]; /* a for accept, r for receive, h for hang-up */
    struct rendezvous_connection *latest;
};

static void note(struct rendezvous *rendezvous, char what)
{
    size_t length = strlen(rendezvous->story);
    if (length + 1 < sizeof rendezvous->story)
        rendezvous->story[length] = what;
}

struct rendezvous_connection *rendezvous_accept(struct rendezvous *rendezvous,
                                                struct rendezvous_stream *stream,
                                                enum rendezvous_origin origin)
{
    ck_assert_int_eq(origin, RENDEZVOUS_ELSEWHERE);
    note(rendezvous, 'a');
    if (rendezvous->refuses)
        return NULL;
    struct rendezvous_connection *connection = calloc(1, sizeof *connection);
    *connection = (struct rendezvous_connection){ stream, rendezvous };
    rendezvous->accepted++;
    rendezvous->open++;
    rendezvous->latest = connection;
    return connection;
}

static void send_much(struct rendezvous_stream *stream, size_t length)
{
    char *data = malloc(length);
    memset(data, 'x', length);
    stream->send(stream, data, length / 2);
    stream->send(stream, data, length / 2);
    free(data);
}

static void send_large(struct rendezvous_stream *stream)
{
    send_much(stream, LARGE);
}

static void end_by_us(struct rendezvous_connection *connection)
{
    struct rendezvous_stream *stream = connection->stream;
    connection->rendezvous->open--;
    free(connection);
    stream->close(stream);
}

/* '!' answers and closes, 'L' answers much, 'C' answers much and closes, 'M' less and closes. */
void rendezvous_receive(struct rendezvous_connection *connection, const void *data, size_t length)
{
    char first = *(const char *)data;
    note(connection->rendezvous, 'r');
    connection->rendezvous->received += length;
    if (first == 'L' || first == 'C')
        send_large(connection->stream);
    else if (first == 'M')
        send_much(connection->stream, MEDIUM);
    else
        connection->stream->send(connection->stream, data, length);
    if (first == '!' || first == 'C' || first == 'M')
        end_by_us(connection);
}

void rendezvous_hangup(struct rendezvous_connection *connection)
{
    note(connection->rendezvous, 'h');
    connection->rendezvous->hung_up++;
    connection->rendezvous->open--;
    free(connection);
}

/* The clock, which tests may put forward */

static uint64_t ahead_ms;

uint64_t __real_uv_now(const uv_loop_t *loop);
uint64_t __wrap_uv_now(const uv_loop_t *loop);

uint64_t __wrap_uv_now(const uv_loop_t *loop)
{
    return __real_uv_now(loop) + ahead_ms;
}

/* The fixture */

static uv_loop_t loop;
static struct rendezvous stand_in;
static struct tcp_port *port;

static void open_port(const char *address)
{
    struct err err = { 0 };
    port = tcp_port_open(&loop, address, &stand_in, &err);
    ck_assert_msg(port != NULL, "%s", err.text);
}

static void set_up(void)
{
    stand_in = (struct rendezvous){ 0 };
    uv_loop_init(&loop);
    open_port("127.0.0.1:0");
}

static void tear_down(void)
{
    tcp_port_close(port);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    ck_assert_int_eq(stand_in.open, 0);
}

static int new_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static void connect_socket(int fd)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)tcp_port_number(port)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

static int dial(void)
{
    int fd = new_socket();
    connect_socket(fd);
    return fd;
}

/* Little fits into the kernel's buffers of either side. */
static int dial_narrow(void)
{
    int size = 4096, fd = new_socket();
    setsockopt(port->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    connect_socket(fd);
    return fd;
}

static void say(int fd, const char *text)
{
    ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static void turn(void)
{
    uv_run(&loop, UV_RUN_NOWAIT);
}

static void turns(int n)
{
    while (n-- > 0)
        turn();
}

/* Reads until `length` bytes have come or the connection has ended; how many have come, or -1 if it
 * was reset. */
static ssize_t hear(int fd, char *data, size_t length)
{
    size_t have = 0;
    while (have < length) {
        turn();
        ssize_t n = recv(fd, data + have, length - have, 0);
        if (n == 0)
            break;
        if (n < 0 && errno != EAGAIN)
            return -1;
        have += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)have;
}

static void expect(int fd, const char *text)
{
    char heard[64] = "";
    ck_assert_int_eq(hear(fd, heard, strlen(text)), (ssize_t)strlen(text));
    ck_assert_str_eq(heard, text);
}

/* Is sent so much that most of it is queued, when its buffers in the kernel are small. */
static int dial_for_much(size_t length, int buffer_size)
{
    int fd = new_socket(), before = stand_in.accepted;
    if (buffer_size > 0) {
        setsockopt(port->fd, SOL_SOCKET, SO_SNDBUF, &buffer_size, sizeof buffer_size);
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer_size, sizeof buffer_size);
    }
    connect_socket(fd);
    while (stand_in.accepted == before)
        turn();
    send_much(stand_in.latest->stream, length);
    return fd;
}

static void expect_end(int fd)
{
    char byte;
    ck_assert_int_eq(hear(fd, &byte, 1), 0);
}

START_TEST(what_a_client_says_is_answered)
{
    int fd = dial();
    say(fd, "hello");
    expect(fd, "hello");
    say(fd, "again");
    expect(fd, "again");
    close(fd);
    while (stand_in.open > 0)
        turn();
    ck_assert_str_eq(stand_in.story, "arrh");
}
END_TEST

START_TEST(who_comes_with_a_request_is_served_before_the_next_is_accepted)
{
    int fds[3];
    for (int i = 0; i < 3; i++)
        say(fds[i] = dial(), "!");
    while (stand_in.accepted < 3)
        turn();
    ck_assert_str_eq(stand_in.story, "ararar");
    for (int i = 0; i < 3; i++) {
        expect(fds[i], "!");
        expect_end(fds[i]);
        close(fds[i]);
    }
}
END_TEST

START_TEST(who_is_not_wanted_is_dropped)
{
    char byte;
    stand_in.refuses = true;
    int fd = dial();
    ck_assert_int_le(hear(fd, &byte, 1), 0);
    ck_assert_int_eq(stand_in.hung_up, 0);
    close(fd);
}
END_TEST

START_TEST(a_large_answer_arrives_whole_before_the_end)
{
    char *data = malloc(LARGE + 1);
    int fd = dial();
    say(fd, "C");
    ck_assert_int_eq(hear(fd, data, LARGE + 1), LARGE);
    ck_assert_ptr_null(memchr(data, 0, LARGE));
    ck_assert_int_eq(stand_in.hung_up, 0);
    close(fd);
    free(data);
}
END_TEST

START_TEST(an_answer_outlives_what_the_client_still_sends)
{
    int fd = dial();
    say(fd, "!");
    while (stand_in.accepted == 0 || stand_in.open > 0)
        turn();
    say(fd, "more that nobody reads");
    turns(3);
    say(fd, "and more");
    turns(3);
    char heard[8];
    ck_assert_int_eq(hear(fd, heard, sizeof heard), 1);
    close(fd);
}
END_TEST

START_TEST(who_does_not_read_is_not_read_from)
{
    char *data = malloc(LARGE);
    int fd = dial();
    say(fd, "L");
    while (stand_in.received == 0)
        turn();
    say(fd, "next");
    turns(20);
    ck_assert_uint_eq(stand_in.received, 1);
    ck_assert_int_eq(hear(fd, data, LARGE), LARGE);
    expect(fd, "next");
    ck_assert_uint_eq(stand_in.received, 5);
    close(fd);
    free(data);
}
END_TEST

START_TEST(who_does_not_read_for_long_is_hung_up_on)
{
    int stuck = dial(), fine = dial();
    say(stuck, "L");
    say(fine, "hello");
    expect(fine, "hello");
    while (stand_in.received < 6)
        turn();
    while (stand_in.hung_up == 0) { /* the kernel's buffers may still grow */
        ahead_ms += TCP_PORT_WRITE_MS;
        uv_run(&loop, UV_RUN_ONCE);
    }
    ck_assert_int_eq(stand_in.open, 1);
    say(fine, "again");
    expect(fine, "again");
    close(stuck);
    close(fine);
}
END_TEST

/* Until the next look at deadlines, if there is one. */
static void put_forward(uint64_t ms)
{
    uint64_t look_ms = __real_uv_now(&loop) + uv_timer_get_due_in(&port->tick);
    ahead_ms += ms;
    while (__real_uv_now(&loop) < look_ms && uv_is_active((uv_handle_t *)&port->tick))
        uv_run(&loop, UV_RUN_ONCE);
}

/* Two are sent as much; a while passes between what each reads. */
START_TEST(who_reads_too_slowly_is_hung_up_on)
{
    enum { MUCH = 3 << 19, LITTLE = 64 << 10, STEP_MS = TCP_PORT_WRITE_MS - 1000 };
    static char heard[MUCH];
    int fine = dial_for_much(MUCH, 0), slow = dial_for_much(MUCH, LITTLE);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(hear(fine, heard, MUCH / 2), MUCH / 2);
        ck_assert_int_eq(hear(slow, heard, LITTLE), LITTLE);
        ck_assert_int_eq(stand_in.hung_up, 0);
        put_forward(STEP_MS);
    }
    for (int read = 2 * LITTLE; stand_in.hung_up == 0; read += LITTLE) {
        ck_assert_int_lt(read, MUCH - LITTLE);
        ck_assert_int_eq(hear(slow, heard, LITTLE), LITTLE);
        put_forward(STEP_MS);
    }
    say(fine, "again");
    expect(fine, "again");
    close(slow);
    close(fine);
}
END_TEST

START_TEST(when_much_is_queued_for_all_large_queues_are_refused)
{
    int fds[3];
    port->queues_max = 5 << 20;
    for (int i = 0; i < 3; i++)
        fds[i] = dial_for_much(3 << 20, 4096);
    while (stand_in.hung_up == 0)
        turn();
    turns(10);
    ck_assert_int_eq(stand_in.hung_up, 2);
    ck_assert_uint_le(port->queues, port->queues_max);
    int fine = dial_narrow();
    say(fine, "M");
    while (stand_in.accepted < 4 || stand_in.open > 1)
        turn();
    ck_assert_int_eq(stand_in.hung_up, 2);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    close(fine);
    while (port->connections)
        turn();
    ck_assert_uint_eq(port->queues, 0);
}
END_TEST

START_TEST(who_does_not_see_the_end_is_dropped)
{
    int fd = dial();
    say(fd, "!");
    while (stand_in.accepted == 0 || stand_in.open > 0)
        turn();
    ck_assert_int_eq(port->lingering, 1);
    ahead_ms = TCP_LINGER_MS;
    while (port->lingering > 0)
        uv_run(&loop, UV_RUN_ONCE);
    turns(2);
    ck_assert_ptr_null(port->connections);
    ck_assert_msg(!uv_is_active((uv_handle_t *)&port->tick), "a clock ticks for nobody");
    close(fd);
}
END_TEST

START_TEST(few_wait_for_clients_that_do_not_see_the_end)
{
    int fds[CONNECTIONS_MAX];
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        say(fds[i] = dial(), "!");
        turns(2);
    }
    while (stand_in.accepted < CONNECTIONS_MAX || stand_in.open > 0)
        turn();
    ck_assert_int_eq(port->lingering, TCP_LINGERING_MAX);
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        expect(fds[i], "!");
        close(fds[i]);
    }
}
END_TEST

static int count_connections(void)
{
    int count = 0;
    for (struct tcp_connection *at = port->connections; at; at = at->next)
        count++;
    return count;
}

START_TEST(few_wait_for_clients_that_do_not_read_their_last_answer)
{
    static char answer[MEDIUM];
    int fds[CONNECTIONS_MAX];
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        say(fds[i] = dial_narrow(), "M");
        turns(2);
    }
    while (stand_in.accepted < CONNECTIONS_MAX || stand_in.open > 0)
        turn();
    ck_assert_int_eq(port->lingering, TCP_LINGERING_MAX);
    ck_assert_int_eq(count_connections(), TCP_LINGERING_MAX);
    int known = dial_narrow();
    say(known, "C");
    ck_assert_int_eq(hear(known, answer, sizeof answer), sizeof answer);
    close(known);
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        close(fds[i]);
}
END_TEST

START_TEST(what_was_said_before_a_reset_is_heard)
{
    int fd = dial();
    say(fd, "hello");
    while (stand_in.received < 5)
        turn();
    say(fd, "goodbye");
    close(fd); /* on an unread answer: a reset */
    while (stand_in.open > 0)
        turn();
    ck_assert_uint_eq(stand_in.received, 12);
    ck_assert_int_eq(stand_in.hung_up, 1);
}
END_TEST

START_TEST(sending_to_who_has_gone_harms_nobody)
{
    int gone = dial();
    say(gone, "hello");
    expect(gone, "hello");
    struct rendezvous_stream *stream = stand_in.latest->stream;
    say(gone, "L");
    struct linger reset = { 1, 0 };
    setsockopt(gone, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(gone);
    for (int i = 0; i < 3; i++)
        stream->send(stream, "news", 4);
    while (stand_in.open > 0)
        turn();
    ck_assert_int_eq(stand_in.hung_up, 1);
}
END_TEST

START_TEST(who_lets_too_much_pile_up_is_hung_up_on)
{
    int fd = dial();
    say(fd, "L");
    while (stand_in.received == 0)
        turn();
    for (int i = 0; i < TCP_QUEUE_MAX / LARGE; i++)
        send_large(stand_in.latest->stream);
    while (stand_in.hung_up == 0)
        turn();
    close(fd);
}
END_TEST

/* Uses up the descriptors of this process; how many they were. */
static int use_up(int *fds, int max)
{
    int n = 0;
    while (n < max && (fds[n] = dup(0)) >= 0)
        n++;
    ck_assert_int_lt(n, max);
    return n;
}

START_TEST(without_descriptors_newcomers_wait)
{
    int spare[CONNECTIONS_MAX];
    int first = dial(), second = new_socket();
    say(first, "hello");
    expect(first, "hello");
    struct rlimit limit = { 128, 128 };
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    int n = use_up(spare, CONNECTIONS_MAX);
    connect_socket(second);
    say(second, "me too");
    turns(20);
    ck_assert_int_eq(stand_in.accepted, 1);
    ck_assert_msg(port->paused && !uv_is_active((uv_handle_t *)&port->poll), "it spins");
    say(first, "!");
    expect(first, "!");
    close(first);
    spare[n++] = dup(0); /* what the client has given back */
    expect(second, "me too");
    close(second);
    while (n > 0)
        close(spare[--n]);
}
END_TEST

START_TEST(descriptors_that_others_give_back_are_seen)
{
    int spare[CONNECTIONS_MAX];
    int fd = new_socket();
    struct rlimit limit = { 128, 128 };
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    int n = use_up(spare, CONNECTIONS_MAX);
    connect_socket(fd);
    say(fd, "hello");
    turns(20);
    ck_assert_int_eq(stand_in.accepted, 0);
    while (n > 0)
        close(spare[--n]);
    expect(fd, "hello");
    close(fd);
}
END_TEST

START_TEST(stopped_it_accepts_no_more_and_serves_who_is_there)
{
    int fd = dial(), late = new_socket();
    say(fd, "hello");
    expect(fd, "hello");
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)tcp_port_number(port)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    tcp_port_stop(port);
    ck_assert_int_lt(connect(late, (struct sockaddr *)&address, sizeof address), 0);
    say(fd, "still");
    expect(fd, "still");
    close(fd);
    close(late);
}
END_TEST

START_TEST(closed_it_hangs_up_on_everybody)
{
    char *data = malloc(LARGE);
    int quiet = dial(), busy = dial(), ended = dial();
    say(busy, "L");
    say(ended, "C");
    while (stand_in.received < 2 || stand_in.accepted < 3)
        turn();
    tcp_port_close(port);
    port = NULL;
    ck_assert_int_eq(stand_in.hung_up, 2);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_le(hear(quiet, data, 1), 0);
    ck_assert_int_lt(hear(busy, data, LARGE), LARGE);
    close(quiet);
    close(busy);
    close(ended);
    free(data);
}
END_TEST

START_TEST(accepted_sockets_notice_a_host_that_vanishes)
{
    static const struct {
        int level, name, least, most;
    } options[] = {
        { SOL_SOCKET, SO_KEEPALIVE, 1, 1 },          { IPPROTO_TCP, TCP_KEEPIDLE, 5, 5 },
        { IPPROTO_TCP, TCP_KEEPINTVL, 2, 2 },        { IPPROTO_TCP, TCP_KEEPCNT, 3, 3 },
        { IPPROTO_TCP, TCP_USER_TIMEOUT, 1, 30000 }, { IPPROTO_TCP, TCP_NODELAY, 1, 1 },
    };
    int fd = dial();
    say(fd, "hello");
    expect(fd, "hello");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        int value = -1;
        socklen_t length = sizeof value;
        getsockopt(port->connections->fd, options[i].level, options[i].name, &value, &length);
        ck_assert_int_ge(value, options[i].least);
        ck_assert_int_le(value, options[i].most);
    }
    close(fd);
}
END_TEST

START_TEST(the_wildcard_of_ipv6_is_that_of_ipv4_too)
{
    struct err err = { 0 };
    tcp_port_close(port);
    port = tcp_port_open(&loop, "[::]:0", &stand_in, &err);
    if (!port) /* a machine without IPv6 */
        return;
    ck_assert_int_eq(strncmp(tcp_port_address(port), "[::]:", 5), 0);
    ck_assert(!tcp_port_is_loopback(port));
    int fd = dial();
    say(fd, "hello");
    expect(fd, "hello");
    close(fd);
}
END_TEST

START_TEST(an_address_that_is_taken_is_named)
{
    struct err err = { 0 };
    ck_assert_ptr_null(tcp_port_open(&loop, tcp_port_address(port), &stand_in, &err));
    ck_assert_int_eq(err.code, HVD_ERR_SYSTEM);
    ck_assert_msg(strstr(err.text, tcp_port_address(port)) != NULL, "%s", err.text);
    ck_assert_msg(strstr(err.text, "Address already in use") != NULL, "%s", err.text);
    ck_assert(tcp_port_is_loopback(port));
}
END_TEST

static const char *const no_addresses[] = {
    "",
    ":",
    ":29400",
    "29400",
    "127.0.0.1",
    "127.0.0.1:",
    "127.1:1",
    "0x7f.0.0.1:1",
    "127.0.0.1:-1",
    "127.0.0.1:+1",
    "127.0.0.1:65536",
    "127.0.0.1:1x",
    "127.0.0.1: 1",
    "127.0.0.1:000001",
    "host0:1",
    "::1:1",
    "[::1]",
    "[::1:1",
    "::1]:1",
    "[]:1",
    "[127.0.0.1]:1",
    "*:1",
    "[::1]]:1",
    "127.0.0.1 :1",
    "999.0.0.1:1",
    "1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111:1",
};

START_TEST(what_is_no_address_is_refused)
{
    struct sockaddr_storage address;
    struct err err = { 0 };
    const char *text = no_addresses[_i];
    ck_assert_msg(tcp_address_parse(&address, text, &err) == HVD_ERR_INVALID, "%s", text);
    ck_assert_ptr_nonnull(strstr(err.text, "expected ADDRESS:PORT"));
}
END_TEST

static const struct {
    const char *text, *again;
    bool is_loopback;
} addresses[] = {
    { "127.0.0.1:0", "127.0.0.1:0", true },
    { "127.9.9.9:65535", "127.9.9.9:65535", true },
    { "localhost:29400", "127.0.0.1:29400", true },
    { "0.0.0.0:1", "0.0.0.0:1", false },
    { "10.0.0.1:29400", "10.0.0.1:29400", false },
    { "[::1]:29400", "[::1]:29400", true },
    { "[::]:29400", "[::]:29400", false },
    { "[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1", true },
    { "[::ffff:10.0.0.1]:1", "[::ffff:10.0.0.1]:1", false },
    { "[fe80::1%lo]:1", "[fe80::1%lo]:1", false },
};

START_TEST(addresses_are_read_and_written)
{
    struct sockaddr_storage address;
    struct err err = { 0 };
    char again[TCP_ADDRESS_SIZE];
    ck_assert_msg(tcp_address_parse(&address, addresses[_i].text, &err) == HVD_OK, "%s", err.text);
    tcp_address_format(again, &address);
    ck_assert_str_eq(again, addresses[_i].again);
    ck_assert(tcp_address_is_loopback(&address) == addresses[_i].is_loopback);
}
END_TEST

#define ROWS(table) (int)(sizeof table / sizeof *table)

int main(void)
{
    Suite *suite = suite_create("tcp_port");
    TCase *alone = tcase_create("addresses");
    tcase_add_loop_test(alone, what_is_no_address_is_refused, 0, ROWS(no_addresses));
    tcase_add_loop_test(alone, addresses_are_read_and_written, 0, ROWS(addresses));
    suite_add_tcase(suite, alone);
    TCase *tcase = tcase_create("port");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, what_a_client_says_is_answered);
    tcase_add_test(tcase, who_comes_with_a_request_is_served_before_the_next_is_accepted);
    tcase_add_test(tcase, who_is_not_wanted_is_dropped);
    tcase_add_test(tcase, a_large_answer_arrives_whole_before_the_end);
    tcase_add_test(tcase, an_answer_outlives_what_the_client_still_sends);
    tcase_add_test(tcase, who_does_not_read_is_not_read_from);
    tcase_add_test(tcase, who_does_not_read_for_long_is_hung_up_on);
    tcase_add_test(tcase, who_reads_too_slowly_is_hung_up_on);
    tcase_add_test(tcase, when_much_is_queued_for_all_large_queues_are_refused);
    tcase_add_test(tcase, who_does_not_see_the_end_is_dropped);
    tcase_add_test(tcase, few_wait_for_clients_that_do_not_see_the_end);
    tcase_add_test(tcase, few_wait_for_clients_that_do_not_read_their_last_answer);
    tcase_add_test(tcase, what_was_said_before_a_reset_is_heard);
    tcase_add_test(tcase, sending_to_who_has_gone_harms_nobody);
    tcase_add_test(tcase, who_lets_too_much_pile_up_is_hung_up_on);
    tcase_add_test(tcase, without_descriptors_newcomers_wait);
    tcase_add_test(tcase, descriptors_that_others_give_back_are_seen);
    tcase_add_test(tcase, stopped_it_accepts_no_more_and_serves_who_is_there);
    tcase_add_test(tcase, closed_it_hangs_up_on_everybody);
    tcase_add_test(tcase, accepted_sockets_notice_a_host_that_vanishes);
    tcase_add_test(tcase, the_wildcard_of_ipv6_is_that_of_ipv4_too);
    tcase_add_test(tcase, an_address_that_is_taken_is_named);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
