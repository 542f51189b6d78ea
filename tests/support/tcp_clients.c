/* SPDX-License-Identifier: Apache-2.0 */
/* A port, a stand-in behind it, and clients; see tcp_clients.h. */
#include "tests/support/tcp_clients.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the stand-in ---- */

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

void port_send_large(struct rendezvous_stream *stream)
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

void rendezvous_receive(struct rendezvous_connection *connection, const void *data, size_t length)
{
    char first = *(const char *)data;
    note(connection->rendezvous, 'r');
    connection->rendezvous->received += length;
    if (first == 'L' || first == 'C')
        port_send_large(connection->stream);
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

/* ---- the clock ---- */

uint64_t port_ahead_ms;

uint64_t __wrap_uv_now(const uv_loop_t *loop)
{
    return __real_uv_now(loop) + port_ahead_ms;
}

/* ---- the port ---- */

uv_loop_t port_loop;
struct rendezvous stand_in;
struct tcp_port *port;

static void open_port(const char *address)
{
    struct err err = { 0 };
    port = tcp_port_open(&port_loop, address, &stand_in, &err);
    ck_assert_msg(port != NULL, "%s", err.text);
}

void port_set_up(void)
{
    stand_in = (struct rendezvous){ 0 };
    uv_loop_init(&port_loop);
    open_port("127.0.0.1:0");
}

void port_tear_down(void)
{
    tcp_port_close(port);
    uv_run(&port_loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&port_loop), 0);
    ck_assert_int_eq(stand_in.open, 0);
}

/* ---- clients ---- */

int port_new_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    return fd;
}

void port_connect(int fd)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)tcp_port_number(port)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

int port_dial(void)
{
    int fd = port_new_socket();
    port_connect(fd);
    return fd;
}

int port_dial_narrow(void)
{
    int size = 4096, fd = port_new_socket();
    setsockopt(port->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    port_connect(fd);
    return fd;
}

void port_say(int fd, const char *text)
{
    ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

void port_turn(void)
{
    uv_run(&port_loop, UV_RUN_NOWAIT);
}

void port_turns(int n)
{
    while (n-- > 0)
        port_turn();
}

ssize_t port_hear(int fd, char *data, size_t length)
{
    size_t have = 0;
    while (have < length) {
        port_turn();
        ssize_t n = recv(fd, data + have, length - have, 0);
        if (n == 0)
            break;
        if (n < 0 && errno != EAGAIN)
            return -1;
        have += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)have;
}

void port_expect(int fd, const char *text)
{
    char heard[64] = "";
    ck_assert_int_eq(port_hear(fd, heard, strlen(text)), (ssize_t)strlen(text));
    ck_assert_str_eq(heard, text);
}

int port_dial_for_much(size_t length, int buffer_size)
{
    int fd = port_new_socket(), before = stand_in.accepted;
    if (buffer_size > 0) {
        setsockopt(port->fd, SOL_SOCKET, SO_SNDBUF, &buffer_size, sizeof buffer_size);
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer_size, sizeof buffer_size);
    }
    port_connect(fd);
    while (stand_in.accepted == before)
        port_turn();
    send_much(stand_in.latest->stream, length);
    return fd;
}

void port_expect_end(int fd)
{
    char byte;
    ck_assert_int_eq(port_hear(fd, &byte, 1), 0);
}
