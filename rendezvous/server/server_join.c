/* SPDX-License-Identifier: Apache-2.0 */
/* A worker joins a job. Its HELLO gives it a rank of the world, a rank of the epoch that gathers,
 * or a place among the pending workers, which get their ranks when the last of them has come.
 * (server_elastic.c: in an elastic job.)
 *
 * Refuses a worker that has not proved what it says, whose job is not here or is of the other kind,
 * and what membership or pending workers refuse. The connection of a refused worker ends. */
#include "rendezvous/server/server_impl.h"

#include "lib/base/rank_end_text.h"
#include "rendezvous/world/membership_text.h"
#include "rendezvous/world/pending_workers_text.h"

static void assign_ranks(struct server *server, struct rendezvous_job *job)
{
    struct err err;
    if (rendezvous_job_assign(job, server->now_ms, &err) < 0) {
        pending_workers_end(&job->pending, err.text);
        server_clear_pending(server, job);
        return;
    }
    for (int rank = 0; rank < job->size; rank++)
        job->ranks[rank].connection->place = (struct server_place){ SERVER_RANK, rank };
    server_carry_out(server, job);
}

/* Tells a worker how long to wait and for what, so that it notices a silent rendezvous. A worker
 * that cannot be told counts as disconnected. */
void server_tell_to_wait(struct rendezvous_connection *connection, uint64_t until_ms,
                         struct join_waiting *waiting)
{
    struct wire_writer out = { 0 };
    uint64_t now_ms = connection->server->now_ms,
             most_ms = until_ms > now_ms ? until_ms - now_ms : 0;
    waiting->most_ms = most_ms < JOIN_WAITING_MAX_MS ? (uint32_t)most_ms : JOIN_WAITING_MAX_MS;
    if (until_ms == SERVER_NEVER)
        waiting->most_ms = JOIN_WAITING_NO_LIMIT;
    join_session_wait(&connection->join, &out, waiting);
    if (!server_flush(connection, &out))
        server_send_away(connection);
}

static void tell_member_to_wait(struct rendezvous_connection *connection,
                                const struct membership *membership)
{
    struct join_waiting waiting;
    if (membership->world != WORLD_GATHERING)
        return;
    membership_text_awaited(waiting.text, membership);
    server_tell_to_wait(connection, membership->start_deadline_ms, &waiting);
}

static void tell_pending_worker_to_wait(struct rendezvous_connection *connection,
                                        const struct pending_workers *pending)
{
    struct join_waiting waiting;
    pending_workers_text_awaited(waiting.text, pending);
    server_tell_to_wait(connection, pending->deadline_ms, &waiting);
}

/* Makes the connection that of a worker of the job. */
void server_take_in(struct rendezvous_connection *connection, struct rendezvous_job *job,
                    struct server_place place)
{
    server_set_role(connection, SERVER_WORKER);
    connection->job = job;
    connection->place = place;
    if (job->connected++ == 0 && job->first_ms == 0)
        job->first_ms = connection->server->now_ms;
}

/* A rank that has left the world joins the next epoch. */
static int join_again(struct rendezvous_connection *connection, struct rendezvous_job *job,
                      const struct join_hello *hello, struct err *err)
{
    int rank;
    struct server *server = connection->server;
    int rc = rendezvous_job_come_again(job, hello, connection, server->now_ms, &rank, err);
    if (rc < 0) {
        server_carry_out(server, job); /* the epoch may have failed with it */
        return rc;
    }
    server_take_in(connection, job, (struct server_place){ SERVER_NEXT_RANK, rank });
    tell_member_to_wait(connection, &job->next->membership);
    server_carry_out(server, job);
    return HVD_OK;
}

static int join_planned(struct rendezvous_connection *connection, struct rendezvous_job *job,
                        const struct join_hello *hello, struct err *err)
{
    if (hello->epoch > 0)
        return join_again(connection, job, hello, err);
    uint64_t now_ms = connection->server->now_ms;
    int rc = membership_join(&job->membership, hello, now_ms, err);
    if (rc < 0)
        return rc;
    server_take_in(connection, job, (struct server_place){ SERVER_RANK, hello->rank });
    struct rendezvous_job_rank *rank = &job->ranks[hello->rank];
    rank->connection = connection;
    rank->pid = hello->pid;
    rank->joined = true;
    rank->joined_ms = rank->heard_ms = now_ms;
    struct server *server = connection->server;
    tell_member_to_wait(connection, &job->membership);
    server_carry_out(server, job);
    return HVD_OK;
}

static int join_pending_workers(struct rendezvous_connection *connection,
                                struct rendezvous_job *job, const struct join_hello *hello,
                                struct err *err)
{
    struct server *server = connection->server;
    if (job->slots && hello->epoch > 0)
        return join_again(connection, job, hello, err);
    if (job->slots && job->membership.world == WORLD_BROKEN)
        return rank_end_fail(err, &job->membership.cause);
    int worker;
    struct join_hello known = *hello;
    if (hello->rank < 0 && hello->epoch > 0) /* all have left the job that it was in */
        known.rank = hello->worker < hello->size ? hello->worker : -1;
    int rc = pending_workers_join(&job->pending, &known, connection, server->now_ms, &worker, err);
    if (rc < 0)
        return rc;
    if (job->first_epoch < hello->epoch)
        job->first_epoch = hello->epoch;
    server_take_in(connection, job, (struct server_place){ SERVER_PENDING, worker });
    if (job->pending.count == 1)
        server_job_say(server, job->id, "a worker on %s is the first of %d",
                       job->pending.workers[0].host, job->pending.size);
    if (job->pending.state == PENDING_WORKERS_FULL) {
        assign_ranks(server, job);
        return HVD_OK;
    }
    server_due(server, rendezvous_job_deadline(job));
    tell_pending_worker_to_wait(connection, &job->pending);
    return HVD_OK;
}

/* The job that the worker has proved to belong to; made, if it is a service's and not there yet. */
static struct rendezvous_job *find_job(struct server *server, const char *id,
                                       const struct join_hello *hello, struct err *err)
{
    struct rendezvous_job *job = job_table_find(&server->job_table, id);
    if (job && !rendezvous_job_is_over(job))
        return job;
    if (server->keyring.service && hello->size == 0) {
        fail(err, HVD_ERR_ENVIRONMENT,
             "there is no elastic job '%s' here: one must be declared (PUT /v1/jobs/ID)", id);
        return NULL;
    }
    if (!server->keyring.service || !*id) {
        fail(err, HVD_ERR_ENVIRONMENT, "HVD_JOB_ID: there is no job '%s' here", id);
        return NULL;
    }
    return job_table_make(&server->job_table, id, 0, 0, server->now_ms, err);
}

static int check_elastic(const struct rendezvous_job *job, const struct join_hello *hello,
                         struct err *err)
{
    bool elastic = hello->size == 0;
    if (elastic == (job->elastic != NULL))
        return HVD_OK;
    return elastic ? fail(err, HVD_ERR_ENVIRONMENT,
                          "HOROVOD_ELASTIC is set, but job %s is not elastic", job->id)
                   : fail(err, HVD_ERR_ENVIRONMENT,
                          "HOROVOD_ELASTIC is not set, but job %s is elastic", job->id);
}

void server_on_hello(struct rendezvous_connection *connection, const struct join_hello *hello)
{
    struct err err = { 0 };
    const char *id = connection->join.owner.job;
    struct rendezvous_job *job = NULL;
    if (join_session_check_worker(&connection->join, hello, &err) == HVD_OK)
        job = find_job(connection->server, id, hello, &err);
    if (job && !job->elastic && connection->server->events.met && hello->rank >= 0 &&
        hello->rank < job->size)
        connection->server->events.met(connection->server->context, hello->rank);
    int rc = !job ? err.code : check_elastic(job, hello, &err);
    if (rc == HVD_OK)
        rc = job->elastic   ? server_elastic_hello(connection, job, hello, &err)
             : job->planned ? join_planned(connection, job, hello, &err)
                            : join_pending_workers(connection, job, hello, &err);
    if (rc == HVD_OK)
        return;
    connection->server->metrics.refused_workers++;
    server_job_say(connection->server, id, "refused a worker on %s (pid %d): %s", hello->host,
                   hello->pid, err.text);
    server_refuse(connection, rc, err.text);
}
