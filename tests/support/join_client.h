/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's side of the join protocol in memory: what a rendezvous sends on its stream lands in
 * `received`, what the test sends goes to `deliver`. The test decides every byte and moment. */
#ifndef TESTS_SUPPORT_JOIN_CLIENT_H
#define TESTS_SUPPORT_JOIN_CLIENT_H

#include "lib/base/auth.h"
#include "lib/base/join_protocol.h"
#include "rendezvous/server/rendezvous.h"

#include <stdbool.h>

struct join_client {
    struct rendezvous_stream stream; /* first, so that the stream is the client */
    struct rendezvous_connection *connection;
    void (*deliver)(struct join_client *client, const void *data, size_t length);

    struct wire_writer received; /* everything, since the beginning */
    size_t read;                 /* of it by join_client_next() */
    int sends;
    bool closed;                 /* by the rendezvous */
    struct join_waiting waiting; /* as it said last */

    struct job_key key;
    char owner[KEY_OWNER_SIZE]; /* of the key, which OPEN names; "" at first */
    const char *host;           /* what HELLO says, if anything */
    uint32_t epoch;             /* likewise; 0 at first */
    unsigned char nonce[NONCE_SIZE];
    struct seal seal;
    struct rank_stats stats; /* what REPORT says besides */
    struct rank_waits waits;
};

/* One message from the rendezvous. */
struct join_reply {
    uint16_t type; /* enum join_type */
    struct join_welcome welcome;
    struct join_refused refused;
    struct rank_end news;
    struct join_ask ask;
    struct join_update update;
};

void join_client_init(struct join_client *client, const struct job_key *key,
                      void (*deliver)(struct join_client *, const void *, size_t));
void join_client_fini(struct join_client *client);

/* Bytes to the rendezvous, in one piece; dropped once it has closed. */
void join_client_send(struct join_client *client, const void *data, size_t length);

/* Append a frame; the sealed ones count on the seal. In a HELLO with size 0, for an elastic job,
 * `rank` is the worker. */
void join_client_put_open(struct join_client *client, struct wire_writer *out);
void join_client_put_hello(struct join_client *client, struct wire_writer *out, int rank, int size);
void join_client_put_report(struct join_client *client, struct wire_writer *out, const char *text);
void join_client_put_goodbye(struct join_client *client, struct wire_writer *out, int status);

/* The address that `rank` says in its HELLO. */
void join_client_address(char address[JOIN_ADDRESS_MAX], int rank);

/* OPEN, and sealed from the CHALLENGE on; false if none came. */
bool join_client_open(struct join_client *client);

/* OPEN and HELLO; REPORT; GOODBYE, with a failure unless the status is HVD_OK. */
void join_client_join(struct join_client *client, int rank, int size);
void join_client_report(struct join_client *client, const char *text);
void join_client_leave(struct join_client *client);
void join_client_leave_with(struct join_client *client, int status);

/* The next message, WAITING aside; false if there is none. A message that is not sealed right or
 * does not decode fails the test. */
bool join_client_next(struct join_client *client, struct join_reply *reply);

#endif
