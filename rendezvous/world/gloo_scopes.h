/* SPDX-License-Identifier: Apache-2.0 */
/* The scopes of the key-value store in which Horovod's own workers meet, by Gloo. */
#ifndef RENDEZVOUS_WORLD_GLOO_SCOPES_H
#define RENDEZVOUS_WORLD_GLOO_SCOPES_H

#include "rendezvous/base/rendezvous_options.h"
#include "rendezvous/store/key_value.h"

/* Plans `global`, `local_HOST` of every host and `cross_LOCAL_RANK`. A host whose name is none for
 * a scope is left out: unmodified workers there are told what is wrong with it. HVD_ERR_NOMEM. */
int gloo_scopes_plan(struct key_value *store, const struct rendezvous_slot *slots, int size);

#endif
