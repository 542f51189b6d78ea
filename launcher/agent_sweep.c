/* SPDX-License-Identifier: Apache-2.0 */
/* An agent that starts nothing, but ends what an earlier agent and its keeper have left, who were
 * killed in the same instant: hvdrun names the variables by which it is known. Kills, looks again,
 * and says how many are left when none has been seen several times, or after as long as anything is
 * given to be killed. One look may miss who forks meanwhile, or is about to run another program. */
#include "launcher/agent_sweep.h"

#include "launcher/strays.h"
#include "launcher/uv_must.h"
#include "launcher/xalloc.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { CLEAN_LOOKS = 4 };

struct agent_sweep {
    struct agent *agent;
    uv_timer_t again;
    struct string_list variables;
    uint64_t until_ms;
    int clean_looks; /* one after the other */
};

/* The link ends when that has left, or when hvdrun hangs up. */
static void send_done(struct agent *agent, int left)
{
    if (agent->phase >= AGENT_IS_DONE) /* it has hung up */
        return;
    agent->phase = AGENT_IS_DONE;
    wire_put_i32(frame_link_begin(&agent->link, AGENT_DONE), left);
    frame_link_send(&agent->link);
}

static void on_closed(uv_handle_t *handle)
{
    struct agent_sweep *sweep = handle->data;
    string_list_fini(&sweep->variables);
    free(sweep);
}

static void on_again(uv_timer_t *timer)
{
    struct agent_sweep *sweep = timer->data;
    int left = strays_signal(SIGKILL, &sweep->variables);
    sweep->clean_looks = left > 0 ? 0 : sweep->clean_looks + 1;
    if (sweep->clean_looks < CLEAN_LOOKS && uv_now(sweep->agent->loop) < sweep->until_ms)
        return;
    send_done(sweep->agent, left);
    uv_close((uv_handle_t *)timer, on_closed);
}

static void start(struct agent_sweep *sweep, struct agent *agent)
{
    sweep->agent = agent;
    sweep->until_ms = uv_now(agent->loop) + STOP_KILL_MS;
    uv_must(uv_timer_init(agent->loop, &sweep->again), "timers");
    sweep->again.data = sweep;
    uv_timer_start(&sweep->again, on_again, 0, STOP_KILL_AGAIN_MS);
}

static int take_variables(struct string_list *variables, struct wire_reader *body, struct err *err)
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
    int rc = take_variables(&sweep->variables, body, err);
    if (rc == HVD_OK && (!agent->job.version || sweep->variables.count == 0))
        rc = fail(err, HVD_ERR_PROTOCOL, "SWEEP of nothing");
    if (rc < 0) {
        string_list_fini(&sweep->variables);
        free(sweep);
        return rc;
    }
    agent->phase = AGENT_IS_READY; /* and nothing else is done */
    start(sweep, agent);
    return HVD_OK;
}
