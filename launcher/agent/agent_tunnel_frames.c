/* SPDX-License-Identifier: Apache-2.0 */
/* What hvdrun says of the tunnels of an agent:
 *
 *   TUNNEL_OPEN      begins one (agent_tunnel.c)
 *   TUNNEL_SCRIPT    the script by which /bin/sh becomes hvdagent goes into the tunnel
 *   TUNNEL_DESCRIBE  the description of the job goes into the tunnel, for the agent at the other
 *                    end, as it has come here
 *   TUNNEL_DATA      goes into the tunnel; TUNNEL_CREDIT lets as much come out of it
 *   MULTICAST        goes into every tunnel of TUNNEL_DESCRIBE that has not ended, and what it carries
 *                    is then handled here; a host that does not read is cut off
 *   TUNNEL_CLOSE     ends one
 *
 * Fails: frames that are malformed or come twice, and frames of a tunnel that was not opened. */
#include "launcher/agent/agent_tunnel.h"

#include "launcher/tree/agent_bootstrap_script.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int agent_on_tunnel_open(struct agent *agent, struct wire_reader *body, struct err *err)
{
    struct string_list words = { 0 };
    uint32_t number = wire_get_u32(body);
    int rc = HVD_OK;
    if (body->failed || number != agent->tunnels.opened || number >= TUNNELS_MAX)
        rc = fail(err, HVD_ERR_PROTOCOL, "TUNNEL_OPEN of tunnel %u after %u others", number,
                  agent->tunnels.opened);
    else
        rc = agent_take_texts(&words, body, AGENT_TUNNEL_OPEN, err);
    if (rc == HVD_OK && words.count == 0)
        rc = fail(err, HVD_ERR_PROTOCOL, "TUNNEL_OPEN without a command");
    if (rc == HVD_OK) {
        agent->tunnels.opened++;
        if (agent->phase < AGENT_IS_DONE)
            agent_tunnel_open(agent, number, &words);
    }
    string_list_fini(&words);
    return rc;
}

/* Handles what follows the number in a frame of one tunnel. */
typedef int tunnel_frame_fn(struct agent_tunnel *tunnel, struct wire_reader *body, struct err *err);

/* A frame for a tunnel that has ended, which hvdrun did not know, is passed over. */
static int agent_tunnel_handle(struct agent *agent, struct wire_reader *body,
                               tunnel_frame_fn *handle, struct err *err)
{
    uint32_t number = wire_get_u32(body);
    if (body->failed || number >= agent->tunnels.opened)
        return fail(err, HVD_ERR_PROTOCOL, "a frame of tunnel %u, which was not opened", number);
    struct agent_tunnel *tunnel = agent->tunnels.first;
    while (tunnel && tunnel->end.number != number)
        tunnel = tunnel->next;
    return tunnel ? handle(tunnel, body, err) : HVD_OK;
}

static int take_tunnel_data(struct agent_tunnel *tunnel, struct wire_reader *body, struct err *err)
{
    size_t length = body->left;
    const void *data = wire_get_bytes(body, length);
    return tunnel->described
               ? tunnel_multicast_take(&tunnel->multicast, &tunnel->end, data, length, err)
               : tunnel_end_take(&tunnel->end, data, length, err);
}

int agent_on_tunnel_data(struct agent *agent, struct wire_reader *body, struct err *err)
{
    return agent_tunnel_handle(agent, body, take_tunnel_data, err);
}

static int take_tunnel_credit(struct agent_tunnel *tunnel, struct wire_reader *body,
                              struct err *err)
{
    uint32_t nbytes = wire_get_u32(body);
    int rc = agent_frame_finished(body, AGENT_TUNNEL_CREDIT, err);
    return rc < 0 ? rc : agent_tunnel_credit(tunnel, nbytes, err);
}

int agent_on_tunnel_credit(struct agent *agent, struct wire_reader *body, struct err *err)
{
    return agent_tunnel_handle(agent, body, take_tunnel_credit, err);
}

static int put_tunnel_script(struct agent_tunnel *tunnel, struct wire_reader *body, struct err *err)
{
    char nonce[BOOTSTRAP_NONCE_SIZE] = "", path[PATH_MAX] = "";
    wire_get_string(body, nonce, sizeof nonce);
    wire_get_string(body, path, sizeof path);
    uint64_t size = wire_get_u64(body);
    int rc = agent_frame_finished(body, AGENT_TUNNEL_SCRIPT, err);
    if (rc < 0)
        return rc;
    if (tunnel->scripted)
        return fail(err, HVD_ERR_PROTOCOL, "a second TUNNEL_SCRIPT of tunnel %u",
                    tunnel->end.number);
    if (!agent_bootstrap_nonce_is_valid(nonce))
        return fail(err, HVD_ERR_PROTOCOL, "TUNNEL_SCRIPT without a nonce");
    tunnel->scripted = true;
    char *script = agent_bootstrap_script(nonce, path, size);
    tunnel_end_put(&tunnel->end, script, strlen(script));
    free(script);
    return HVD_OK;
}

int agent_on_tunnel_script(struct agent *agent, struct wire_reader *body, struct err *err)
{
    return agent_tunnel_handle(agent, body, put_tunnel_script, err);
}

static int put_tunnel_description(struct agent_tunnel *tunnel, struct wire_reader *body,
                                  struct err *err)
{
    const struct wire_writer *description = &tunnel->agent->setup.description;
    int rc = agent_frame_finished(body, AGENT_TUNNEL_DESCRIBE, err);
    if (rc < 0)
        return rc;
    if (tunnel->described)
        return fail(err, HVD_ERR_PROTOCOL, "a second TUNNEL_DESCRIBE of tunnel %u",
                    tunnel->end.number);
    if (description->failed)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    tunnel->described = true;
    tunnel_end_put(&tunnel->end, description->data, description->length);
    return HVD_OK;
}

int agent_on_tunnel_describe(struct agent *agent, struct wire_reader *body, struct err *err)
{
    return agent_tunnel_handle(agent, body, put_tunnel_description, err);
}

static int close_agent_tunnel(struct agent_tunnel *tunnel, struct wire_reader *body,
                              struct err *err)
{
    bool given_up = wire_get_u8(body) != 0;
    int rc = agent_frame_finished(body, AGENT_TUNNEL_CLOSE, err);
    if (rc == HVD_OK)
        agent_tunnel_hang_up(tunnel, given_up);
    return rc;
}

int agent_on_tunnel_close(struct agent *agent, struct wire_reader *body, struct err *err)
{
    return agent_tunnel_handle(agent, body, close_agent_tunnel, err);
}

/* Passes a whole frame on to the hosts below. */
static void agent_tunnels_multicast(struct agent *agent, const struct wire_writer *frame)
{
    for (struct agent_tunnel *tunnel = agent->tunnels.first; tunnel; tunnel = tunnel->next) {
        if (!tunnel->described || tunnel->hung_up || tunnel->told ||
            tunnel_multicast_put(&tunnel->multicast, &tunnel->end, frame->data, frame->length))
            continue;
        agent_tunnel_cut_off(tunnel, "the agent there does not read what it is sent");
    }
}

/* The hosts below get it first: what it carries may take a while here. */
int agent_on_multicast(struct agent *agent, struct wire_reader *body, struct err *err)
{
    const struct wire_reader whole = *body;
    uint16_t type = wire_get_u16(body);
    if (body->failed || whole.left > AGENT_MULTICAST_MAX ||
        (type != AGENT_START && type != AGENT_SIGNAL && type != AGENT_STOP))
        return fail(err, HVD_ERR_PROTOCOL, "malformed MULTICAST frame");
    struct wire_writer frame = { 0 };
    frame_put(&frame, AGENT_MULTICAST, whole.at, whole.left);
    int rc = frame.failed ? fail(err, HVD_ERR_NOMEM, "out of memory") : HVD_OK;
    if (rc == HVD_OK)
        agent_tunnels_multicast(agent, &frame);
    wire_writer_fini(&frame);
    return rc < 0 ? rc : agent_handle_frame(agent, type, body, err);
}
