/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that become links; see link_connection.h. */
#include "lib/link/link_connection.h"

#include "lib/base/descriptor.h"
#include "lib/base/env_names.h"
#include "lib/link/link_handshake_run.h"
#include "lib/link/link_tcp.h"
#include "lib/link/socket.h"
#include "lib/link/tcp_unanswered.h"

static void link_connection_begin(struct link_connection *connection, int fd,
                                  enum transport transport)
{
    connection->fd = fd;
    connection->is_unix = socket_is_unix(fd);
    connection->initiates = connection->proved = connection->upgrading = false;
    connection->transport = transport;
    if (!connection->is_unix)
        socket_tune(fd, TCP_UNANSWERED_IDLE_S, TCP_UNANSWERED_LAST_PROBE);
}

static const struct link_terms *terms_of(const struct link_connection *connection,
                                         const struct link_terms *terms)
{
    static const struct link_terms none = { .encryption = ENCRYPTION_OFF };
    return connection->is_unix ? &none : terms;
}

void link_connection_initiate(struct link_connection *connection, int fd, enum transport transport,
                              const struct link_identity *identity, const struct link_terms *terms,
                              struct rank_credentials *credentials)
{
    link_connection_begin(connection, fd, transport);
    connection->initiates = true;
    link_handshake_initiate(&connection->handshake, identity, terms_of(connection, terms),
                            credentials);
}

void link_connection_accept(struct link_connection *connection, int fd, enum transport transport,
                            const struct link_terms *terms, struct rank_credentials *credentials)
{
    link_connection_begin(connection, fd, transport);
    link_handshake_accept(&connection->handshake, terms_of(connection, terms), credentials);
}

void link_connection_close(struct link_connection *connection)
{
    if (connection->upgrading)
        link_upgrade_fini(&connection->upgrade);
    link_handshake_wipe(&connection->handshake);
    descriptor_close(connection->fd);
    connection->fd = -1;
}

static void begin_upgrade(struct link_connection *connection)
{
    connection->upgrading = true;
    if (connection->initiates)
        link_upgrade_initiate(&connection->upgrade, connection->fd, connection->transport);
    else
        link_upgrade_accept(&connection->upgrade, connection->fd, connection->transport);
}

/* Our proof is on its way, and the peer has sent its own. */
static bool may_offer(const struct link_connection *connection)
{
    size_t length;
    link_handshake_output(&connection->handshake, &length);
    return connection->initiates && connection->handshake.awaits == AWAITS_READY && length == 0;
}

/* Like link_connection_move(). */
static int move_handshake(struct link_connection *connection, struct err *err)
{
    int rc = link_handshake_run(&connection->handshake, connection->fd, err);
    connection->proved = rc > 0;
    if (rc < 0 || !connection->is_unix)
        return rc;
    if (!connection->upgrading && (connection->proved || may_offer(connection)))
        begin_upgrade(connection);
    if (rc == 0 && connection->upgrading)
        rc = link_upgrade_speak(&connection->upgrade, connection->fd, err);
    return rc;
}

int link_connection_move(struct link_connection *connection, struct err *err)
{
    int rc = connection->proved ? 1 : move_handshake(connection, err);
    if (rc <= 0 || !connection->is_unix)
        return rc;
    return link_upgrade_move(&connection->upgrade, connection->fd, err);
}

short link_connection_events(const struct link_connection *connection)
{
    bool says = connection->upgrading && connection->upgrade.state == UPGRADE_SAYS;
    if (says || (connection->upgrading && connection->proved))
        return link_upgrade_events(&connection->upgrade);
    return link_handshake_run_events(&connection->handshake);
}

int link_connection_check_terms(const struct link_connection *connection, struct err *err)
{
    const struct link_handshake *handshake = &connection->handshake;
    const struct link_terms *own = &handshake->own, *its = &handshake->its;
    if (handshake->verdict != LINK_REFUSED)
        return HVD_OK;
    return fail(err, HVD_ERR_ENVIRONMENT, "%s is %s on rank %u and %s on rank %u", ENV_ENCRYPT,
                encryption_name((connection->initiates ? own : its)->encryption),
                handshake->identity.source,
                encryption_name((connection->initiates ? its : own)->encryption),
                handshake->identity.target);
}

/* Takes the descriptor over, also when out of memory. */
static struct link *make_tcp(struct link_connection *connection)
{
    const struct link_handshake *handshake = &connection->handshake;
    struct link *tcp = link_tcp_create(connection->fd);
    if (!tcp)
        descriptor_close(connection->fd);
    if (!tcp || handshake->verdict != LINK_ENCRYPTED)
        return tcp;
    struct link *link = link_encrypted_create(tcp, &handshake->keys);
    if (!link)
        link_close(tcp);
    return link;
}

static struct link *make_unix(struct link_connection *connection, struct err *err)
{
    struct link *link = link_upgrade_finish(&connection->upgrade, connection->fd, err);
    if (!link)
        descriptor_close(connection->fd);
    return link;
}

struct link *link_connection_link(struct link_connection *connection, struct err *err)
{
    struct link *link = connection->is_unix ? make_unix(connection, err) : make_tcp(connection);
    if (!link && !connection->is_unix)
        fail(err, HVD_ERR_NOMEM, "out of memory");
    link_handshake_wipe(&connection->handshake);
    connection->fd = -1;
    return link;
}

const char *link_connection_why(const struct link_connection *connection)
{
    return connection->upgrading ? connection->upgrade.why : "";
}
