/* SPDX-License-Identifier: Apache-2.0 */
/* What the encryption of a TCP link costs: two processes on 127.0.0.1, one of which sends and waits
 * for an answer of 8 bytes, while both spin; and the ciphers alone, which seal or open in a cache.
 *
 *   encryption [ROUNDS]
 *
 * "10 Gbit/s" is TCP whose sender is held to 1.25 GB/s, as by a network. TSV: what, bytes, median
 * and least microseconds, GB/s of the median, and the ratio to the plain link of the same row. The
 * ways take turns, all of them once in each round. */
#include "bench/support/sample.h"
#include "lib/base/auth.h"
#include "lib/link/link_encrypted.h"
#include "lib/link/link_tcp.h"

#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LARGEST = 16 << 20, ANSWER = 8, PACES = 2 };

static const unsigned long long paces[PACES] = { 0, 1250000000ull }; /* bytes per second; 0: none */
static const size_t sizes[] = { 64, 4096, 65536, 1 << 20, LARGEST };
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Link 0 of each pace is plain; the others have the cipher of their number. */
enum { WAYS = CIPHER_CHACHA20POLY1305 + 1 };

static struct link *links[PACES][WAYS];
static unsigned char *data;

/* ---- links ---- */

static void connect_pair(int ends[2])
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (const void *)&address, length) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (void *)&address, &length) != 0 ||
        connect(ends[0], (const void *)&address, length) != 0)
        err(1, "a link over TCP");
    ends[1] = accept(listener, NULL, NULL);
    close(listener);
    for (int i = 0; i < 2; i++) {
        setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
        fcntl(ends[i], F_SETFL, O_NONBLOCK);
    }
}

/* `end` is 0 in the process that sends, 1 in the other. */
static struct link *make_link(int fd, int end, enum cipher cipher)
{
    struct link_keys keys = { .cipher = cipher };
    memset(&keys.send, 1 + end, sizeof keys.send);
    memset(&keys.receive, 2 - end, sizeof keys.receive);
    struct link *tcp = link_tcp_create(fd);
    struct link *link = cipher == CIPHER_NONE ? tcp : link_encrypted_create(tcp, &keys);
    if (!tcp || !link)
        errx(1, "out of memory");
    return link;
}

static void make_links(int fds[PACES][WAYS], int end)
{
    for (int pace = 0; pace < PACES; pace++)
        for (int way = 0; way < WAYS; way++)
            links[pace][way] = make_link(fds[pace][way], end, (enum cipher)way);
}

/* ---- moving bytes ---- */

typedef ssize_t move_fn(struct link *link, const struct iovec *parts, int count, struct err *err);

static void move_all(move_fn *move, struct link *link, size_t nbytes)
{
    struct err failure;
    for (size_t done = 0; done < nbytes;) {
        struct iovec rest = { data + done, nbytes - done };
        ssize_t moved = move(link, &rest, 1, &failure);
        if (moved < 0)
            errx(1, "%s", failure.text);
        done += (size_t)moved;
    }
}

/* Receives and answers until the number of bytes is 0. */
static void answer_all(int fds[PACES][WAYS])
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    make_links(fds, 1);
    for (;;) {
        size_t head[3];
        move_all(link_try_receive_parts, links[0][0], sizeof head);
        memcpy(head, data, sizeof head);
        if (head[2] == 0)
            _exit(0);
        move_all(link_try_receive_parts, links[head[0]][head[1]], head[2]);
        move_all(link_try_send, links[head[0]][head[1]], ANSWER);
    }
}

static double send_once(size_t pace, size_t way, size_t nbytes)
{
    size_t head[3] = { pace, way, nbytes };
    memcpy(data, head, sizeof head);
    move_all(link_try_send, links[0][0], sizeof head);
    double start = now_us();
    move_all(link_try_send, links[pace][way], nbytes);
    move_all(link_try_receive_parts, links[pace][way], ANSWER);
    return now_us() - start;
}

/* The other process ends. */
static void end_other(void)
{
    memset(data, 0, sizeof(size_t[3]));
    move_all(link_try_send, links[0][0], sizeof(size_t[3]));
}

/* ---- what is printed ---- */

static double rounds_us[PACES][SIZES][WAYS][ROUNDS_MAX];

static void print_row(const char *what, size_t nbytes, double *values, int rounds, double plain_us)
{
    double middle = median(values, rounds);
    printf("%s\t%zu\t%.1f\t%.1f\t%.2f\t", what, nbytes, middle, size_min(values, rounds),
           (double)nbytes / middle / 1e3);
    printf(plain_us > 0 ? "%.2f\n" : "-\n", plain_us > 0 ? middle / plain_us : 0);
}

static void print_links(int rounds)
{
    for (int pace = 0; pace < PACES; pace++)
        for (int size = 0; size < SIZES; size++) {
            double plain = median(rounds_us[pace][size][0], rounds);
            for (int way = 0; way < WAYS; way++) {
                char what[64];
                snprintf(what, sizeof what, "%s, %s", pace ? "10 Gbit/s" : "loopback",
                         way ? cipher_name((enum cipher)way) : "plain");
                print_row(what, sizes[size], rounds_us[pace][size][way], rounds, plain);
            }
        }
}

/* Seals or opens `nbytes` as records, in a cache: microseconds. */
static double run_cipher(enum cipher cipher, bool opens, size_t nbytes)
{
    static unsigned char record[RECORD_MAX], opened[RECORD_DATA_MAX];
    static struct record_stream stream, opener;
    struct record_keys keys = { .data = { 1 } };
    double spent = 0;
    record_stream_init(&stream, cipher, &keys);
    record_stream_init(&opener, cipher, &keys);
    for (size_t done = 0; done < nbytes; done += RECORD_DATA_MAX) {
        double start = now_us();
        record_seal(&stream, record, data, RECORD_DATA_MAX);
        if (opens) {
            size_t length;
            start = now_us();
            if (record_header_open(&opener, record, &length, NULL) < 0 ||
                record_open(&opener, record, opened, length, NULL) < 0)
                errx(1, "a record cannot be opened");
        }
        spent += now_us() - start;
    }
    return spent;
}

static void measure_ciphers(int rounds)
{
    static double values[ROUNDS_MAX];
    for (int way = 1; way < WAYS; way++)
        for (int opens = 0; opens < 2; opens++) {
            char what[64];
            for (int round = 0; round < rounds; round++)
                values[round] = run_cipher((enum cipher)way, opens, LARGEST);
            snprintf(what, sizeof what, "%s %s", cipher_name((enum cipher)way),
                     opens ? "opens" : "seals");
            print_row(what, LARGEST, values, rounds, 0);
        }
}

static void open_sockets(int fds[2][PACES][WAYS])
{
    for (int pace = 0; pace < PACES; pace++)
        for (int way = 0; way < WAYS; way++) {
            int ends[2];
            connect_pair(ends);
            if (paces[pace])
                setsockopt(ends[0], SOL_SOCKET, SO_MAX_PACING_RATE, &paces[pace],
                           sizeof paces[pace]);
            fds[0][pace][way] = ends[0];
            fds[1][pace][way] = ends[1];
        }
}

static void measure_links(int rounds)
{
    for (int round = -1; round < rounds; round++)
        for (int pace = 0; pace < PACES; pace++)
            for (int size = 0; size < SIZES; size++)
                for (int way = 0; way < WAYS; way++) {
                    double took = send_once((size_t)pace, (size_t)way, sizes[size]);
                    if (round >= 0)
                        rounds_us[pace][size][way][round] = took;
                }
}

int main(int argc, char **argv)
{
    int fds[2][PACES][WAYS];
    int rounds = argc > 1 ? (int)number_argument("ROUNDS", argv[1], 1, ROUNDS_MAX) : 21;
    if (auth_init(NULL) < 0 || !(data = calloc(1, LARGEST)))
        errx(1, "out of memory");
    if (!(cipher_supported() & 1u << CIPHER_AES256GCM))
        errx(1, "this processor has no instructions for AES");
    open_sockets(fds);
    if (fork() == 0)
        answer_all(fds[1]);
    make_links(fds[0], 0);
    measure_links(rounds);
    end_other();
    puts("what\tbytes\tmedian_us\tmin_us\tGB/s\tratio");
    print_links(rounds);
    measure_ciphers(rounds);
    return 0;
}
