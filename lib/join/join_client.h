/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's connection to the rendezvous (lib/base/join_protocol.h), for as long as it lives:
 *   open (dial, OPEN, CHALLENGE), hello, wait for WELCOME, then news from time to time, goodbye.
 * Fails when nobody listens, the other side is not a rendezvous or does not know the job's key, it
 * refuses us, or a rank is lost before the world is complete. The end of the connection means that
 * the launcher is gone (HVD_ERR_PEER_LOST). */
#ifndef LIB_JOIN_JOIN_CLIENT_H
#define LIB_JOIN_JOIN_CLIENT_H

#include "lib/base/auth.h"
#include "lib/base/frame.h"
#include "lib/base/join_protocol.h"
#include "lib/base/status.h"
#include "lib/join/join_retry.h"

#include <stdint.h>

struct join_connection {
    int fd;                /* -1 when closed */
    enum join_stage stage; /* kept when closed */
    struct seal seal;
    struct frame_reader reader;
};

/* Dials `host` (a name or a numeric address) and exchanges nonces, until `deadline_ms` on the
 * monotonic clock at most. On failure there is nothing to close. */
int join_open(struct join_connection *connection, const char *host, int port,
              const struct job_key *key, uint64_t deadline_ms, struct err *err);

int join_hello(struct join_connection *connection, const struct join_hello *hello, struct err *err);

/* Waits for as long as it takes: the rendezvous is the one that has a timeout. */
int join_wait(struct join_connection *connection, struct join_welcome *welcome, struct err *err);

/* 1 and the next piece of news; 0 when there is none now; or a negative status. Does not block. */
int join_news(struct join_connection *connection, struct join_news *news, struct err *err);

/* Says goodbye, trying for at most a second; `reason` is the failure that the world has ended with,
 * or HVD_OK. May be called while another thread is in join_news(). */
void join_goodbye(struct join_connection *connection, uint64_t collectives,
                  const struct err *reason);

/* Closed, or never opened as long as fd is -1, is fine. */
void join_close(struct join_connection *connection);

#endif
