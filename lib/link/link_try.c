/* SPDX-License-Identifier: Apache-2.0 */
/* One try at one address; see link_try.h. */
#include "lib/link/link_try.h"

#include "lib/link/descriptor.h"
#include "lib/link/link_greet.h"

enum { TRY_MS = 3000 };

int link_try_begin(struct link_try *try, const struct socket_address *address, uint64_t now_ms,
                   struct err *err)
{
    try->fd = socket_connect(address, err);
    try->greeting = false;
    try->until_ms = now_ms + TRY_MS;
    return try->fd < 0 ? try->fd : HVD_OK;
}

static int connect_on(struct link_try *try, const struct link_identity *identity,
                      const struct job_key *key, struct err *err)
{
    struct pollfd ready = { .fd = try->fd, .events = POLLOUT };
    if (poll(&ready, 1, 0) < 1)
        return 0;
    int rc = socket_connect_result(try->fd, err);
    if (rc < 0)
        return rc;
    socket_tune(try->fd, NULL);
    link_handshake_initiate(&try->handshake, identity, key);
    try->greeting = true;
    return 0;
}

int link_try_move(struct link_try *try, const struct link_identity *identity,
                  const struct job_key *key, uint64_t now_ms, struct err *err)
{
    int rc = try->greeting ? 0 : connect_on(try, identity, key, err);
    if (rc == 0 && try->greeting)
        rc = link_greet(&try->handshake, try->fd, err);
    if (rc == 0 && link_try_is_committed(try))
        try->until_ms = UINT64_MAX;
    if (rc == 0 && now_ms >= try->until_ms)
        return fail(err, HVD_ERR_PEER_LOST, "no answer");
    return rc;
}

bool link_try_is_committed(const struct link_try *try)
{
    return try->greeting && try->handshake.awaits >= AWAITS_READY;
}

struct pollfd link_try_pollfd(const struct link_try *try)
{
    return (struct pollfd){ .fd = try->fd,
                            .events =
                                try->greeting ? link_greet_events(&try->handshake) : POLLOUT };
}

void link_try_end(struct link_try *try)
{
    descriptor_close(try->fd);
    try->fd = -1;
}
