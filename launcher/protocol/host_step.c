/* SPDX-License-Identifier: Apache-2.0 */
/* Names of steps. */
#include "launcher/protocol/host_step.h"

const char *host_step_name(enum host_step step)
{
    static const char *const names[HOST_STEPS] = {
        [STEP_WAITING] = "waiting",     [STEP_RESOLVE] = "resolve", [STEP_CONNECT] = "connect",
        [STEP_HOST_KEY] = "host key",   [STEP_LOGIN] = "login",     [STEP_AGENT] = "agent",
        [STEP_DIRECTORY] = "directory", [STEP_COMMAND] = "command", [STEP_RESOURCES] = "resources",
        [STEP_NETWORK] = "network",     [STEP_BINDING] = "binding", [STEP_READY] = "ready",
    };
    return names[step];
}
