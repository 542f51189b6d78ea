/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of jobs; see keyring.h. */
#include "rendezvous/base/keyring.h"

#include <string.h>

/* A launcher's rendezvous takes the same time for a wrong name as for the right one. */
static void keyring_job_key(const struct keyring *keyring, const char *id, struct job_key *key)
{
    if (keyring->kept && keyring->kept(keyring->context, id, key))
        return;
    if (keyring->service && *id) {
        job_key_derive(key, &keyring->key, id);
        return;
    }
    job_key_generate(key);
    if (!keyring->service && (!*id || strcmp(id, keyring->job) == 0))
        *key = keyring->key;
}

void keyring_key(const struct keyring *keyring, const struct key_owner *owner, struct job_key *key)
{
    keyring_job_key(keyring, owner->job, key);
    if (owner->worker >= 0)
        worker_key_derive(key, key, owner->worker);
}

void keyring_wipe(struct keyring *keyring)
{
    job_key_wipe(&keyring->key);
}
