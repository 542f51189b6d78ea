/* SPDX-License-Identifier: Apache-2.0 */
/* A rendezvous (rendezvous/server/server.h) in memory for fuzz targets: a launcher's job of three
 * ranks on two hosts, or a service; a clock that the input turns; clients, whose received bytes are
 * kept. */
#ifndef TESTS_FUZZ_WORLD_H
#define TESTS_FUZZ_WORLD_H

#include "lib/base/auth.h"
#include "lib/base/join_protocol.h"
#include "rendezvous/server/server.h"

#include <stdbool.h>

enum { WORLD_SIZE = 3, WORLD_MAX_JOBS = 4 };
#define WORLD_JOB "job" /* of the launcher, and the one that clients of a service belong to */

extern struct server world;
extern struct job_key world_key; /* of the launcher's job, or of the service */
extern struct job_key job_key;   /* of WORLD_JOB */
extern uint64_t world_ms;

/* After fuzz_begin(). A launcher's job of WORLD_SIZE ranks, or a service; a launcher's elastic
 * job. */
void world_begin(bool service);
void world_begin_elastic(void);
void world_end(void);

/* Time passes, and what falls due within happens when it does. */
void world_pass(uint64_t ms);

/* Keys and bytes in the stores of all jobs, and jobs: what nobody may change who has proved
 * nothing. */
struct world_stock {
    size_t keys, size;
    int jobs, workers;
};
struct world_stock world_stock(void);
bool world_stock_equal(const struct world_stock *a, const struct world_stock *b);

/* Somebody at the other end of a connection. */
struct client {
    struct rendezvous_stream stream;          /* first, so that the stream is the client */
    struct rendezvous_connection *connection; /* NULL: none now */
    struct wire_writer received;
    struct seal seal; /* of a worker */
    bool sealed;      /* CHALLENGE has come */
    size_t read;      /* of what was received, by client_listen() */
    int rank;         /* that WELCOME has given; -1 */
    int worker;       /* likewise */
    uint32_t epoch;   /* likewise */
};

/* Zeroed, or hung up. */
void client_dial(struct client *client, enum rendezvous_origin origin);
void client_hang_up(struct client *client);
void client_forget(struct client *client); /* hangs up, and frees */

/* Bytes in pieces of `piece`; what comes after the connection's end is dropped. */
void client_send(struct client *client, const void *data, size_t length, size_t piece);

/* A worker: OPEN, and the seal of the CHALLENGE that answers it. */
void client_open(struct client *client, const char *job, const struct job_key *key);

/* A frame with its proof, once there is a seal. */
void client_send_sealed(struct client *client, uint16_t type, const void *payload, size_t length);

/* Takes the frames that have come: each has its proof, decodes, and fits what came before. */
void client_listen(struct client *client);

#endif
