/* SPDX-License-Identifier: Apache-2.0 */
/* Ending one rank while the others of the host run on, in an elastic job (STOP_RANK):
 *   the rank runs      it is asked, then killed (stop_plan.h), and so are processes that it has started
 *   the rank has ended the processes that it has left behind are asked, then killed
 *
 * The signals go to the rank's process group; when the rank has ended, and with SIGKILL, to every
 * process whose environment has the variables of the frame, wherever it is. The rank's exit is
 * reported as usual. Processes that cannot be killed are given up; DONE counts them. */
#include "launcher/agent/agent_impl.h"

#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "launcher/cleanup/orphans.h"
#include "launcher/process/process_handle.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { TICK_MS = STOP_KILL_AGAIN_MS };

/* One rank that is being ended. */
struct agent_rank_stop {
    struct agent_rank *rank;
    struct stop_plan plan;
    struct string_list variables;
    bool rest_asked; /* what the rank has left behind got a signal */
    struct agent_rank_stop *next;
};

/* A rank that can handle the signal gets it once: first its group, then, when the rank has ended,
 * what it has left behind. */
static void rank_stop_signal(struct agent_rank_stop *stop, int signum)
{
    bool running = stop->rank->running;
    if (running)
        kill(-stop->rank->pid, signum);
    if (running && signum != SIGKILL) /* a stopped process would not handle the signal */
        kill(-stop->rank->pid, SIGCONT);
    if (running && signum != SIGKILL)
        return;
    stop->rest_asked = true;
    orphans_signal(signum, &stop->variables);
}

static void rank_stop_free(struct agent_rank_stop *stop)
{
    string_list_fini(&stop->variables);
    free(stop);
}

/* Nothing of the rank is left, or it cannot be killed. */
static bool rank_stop_is_over(const struct agent_rank_stop *stop)
{
    if (stop->plan.phase == STOP_GIVEN_UP)
        return true;
    return !stop->rank->running && orphans_signal(0, &stop->variables) == 0;
}

static void on_rank_stop_tick(uv_timer_t *timer)
{
    struct agent *agent = timer->data;
    struct agent_rank_stop **at = &agent->rank_stops.first;
    while (*at) {
        struct agent_rank_stop *stop = *at;
        int signum = stop_plan_advance(&stop->plan, uv_now(agent->loop));
        if (signum == 0 && !stop->rank->running && !stop->rest_asked)
            signum = SIGTERM;
        if (signum != 0)
            rank_stop_signal(stop, signum);
        if (!rank_stop_is_over(stop)) {
            at = &stop->next;
            continue;
        }
        *at = stop->next;
        rank_stop_free(stop);
    }
    if (!agent->rank_stops.first)
        uv_timer_stop(timer);
}

static struct agent_rank_stop *rank_stop_of(struct agent *agent, struct agent_rank *rank)
{
    struct agent_rank_stop *stop = agent->rank_stops.first;
    while (stop && stop->rank != rank)
        stop = stop->next;
    if (stop)
        return stop;
    stop = xcalloc(1, sizeof *stop);
    stop->rank = rank;
    stop->next = agent->rank_stops.first;
    agent->rank_stops.first = stop;
    return stop;
}

int agent_on_stop_rank(struct agent *agent, struct wire_reader *body, struct err *err)
{
    struct agent_stop_rank told;
    int rc = agent_stop_rank_decode(&told, body, err);
    if (rc < 0)
        return rc;
    struct agent_rank *rank = agent_find_rank(agent, told.rank);
    if (!rank)
        return fail(err, HVD_ERR_PROTOCOL, "STOP_RANK of rank %d, which is not here", told.rank);
    struct agent_rank_stop *stop = rank_stop_of(agent, rank);
    string_list_fini(&stop->variables);
    if ((rc = agent_take_texts(&stop->variables, body, AGENT_STOP_RANK, err)) < 0)
        return rc;
    agent_reap(agent); /* if it has ended before, or is about to, it does so by itself */
    rank->told_to_end |= rank->running && !process_is_ending(rank->pid);
    int signum =
        stop_plan_ask(&stop->plan, told.stop.signum, told.stop.grace_ms, uv_now(agent->loop));
    if (signum != 0)
        rank_stop_signal(stop, signum);
    if (!uv_is_active((uv_handle_t *)&agent->rank_stops.tick))
        uv_timer_start(&agent->rank_stops.tick, on_rank_stop_tick, TICK_MS, TICK_MS);
    return HVD_OK;
}

void agent_rank_stops_init(struct agent *agent)
{
    uv_must(uv_timer_init(agent->loop, &agent->rank_stops.tick), "timers");
    agent->rank_stops.tick.data = agent;
}

void agent_rank_stops_close(struct agent *agent)
{
    while (agent->rank_stops.first) {
        struct agent_rank_stop *stop = agent->rank_stops.first;
        agent->rank_stops.first = stop->next;
        rank_stop_free(stop);
    }
    uv_timer_stop(&agent->rank_stops.tick);
    uv_close((uv_handle_t *)&agent->rank_stops.tick, NULL);
}
