/* SPDX-License-Identifier: Apache-2.0 */
/* A session with a process manager through a foreign library, whose calls have no time limit.
 *
 * A thread makes all calls: begin, then exchange, then end. The caller waits for it until a
 * deadline. When that passes (HVD_ERR_TIMEOUT) the thread is left behind with the memory it uses:
 * no foreign call can be broken off, and a process that has no world is about to end. */
#ifndef LIB_PMI_BLOCKING_SESSION_H
#define LIB_PMI_BLOCKING_SESSION_H

#include "lib/pmi/process_manager.h"

#include <stddef.h>

struct blocking_session;

/* What the thread and its caller share; they never use it at the same time. */
struct blocking_shared {
    struct process_manager_place place;
    char value[PROCESS_MANAGER_VALUE_MAX];
    struct err err;    /* of the last call */
    uint64_t limit_ms; /* how long an exchange may take, for libraries that can be told */
};

/* The calls; `library` is the memory of the implementation. The first two return a status, with
 * `shared->err`. */
struct blocking_calls {
    size_t size; /* of `library` */
    int (*begin)(void *library, struct blocking_shared *shared);
    int (*exchange)(void *library, struct blocking_shared *shared);
    void (*end)(void *library); /* also after a begin that has failed */
};

/* Begins. `calls` and what `library` points to are copied. On failure there is nothing to close. */
int blocking_session_open(struct blocking_session **session, const struct blocking_calls *calls,
                          const void *library, struct process_manager_place *place,
                          uint64_t deadline_ms, struct err *err);

int blocking_session_exchange(struct blocking_session *session,
                              char value[PROCESS_MANAGER_VALUE_MAX], uint64_t deadline_ms,
                              struct err *err);

/* Ends it, and waits until it has ended, for two seconds at most. */
void blocking_session_close(struct blocking_session *session);

#endif
