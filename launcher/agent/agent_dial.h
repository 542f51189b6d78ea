/* SPDX-License-Identifier: Apache-2.0 */
/* An agent that something else has started (srun) connects to hvdrun: its stdin has an invitation
 * (launcher/protocol/agent_dial.h). */
#ifndef LAUNCHER_AGENT_AGENT_DIAL_H
#define LAUNCHER_AGENT_AGENT_DIAL_H

#include "lib/base/status.h"

/* Reads the invitation from `input`, connects, and proves both sides. Returns a blocking descriptor
 * of the connection; or a negative status, and `err` names the addresses that were tried. Takes at
 * most DIAL_ANSWER_MS for each answer, and DIAL_CONNECT_MS for each address. */
int agent_dial_hvdrun(int input, struct err *err);

#endif
