/* SPDX-License-Identifier: Apache-2.0 */
/* The places of the ranks of a world, when it is known which rank is on which host. */
#ifndef RENDEZVOUS_WORLD_RANK_PLACES_H
#define RENDEZVOUS_WORLD_RANK_PLACES_H

#include "rendezvous/base/rendezvous_options.h"

/* Fills in the rank info of `size` slots, which are in order of rank and have hosts; equal names
 * are one host. local_rank counts the ranks of a host in order of rank, cross_rank the hosts that
 * have that local_rank in order of their first rank. HVD_ERR_NOMEM. O(N log N). */
int rank_places_fill(struct rendezvous_slot *slots, int size);

#endif
