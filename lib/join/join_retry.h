/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a worker dials the rendezvous once more, and when; without I/O.
 *
 * A rendezvous that is crowded closes connections that it would like to see again a little later,
 * or is slow to take them. Until it has answered, a connection that was closed or did not come
 * about in time is dialled again, each time after a longer pause, of a random length so that those
 * that were sent away together do not come back together.
 *
 * Ends with an answer of any kind (but WAITING), at the deadline, when nobody listens, and when the connection
 * was closed after our HELLO for the fourth time: a key that is not the job's is not told so, and
 * does not become better. A service may be started after its workers: with `patient` a name that
 * has no address yet, and an address at which nobody listens yet, are no end. */
#ifndef LIB_JOIN_JOIN_RETRY_H
#define LIB_JOIN_JOIN_RETRY_H

#include <stdbool.h>
#include <stdint.h>

/* How far a connection has come. */
enum join_stage { JOIN_DIALLING, JOIN_CONNECTED, JOIN_SAID_HELLO, JOIN_ASSIGNED, JOIN_ANSWERED };

enum { JOIN_HELLOS_MAX = 4 };
enum { JOIN_PAUSE_FIRST_MS = 50, JOIN_PAUSE_MAX_MS = 1600 };

struct join_retry {
    uint64_t deadline_ms;
    bool patient;
    int attempts, hellos; /* that have failed */
};

void join_retry_init(struct join_retry *retry, uint64_t deadline_ms, bool patient);

/* An attempt has failed with status `rc` at `stage`. True if there is to be another, after
 * `*pause_ms`; `random` is any number. */
bool join_retry_next(struct join_retry *retry, enum join_stage stage, int rc, uint64_t now_ms,
                     uint32_t random, uint64_t *pause_ms);

#endif
