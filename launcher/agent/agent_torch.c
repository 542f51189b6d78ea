/* SPDX-License-Identifier: Apache-2.0 */
/* The variables of torchrun, under --torch-env (launcher/process/torch_environment.h).
 *
 * At PREPARE, the agent of rank 0's host reserves a free port, in the range of HVD_PORT_RANGE if
 * there is one, and reports it in READY. hvdrun tells all agents in START where rank 0 listens. The
 * port stays bound until the ranks start, so that two jobs do not get the same one. Between then
 * and the moment when rank 0 listens, another process can take the port; PyTorch then reports that
 * the address is in use.
 *
 * Fails when no port is free (71), or HVD_PORT_RANGE is malformed (2). */
#include "launcher/agent/agent_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/number.h"
#include "launcher/base/port.h"
#include "launcher/process/torch_environment.h"
#include "lib/base/descriptor.h"
#include "lib/base/env_names.h"

#include <errno.h>
#include <unistd.h>

/* Begins at a port that another job hardly begins at: between START and the moment when rank 0
 * listens, the port is free. */
static int bind_in_range(int first, int last)
{
    int fd = -1, count = last - first + 1, begin = (int)getpid() % count;
    for (int i = 0; fd < 0 && i < count; i++)
        fd = port_bind((uint16_t)(first + (begin + i) % count), false);
    return fd;
}

int agent_torch_reserve(struct agent *agent, struct err *err)
{
    const char *range = string_list_variable(&agent->environment.common, ENV_PORT_RANGE);
    int first = 0, last = 0;
    agent->torch.fd = -1;
    if (!agent->setup.job.attributes.torch_env || agent->ranks.list[0]->rank != 0)
        return 0;
    if (range && port_range_parse(&first, &last, range, ENV_PORT_RANGE, err) < 0)
        return STATUS_USAGE;
    agent->torch.fd = range ? bind_in_range(first, last) : port_bind(0, false);
    if (agent->torch.fd < 0) {
        fail_errno(err, HVD_ERR_SYSTEM, errno, "no free port for MASTER_PORT");
        return STATUS_RESOURCE;
    }
    agent->torch.port = port_of_socket(agent->torch.fd);
    return 0;
}

void agent_torch_environment(struct agent *agent, const struct agent_start *start)
{
    if (!agent->setup.job.attributes.torch_env)
        return;
    struct string_list *common = &agent->environment.common;
    const char *interface = string_list_variable(common, ENV_GLOO_IFACE);
    torch_environment_common(common, start->master_address, start->master_port,
                             interface ? interface : "");
    agent_torch_release(agent);
}

void agent_torch_release(struct agent *agent)
{
    if (agent->torch.port)
        descriptor_close(agent->torch.fd);
    agent->torch.port = 0;
}
