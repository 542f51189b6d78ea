/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the rows of tests/bad/http.tsv to a server, each on a connection of its own, all at once,
 * and prints what came of each in the same first four columns: id, sentence, answers, end.
 *
 *   replay ADDRESS PORT KEY < tests/bad/http.tsv
 *
 * Whether a connection stays is seen by one more request on it, a health check. A row that is late
 * is waited for and has its `end` as the file says it; one that is not over when LIMIT_MS have
 * passed says "waits". Fails when it cannot connect. */
#include "tests/support/http_rows.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ROWS_MAX = 512, LIMIT_MS = 25000 };

static const char probe[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

struct client {
    struct http_row row;
    int fd; /* -1 when it is over */
    size_t sent;
    struct wire_writer received;
    bool probed;
    char answers[HTTP_ROW_TEXT_SIZE]; /* before the probe */
    const char *end;
};

static struct client clients[ROWS_MAX];
static int nclients;

static void stop(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static int dial(const char *address, const char *port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || inet_pton(AF_INET, address, &to.sin_addr) != 1 ||
        connect(fd, (struct sockaddr *)&to, sizeof to) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        stop("replay: connect");
    return fd;
}

static bool is_late(const struct client *client)
{
    return strcmp(client->row.end, "late") == 0;
}

static void end(struct client *client, const char *how)
{
    close(client->fd);
    client->fd = -1;
    client->end = is_late(client) && strcmp(how, "waits") != 0 ? "late" : how;
}

static void statuses(const struct client *client, char answers[HTTP_ROW_TEXT_SIZE])
{
    struct wire_writer text = { 0 };
    wire_put_bytes(&text, client->received.data, client->received.length);
    wire_put_u8(&text, 0);
    http_row_statuses((const char *)text.data, answers);
    wire_writer_fini(&text);
}

/* All that was expected has come: if there is one answer more, the connection stays. */
static void look(struct client *client)
{
    char now[HTTP_ROW_TEXT_SIZE], expected[2 * HTTP_ROW_TEXT_SIZE];
    statuses(client, now);
    snprintf(expected, sizeof expected, "%s,200", client->answers);
    if (client->probed && strcmp(now, expected) == 0) {
        end(client, "stays");
        return;
    }
    strcpy(client->answers, now);
    if (client->probed || strcmp(now, client->row.answers) != 0 || strcmp(now, "-") == 0)
        return;
    if (is_late(client))
        end(client, "late");
    else if (client->sent == client->row.request.length)
        client->probed = send(client->fd, probe, sizeof probe - 1, MSG_NOSIGNAL) > 0;
}

static void take(struct client *client)
{
    char bytes[16384];
    ssize_t n = recv(client->fd, bytes, sizeof bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        wire_put_bytes(&client->received, bytes, (size_t)n);
        look(client);
        return;
    }
    statuses(client, client->answers);
    end(client, "closes");
}

/* Bytes that cannot be sent are dropped, and the answer is read. */
static void give(struct client *client)
{
    const struct wire_writer *request = &client->row.request;
    ssize_t n = send(client->fd, request->data + client->sent, request->length - client->sent,
                     MSG_NOSIGNAL);
    if (n >= 0)
        client->sent += (size_t)n;
    else if (errno != EAGAIN && errno != EINTR)
        client->sent = request->length;
    if (client->sent == request->length)
        look(client);
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int wait_for_all(struct pollfd *fds, uint64_t until_ms)
{
    int open = 0;
    for (int i = 0; i < nclients; i++) {
        const struct client *client = &clients[i];
        bool more = client->sent < client->row.request.length;
        fds[i] = (struct pollfd){ client->fd, (short)(more ? POLLIN | POLLOUT : POLLIN), 0 };
        open += client->fd >= 0;
    }
    uint64_t now = now_ms();
    if (open > 0 && now < until_ms && poll(fds, (nfds_t)nclients, (int)(until_ms - now)) < 0)
        stop("replay: poll");
    return now < until_ms ? open : 0;
}

static void run(void)
{
    static struct pollfd fds[ROWS_MAX];
    uint64_t until_ms = now_ms() + LIMIT_MS;
    while (wait_for_all(fds, until_ms) > 0) {
        for (int i = 0; i < nclients; i++) {
            if (fds[i].revents & POLLOUT)
                give(&clients[i]);
            if (clients[i].fd >= 0 && fds[i].revents & (POLLIN | POLLHUP | POLLERR))
                take(&clients[i]);
        }
    }
}

static void print_and_free(struct client *client)
{
    if (client->fd >= 0)
        end(client, "waits");
    printf("%s\t%s\t%s\t%s\n", client->row.id, client->row.sentence, client->answers, client->end);
    http_row_fini(&client->row);
    wire_writer_fini(&client->received);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: replay ADDRESS PORT KEY < ROWS\n");
        return 2;
    }
    while (nclients < ROWS_MAX && http_row_next(stdin, argv[3], &clients[nclients].row)) {
        clients[nclients].fd = dial(argv[1], argv[2]);
        strcpy(clients[nclients++].answers, "-");
    }
    run();
    for (int i = 0; i < nclients; i++)
        print_and_free(&clients[i]);
    return EXIT_SUCCESS;
}
