/* SPDX-License-Identifier: Apache-2.0 */
/* The agent of a job on this machine alone, as a fork of hvdrun that runs on as hvdagent. To
 * execute hvdagent would take longer than all that the agent does before it starts the ranks: each
 * new program asks the processor about its features, which a virtual machine answers slowly. */
#ifndef SRC_HVDRUN_OWN_AGENT_H
#define SRC_HVDRUN_OWN_AGENT_H

#include "launcher/connect/host_connect.h"
#include "src/hvdrun/job_setup.h"

/* Starts the agent if it can do all that the job asks of it; else `agent` stays as it is, and the
 * agent will be the program hvdagent. Call this after job_setup_plan(), with one thread, before
 * there is an event loop, the job's key, or another limit on descriptors, all of which the agent
 * would get too. The agent writes its name over `argv`, which is hvdrun's. */
void own_agent_start(struct running_agent *agent, const struct job_setup *setup, int argc,
                     char **argv);

/* Ends an agent that no host has taken, if there is one. */
void own_agent_end(struct running_agent *agent);

#endif
