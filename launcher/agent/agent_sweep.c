/* SPDX-License-Identifier: Apache-2.0 */
/* An agent that starts nothing, but ends the processes of an earlier agent that was killed together
 * with its supervisor (CLEANUP_AGENT_AND_SUPERVISOR). hvdrun sends the environment variables that
 * identify the processes. The agent reports how many processes are left. */
#include "launcher/agent/agent_impl.h"

#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "launcher/cleanup/cleanup.h"

#include <stdlib.h>

struct agent_sweep {
    struct agent *agent;
    uv_timer_t checks;
    struct string_list variables;
    struct cleanup cleanup;
};

/* Sends DONE. The link ends when the frame has left, or when hvdrun hangs up. */
static void send_left(struct agent *agent, int left)
{
    if (agent->phase >= AGENT_IS_DONE) /* hvdrun has hung up */
        return;
    agent->phase = AGENT_IS_DONE;
    wire_put_i32(frame_link_begin(&agent->link, AGENT_DONE), left);
    frame_link_send(&agent->link);
}

static void on_sweep_closed(uv_handle_t *handle)
{
    struct agent_sweep *sweep = handle->data;
    string_list_fini(&sweep->variables);
    free(sweep);
}

static void on_sweep_check(uv_timer_t *timer)
{
    struct agent_sweep *sweep = timer->data;
    const struct cleanup_search search = { .variables = &sweep->variables };
    if (cleanup_check(&sweep->cleanup, &search, uv_now(sweep->agent->loop)))
        return;
    send_left(sweep->agent, sweep->cleanup.left);
    uv_close((uv_handle_t *)timer, on_sweep_closed);
}

static void start_sweep(struct agent_sweep *sweep, struct agent *agent)
{
    sweep->agent = agent;
    cleanup_start(&sweep->cleanup, CLEANUP_AGENT_AND_SUPERVISOR, uv_now(agent->loop));
    uv_must(uv_timer_init(agent->loop, &sweep->checks), "timers");
    sweep->checks.data = sweep;
    uv_timer_start(&sweep->checks, on_sweep_check, 0, CLEANUP_CHECK_MS);
}

static int take_sweep_variables(struct string_list *variables, struct wire_reader *body,
                                struct err *err)
{
    while (body->left > 0 && !body->failed) {
        struct wire_text text = wire_get_text(body);
        if (!body->failed && text.length == 0)
            return fail(err, HVD_ERR_PROTOCOL, "SWEEP of an empty variable");
        if (!body->failed)
            string_list_add(variables, text.data, text.length);
    }
    return agent_frame_finished(body, AGENT_SWEEP, err);
}

int agent_on_sweep(struct agent *agent, struct wire_reader *body, struct err *err)
{
    struct agent_sweep *sweep = xcalloc(1, sizeof *sweep);
    int rc = take_sweep_variables(&sweep->variables, body, err);
    if (rc == HVD_OK && (!agent->setup.job.version || sweep->variables.count == 0))
        rc = fail(err, HVD_ERR_PROTOCOL, "SWEEP of nothing");
    if (rc < 0) {
        string_list_fini(&sweep->variables);
        free(sweep);
        return rc;
    }
    agent->phase = AGENT_IS_READY; /* no further frames are handled in a sweep */
    start_sweep(sweep, agent);
    return HVD_OK;
}
