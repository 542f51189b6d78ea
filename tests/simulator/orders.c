/* SPDX-License-Identifier: Apache-2.0 */
/* Every STOP that hvdrun gives for a host gets to the agent there, whichever way it takes: in a
 * frame for the host alone, or in a MULTICAST that agents above pass on, whose own ranks may have
 * ended. Looks at the host a second later, and passes over it if anything has befallen it, a host
 * above or hvdrun meanwhile. */
#include "launcher/agent/agent_impl.h"
#include "launcher/job/job_host_impl.h"
#include "tests/simulator/clock.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/oracles.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/world.h"

enum { STOP_ARRIVES_MS = 1000 };

static bool is_whole(const struct sim_host *host)
{
    for (; host; host = host->above)
        if (host->lost || host->vanished || host->away || sim_host_is_cut(host) ||
            !host->agent->alive || host->agent->stopped || host->agent->frozen)
            return false;
    return world.launcher->alive && !world.slept;
}

struct stop {
    const struct sim_host *host;
    int number; /* of the STOPs for this host; later ones may be under way */
};

static void look_for_stop(void *context)
{
    const struct stop *stop = context;
    if (stop->host->stops_heard < stop->number && is_whole(stop->host))
        sim_broken("h%d has not got a STOP", stop->host->index);
}

void __real_job_host_stop(struct job_host *host, int signum, uint32_t grace_ms,
                          enum host_cast cast);
void __wrap_job_host_stop(struct job_host *host, int signum, uint32_t grace_ms,
                          enum host_cast cast);
int __real_agent_on_stop(struct agent *agent, struct wire_reader *body, struct err *err);
int __wrap_agent_on_stop(struct agent *agent, struct wire_reader *body, struct err *err);

void __wrap_job_host_stop(struct job_host *host, int signum, uint32_t grace_ms, enum host_cast cast)
{
    struct sim_host *at = &world.hosts[host->where.host->name[1] - '0'];
    bool awaited = job_host_is_open(host) && host->phase < HOST_DONE;
    __real_job_host_stop(host, signum, grace_ms, cast);
    if (!awaited)
        return;
    struct stop *stop = sim_new(sizeof *stop);
    *stop = (struct stop){ at, ++at->stops };
    sim_after(NULL, SIM_MS(STOP_ARRIVES_MS), look_for_stop, stop);
}

int __wrap_agent_on_stop(struct agent *agent, struct wire_reader *body, struct err *err)
{
    world.hosts[sim_current()->host].stops_heard++;
    return __real_agent_on_stop(agent, body, err);
}
