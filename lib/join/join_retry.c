/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the rendezvous is dialled again; see join_retry.h. */
#include "lib/join/join_retry.h"

#include "lib/hvd.h"

void join_retry_init(struct join_retry *retry, uint64_t deadline_ms, bool patient)
{
    *retry = (struct join_retry){ .deadline_ms = deadline_ms, .patient = patient };
}

/* A random time between half of the pause and the whole pause. */
static uint64_t pause_after(int attempts, uint32_t random)
{
    uint64_t due = JOIN_PAUSE_FIRST_MS;
    for (int i = 1; i < attempts && due < JOIN_PAUSE_MAX_MS; i++)
        due *= 2;
    return due / 2 + random % (due / 2 + 1);
}

static bool may_pass(bool patient, enum join_stage stage, int rc)
{
    return (stage == JOIN_DIALLING && rc == HVD_ERR_TIMEOUT) ||
           (stage == JOIN_DIALLING && rc == HVD_ERR_PEER_LOST && patient) ||
           (stage == JOIN_CONNECTED && rc == HVD_ERR_PEER_LOST) ||
           (stage == JOIN_SAID_HELLO && rc == HVD_ERR_PEER_LOST) ||
           (stage == JOIN_ASSIGNED && rc == HVD_ERR_PEER_LOST);
}

bool join_retry_next(struct join_retry *retry, enum join_stage stage, int rc, uint64_t now_ms,
                     uint32_t random, uint64_t *pause_ms)
{
    retry->attempts++;
    if (stage == JOIN_SAID_HELLO)
        retry->hellos++;
    *pause_ms = pause_after(retry->attempts, random);
    return may_pass(retry->patient, stage, rc) && retry->hellos < JOIN_HELLOS_MAX &&
           now_ms + *pause_ms < retry->deadline_ms;
}
