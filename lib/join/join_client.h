/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's connection to the rendezvous (lib/base/join_protocol.h), for the life of the worker:
 *   open (dial, OPEN, CHALLENGE), hello, wait for WELCOME, then news and questions from time to
 *   time, goodbye.
 * Fails when nobody listens, when the peer is not a rendezvous or does not know the job's key, when
 * the rendezvous refuses this worker or does not answer in time, and when a rank is lost before the
 * world is complete. The end of the connection means that the launcher, or the service, is gone
 * (HVD_ERR_PEER_LOST); keepalive also notices that its host is gone. */
#ifndef LIB_JOIN_JOIN_CLIENT_H
#define LIB_JOIN_JOIN_CLIENT_H

#include "lib/base/auth.h"
#include "lib/base/frame.h"
#include "lib/base/join_protocol.h"
#include "lib/base/status.h"
#include "lib/join/join_retry.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The rendezvous of the job. */
struct join_target {
    const char *host; /* a name or a numeric address */
    int port;
    const char *job; /* HVD_JOB_ID, or "" */
    int key_of;      /* the worker whose key it is; -1: the key of the job */
    const char
        *server_name; /* "the launcher", "the rendezvous": what is gone when the connection is;
                           borrowed for ever */
    const struct job_key *key;
    const struct join_peer *server; /* the rank that serves the rendezvous; NULL: no rank does */
};

struct join_connection {
    int fd;                /* -1 when closed */
    enum join_stage stage; /* kept when closed */
    const char *server_name;
    bool served_by_rank; /* the end of the connection is the end of `server_rank` */
    int server_rank;
    char server_host[JOIN_HOST_MAX];
    struct seal seal;
    struct frame_reader reader;
    pthread_mutex_t sending; /* between join_open() and join_close(); guards the members below */
    bool cut_off;            /* a frame was sent only in part: nothing can be sent after it */
};

/* Dials and exchanges nonces, until `deadline_ms` on the monotonic clock at most. On failure there
 * is nothing to close. */
int join_open(struct join_connection *connection, const struct join_target *target,
              uint64_t deadline_ms, struct err *err);

int join_hello(struct join_connection *connection, const struct join_hello *hello, struct err *err);

/* How long a busy rendezvous may take to answer, and to act on its own timeout. */
enum { JOIN_ANSWER_MS = 30000 };

/* Waits for WELCOME: `answer_ms` for a first answer. When the answer is WAITING, waits as long as
 * WAITING says, which may be without a limit, and `answer_ms` more, because the rendezvous applies
 * the timeout; when a part of an
 * answer has come, waits less for the rest. Time in which this process is stopped does not count.
 * HVD_ERR_TIMEOUT names the missing ranks, as far as known. */
int join_wait(struct join_connection *connection, uint32_t answer_ms, struct join_welcome *welcome,
              struct err *err);

/* A message of the rendezvous to a member of a world. */
struct join_message {
    enum join_type type; /* JOIN_NEWS, JOIN_ASK or JOIN_UPDATE */
    union {
        struct rank_end news;
        struct join_ask ask;
        struct join_update update;
    };
};

/* Returns 1 and the next message; 0 when there is none now; or a negative status. Does not
 * block. */
int join_receive(struct join_connection *connection, struct join_message *message, struct err *err);

/* These calls try for at most a second and may run while other threads are in this file. Once a
 * connection has not taken all bytes, nothing more is sent on it. */

/* Answers JOIN_ASK. */
void join_report(struct join_connection *connection, const struct join_report *report);

/* Sends BROKEN with the end that has broken the world. */
void join_broken(struct join_connection *connection, const struct rank_end *end);

/* Sends GOODBYE; `end` is the cause, or rank_end_none(). */
void join_goodbye(struct join_connection *connection, const struct rank_end *end);

/* Closes the connection. Does nothing if it is closed, or was never opened (fd is -1). */
void join_close(struct join_connection *connection);

#endif
