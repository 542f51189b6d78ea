/* SPDX-License-Identifier: Apache-2.0 */
/* Links that have arrived and that nobody has taken yet. Also the judgement of a link once it is
 * known on which host the peer is: between ranks of one host a link may be less than HVD_TRANSPORT
 * wants.
 *
 * Fails with HVD_ERR_NOMEM, and with HVD_ERR_ENVIRONMENT when HVD_TRANSPORT insists on shared
 * memory and the link has none. */
#ifndef LIB_LINK_ARRIVALS_H
#define LIB_LINK_ARRIVALS_H

#include "lib/base/join_protocol.h"
#include "lib/link/link.h"
#include "lib/link/link_upgrade.h"
#include "lib/link/network.h"

struct arrival {
    int rank;
    uint32_t channel;
    struct link *link;
    char why[UPGRADE_WHY_SIZE]; /* why the link shares no memory, if the peer is on this host */
};

/* All zero except rank and network, the struct is empty. */
struct arrivals {
    int rank;                      /* this one */
    const struct network *network; /* borrowed, or NULL: no rank is on this host */
    struct arrival *at;
    int count, capacity;
    bool has_complained; /* has logged a link that is slower than it could be */
};

void arrivals_fini(struct arrivals *arrivals);

struct arrival *arrivals_find(const struct arrivals *arrivals, int rank, uint32_t channel);

/* Takes `link` over, and closes it on failure. The newest link is kept, because its dialler has
 * given up the previous one. NULL and `err` when out of memory. Borrowed until the next call. */
const struct arrival *arrivals_keep(struct arrivals *arrivals, int rank, uint32_t channel,
                                    struct link *link, const char *why, struct err *err);

/* Judges a link to `peer` that has come. Logs once that a link is less than it could be. */
int arrivals_judge(struct arrivals *arrivals, const struct join_peer *peer,
                   const struct arrival *arrival, struct err *err);

/* The link, which then belongs to the caller, or NULL. */
struct link *arrivals_take(struct arrivals *arrivals, int rank, uint32_t channel);

/* Closes the links of a channel. */
void arrivals_forget(struct arrivals *arrivals, uint32_t channel);

#endif
