/* SPDX-License-Identifier: Apache-2.0 */
/* Links to other ranks, made on demand, at the start and later. Of each pair the lower rank dials,
 * and the higher rank accepts on a port that stays open as long as the world. Both sides of a link
 * prove themselves (link_handshake.h). Every link belongs to a channel, so that a pair may have
 * several links.
 *
 * A link that arrives before this rank wants it is kept, up to 1024 of them; unauthenticated peers
 * never get that far, and cannot make anything fail (link_accept.h). Hundreds of links may be
 * wanted at a time: 32 are dialled at once. Fails with HVD_ERR_TIMEOUT when a wanted link has not
 * arrived after 30 seconds, with HVD_ERR_AUTH or HVD_ERR_PROTOCOL when an unauthenticated peer
 * answers, and with HVD_ERR_SYSTEM. Each text names the rank and its host, and every address that
 * was dialled with its outcome. The accepting side waits 2 seconds longer than the dialling side,
 * which knows the reason. But when the accepting side has had no descriptor for a connection for 5
 * seconds, it knows the reason and reports it.
 *
 * TCP links are encrypted as HVD_ENCRYPT says (lib/base/encryption.h); the log says so once. If one
 * rank requires that and the other has turned it off, both fail with HVD_ERR_ENVIRONMENT, which
 * names both ranks.
 *
 * Two ranks of one host share memory if they can and want to (transport.h); otherwise the link is a
 * unix socket, or TCP. When a link is less than it could be, the log says so once, with the reason;
 * with HVD_TRANSPORT=shm the linker fails with HVD_ERR_ENVIRONMENT.
 *
 * The accepting side is done when it has sent its last byte, the dialling side when it has received
 * that byte. If the connection breaks in between, the lower rank dials again and the higher rank
 * takes the newest link that it has. If the higher rank had taken the first link already, it holds
 * a dead link, and will find its peer lost. */
#ifndef LIB_LINK_LINKER_H
#define LIB_LINK_LINKER_H

#include "lib/base/encryption.h"
#include "lib/base/join_protocol.h"
#include "lib/base/rank_credentials.h"
#include "lib/base/status.h"
#include "lib/link/link.h"
#include "lib/link/listener.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

enum { LINKER_TIMEOUT_MS = 30000, LINKER_GRACE_MS = 2000, LINKER_SHUT_MS = 5000 };

struct linker;
struct network;

struct linker_options {
    struct listener listener;                   /* or NO_LISTENER */
    const struct rank_credentials *credentials; /* of this rank in this world; copied, wiped by
                                                 * linker_destroy() */
    int streams; /* HVD_STREAMS; a peer with another number is an error of the world */
    enum encryption encryption;    /* HVD_ENCRYPT; so is a peer whose setting does not fit */
    const struct network *network; /* borrowed; NULL: addresses are tried in the given order,
                                    * connections to any address are accepted, and no rank is known
                                    * to be on the same host */
};

/* Takes over the listener (none: a world of one, which never wants a link), unless it returns
 * NULL. */
struct linker *linker_create(const struct linker_options *options, struct err *err);
void linker_destroy(struct linker *linker);

/* Wants the link to `peer` (copied) that belongs to `channel`; both identify the link. It may have
 * arrived already. Wanting it twice changes nothing; once taken, it can be wanted anew. */
int linker_want(struct linker *linker, const struct join_peer *peer, uint32_t channel,
                uint64_t now_ms, struct err *err);

/* True if linker_take() would return the link. */
bool linker_has(const struct linker *linker, int rank, uint32_t channel);

/* The link, of any type, which then belongs to the caller, or NULL if it has not arrived yet. */
struct link *linker_take(struct linker *linker, int rank, uint32_t channel);

/* Forgets `channel`, for instance because a rank that belongs to it has left: links that have not
 * arrived do not time out, links that were not taken are closed. */
void linker_forget(struct linker *linker, uint32_t channel);

/* True if links have arrived that were not taken. */
bool linker_keeps_links(const struct linker *linker);

/* Goes on after the wait. 1 if a wanted link has arrived since the last call that returned 1, 0 if
 * not, or a negative status. */
int linker_move(struct linker *linker, uint64_t now_ms, struct err *err);

/* The number of descriptors to wait for; fills in as many as `capacity` allows and lowers
 * `*until_ms` to the next timeout. When no link is wanted these are only the listeners, without a
 * timeout, unless unauthenticated peers are in their handshake. */
int linker_pollfds(const struct linker *linker, struct pollfd *fds, int capacity,
                   uint64_t *until_ms);

/* True if a wanted link has not arrived yet. */
bool linker_busy(const struct linker *linker);

#endif
