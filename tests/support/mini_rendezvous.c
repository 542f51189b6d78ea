/* SPDX-License-Identifier: Apache-2.0 */
/* A small rendezvous for tests; see mini_rendezvous.h. */
#include "tests/support/mini_rendezvous.h"

#include "lib/base/frame.h"
#include "lib/base/join_protocol.h"
#include "lib/base/topology.h"
#include "lib/link/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CLIENTS_MAX = 64 };

struct client {
    int fd; /* -1 when gone */
    bool sealed, joined, said_goodbye;
    struct seal seal;
    struct frame_reader reader;
    struct join_hello hello;
};

struct server {
    struct mini_options options;
    struct job_key key;
    struct rank_certifier certifier;
    int listener, count, joined, reports;
    struct client clients[CLIENTS_MAX];
};

/* Every failure in this process is a mistake of the test. */
static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "mini_rendezvous: %s\n", what);
    _exit(99);
}

static void send_body(struct client *client, uint16_t type, struct wire_writer *body)
{
    struct wire_writer frame = { 0 };
    if (client->sealed)
        seal_put(&client->seal, &frame, type, body->data, body->length);
    else
        frame_put(&frame, type, body->data, body->length);
    if (client->fd >= 0)
        (void)!send(client->fd, frame.data, frame.length, MSG_NOSIGNAL);
    wire_writer_fini(&frame);
    wire_writer_fini(body);
}

static void on_open(struct server *server, struct client *client, const struct frame *frame)
{
    struct join_open open;
    struct join_challenge challenge = { .version = JOIN_VERSION };
    struct job_key key = server->key;
    struct wire_reader reader;
    struct wire_writer body = { 0 };
    wire_reader_init(&reader, frame->body, frame->length);
    require(frame->type == JOIN_OPEN, "a frame before OPEN");
    require(join_open_decode(&open, &reader, NULL) == HVD_OK, "OPEN");
    nonce_generate(challenge.nonce);
    join_challenge_encode(&body, &challenge);
    send_body(client, JOIN_CHALLENGE, &body);
    if (server->options.owner && strcmp(server->options.owner, open.owner) != 0)
        job_key_generate(&key);
    seal_init(&client->seal, SEAL_SERVER, &key, open.nonce, challenge.nonce);
    client->sealed = true;
}

static struct client *client_of(struct server *server, int rank)
{
    for (int i = 0; i < server->count; i++)
        if (server->clients[i].joined && server->clients[i].hello.rank == rank)
            return &server->clients[i];
    require(false, "no such rank");
    return NULL;
}

static bool is_taken(const struct server *server, int rank)
{
    for (int i = 0; i < server->count; i++)
        if (server->clients[i].joined && server->clients[i].hello.rank == rank)
            return true;
    return false;
}

static void choose_ranks(struct server *server)
{
    int rank = 0;
    for (int i = 0; i < server->count; i++) {
        struct client *client = &server->clients[i];
        if (!client->joined || client->hello.rank >= 0)
            continue;
        while (is_taken(server, rank))
            rank++;
        client->hello.rank = rank;
    }
}

static void fill_peer(struct server *server, struct join_peer *peer, int rank)
{
    const struct client *client = client_of(server, rank);
    peer->rank = rank;
    memcpy(peer->host, client->hello.host, sizeof peer->host);
    peer->addresses = client->hello.addresses;
    if (server->options.detour == 0 || rank != 1)
        return;
    peer->addresses.count = 1;
    snprintf(peer->addresses.text[0], JOIN_ADDRESS_MAX, "127.0.0.1:%d", server->options.detour);
}

/* By the first address, or the last. */
static int connect_unauthenticated(const struct join_addresses *addresses, bool last)
{
    struct socket_address address;
    const char *text = addresses->text[last ? addresses->count - 1 : 0];
    require(socket_address_parse(&address, text, NULL) == HVD_OK, "address");
    int fd = socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct sockaddr *to = (const struct sockaddr *)&address.storage;
    require(connect(fd, to, address.length) == 0, "connect without the key");
    return fd;
}

static void send_unauthenticated(struct server *server, int rank)
{
    static const char garbage[] =
        "GET / HTTP/1.1\r\n\r\n, and more than sixty-four bytes of it....";
    for (int i = 0; i < server->options.unauthenticated; i++) {
        int fd = connect_unauthenticated(&client_of(server, rank)->hello.addresses, i % 2);
        if (i % 3 == 0)
            (void)!send(fd, garbage, sizeof garbage, MSG_NOSIGNAL);
        if (i % 3 == 1)
            close(fd); /* the others stay and say nothing */
    }
}

static void send_welcome(struct server *server, int rank)
{
    int size = server->options.size;
    struct join_welcome welcome = {
        .rank_info = { rank, size, rank, size, 0, 1 },
        .homogeneous = true,
        .epoch = 1,
        .star = server->options.star > 0 ? server->options.star : 1,
    };
    rank_certifier_certify(&server->certifier, welcome.epoch, (uint32_t)rank,
                           client_of(server, rank)->hello.key, welcome.certificate);
    memcpy(welcome.certifier, server->certifier.public, sizeof welcome.certifier);
    if (server->options.anywhere)
        welcome.rank_info = (struct rank_info){ rank, size, 0, 1, rank, size };
    int ranks[NEIGHBOURS_MAX];
    struct wire_writer body = { 0 };
    welcome.nneighbours = neighbours(ranks, rank, size, welcome.star);
    for (int i = 0; i < welcome.nneighbours; i++) {
        fill_peer(server, &welcome.neighbours[i], server->options.misplaces ? rank : ranks[i]);
        memcpy(welcome.keys[i], client_of(server, ranks[i])->hello.key, RANK_KEY_SIZE);
    }
    join_welcome_encode(&body, &welcome);
    send_body(client_of(server, rank), JOIN_WELCOME, &body);
}

static void send_ask(struct server *server, int rank)
{
    struct wire_writer body = { 0 };
    join_ask_encode(&body, &(struct join_ask){ JOIN_REPORT_MAX });
    send_body(client_of(server, rank), JOIN_ASK, &body);
}

static void send_forged_news(struct server *server, int rank)
{
    struct client *client = client_of(server, rank);
    struct seal honest = client->seal;
    struct wire_writer body = { 0 };
    struct rank_end news = { .status = HVD_ERR_PEER_LOST, .because_of = 1, .words = "a forgery" };
    rank_end_encode(&body, &news);
    client->seal.send_key[0] ^= 1;
    send_body(client, JOIN_NEWS, &body);
    client->seal = honest;
}

static void welcome_all(struct server *server)
{
    if (server->options.withholds)
        _exit(0);
    choose_ranks(server);
    for (int rank = 0; rank < server->options.size && server->options.unauthenticated; rank++)
        send_unauthenticated(server, rank);
    for (int rank = 0; rank < server->options.size; rank++)
        send_welcome(server, rank);
    for (int rank = 0; rank < server->options.size && server->options.forges; rank++)
        send_forged_news(server, rank);
    for (int rank = 0; rank < server->options.size && server->options.asks; rank++)
        send_ask(server, rank);
}

static void tell_others(struct server *server, const struct client *about,
                        const struct rank_end *news)
{
    for (int i = 0; i < server->count && !server->options.silent; i++) {
        struct client *client = &server->clients[i];
        struct wire_writer body = { 0 };
        if (client == about || !client->joined)
            continue;
        rank_end_encode(&body, news);
        send_body(client, JOIN_NEWS, &body);
    }
}

static void tell_end(struct server *server, const struct client *about, int status,
                     enum rank_end_kind kind)
{
    struct rank_end news = { .how.kind = kind,
                             .status = status,
                             .rank = about->hello.rank,
                             .because_of = about->hello.rank };
    memcpy(news.host, about->hello.host, sizeof news.host);
    tell_others(server, about, &news);
}

static void tell_departure(struct server *server, const struct client *about,
                           const struct rank_end *goodbye)
{
    if (goodbye->status == HVD_OK || goodbye->status == HVD_ERR_PEER_LEFT)
        tell_end(server, about, HVD_ERR_PEER_LEFT, RANK_END_LEFT);
    else
        tell_others(server, about, goodbye);
}

static void hang_up(struct client *client)
{
    close(client->fd);
    client->fd = -1;
}

static void send_refused(struct server *server, struct client *client)
{
    struct join_refused refused = { .status = HVD_ERR_ENVIRONMENT };
    struct wire_writer body = { 0 };
    snprintf(refused.text, sizeof refused.text, "%s", server->options.refuses);
    join_refused_encode(&body, &refused);
    send_body(client, JOIN_REFUSED, &body);
    hang_up(client);
}

/* For the others, as long as a test may take. */
static void send_waiting(struct client *client)
{
    struct wire_writer body = { 0 };
    struct join_waiting waiting = { .most_ms = JOIN_WAITING_MAX_MS, .text = "the others" };
    join_waiting_encode(&body, &waiting);
    send_body(client, JOIN_WAITING, &body);
}

static void on_hello(struct server *server, struct client *client, struct wire_reader *body)
{
    if (server->options.drops-- > 0) {
        hang_up(client);
        return;
    }
    require(join_hello_decode(&client->hello, body, NULL) == HVD_OK, "HELLO");
    if (server->options.refuses) {
        send_refused(server, client);
        return;
    }
    client->joined = true;
    if (++server->joined == server->options.size)
        welcome_all(server);
    else
        send_waiting(client);
}

static void on_report(struct server *server, struct wire_reader *body)
{
    static struct join_report report;
    require(server->options.asks, "a REPORT that was not asked for");
    require(join_report_decode(&report, body, NULL) == HVD_OK, "REPORT");
    (void)!write(server->reports, report.text, strlen(report.text));
}

/* Checks the message and drops it: the ranks tell each other. */
static void on_broken(struct wire_reader *body)
{
    struct rank_end word;
    require(join_broken_decode(&word, body, NULL) == HVD_OK, "BROKEN");
}

static void on_goodbye(struct server *server, struct client *client, struct wire_reader *body)
{
    struct rank_end goodbye;
    require(join_goodbye_decode(&goodbye, body, NULL) == HVD_OK, "GOODBYE");
    client->said_goodbye = true;
    tell_departure(server, client, &goodbye);
    hang_up(client);
}

static void on_sealed(struct server *server, struct client *client, const struct frame *frame)
{
    struct wire_reader body;
    if (seal_check(&client->seal, frame, &body, NULL) < 0)
        hang_up(client);
    else if (frame->type == JOIN_HELLO)
        on_hello(server, client, &body);
    else if (frame->type == JOIN_REPORT)
        on_report(server, &body);
    else if (frame->type == JOIN_BROKEN)
        on_broken(&body);
    else if (frame->type == JOIN_GOODBYE)
        on_goodbye(server, client, &body);
    else
        require(false, "a frame of unknown type");
}

static void on_readable(struct server *server, struct client *client)
{
    size_t size;
    void *space = frame_reader_space(&client->reader, &size);
    ssize_t nbytes = recv(client->fd, space, size, 0);
    if (nbytes <= 0) {
        hang_up(client);
        if (client->joined && !client->said_goodbye)
            tell_end(server, client, HVD_ERR_PEER_LOST, RANK_END_DISCONNECTED);
        return;
    }
    struct frame frame;
    frame_reader_commit(&client->reader, (size_t)nbytes);
    while (client->fd >= 0 && frame_reader_next(&client->reader, &frame, NULL) > 0)
        client->sealed ? on_sealed(server, client, &frame) : on_open(server, client, &frame);
}

static void on_newcomer(struct server *server)
{
    struct client *client = &server->clients[server->count++];
    require(server->count < CLIENTS_MAX, "too many clients");
    *client = (struct client){ .fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC) };
    frame_reader_init(&client->reader, JOIN_PROVEN_MAX);
    if (server->options.turns_away-- > 0)
        hang_up(client);
}

static void serve(struct server *server)
{
    for (;;) {
        struct pollfd fds[CLIENTS_MAX + 1];
        int count = server->count;
        fds[0] = (struct pollfd){ .fd = server->listener, .events = POLLIN };
        for (int i = 0; i < count; i++)
            fds[i + 1] = (struct pollfd){ .fd = server->clients[i].fd, .events = POLLIN };
        poll(fds, (nfds_t)count + 1, -1);
        for (int i = 0; i < count; i++)
            if (fds[i + 1].revents && server->clients[i].fd >= 0)
                on_readable(server, &server->clients[i]);
        if (fds[0].revents)
            on_newcomer(server);
    }
}

static int listen_at(uint32_t host, int *port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)*port) };
    socklen_t length = sizeof address;
    int on = 1;
    address.sin_addr.s_addr = htonl(host);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0, "SO_REUSEADDR");
    require(bind(fd, (struct sockaddr *)&address, sizeof address) == 0, "bind");
    require(listen(fd, SOMAXCONN) == 0, "listen");
    require(getsockname(fd, (struct sockaddr *)&address, &length) == 0, "getsockname");
    *port = ntohs(address.sin_port);
    return fd;
}

/* The pipe of the answers: its reading and its writing end. */
static void open_reports(struct mini_rendezvous *mini, struct server *server)
{
    int ends[2] = { -1, -1 };
    if (server->options.asks)
        require(pipe2(ends, O_CLOEXEC) == 0, "pipe");
    mini->reports = ends[0];
    server->reports = ends[1];
}

static void close_end(int fd)
{
    if (fd >= 0)
        close(fd);
}

void mini_rendezvous_start(struct mini_rendezvous *mini, const struct mini_options *options)
{
    static struct server server;
    require(auth_init(NULL) == HVD_OK, "libsodium");
    server = (struct server){ .options = *options };
    if (options->again)
        require(job_key_parse(&server.key, options->again->key, NULL) == HVD_OK, "the key");
    else
        job_key_generate(&server.key);
    job_key_format(&server.key, mini->key);
    rank_certifier_generate(&server.certifier);
    mini->port = options->again ? options->again->port : 0;
    server.listener = listen_at(options->anywhere ? INADDR_ANY : INADDR_LOOPBACK, &mini->port);
    open_reports(mini, &server);
    fflush(NULL);
    mini->pid = fork();
    require(mini->pid >= 0, "fork");
    if (mini->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(&server);
    }
    close(server.listener);
    close_end(server.reports);
}

void mini_rendezvous_stop(struct mini_rendezvous *mini)
{
    if (mini->pid <= 0)
        return;
    kill(mini->pid, SIGKILL);
    waitpid(mini->pid, NULL, 0);
    close_end(mini->reports);
    mini->pid = 0;
}
