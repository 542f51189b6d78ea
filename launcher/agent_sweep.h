/* SPDX-License-Identifier: Apache-2.0 */
/* An agent that ends what an earlier one has left. */
#ifndef LAUNCHER_AGENT_SWEEP_H
#define LAUNCHER_AGENT_SWEEP_H

#include "launcher/agent.h"

/* Takes SWEEP; DONE follows. */
int agent_on_sweep(struct agent *agent, struct wire_reader *body, struct err *err);

#endif
