/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in which a process finds its rank in a world; see bootstrap.h. */
#include "lib/join/bootstrap.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/join/manager_join.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int bootstrap_join_alone(struct rank_assignment *assignment, const struct environment *environment,
                         struct err *err)
{
    (void)err;
    assignment->welcome.rank_info =
        (struct rank_info){ .size = 1, .local_size = 1, .cross_size = 1 };
    assignment->welcome.homogeneous = true;
    assignment->welcome.epoch = environment->epoch;
    assignment->welcome.star = 1;
    return HVD_OK;
}

/* Opens the unix socket for the ranks of this host. Without it they use TCP, and log so. */
static void offer_unix(struct listener *listener, enum transport transport)
{
    if (transport != TRANSPORT_TCP)
        (void)listener_open_unix(listener, NULL);
}

/* Names the rank, because other ranks of the host may have succeeded. */
static int fail_to_listen(const struct environment *environment, struct err *err)
{
    int rank = environment->rank_info.rank;
    if (environment->elastic && environment->worker >= 0)
        return fail_context(err, "worker %d on %s", environment->worker, environment->host);
    if (rank >= 0)
        return fail_context(err, "rank %d on %s", rank, environment->host);
    return fail_context(err, "a worker on %s", environment->host);
}

static int listen_for_ranks(struct rank_assignment *assignment,
                            const struct environment *environment, struct err *err)
{
    const struct rank_info *rank_info = &environment->rank_info;
    int rank = rank_info->rank >= 0 ? rank_info->rank : (int)getpid();
    bool on_loopback = rank_info->local_size == rank_info->size && !environment->elastic;
    int rc =
        assignment->network.limited && !on_loopback
            ? listener_open_at(&assignment->listener, &environment->ports, rank,
                               &assignment->network.interfaces, err)
            : listener_open(&assignment->listener, &environment->ports, rank, on_loopback, err);
    return rc < 0 ? fail_to_listen(environment, err) : rc;
}

/* Opens the port for other ranks and stores its addresses. A job that is known to be on one host
 * listens on no network. With a service the hosts are known too late for that, and an elastic job
 * may get others. */
static int offer_port(struct rank_assignment *assignment, const struct environment *environment,
                      struct err *err)
{
    struct interfaces all;
    int rc = interfaces_read(&all, err);
    if (rc == HVD_OK)
        rc = network_init(&assignment->network, environment->host, &all, environment->interfaces,
                          err);
    if (rc == HVD_OK)
        rc = listen_for_ranks(assignment, environment, err);
    if (rc < 0)
        return rc;
    assignment->network.transport = environment->transport;
    offer_unix(&assignment->listener, environment->transport);
    network_addresses(&assignment->network, &assignment->listener, &assignment->addresses);
    return HVD_OK;
}

/* The neighbours' ranks have been checked already. */
static int check_welcome(const struct join_welcome *welcome, const struct environment *environment,
                         struct err *err)
{
    int rank = welcome->rank_info.rank, size = welcome->rank_info.size;
    bool any = environment->rank_info.rank < 0;
    if (welcome->epoch < environment->epoch)
        return fail(err, HVD_ERR_PROTOCOL, "asked for epoch %u or a later one, was given %u",
                    environment->epoch, welcome->epoch);
    if (environment->elastic)
        return HVD_OK;
    if (any && size != environment->rank_info.size)
        return fail(err, HVD_ERR_PROTOCOL, "asked for a size of %d, was given %d",
                    environment->rank_info.size, size);
    if (!any && (rank != environment->rank_info.rank || size != environment->rank_info.size))
        return fail(err, HVD_ERR_PROTOCOL, "asked for rank %d of %d, was given %d of %d",
                    environment->rank_info.rank, environment->rank_info.size, rank, size);
    return HVD_OK;
}

static int say_hello(struct rank_assignment *assignment, const struct environment *environment,
                     struct err *err)
{
    bool elastic = environment->elastic;
    struct join_hello hello = {
        .rank = elastic ? -1 : environment->rank_info.rank,
        .size = elastic ? 0 : environment->rank_info.size,
        .worker = environment->worker,
        .epoch = environment->epoch,
        .pid = (int)getpid(),
        .processors = assignment->processors,
    };
    memcpy(hello.host, environment->host, sizeof hello.host);
    rank_credentials_generate(&assignment->credentials);
    memcpy(hello.key, assignment->credentials.public, sizeof hello.key);
    int rc = hello.size != 1 ? offer_port(assignment, environment, err) : HVD_OK;
    hello.addresses = assignment->addresses;
    if (rc == HVD_OK)
        rc = join_hello(&assignment->connection, &hello, err);
    if (rc == HVD_OK)
        rc = join_wait(&assignment->connection, JOIN_ANSWER_MS, &assignment->welcome, err);
    if (rc == HVD_OK)
        rc = check_welcome(&assignment->welcome, environment, err);
    return rc;
}

/* A rendezvous that does not accept the key, or does not know the job, closes without an answer. */
static int explain(const struct rank_assignment *assignment, const struct environment *environment,
                   int rc, struct err *err)
{
    if (rc == HVD_ERR_PEER_LOST && assignment->connection.stage == JOIN_ASSIGNED)
        return fail_context(err, "%s hung up while this rank waited for others",
                            assignment->connection.server_name);
    if (rc != HVD_ERR_PEER_LOST || assignment->connection.stage != JOIN_SAID_HELLO)
        return rc;
    if (environment->server)
        return fail_context(err, "%s hung up; it is gone or has another key of the job",
                            assignment->connection.server_name);
    if (environment->is_service)
        return fail_context(err,
                            "the rendezvous hung up; it is gone or does not accept this "
                            "HVD_JOB_KEY for job %s",
                            environment->job);
    return fail_context(err, "the rendezvous hung up; it is gone or does not accept this "
                             "HVD_JOB_KEY");
}

/* "192.0.2.1:80" or "[2001:db8::1]:80", as rank 0 has published it. */
static bool split_address(const char *address, char host[JOIN_ADDRESS_MAX], int *port)
{
    const char *colon = strrchr(address, ':');
    size_t length = colon ? (size_t)(colon - address) : 0, bracket = address[0] == '[';
    if (length <= 2 * bracket || length >= JOIN_ADDRESS_MAX)
        return false;
    snprintf(host, JOIN_ADDRESS_MAX, "%.*s", (int)(length - 2 * bracket), address + bracket);
    *port = atoi(colon + 1);
    return *port > 0;
}

/* Dials the addresses of the rank that serves the rendezvous, until one answers. */
static int open_to_server(struct rank_assignment *assignment, const struct join_target *target,
                          uint64_t deadline_ms, struct err *err)
{
    const struct join_addresses *addresses = &target->server->addresses;
    int rc = fail(err, HVD_ERR_PROTOCOL, "rank 0 has no address");
    for (int i = 0; i < addresses->count && rc < 0; i++) {
        struct join_target one = *target;
        char host[JOIN_ADDRESS_MAX];
        if (!split_address(addresses->text[i], host, &one.port))
            continue;
        one.host = host;
        rc = join_open(&assignment->connection, &one, deadline_ms, err);
        if (rc < 0)
            fail_context(err, "%s", addresses->text[i]);
    }
    return rc;
}

static int attempt(struct rank_assignment *assignment, const struct environment *environment,
                   uint64_t deadline_ms, struct err *err)
{
    struct join_target target = {
        .host = environment->rendezvous_host,
        .port = environment->rendezvous_port,
        .job = environment->job,
        .key_of = environment->key_of,
        .server_name = environment->server       ? assignment->server_name
                       : environment->is_service ? "the rendezvous"
                                                 : "the launcher",
        .key = &assignment->key,
        .server = environment->server,
    };
    int rc = target.server ? open_to_server(assignment, &target, deadline_ms, err)
                           : join_open(&assignment->connection, &target, deadline_ms, err);
    if (rc < 0)
        return rc;
    rc = say_hello(assignment, environment, err);
    return explain(assignment, environment, rc, err);
}

static void close_all(struct rank_assignment *assignment)
{
    join_close(&assignment->connection);
    listener_close(&assignment->listener);
}

static uint32_t random_number(void)
{
    unsigned char nonce[NONCE_SIZE];
    uint32_t number;
    nonce_generate(nonce);
    memcpy(&number, nonce, sizeof number);
    return number;
}

/* Adds to the error what was dialled, and how long it was tried, if more than once. */
static int tell_where(const struct rank_assignment *assignment,
                      const struct environment *environment, const struct join_retry *retry,
                      uint64_t took_ms, struct err *err)
{
    const char *host = environment->rendezvous_host;
    bool numeric_ipv6 = strchr(host, ':') != NULL;
    char tried[64] = "";
    if (retry->attempts > 1)
        snprintf(tried, sizeof tried, ", %d times in %" PRIu64 ".%" PRIu64 " s", retry->attempts,
                 took_ms / 1000, took_ms % 1000 / 100);
    if (environment->server)
        return fail_context(err, "join %s%s", assignment->server_name, tried);
    return fail_context(err, numeric_ipv6 ? "join [%s]:%d%s" : "join %s:%d%s", host,
                        environment->rendezvous_port, tried);
}

/* A launcher's rendezvous exists before its workers; a service may start after them. */
int bootstrap_join_rendezvous(struct rank_assignment *assignment,
                              const struct environment *environment, struct err *err)
{
    struct join_retry retry;
    uint64_t pause_ms, start_ms = monotonic_ms();
    assignment->key = environment->key;
    join_retry_init(&retry, start_ms + (uint64_t)environment->join_timeout_s * 1000,
                    environment->is_service);
    int rc;
    while ((rc = attempt(assignment, environment, retry.deadline_ms, err)) < 0 &&
           join_retry_next(&retry, assignment->connection.stage, rc, monotonic_ms(),
                           random_number(), &pause_ms)) {
        close_all(assignment);
        poll(NULL, 0, (int)pause_ms);
    }
    return rc < 0 ? tell_where(assignment, environment, &retry, monotonic_ms() - start_ms, err)
                  : HVD_OK;
}

static const struct bootstrap ways[] = {
    { BOOTSTRAP_SERVICE, bootstrap_join_rendezvous },
    { BOOTSTRAP_HVDRUN, bootstrap_join_rendezvous },
    { BOOTSTRAP_PMIX, manager_join },
    { BOOTSTRAP_PMI2, manager_join },
    { BOOTSTRAP_PMI1, manager_join },
    { BOOTSTRAP_PMI_LIBRARY, manager_join },
    { BOOTSTRAP_ALONE, bootstrap_join_alone },
};

static void log_choice(const struct bootstrap_choice *choice)
{
    if (choice->unused)
        log_line(LOG_INFO, -1, "hvd_init: bootstrap %s, because of %s; %s is set too, and not used",
                 choice->name, choice->reason, choice->unused);
    else if (choice->reason)
        log_line(LOG_INFO, -1, "hvd_init: bootstrap %s, because of %s", choice->name,
                 choice->reason);
    else
        log_line(LOG_INFO, -1, "hvd_init: bootstrap %s, because no launcher has set anything",
                 choice->name);
}

int bootstrap_join(struct rank_assignment *assignment, const struct environment *environment,
                   int processors, struct err *err)
{
    *assignment = (struct rank_assignment){ .connection.fd = -1,
                                            .listener = NO_LISTENER,
                                            .processors = processors };
    log_choice(&environment->bootstrap);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (ways[i].kind == environment->bootstrap.kind)
            return ways[i].join(assignment, environment, err);
    return fail(err, HVD_ERR_ENVIRONMENT, "nothing tells how to find the other ranks");
}

void rank_assignment_fini(struct rank_assignment *assignment)
{
    close_all(assignment);
    rendezvous_thread_leave(assignment->rendezvous);
    assignment->rendezvous = NULL;
    job_key_wipe(&assignment->key);
    rank_credentials_wipe(&assignment->credentials);
}
