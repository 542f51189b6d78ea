/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous of the workers of one job, on the caller's libuv loop.
 *
 * Connections are byte streams that a carrier provides (lib/base/rendezvous_stream.h): the
 * carrier calls rendezvous_accept(), rendezvous_receive() and rendezvous_hangup(), the rendezvous
 * calls the stream's functions. The first bytes of a connection tell its language: HTTP/1.1 for
 * people and tools, frames for libhvd (lib/base/join_protocol.h).
 *
 * There are two kinds. In a job of a launcher's all places are planned, and the launcher hears what
 * happens. A service (hvdrendezvousd) has many jobs at once, made when a worker comes that proves
 * the job's key, and gives places itself.
 *
 * One thread: all calls and callbacks are made on the loop's thread. */
#ifndef RENDEZVOUS_SERVER_RENDEZVOUS_H
#define RENDEZVOUS_SERVER_RENDEZVOUS_H

#include "lib/base/auth.h"
#include "lib/base/rank_end.h"
#include "lib/base/rendezvous_stream.h"
#include "lib/base/status.h"
#include "rendezvous/base/rendezvous_options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

/* A service without a plan. */
struct rendezvous_service_options {
    const struct job_key *key; /* of the service; copied */
    int max_jobs;

    /* Bytes that clients over HTTP may have it keep, all jobs together: a quarter for requests that
     * have not come whole, the rest for values. 0: no limit but that of each job and connection. */
    size_t memory_max;

    /* How many connections its carriers have descriptors for; 0: not known. Unauthenticated
     * clients cannot take those that workers and authenticated clients have. */
    int connections_max;

    uint64_t start_timeout_ms; /* of jobs that are not declared with another */

    /* An event of a job: one line without its name. Borrowed for the call. */
    void (*say)(void *context, const char *job, const char *text);
    void *context;
};

/* NULL and `err` when out of memory, or without a source of random numbers. */
struct rendezvous *rendezvous_create(uv_loop_t *loop, const struct rendezvous_options *options,
                                     struct err *err);

struct rendezvous *rendezvous_create_service(uv_loop_t *loop,
                                             const struct rendezvous_service_options *options,
                                             struct err *err);

/* A connection has come in. `stream` is borrowed until close() is called on it or
 * rendezvous_hangup() returns. NULL if the connection is not wanted (out of memory, too many
 * unauthenticated clients): the carrier drops it. */
struct rendezvous_connection *rendezvous_accept(struct rendezvous *rendezvous,
                                                struct rendezvous_stream *stream,
                                                enum rendezvous_origin origin);

/* Takes bytes from the peer. May call stream->send() and stream->close(), of this connection and
 * of others. */
void rendezvous_receive(struct rendezvous_connection *connection, const void *data, size_t length);

/* The peer has hung up, or its carrier is gone. Frees the connection, and does not touch its
 * stream. */
void rendezvous_hangup(struct rendezvous_connection *connection);

/* These three calls, for a carrier that cannot include this header. */
struct rendezvous_server rendezvous_server(struct rendezvous *rendezvous);

/* The workers that the next world of an elastic job is to have, in order of rank; copied. Replaces
 * what was intended before. As soon as all of them wait in hvd_init(), the world is complete: they
 * are its ranks, and `world` is called, maybe before this returns. A worker that waits and is not
 * intended goes on waiting. If the members differ from those of a world that runs, its ranks are
 * told (hvd_hosts_updated()). There is no timeout: a worker that dies while it waits is forgotten,
 * and the launcher intends another world. HVD_ERR_INVALID for a worker that was removed or is there
 * twice, and for more than WORLD_SIZE_MAX of them; HVD_ERR_NOMEM. In all cases the former intention
 * holds. */
int rendezvous_intend(struct rendezvous *rendezvous, const struct rendezvous_member *members,
                      int count, struct err *err);

/* A worker of an elastic job is being started, and has `place` in its environment. */
void rendezvous_place(struct rendezvous *rendezvous, int worker, const struct rank_info *place);

/* No further world of an elastic job has `worker`: its hvd_init() fails with HVD_ERR_REMOVED, now
 * or when it comes. Its present world is not touched. */
void rendezvous_remove(struct rendezvous *rendezvous, int worker);

/* The next calls and `report` name a rank by its worker in an elastic job. */

/* The process of `rank` has been started. */
void rendezvous_rank_started(struct rendezvous *rendezvous, int rank, int pid);

/* The process of `rank` has ended, as the launcher saw it. If it has not joined yet, or its
 * connection broke already, those that wait for it learn of it now. Otherwise they do when its
 * connection ends without GOODBYE, which may still be on its way, or 100 ms later. Likewise a rank
 * whose connection broke is reported 100 ms later without explanation when this call does not
 * explain it before. */
void rendezvous_rank_ended(struct rendezvous *rendezvous, int rank, const struct rank_end_how *how);

/* Tells the end for status and JSON. May be called again when more is known about the end. Call
 * this before rendezvous_rank_ended(). */
void rendezvous_tell_end(struct rendezvous *rendezvous, int rank, const struct rendezvous_end *end);

/* The key of a service is another from now on, for clients that show the service's and for jobs to
 * come. Jobs that are there, and are not over, keep theirs. */
void rendezvous_change_key(struct rendezvous *rendezvous, const struct job_key *key);

/* The job is over. Requests that wait for that (GET /v1/jobs/ID?wait=SECONDS) are answered. */
void rendezvous_tell_verdict(struct rendezvous *rendezvous,
                             const struct rendezvous_verdict *verdict);

/* Asks every rank what it is doing; the answers come through `report`, also before this returns.
 * A rank that has not answered after 2 s is reported as silent. While a rank query is under way
 * another call does nothing. HVD_ERR_NOMEM when out of memory. */
int rendezvous_ask(struct rendezvous *rendezvous, struct err *err);

/* Closes every connection and timer; frees itself when the loop has run once more. NULL is fine. */
void rendezvous_destroy(struct rendezvous *rendezvous);

#endif
