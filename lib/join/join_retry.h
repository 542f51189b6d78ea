/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a worker dials the rendezvous again, and when; without I/O.
 *
 * An overloaded rendezvous closes connections, or accepts them slowly. Until the rendezvous has
 * answered, a worker dials again when the connection was closed or was not made in time. Each pause
 * is longer than the previous one and has a random length, so that workers that were closed
 * together do not come back together.
 *
 * The worker gives up after any answer but WAITING, at the deadline, when nobody listens, and when
 * the connection was closed after its HELLO for the fourth time: the rendezvous does not report a
 * wrong key, and dialling again does not mend the key. A service may start after its workers: with
 * `patient` the worker goes on while a name has no address yet or nobody listens at an address
 * yet. */
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
    int attempts, hellos; /* number of failures */
};

void join_retry_init(struct join_retry *retry, uint64_t deadline_ms, bool patient);

/* An attempt has failed with status `rc` at `stage`. True if there should be another attempt, after
 * `*pause_ms`; `random` is any number. */
bool join_retry_next(struct join_retry *retry, enum join_stage stage, int rc, uint64_t now_ms,
                     uint32_t random, uint64_t *pause_ms);

#endif
