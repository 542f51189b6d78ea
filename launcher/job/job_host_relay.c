/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of a host's clients of the rendezvous, which its agent relays over its link:
 *
 *   client - agent_relay.c - link - here - the rendezvous (lib/base/rendezvous_stream.h)
 *
 * The agent gives each connection a number. RELAY_OPEN is accept(), RELAY_DATA receive(), RELAY_END
 * hangup(). Bytes of the rendezvous leave as RELAY_DATA, and close() as RELAY_END. A connection
 * that the rendezvous refuses gets RELAY_END at once. An agent gets no answer for a number that it
 * uses twice, or whose connection has ended meanwhile. When the host is lost, the rendezvous hears
 * that all its connections have ended. */
#include "launcher/base/xalloc.h"
#include "launcher/job/job_host_impl.h"

#include <stdlib.h>

/* Bytes of an answer in one frame: a larger one would keep other frames waiting. */
enum { RELAY_PIECE = 256 * 1024 };

struct relayed {
    struct rendezvous_stream stream; /* first member: the rendezvous passes a pointer to it */
    struct rendezvous_connection *connection;
    struct job_host *host;
    uint32_t id;
    struct relayed *next;
};

static struct relayed **relayed_find(struct job_host *host, uint32_t id)
{
    struct relayed **at = &host->relayed[id % JOB_HOST_RELAY_LISTS];
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

static void relayed_free(struct relayed **at)
{
    struct relayed *gone = *at;
    *at = gone->next;
    free(gone);
}

static void relayed_hang_up(struct relayed **at)
{
    struct relayed *gone = *at;
    struct rendezvous_connection *connection = gone->connection;
    void (*hangup)(struct rendezvous_connection * connection) = gone->host->rendezvous->hangup;
    relayed_free(at);
    hangup(connection);
}

/* ---- calls of the rendezvous ---- */

static void relayed_send(struct rendezvous_stream *stream, const void *data, size_t length)
{
    const struct relayed *relayed = (struct relayed *)stream;
    struct job_host *host = relayed->host;
    const char *at = data;
    while (job_host_is_open(host) && length > 0) {
        size_t piece = length < RELAY_PIECE ? length : RELAY_PIECE;
        struct wire_writer *body = frame_link_begin(&host->link, AGENT_RELAY_DATA);
        wire_put_u32(body, relayed->id);
        wire_put_bytes(body, at, piece);
        frame_link_send(&host->link);
        at += piece;
        length -= piece;
    }
}

static void send_relay_end(struct job_host *host, uint32_t id)
{
    if (!job_host_is_open(host))
        return;
    wire_put_u32(frame_link_begin(&host->link, AGENT_RELAY_END), id);
    frame_link_send(&host->link);
}

static void relayed_close(struct rendezvous_stream *stream)
{
    const struct relayed *relayed = (struct relayed *)stream;
    send_relay_end(relayed->host, relayed->id);
    relayed_free(relayed_find(relayed->host, relayed->id));
}

/* ---- frames of the agent ---- */

int job_host_on_relay_open(struct job_host *host, struct wire_reader *body, struct err *err)
{
    const struct rendezvous_server *server = host->rendezvous;
    struct agent_relay_client client;
    int rc = agent_relay_client_decode(&client, body, err);
    if (rc < 0)
        return rc;
    struct relayed **at = relayed_find(host, client.id);
    if (*at)
        return HVD_OK;
    struct relayed *relayed = xcalloc(1, sizeof *relayed);
    *relayed =
        (struct relayed){ .stream = { .send = relayed_send,
                                      .close = relayed_close,
                                      .brief = true,
                                      .worker = host->where.ranks[0],
                                      .workers =
                                          host->options->elastic ? host->where.local_size : 0 },
                          .host = host,
                          .id = client.id };
    *at = relayed;
    if (server->rendezvous)
        relayed->connection =
            server->accept(server->rendezvous, &relayed->stream,
                           client.own ? RENDEZVOUS_OWN_UID : RENDEZVOUS_ELSEWHERE);
    if (!relayed->connection)
        relayed_close(&relayed->stream);
    return HVD_OK;
}

int job_host_on_relay_data(struct job_host *host, struct wire_reader *body, struct err *err)
{
    uint32_t id = wire_get_u32(body);
    size_t length = body->left;
    const void *data = wire_get_bytes(body, length);
    if (body->failed)
        return fail(err, HVD_ERR_PROTOCOL, "malformed RELAY_DATA frame");
    const struct relayed *relayed = *relayed_find(host, id);
    if (relayed)
        host->rendezvous->receive(relayed->connection, data, length);
    return HVD_OK;
}

/* Bytes of the answer have been sent before. */
int job_host_on_relay_end(struct job_host *host, struct wire_reader *body, struct err *err)
{
    uint32_t id = wire_get_u32(body);
    int rc = agent_frame_finished(body, AGENT_RELAY_END, err);
    if (rc < 0)
        return rc;
    struct relayed **at = relayed_find(host, id);
    if (*at)
        relayed_hang_up(at);
    send_relay_end(host, id);
    return HVD_OK;
}

/* Starts over after each connection: others of the host may end with it. */
void job_host_hang_up_relay(struct job_host *host)
{
    for (int i = 0; i < JOB_HOST_RELAY_LISTS; i++)
        while (host->relayed[i])
            relayed_hang_up(&host->relayed[i]);
}
