/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of jobs; see keyring.h. */
#include "rendezvous/base/keyring.h"

#include <string.h>

/* At the one job's server a wrong name costs the same as the right one. */
void keyring_job_key(const struct keyring *keyring, const char *id, struct job_key *key)
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

void keyring_wipe(struct keyring *keyring)
{
    job_key_wipe(&keyring->key);
}
