/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous' end of one worker's connection (lib/base/join_protocol.h): bytes in, messages and
 * reply bytes out.
 *
 *   opening -> challenged -> proven -> over
 *
 * OPEN is answered here; HELLO, REPORT, BROKEN and GOODBYE, once their proof is right, go to the
 * caller.
 * Any other input ends the connection, without an answer before the proof: another type or
 * order of frames, a REPORT that was not asked for, a wrong proof, a frame longer than
 * JOIN_UNPROVEN_MAX, or JOIN_PROVEN_MAX once it is proven. Only an OPEN of another version is
 * answered with our version. */
#ifndef RENDEZVOUS_JOIN_JOIN_SESSION_H
#define RENDEZVOUS_JOIN_JOIN_SESSION_H

#include "lib/base/auth.h"
#include "lib/base/frame.h"
#include "lib/base/join_protocol.h"
#include "lib/base/status.h"
#include "rendezvous/base/keyring.h"

#include <stdbool.h>
#include <stddef.h>

enum join_session_state {
    JOIN_SESSION_OPENING,
    JOIN_SESSION_CHALLENGED,
    JOIN_SESSION_PROVEN,
    JOIN_SESSION_OVER
};

struct join_session {
    enum join_session_state state;
    bool asked;                    /* the worker has not answered ASK yet */
    bool broken;                   /* it has said so */
    const struct keyring *keyring; /* borrowed, outlives the session */
    struct key_owner owner;        /* what OPEN names */
    struct frame_reader reader;
    struct seal seal;
};

struct join_event {
    enum join_type type; /* JOIN_HELLO, JOIN_REPORT, JOIN_BROKEN or JOIN_GOODBYE */
    union {
        struct join_hello hello;
        struct join_report report;
        struct rank_end goodbye; /* also of BROKEN */
    };
};

void join_session_init(struct join_session *session, const struct keyring *keyring);
void join_session_fini(struct join_session *session);

/* Takes some of the bytes and says how many; 0 when out of memory. */
size_t join_session_take(struct join_session *session, const void *data, size_t length);

/* Parses the bytes taken so far. Returns 1 and an event; 0 if more bytes are needed; a negative
 * status if the connection must end. Appends the bytes to send, also before the end. */
int join_session_next(struct join_session *session, struct join_event *event,
                      struct wire_writer *out, struct err *err);

/* HVD_ERR_ENVIRONMENT, naming both, if `hello` says to be another worker than the one whose key has
 * been proved. */
int join_session_check_worker(const struct join_session *session, const struct join_hello *hello,
                              struct err *err);

/* Append a sealed reply. */
void join_session_welcome(struct join_session *session, struct wire_writer *out,
                          const struct join_welcome *welcome);
void join_session_wait(struct join_session *session, struct wire_writer *out,
                       const struct join_waiting *waiting);
void join_session_refuse(struct join_session *session, struct wire_writer *out, int status,
                         const char *text);
void join_session_news(struct join_session *session, struct wire_writer *out,
                       const struct rank_end *news);

void join_session_update(struct join_session *session, struct wire_writer *out,
                         const struct join_update *update);

/* Does nothing while the last ASK is not answered. */
void join_session_ask(struct join_session *session, struct wire_writer *out, int size);

#endif
