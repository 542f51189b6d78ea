/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt to connect to one address; see link_try.h. */
#include "lib/link/link_try.h"

#include "lib/base/descriptor.h"
#include "lib/link/congestion.h"

enum { TRY_MS = 3000 };

int link_try_begin(struct link_try *try, const struct socket_address *address, uint64_t now_ms,
                   struct err *err)
{
    int fd = socket_connect_prepared(address, congestion_begin, err);
    try->connection.fd = fd;
    try->handshaking = false;
    try->until_ms = now_ms + TRY_MS;
    return fd < 0 ? fd : HVD_OK;
}

static int connect_on(struct link_try *try, enum transport transport,
                      const struct link_identity *identity, const struct link_terms *terms,
                      struct rank_credentials *credentials, struct err *err)
{
    int fd = try->connection.fd;
    struct pollfd ready = { .fd = fd, .events = POLLOUT };
    if (poll(&ready, 1, 0) < 1)
        return 0;
    int rc = socket_connect_result(fd, err);
    if (rc == HVD_OK && socket_is_unix(fd))
        rc = socket_check_user(fd, err);
    if (rc < 0)
        return rc;
    link_connection_initiate(&try->connection, fd, transport, identity, terms, credentials);
    try->handshaking = true;
    return 0;
}

int link_try_move(struct link_try *try, enum transport transport,
                  const struct link_identity *identity, const struct link_terms *terms,
                  struct rank_credentials *credentials, uint64_t now_ms, struct err *err)
{
    int rc = try->handshaking ? 0 : connect_on(try, transport, identity, terms, credentials, err);
    if (rc == 0 && try->handshaking)
        rc = link_connection_move(&try->connection, err);
    if (rc == 0 && (link_try_is_committed(try) || link_try_is_sure(try)))
        try->until_ms = UINT64_MAX;
    if (rc == 0 && now_ms >= try->until_ms)
        return fail(err, HVD_ERR_PEER_LOST, "no answer");
    return rc;
}

bool link_try_is_committed(const struct link_try *try)
{
    return try->handshaking && try->connection.handshake.awaits >= AWAITS_READY;
}

bool link_try_is_sure(const struct link_try *try)
{
    return try->handshaking && try->connection.is_unix;
}

struct pollfd link_try_pollfd(const struct link_try *try)
{
    return (struct pollfd){ .fd = try->connection.fd,
                            .events = try->handshaking ? link_connection_events(&try->connection)
                                                       : POLLOUT };
}

void link_try_end(struct link_try *try)
{
    if (try->handshaking)
        link_connection_close(&try->connection);
    else
        descriptor_close(try->connection.fd);
}
