/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials of ranks, as HELLO and WELCOME would give them. */
#ifndef TESTS_SUPPORT_CREDENTIALS_H
#define TESTS_SUPPORT_CREDENTIALS_H

#include "lib/base/rank_credentials.h"

#include <string.h>

static inline void credentials_make(struct rank_credentials *credentials,
                                    const struct rank_certifier *certifier, uint32_t epoch,
                                    uint32_t rank)
{
    rank_credentials_generate(credentials);
    credentials->epoch = epoch;
    credentials->rank = rank;
    rank_certifier_certify(certifier, epoch, rank, credentials->public, credentials->certificate);
    memcpy(credentials->certifier, certifier->public, sizeof certifier->public);
}

#endif
