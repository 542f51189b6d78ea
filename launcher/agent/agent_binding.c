/* SPDX-License-Identifier: Apache-2.0 */
/* The processors to which the ranks of a host are bound: chosen before any rank runs, reported to
 * hvdrun when the ranks run. Fails when there are more ranks than may be bound (2), when the
 * machine's processors cannot be found out (71), or when this agent cannot find them (70). */
#include "launcher/agent/agent_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/placement/binding.h"

int agent_binding_plan(struct agent *agent, struct err *err)
{
    struct binding binding = binding_of(agent->setup.job.attributes.bind_to);
    if (binding.kind == BIND_NONE)
        return 0;
    if (!agent->find_places) {
        fail(err, HVD_ERR_SYSTEM, "--bind-to: this agent does not know the machine's processors");
        return STATUS_INTERNAL;
    }
    if (agent->find_places(&agent->places, binding.kind, err) < 0)
        return STATUS_RESOURCE;
    return binding_check(binding, &agent->places, agent->ranks.count, err) < 0 ? STATUS_USAGE : 0;
}

const struct binding_place *agent_binding_of(const struct agent_rank *rank)
{
    const struct binding_places *places = &rank->agent->places;
    return places->count > 0 ? binding_place_for(places, rank->local_rank) : NULL;
}

void agent_binding_report(const struct agent_rank *rank)
{
    struct agent *agent = rank->agent;
    struct agent_bound bound = { .rank = rank->rank };
    if (!agent->setup.job.attributes.report_bindings)
        return;
    binding_text(bound.text, sizeof bound.text,
                 binding_of(agent->setup.job.attributes.bind_to).kind, agent_binding_of(rank));
    agent_bound_encode(frame_link_begin(&agent->link, AGENT_BOUND), &bound);
    frame_link_send(&agent->link);
}
