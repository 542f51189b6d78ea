/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous' end of one worker's connection (lib/base/join_protocol.h): bytes in, messages and
 * reply bytes out.
 *
 *   opening -> challenged -> proven -> over
 *
 * OPEN is answered here; HELLO and GOODBYE, once their proof is right, go to the caller. Anything
 * else ends the connection, without a word as long as nothing is proven: another type or order of
 * frames, a wrong proof, a frame longer than JOIN_UNPROVEN_MAX (proven workers have nothing longer
 * to say either). Only an OPEN of another version is told ours. */
#ifndef RENDEZVOUS_JOIN_SESSION_H
#define RENDEZVOUS_JOIN_SESSION_H

#include "lib/base/auth.h"
#include "lib/base/frame.h"
#include "lib/base/join_protocol.h"
#include "lib/base/status.h"

#include <stddef.h>

enum join_session_state {
    JOIN_SESSION_OPENING,
    JOIN_SESSION_CHALLENGED,
    JOIN_SESSION_PROVEN,
    JOIN_SESSION_OVER
};

struct join_session {
    enum join_session_state state;
    const struct job_key *key; /* borrowed, outlives the session */
    struct frame_reader reader;
    struct seal seal;
};

struct join_event {
    enum join_type type; /* JOIN_HELLO or JOIN_GOODBYE */
    struct join_hello hello;
    struct join_goodbye goodbye;
};

void join_session_init(struct join_session *session, const struct job_key *key);
void join_session_fini(struct join_session *session);

/* Takes some of the bytes and says how many; 0 when out of memory. */
size_t join_session_take(struct join_session *session, const void *data, size_t length);

/* What the bytes taken so far say: 1 and an event; 0 if more bytes are needed; a negative status if
 * the connection must end. Appends what is to be sent, before the end too. */
int join_session_next(struct join_session *session, struct join_event *event,
                      struct wire_writer *out, struct err *err);

/* Append a sealed reply. */
void join_session_welcome(struct join_session *session, struct wire_writer *out,
                          const struct join_welcome *welcome);
void join_session_refuse(struct join_session *session, struct wire_writer *out, int status,
                         const char *text);
void join_session_news(struct join_session *session, struct wire_writer *out,
                       const struct join_news *news);

#endif
