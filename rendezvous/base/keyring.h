/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of jobs and of the service.
 *
 *   of a job       one job with a key of its own; "" names it too
 *   of a service   the key of each job follows from the service's (auth.h), whether there is such a
 *                  job or not; the service's own key opens everything. A job that was there when
 *                  the service's key was changed keeps its own
 *
 * A job that does not exist here gets a random key, which no client can prove. */
#ifndef RENDEZVOUS_BASE_KEYRING_H
#define RENDEZVOUS_BASE_KEYRING_H

#include "lib/base/auth.h"
#include "lib/base/key_owner.h"

#include <stdbool.h>

struct keyring {
    struct job_key key;
    bool service;
    char job[JOB_ID_SIZE]; /* of the one job; "" of a service */

    /* True and the key of a job that has kept its own; or NULL. */
    bool (*kept)(const void *context, const char *id, struct job_key *key);
    const void *context;
};

/* The key that a client which names `owner` must prove; to be wiped. */
void keyring_key(const struct keyring *keyring, const struct key_owner *owner, struct job_key *key);

void keyring_wipe(struct keyring *keyring);

#endif
