/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of authenticated clients, for bench/unauthenticated.sh. gets: so many connections at
 * once, each with a key and one GET; all stay until the last has its answer. joins: worlds of
 * two, one after the other, each by the library's own way to the rendezvous, both ranks at once.
 * Print "count failures p50_ms p99_ms max_ms"; a time begins when the connection is asked for. */
#include "tests/support/unauthenticated.h"

#include "lib/join/bootstrap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { COUNT_MAX = 19000, LIMIT_MS = 60000, EVENTS = 256 };

static int compare_times(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static int print_times(double *times_ms, int count, int failures)
{
    qsort(times_ms, (size_t)count, sizeof *times_ms, compare_times);
    double p50 = count ? times_ms[count / 2] : 0,
           p99 = count ? times_ms[count - 1 - count / 100] : 0;
    printf("%d %d %.1f %.1f %.1f\n", count + failures, failures, p50, p99,
           count ? times_ms[count - 1] : 0);
    return failures > 0;
}

/* ---- gets ---- */

struct get {
    int fd;
    uint64_t began_ms;
    bool asked, done;
};

static struct get gets[COUNT_MAX];
static double times_ms[COUNT_MAX];
static int ntimes, nfailures;

static void start_get(struct get *get, int poll_fd)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)unauthenticated_port) };
    struct epoll_event event = { .events = EPOLLOUT, .data.ptr = get };
    inet_pton(AF_INET, unauthenticated_address, &to.sin_addr);
    get->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    get->began_ms = now_ms();
    if (get->fd < 0 ||
        (connect(get->fd, (struct sockaddr *)&to, sizeof to) < 0 && errno != EINPROGRESS) ||
        epoll_ctl(poll_fd, EPOLL_CTL_ADD, get->fd, &event) < 0)
        stop("connect: %m");
}

static void end_get(struct get *get, bool answered)
{
    get->done = true;
    if (answered)
        times_ms[ntimes++] = (double)(now_ms() - get->began_ms);
    else
        nfailures++;
}

static void on_get(struct get *get, int poll_fd, const char *request)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = get };
    char answer[4096];
    if (!get->asked) {
        get->asked = true;
        send(get->fd, request, strlen(request), MSG_NOSIGNAL);
        epoll_ctl(poll_fd, EPOLL_CTL_MOD, get->fd, &event);
        return;
    }
    ssize_t n = recv(get->fd, answer, sizeof answer, 0);
    if (n < 0 && errno == EAGAIN)
        return;
    end_get(get, n > 12 && memcmp(answer, "HTTP/1.1 200", 12) == 0);
    epoll_ctl(poll_fd, EPOLL_CTL_DEL, get->fd, NULL);
}

int unauthenticated_gets(char **arguments)
{
    int count = atoi(arguments[1]), poll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event events[EVENTS];
    struct rlimit limit;
    char request[256];
    if (count < 1 || count > COUNT_MAX)
        stop("1 to %d connections", COUNT_MAX);
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    snprintf(request, sizeof request,
             "GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n\r\n", arguments[0]);
    uint64_t until_ms = now_ms() + LIMIT_MS;
    for (int started = 0; ntimes + nfailures < count && now_ms() < until_ms;) {
        for (int n = 0; n < 64 && started < count; n++)
            start_get(&gets[started++], poll_fd);
        int ready = epoll_wait(poll_fd, events, EVENTS, started < count ? 0 : 100);
        for (int i = 0; i < ready; i++)
            on_get(events[i].data.ptr, poll_fd, request);
    }
    return print_times(times_ms, ntimes, count - ntimes);
}

/* ---- joins ---- */

struct rank {
    struct environment environment;
    struct rank_assignment assignment;
    pthread_t thread;
    int status;
    struct err err;
};

static void *join_world(void *argument)
{
    struct rank *rank = argument;
    rank->status = bootstrap_join(&rank->assignment, &rank->environment, 1, &rank->err);
    return NULL;
}

static void prepare(struct rank *rank, const struct job_key *service, const char *job)
{
    struct environment *environment = &rank->environment;
    *rank = (struct rank){ .assignment.connection.fd = -1, .assignment.listener = NO_LISTENER };
    environment->rank_info =
        (struct rank_info){ .rank = -1, .size = 2, .local_size = 1, .cross_size = 1 };
    environment->has_rendezvous = environment->is_service = true;
    snprintf(environment->rendezvous_host, sizeof environment->rendezvous_host, "%s",
             unauthenticated_address);
    environment->rendezvous_port = unauthenticated_port;
    environment->join_timeout_s = JOIN_TIMEOUT_S;
    strcpy(environment->job, job);
    strcpy(environment->host, "here");
    job_key_derive(&environment->key, service, job);
}

static bool start_world(const struct job_key *service, int number)
{
    static struct rank ranks[2];
    char job[32];
    bool joined = true;
    snprintf(job, sizeof job, "start%d", number);
    for (int i = 0; i < 2; i++) {
        prepare(&ranks[i], service, job);
        if (pthread_create(&ranks[i].thread, NULL, join_world, &ranks[i]) != 0)
            stop("no thread");
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(ranks[i].thread, NULL);
        joined = joined && ranks[i].status == HVD_OK;
        if (ranks[i].status != HVD_OK)
            fprintf(stderr, "%s\n", ranks[i].err.text);
    }
    for (int i = 0; i < 2; i++) {
        if (ranks[i].status == HVD_OK)
            join_goodbye(&ranks[i].assignment.connection,
                         &(struct rank_end){ .rank = RANK_NONE, .because_of = RANK_NONE });
        rank_assignment_fini(&ranks[i].assignment);
    }
    return joined;
}

int unauthenticated_joins(char **arguments)
{
    struct job_key service;
    int count = atoi(arguments[1]);
    if (job_key_parse(&service, arguments[0], NULL) < 0 || count < 1 || count > COUNT_MAX)
        stop("no key, or no count");
    for (int i = 0; i < count; i++) {
        uint64_t began_ms = now_ms();
        if (start_world(&service, i))
            times_ms[ntimes++] = (double)(now_ms() - began_ms);
    }
    return print_times(times_ms, ntimes, count - ntimes);
}
