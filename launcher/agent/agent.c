/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an agent; see agent.h. A table gives each frame to its handler. A malformed frame, or
 * a frame out of turn, breaks the link. When the link ends before DONE, the agent ends
 * (agent_ending.c). After a signal has told the agent to end, frames up to START that hvdrun sent
 * before it knew are ignored. */
#include "launcher/agent/agent_impl.h"

#include "launcher/base/xalloc.h"
#include "launcher/process/process_tree.h"

#include <stdio.h>
#include <stdlib.h>

typedef int (*frame_fn)(struct agent *agent, struct wire_reader *body, struct err *err);

/* The frames, and the phases [first, last] in which each may come. */
static const struct {
    frame_fn handle;
    enum agent_phase first, last;
} handlers[AGENT_FRAME_TYPES] = {
    [AGENT_JOB] = { agent_on_job, AGENT_RECEIVING, AGENT_RECEIVING },
    [AGENT_ARGUMENTS] = { agent_on_arguments, AGENT_RECEIVING, AGENT_RECEIVING },
    [AGENT_ENVIRONMENT] = { agent_on_environment, AGENT_RECEIVING, AGENT_RECEIVING },
    [AGENT_HOST] = { agent_on_host, AGENT_RECEIVING, AGENT_RECEIVING },
    [AGENT_RANK] = { agent_on_rank, AGENT_RECEIVING, AGENT_RECEIVING },
    [AGENT_PREPARE] = { agent_on_prepare, AGENT_RECEIVING, AGENT_RECEIVING },
    [AGENT_SWEEP] = { agent_on_sweep, AGENT_RECEIVING, AGENT_RECEIVING },
    [AGENT_START] = { agent_on_start, AGENT_IS_READY, AGENT_IS_READY },
    [AGENT_CREDIT] = { agent_on_credit, AGENT_RUNNING, AGENT_IS_DONE },
    [AGENT_STDIN] = { agent_on_stdin, AGENT_RUNNING, AGENT_IS_DONE },
    [AGENT_SIGNAL] = { agent_on_signal, AGENT_RECEIVING, AGENT_IS_DONE },
    [AGENT_STOP] = { agent_on_stop, AGENT_RECEIVING, AGENT_IS_DONE },
    [AGENT_STOP_RANK] = { agent_on_stop_rank, AGENT_RUNNING, AGENT_IS_DONE },
    [AGENT_EXCHANGE] = { agent_on_exchange, AGENT_RUNNING, AGENT_IS_DONE },
    [AGENT_STACKS] = { agent_on_stacks, AGENT_RUNNING, AGENT_IS_DONE },
    [AGENT_RELAY_DATA] = { agent_on_relay_data, AGENT_IS_READY, AGENT_IS_DONE },
    [AGENT_RELAY_END] = { agent_on_relay_end, AGENT_IS_READY, AGENT_IS_DONE },
    [AGENT_HEARTBEAT] = { agent_on_heartbeat, AGENT_RECEIVING, AGENT_IS_DONE },
    [AGENT_TUNNEL_OPEN] = { agent_on_tunnel_open, AGENT_IS_READY, AGENT_IS_DONE },
    [AGENT_TUNNEL_DATA] = { agent_on_tunnel_data, AGENT_IS_READY, AGENT_IS_DONE },
    [AGENT_TUNNEL_CREDIT] = { agent_on_tunnel_credit, AGENT_IS_READY, AGENT_IS_DONE },
    [AGENT_TUNNEL_SCRIPT] = { agent_on_tunnel_script, AGENT_IS_READY, AGENT_IS_DONE },
    [AGENT_TUNNEL_DESCRIBE] = { agent_on_tunnel_describe, AGENT_IS_READY, AGENT_IS_DONE },
    [AGENT_TUNNEL_CLOSE] = { agent_on_tunnel_close, AGENT_IS_READY, AGENT_IS_DONE },
    [AGENT_MULTICAST] = { agent_on_multicast, AGENT_IS_READY, AGENT_IS_DONE },
};

int agent_handle_frame(struct agent *agent, int type, struct wire_reader *body, struct err *err)
{
    if (type >= AGENT_FRAME_TYPES || !handlers[type].handle)
        return fail(err, HVD_ERR_PROTOCOL, "frame of unknown type %d", type);
    if (agent->ending.unstarted && handlers[type].last <= AGENT_IS_READY)
        return HVD_OK;
    if (agent->phase < handlers[type].first || agent->phase > handlers[type].last)
        return fail(err, HVD_ERR_PROTOCOL, "%s frame out of turn", agent_frame_name(type));
    return handlers[type].handle(agent, body, err);
}

static int on_agent_frame(void *context, const struct frame *frame, struct err *err)
{
    struct agent *agent = context;
    if (agent->phase >= AGENT_REFUSED)
        return HVD_OK;
    struct wire_reader body;
    wire_reader_init(&body, frame->body, frame->length);
    return agent_handle_frame(agent, frame->type, &body, err);
}

static void on_agent_link_end(void *context, const struct err *err)
{
    struct agent *agent = context;
    if (err->code == HVD_ERR_PROTOCOL || err->code == HVD_ERR_NOMEM)
        fprintf(stderr, "hvdagent: link to hvdrun: %s\n", err->text);
    agent_orphan(agent);
}

static void on_link_drained(void *context)
{
    struct agent *agent = context;
    if (agent->phase == AGENT_IS_DONE || agent->phase == AGENT_REFUSED) {
        agent_close_everything(agent);
        return;
    }
    agent_relay_resume(agent);
    agent_tunnels_resume(agent);
    agent_pumps_resume(agent);
}

void agent_send_failed(struct agent *agent, int rank, enum host_step step, int exit_status,
                       const char *text)
{
    struct agent_failed failed = { rank, (uint8_t)step, exit_status, "" };
    snprintf(failed.text, sizeof failed.text, "%s", text);
    agent_failed_encode(frame_link_begin(&agent->link, AGENT_FAILED), &failed);
    frame_link_send(&agent->link);
}

void agent_release(struct agent *agent)
{
    agent_ranks_fini(agent);
    binding_places_fini(&agent->places);
    agent_environment_fini(agent);
    agent_setup_fini(agent);
    free(agent);
}

struct agent *agent_open(uv_loop_t *loop, int input, int output,
                         const struct agent_settings *settings, struct err *err)
{
    static const struct frame_link_events events = { on_agent_frame, on_agent_link_end,
                                                     on_link_drained, agent_watch_heard };
    struct agent *agent = xcalloc(1, sizeof *agent);
    agent->loop = loop;
    agent->relay.stall_ms = settings->relay_stall_ms;
    agent->find_places = settings->find_places;
    process_tree_adopt();
    agent_ending_init(agent);
    agent_rank_stops_init(agent);
    agent_stacks_init(agent);
    agent_watch_init(agent);
    if (frame_link_open(&agent->link, loop, input, output, &events, agent, err) < 0) {
        fprintf(stderr, "hvdagent: %s\n", err->text);
        agent_orphan(agent);
    }
    return agent;
}

int agent_run(uv_loop_t *loop, int input, int output, const struct agent_settings *settings)
{
    struct err err = { 0 };
    struct agent *agent = agent_open(loop, input, output, settings, &err);
    uv_run(loop, UV_RUN_DEFAULT);
    agent_release(agent);
    return err.code == HVD_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
