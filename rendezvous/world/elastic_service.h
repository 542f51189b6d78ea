/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which workers are members of the next world of an elastic job without a launcher: in
 * hvdrendezvousd, workers come and go by themselves. Without I/O.
 *
 * Candidates are the workers that wait, the workers that are in the world, and the workers that
 * have left the world because it has broken or must change and have not come back yet. The `max`
 * oldest candidates are members, and there must be at least `min`; younger candidates wait for a
 * place. A new worker becomes a member when no other worker has come for ELASTIC_QUIET_MS, or at
 * once when `max` workers are there, so that workers that start together make one world. While
 * no worker waits the members do not change: a rank that has finished does not disturb the other
 * ranks.
 *
 * A rank that has not come back within the start timeout, counted from when the first rank came
 * back or from when the rank left, is no longer a candidate: it may be stopped. It may come back
 * later.
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

/* Returns true if the waiting workers must be refused; `text` says how many have come. */
bool elastic_service_timed_out(const struct elastic_service *service, const struct elastic *elastic,
                               bool present, uint64_t now_ms, char text[JOIN_TEXT_MAX]);

#endif
