/* SPDX-License-Identifier: Apache-2.0 */
/* What the ranks of a host find in their environment, in the layers of worker_environment.h, and the
 * network interfaces among it. Fails, with exit status 2, when an interface that was asked for is
 * not here, or when execve() would not take what has come together. */
#include "launcher/agent.h"

#include "launcher/exec_limits.h"
#include "launcher/exit_status.h"
#include "launcher/text_buffer.h"
#include "launcher/worker_environment.h"
#include "launcher/xalloc.h"
#include "lib/base/env_names.h"
#include "lib/base/interfaces.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the login gave lies below what hvdrun has sent. */
void agent_environment_inherit(struct agent *agent)
{
    struct string_list layers = { 0 };
    if (agent->job.own_environment)
        worker_environment_inherit(&layers, environ);
    for (size_t i = 0; i < agent->environment.count; i++)
        string_list_take(&layers, agent->environment.items[i]);
    free(agent->environment.items);
    worker_environment_settle(&layers);
    agent->environment = layers;
}

/* Only what hvdrun has not been told explicitly. */
static void add_unless_there(struct agent *agent, const char *name, const char *value)
{
    if (!string_list_variable(&agent->environment, name))
        string_list_take(&agent->environment, xasprintf("%s=%s", name, value));
}

/* Has an interface of that name come before? It is listed once for each of its addresses. */
static bool is_repeated(const struct interfaces *interfaces, int index)
{
    for (int i = 0; i < index; i++)
        if (strcmp(interfaces->at[i].name, interfaces->at[index].name) == 0)
            return true;
    return false;
}

/* Gloo takes one name, NCCL a list. */
static void add_names(struct agent *agent, const struct interfaces *interfaces)
{
    struct text_buffer names = { 0 };
    for (int i = 0; i < interfaces->count; i++)
        if (!is_repeated(interfaces, i))
            text_buffer_printf(&names, "%s%s", i > 0 ? "," : "", interfaces->at[i].name);
    char *list = text_buffer_take(&names);
    add_unless_there(agent, ENV_GLOO_IFACE, interfaces->at[0].name);
    add_unless_there(agent, ENV_NCCL_SOCKET_IFNAME, list);
    free(list);
}

/* Without a wish: lo where it leads to every rank, else the first interface that leads out. */
int agent_environment_choose_network(struct agent *agent, struct err *err)
{
    static const struct interfaces loopback = { 1, { { .name = "lo" } } };
    const char *wish = agent->job.interfaces;
    struct interfaces here = loopback;
    if (agent->job.one_machine && !*wish) {
        add_names(agent, &loopback);
        return 0;
    }
    if (interfaces_read(&here, err) < 0)
        return STATUS_RESOURCE;
    if (interfaces_choose(&here, wish, err) < 0)
        return STATUS_USAGE;
    if (*wish)
        string_list_take(&agent->environment, xasprintf(ENV_NETWORK_INTERFACES "=%s", wish));
    else if (here.count > 0 && here.at[0].kind == INTERFACE_REAL)
        here.count = 1;
    else
        here = loopback;
    add_names(agent, &here);
    return 0;
}

int agent_environment_finish(struct agent *agent, struct err *err)
{
    struct string_list *common = &agent->environment;
    struct exec_limits limits;
    string_list_take(common, xstrdup(ENV_RENDEZVOUS_ADDR "=127.0.0.1"));
    string_list_take(common, xasprintf(ENV_RENDEZVOUS_PORT "=%d", agent->relay.port));
    worker_environment_settle(common);
    char **envp = worker_environment_over(common, &agent->ranks[agent->nranks - 1]->environment);
    exec_limits_read(&limits);
    int rc = exec_limits_check(&limits, agent->program, agent->arguments.items, envp, err);
    free(envp);
    return rc < 0 ? STATUS_USAGE : 0;
}
