/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to a place in a world; see bootstrap.h. */
#include "lib/bootstrap.h"

#include "lib/ring_schedule.h"
#include "lib/socket.h"

#include <string.h>
#include <unistd.h>

static bool rendezvous_applies(const struct environment *environment)
{
    return environment->has_rendezvous;
}

static bool alone_applies(const struct environment *environment)
{
    return environment->place.size == 1;
}

static int alone_join(struct membership *membership, const struct environment *environment,
                      struct err *err)
{
    (void)environment;
    (void)err;
    membership->welcome.place = (struct place){ .size = 1, .local_size = 1, .cross_size = 1 };
    membership->welcome.homogeneous = true;
    return HVD_OK;
}

/* Opens the port for the left neighbour and tells where it is. */
static int offer_port(struct membership *membership, struct join_hello *hello, struct err *err)
{
    struct socket_address where;
    int fd = socket_listen_beside(membership->connection.fd, &where, err);
    if (fd < 0)
        return fd;
    membership->listener = fd;
    socket_address_format(&where, hello->addresses.text[0]);
    hello->addresses.count = 1;
    return HVD_OK;
}

static int check_welcome(const struct join_welcome *welcome, const struct environment *environment,
                         struct err *err)
{
    int rank = welcome->place.rank, size = welcome->place.size;
    if (rank != environment->place.rank || size != environment->place.size)
        return fail(err, HVD_ERR_PROTOCOL, "asked for rank %d of %d, was given %d of %d",
                    environment->place.rank, environment->place.size, rank, size);
    if (size > 1 && (welcome->left.rank != ring_left(rank, size) ||
                     welcome->right.rank != ring_right(rank, size)))
        return fail(err, HVD_ERR_PROTOCOL, "was given ranks %d and %d as neighbours",
                    welcome->left.rank, welcome->right.rank);
    return HVD_OK;
}

static int say_hello(struct membership *membership, const struct environment *environment,
                     struct err *err)
{
    struct join_hello hello = {
        .rank = environment->place.rank,
        .size = environment->place.size,
        .pid = (int)getpid(),
    };
    memcpy(hello.host, environment->host, sizeof hello.host);
    int rc = hello.size > 1 ? offer_port(membership, &hello, err) : HVD_OK;
    if (rc == HVD_OK)
        rc = join_hello(&membership->connection, &hello, err);
    if (rc == HVD_OK)
        rc = join_wait(&membership->connection, &membership->welcome, err);
    if (rc == HVD_OK)
        rc = check_welcome(&membership->welcome, environment, err);
    return rc;
}

static int rendezvous_join(struct membership *membership, const struct environment *environment,
                           struct err *err)
{
    membership->key = environment->key;
    int rc = join_open(&membership->connection, environment->rendezvous_host,
                       environment->rendezvous_port, &membership->key, err);
    if (rc < 0)
        return rc;
    rc = say_hello(membership, environment, err);
    if (rc < 0)
        fail_context(err, "join %s:%d", environment->rendezvous_host, environment->rendezvous_port);
    return rc;
}

static const struct bootstrap ways[] = {
    { "rendezvous", rendezvous_applies, rendezvous_join },
    { "alone", alone_applies, alone_join },
};

int bootstrap_join(struct membership *membership, const struct environment *environment,
                   struct err *err)
{
    *membership = (struct membership){ .connection.fd = -1, .listener = -1 };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (ways[i].applies(environment))
            return ways[i].join(membership, environment, err);
    return fail(err, HVD_ERR_ENVIRONMENT, "nothing tells how to find the other ranks");
}

void membership_fini(struct membership *membership)
{
    join_close(&membership->connection);
    if (membership->listener >= 0)
        close(membership->listener);
    membership->listener = -1;
    job_key_wipe(&membership->key);
}
