/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the ranks of a job what they are doing: for the launcher, which hears each answer in order
 * of rank, and for those that look over HTTP, who are woken when all have been heard. One rank
 * query serves both kinds only if the launcher began it; what it asks while another one is under
 * way begins after that. A rank that cannot be asked for want of memory has disconnected. */
#include "rendezvous/server/server_impl.h"

static void ask_rank(struct rendezvous_job *job, int rank)
{
    struct rendezvous_connection *connection = job->ranks[rank].connection;
    struct wire_writer out = { 0 };
    if (!connection || !rank_query_wants(&job->rank_query, &job->membership, rank))
        return;
    join_session_ask(&connection->join, &out, rank_query_text_size(job->size));
    if (!server_flush(connection, &out))
        server_send_away(connection);
}

static int ask_all(struct server *server, struct rendezvous_job *job, struct err *err)
{
    int rc = rank_query_start(&job->rank_query, job->size, server->now_ms, err);
    if (rc < 0)
        return rc;
    server->rank_queries++;
    job->asked_ms = server->now_ms;
    server_due(server, rank_query_deadline(&job->rank_query));
    for (int rank = 0; rank < job->size; rank++)
        ask_rank(job, rank);
    return HVD_OK;
}

int server_ask(struct server *server, uint64_t now_ms, struct err *err)
{
    struct rendezvous_job *job = server->job_table.only;
    if (server->closed || job->asked_by_launcher || !job->slots)
        return HVD_OK;
    if (rank_query_is_open(&job->rank_query)) {
        job->ask_again = true;
        return HVD_OK;
    }
    server_enter(server, now_ms);
    job->asked_by_launcher = true;
    int rc = ask_all(server, job, err);
    if (rc < 0)
        job->asked_by_launcher = false;
    server_leave(server);
    return rc;
}

int server_ask_job(struct http_service *service, struct rendezvous_job *job, uint64_t now_ms)
{
    struct server *server = server_of(service);
    struct err err;
    if (!job->slots)
        return HVD_ERR_INVALID;
    if (rank_query_is_open(&job->rank_query))
        return HVD_OK;
    server_enter(server, now_ms);
    int rc = ask_all(server, job, &err);
    server_leave(server);
    return rc;
}

/* Reports the text of every rank to the launcher. */
void server_query_end(struct server *server, struct rendezvous_job *job)
{
    bool asked = job->asked_by_launcher && server->events.report;
    for (int rank = job->rank_query.next;
         asked && rank_query_is_open(&job->rank_query) && rank < job->rank_query.size; rank++)
        server->events.report(server->context, job->ranks[rank].worker, WAITS_FOR_NOTHING,
                              "has left its world for the next");
    rank_query_fini(&job->rank_query);
    job->asked_by_launcher = false;
    wait_list_wake(&job->watchers, &server->service.woken);
}

static void report_of(struct server *server, struct rendezvous_job *job)
{
    int rank;
    enum rank_waits_for waits_for;
    const char *text;
    if (!rank_query_is_open(&job->rank_query))
        return;
    while (!server->closed &&
           rank_query_next(&job->rank_query, &job->membership, &rank, &waits_for, &text)) {
        job->ranks[rank].silent = job->ranks[rank].heard_ms < job->asked_ms;
        if (job->asked_by_launcher)
            server->events.report(server->context, job->ranks[rank].worker, waits_for, text);
    }
    if (!rank_query_is_open(&job->rank_query)) {
        job->asked_by_launcher = false;
        wait_list_wake(&job->watchers, &server->service.woken);
    }
}

void server_report(struct server *server)
{
    struct rendezvous_job *at;
    if (server->rank_queries == 0 || server->closed)
        return;
    server->rank_queries = 0; /* some may have been forgotten with their jobs */
    TAILQ_FOREACH(at, &server->job_table.list, link)
    {
        report_of(server, at);
        server->rank_queries += rank_query_is_open(&at->rank_query);
    }
}

bool server_ask_again(struct server *server)
{
    struct rendezvous_job *job = server->job_table.only;
    if (server->closed || !job || !job->ask_again || rank_query_is_open(&job->rank_query))
        return false;
    job->ask_again = false;
    server_ask(server, server->now_ms, NULL); /* without memory: not answered */
    return true;
}
