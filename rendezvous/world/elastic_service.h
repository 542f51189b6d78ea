/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which workers the next world of an elastic job has when no launcher does: hvdrendezvousd,
 * whose workers come and go by themselves. Without I/O.
 *
 * The next world is to have all workers that wait, all that are still in the world, and all that
 * have left it because it has broken or is to change, and have not come again yet; the `max` oldest
 * of them if there are more; the others wait for a place. There must be `min` of them. A
 * worker that comes is intended when nobody else has come for ELASTIC_QUIET_MS, or at once when
 * `max` are there, so that workers that start together make one world. While nobody waits nothing
 * is intended: a rank that has finished does not disturb the others.
 *
 * A rank of the world that has not come back within the start timeout after the first that has, or
 * after it has left, is not waited for any longer: it may be stopped. It may come back later.
 *
 * Ranks are in order of host, the host with the oldest worker first, and on a host the oldest
 * worker first. A worker is older than another if its number is smaller.
 *
 * Fails when fewer than `min` have come within the start timeout after the first of those that
 * wait, and no rank of the world is left: all that wait are refused with HVD_ERR_TIMEOUT. */
#ifndef RENDEZVOUS_WORLD_ELASTIC_SERVICE_H
#define RENDEZVOUS_WORLD_ELASTIC_SERVICE_H

#include "rendezvous/world/elastic.h"

enum { ELASTIC_QUIET_MS = 200 };

struct elastic_service {
    int min, max;
    uint64_t start_timeout_ms;
};

/* The members of the next world as it is at `now_ms`: HVD_OK, and `elastic` has them if they are
 * others than before; HVD_ERR_NOMEM. `hosts[worker]`, for numbers below elastic->numbered, is the
 * host of a worker that is in the world or is to come again, or NULL. To be called after every
 * event. */
int elastic_service_intend(const struct elastic_service *service, struct elastic *elastic,
                           const char *const *hosts, uint64_t now_ms, struct err *err);

/* When the call above may decide anew, or when those that wait time out; UINT64_MAX: not before the
 * next event. `present`: a rank of the world is left, or is to come again. */
uint64_t elastic_service_deadline(const struct elastic_service *service,
                                  const struct elastic *elastic, bool present, uint64_t now_ms);

/* True: those that wait must be refused. `text` says how many have come. */
bool elastic_service_timed_out(const struct elastic_service *service, const struct elastic *elastic,
                               bool present, uint64_t now_ms, char text[JOIN_TEXT_MAX]);

#endif
