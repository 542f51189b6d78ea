/* SPDX-License-Identifier: Apache-2.0 */
/* Where the workers of one job meet, on the caller's libuv loop.
 *
 * Connections are byte streams that somebody else carries (lib/base/rendezvous_stream.h): the
 * carrier calls rendezvous_accept(), rendezvous_receive() and rendezvous_hangup(), the rendezvous
 * calls the stream's functions. The first bytes of a connection tell its language: HTTP/1.1 for people and tools, frames for libhvd (lib/base/join_protocol.h).
 *
 * There are two kinds. In a job of a launcher's all places are planned, and the launcher hears what
 * happens. A service (hvdrendezvousd) has many jobs at once, made when a worker comes that proves
 * the job's key, and gives places itself.
 *
 * One thread: all calls and callbacks are made on the loop's thread. */
#ifndef RENDEZVOUS_RENDEZVOUS_H
#define RENDEZVOUS_RENDEZVOUS_H

#include "lib/base/auth.h"
#include "lib/base/join_protocol.h"
#include "lib/base/place.h"
#include "lib/base/rendezvous_stream.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

/* A rank that is expected, in order of rank. */
struct rendezvous_slot {
    struct place place;
    const char *host; /* borrowed for the life of the rendezvous */
};

/* What the launcher learns. All may call anything here, rendezvous_destroy() too, except running
 * the loop. */
struct rendezvous_events {
    /* The world of `size` ranks is complete: every rank has said HELLO. */
    void (*complete)(void *context);

    /* `start_timeout_ms` after the first HELLO some ranks are still missing. `text` is one line
     * that names the missing ranks and their hosts; borrowed for the call. Those that wait have
     * been refused with HVD_ERR_TIMEOUT already. */
    void (*timed_out)(void *context, const char *text);

    /* A rank that meets the others by itself, as Horovod's own workers do, has failed before all
     * had come. `text` is one line that names the ranks that had not; borrowed for the call. May be
     * NULL. */
    void (*missing)(void *context, const char *text);

    /* rendezvous_ask(): what `rank` is doing, in its own words, printable lines of UTF-8; or why it
     * does not say so itself, one line that reads on after the rank's name. Once for each rank, in
     * order of rank; borrowed for the call. */
    void (*report)(void *context, int rank, const char *text);

    /* A rank has said HELLO, whatever comes of it. May be NULL. */
    void (*met)(void *context, int rank);

    /* The world of a rank is broken, or it has left because of a failure, or because another has
     * left: what it has said, BROKEN and GOODBYE. Borrowed for the call. May be NULL. */
    void (*parted)(void *context, int rank, const struct join_goodbye *said);

    /* Whose failure has broken the world: a rank that was lost (HVD_ERR_PEER_LOST), that has left
     * before all had come (HVD_ERR_PEER_LEFT), or that has failed with `status`, as it has said
     * itself or another has heard. Once, of the first. Borrowed for the call. May be NULL. */
    void (*origin)(void *context, int rank, int status, const char *text);

    /* The connection of a rank that was there has ended without GOODBYE; if its process has ended,
     * that is not known yet. May be NULL. */
    void (*broke_off)(void *context, int rank);

    /* Somebody wants to see the last lines that `rank` has written to stdout or stderr: at most
     * `nbytes`, each line ended by a newline. The caller frees it; NULL: none. May be NULL. */
    char *(*output)(void *context, int rank, bool of_stderr, size_t nbytes);
};

struct rendezvous_options {
    const char *id;                      /* of the job (job_id.h); copied */
    const struct rendezvous_slot *slots; /* `size` of them; copied */
    int size;
    const struct job_key *key; /* copied */
    uint64_t start_timeout_ms;
    struct rendezvous_events events;
    void *context;

    /* For those who look; copied. */
    const char *command, *user; /* NULL: not known */
    uint64_t started_ms;        /* when the launcher was started, since 1970 */
};

/* How the process of a rank has ended, for those who look. Borrowed for the call. */
struct rendezvous_end {
    const char *text; /* "exited with status 3" */
    int exit_status;  /* 128 plus the signal's number; -1: not known */
    bool terminated;  /* after the launcher had told it to end */
};

/* What the launcher says of the whole job, for those who look. Borrowed for the call. */
struct rendezvous_verdict {
    const char *text; /* one line */
    int exit_status;  /* of the launcher */
    int rank;         /* whose failure it was; -1: no rank's */
};

/* A service without a plan. */
struct rendezvous_service_options {
    const struct job_key *key; /* of the service; copied */
    int max_jobs;

    /* Bytes that clients over HTTP may have it keep, all jobs together: a quarter for requests that
     * have not come whole, the rest for values. 0: no limit but that of each job and connection. */
    size_t memory_max;

    /* How many connections its carriers have descriptors for; 0: not known. Strangers leave those
     * of it alone that workers and clients have. */
    int connections_max;

    uint64_t start_timeout_ms; /* of jobs that are not declared with another */

    /* Something has happened to a job: one line without its name. Borrowed for the call. */
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
 * strangers): the carrier drops it. */
struct rendezvous_connection *rendezvous_accept(struct rendezvous *rendezvous,
                                                struct rendezvous_stream *stream,
                                                enum rendezvous_origin origin);

/* Bytes from the other side. May call stream->send() and stream->close(), of this connection and of
 * others. */
void rendezvous_receive(struct rendezvous_connection *connection, const void *data, size_t length);

/* The other side has hung up, or its carrier is gone. Frees the connection; its stream is not
 * touched. */
void rendezvous_hangup(struct rendezvous_connection *connection);

/* These three calls, for a carrier that cannot include this header. */
struct rendezvous_server rendezvous_server(struct rendezvous *rendezvous);

/* The process of `rank` has been started. */
void rendezvous_rank_started(struct rendezvous *rendezvous, int rank, int pid);

/* The process of `rank` has ended, as the launcher saw it; `how` reads on after the rank's name:
 * "was killed by signal 9 (SIGKILL)". If it has not joined yet, or its connection broke already,
 * those that wait for it learn of it now. Otherwise they do when its connection ends without
 * GOODBYE, which may still be on its way, or 100 ms later. Likewise a rank whose connection broke
 * is reported 100 ms later without explanation when this call does not explain it before. */
void rendezvous_rank_ended(struct rendezvous *rendezvous, int rank, const char *how);

/* The same for those who look; how it ended may be told again when more is known. To be called
 * before the one above. */
void rendezvous_tell_end(struct rendezvous *rendezvous, int rank, const struct rendezvous_end *end);

/* The job is over. Requests that wait for that (GET /v1/jobs/ID?wait=SECONDS) are answered. */
void rendezvous_tell_verdict(struct rendezvous *rendezvous,
                             const struct rendezvous_verdict *verdict);

/* Asks every rank what it is doing; the answers come through `report`, also before this returns.
 * Who has not answered after 2 s is said to be silent. While an asking is under way another one
 * adds nothing. HVD_ERR_NOMEM when out of memory. */
int rendezvous_ask(struct rendezvous *rendezvous, struct err *err);

/* Closes every connection and timer; frees itself when the loop has run once more. NULL is fine. */
void rendezvous_destroy(struct rendezvous *rendezvous);

#endif
