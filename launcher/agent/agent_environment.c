/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of the ranks of a host, in the layers of worker_environment.h, and the choice of
 * network interfaces. Fails, with exit status 2, when a requested interface does not exist on this
 * host, or when execve() would not take the complete environment. */
#include "launcher/agent/agent_impl.h"

#include "launcher/base/cpu_mask.h"
#include "launcher/base/exit_status.h"
#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"
#include "launcher/placement/binding.h"
#include "launcher/process/exec_limits.h"
#include "launcher/process/program_libraries.h"
#include "launcher/process/torch_environment.h"
#include "launcher/process/worker_environment.h"
#include "lib/base/env_names.h"
#include "lib/base/interfaces.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int agent_on_environment(struct agent *agent, struct wire_reader *body, struct err *err)
{
    agent_keep_description(agent, AGENT_ENVIRONMENT, body);
    return agent_take_texts(&agent->environment.common, body, AGENT_ENVIRONMENT, err);
}

void agent_environment_rank(const struct agent *agent, struct agent_rank *rank,
                            const struct agent_worker *worker)
{
    const struct agent_job *job = &agent->setup.job;
    const struct agent_host *host = &agent->setup.host;
    struct string_list *own = &rank->environment;
    worker_environment_rank(own, &worker->place, host->name, job->id, &worker->key, worker->worker);
    if (job->elastic)
        worker_environment_elastic(own, worker->worker, host->index);
    if (job->attributes.stack_traces)
        string_list_take(own, xstrdup(ENV_STACK_TRACES "=1"));
    if (job->attributes.torch_env)
        torch_environment_rank(own, &worker->place, host->index, host->nhosts);
}

/* Variables of the login have lower precedence than those that hvdrun has sent. */
void agent_environment_inherit(struct agent *agent)
{
    struct string_list layers = { 0 };
    if (agent->setup.job.own_environment)
        worker_environment_inherit(&layers, environ);
    for (size_t i = 0; i < agent->environment.common.count; i++)
        string_list_take(&layers, agent->environment.common.items[i]);
    free(agent->environment.common.items);
    worker_environment_finish(&layers);
    agent->environment.common = layers;
}

/* Adds a variable that hvdrun has not set explicitly. */
static void add_unless_there(struct agent *agent, const char *name, const char *value)
{
    if (!string_list_variable(&agent->environment.common, name))
        string_list_take(&agent->environment.common, xasprintf("%s=%s", name, value));
}

/* Has an interface of that name come before? An interface is listed once for each of its
 * addresses. */
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

/* True if other hosts reach this one by the interface with that address. */
static bool use_address(struct agent *agent, const struct interfaces *here, const char *address)
{
    const struct interface *found = interfaces_find(here, address);
    if (!found || found->kind == INTERFACE_LOOPBACK)
        return false;
    snprintf(agent->environment.interface, sizeof agent->environment.interface, "%s", found->name);
    return true;
}

/* sshd tells a login both addresses of the connection: "CLIENT PORT SERVER PORT". */
static void ask_login(struct agent *agent, const struct interfaces *here)
{
    char client[AGENT_ADDRESS_SIZE], server[AGENT_ADDRESS_SIZE];
    const char *login = agent->setup.job.own_environment ? getenv("SSH_CONNECTION") : NULL;
    if (login && sscanf(login, "%45s %*s %45s", client, server) == 2 &&
        use_address(agent, here, server)) {
        snprintf(agent->environment.caller, sizeof agent->environment.caller, "%s", client);
        snprintf(agent->environment.address, sizeof agent->environment.address, "%s", server);
    }
}

/* The address of one side of a connection, as a number; IPv4 inside IPv6 as IPv4. */
static bool end_of_connection(int (*ask)(int, struct sockaddr *, socklen_t *), int fd, char *text)
{
    struct sockaddr_storage end = { 0 };
    socklen_t size = sizeof end;
    const struct in6_addr *ip6 = &((struct sockaddr_in6 *)&end)->sin6_addr;
    if (ask(fd, (struct sockaddr *)&end, &size) < 0)
        return false;
    if (end.ss_family == AF_INET)
        return inet_ntop(AF_INET, &((struct sockaddr_in *)&end)->sin_addr, text,
                         AGENT_ADDRESS_SIZE);
    if (end.ss_family != AF_INET6)
        return false;
    if (IN6_IS_ADDR_V4MAPPED(ip6))
        return inet_ntop(AF_INET, ip6->s6_addr + 12, text, AGENT_ADDRESS_SIZE);
    return inet_ntop(AF_INET6, ip6, text, AGENT_ADDRESS_SIZE);
}

/* A link that the agent has made itself has the addresses of both sides (agent_dial.h). */
static bool ask_link(struct agent *agent, const struct interfaces *here)
{
    char client[AGENT_ADDRESS_SIZE], server[AGENT_ADDRESS_SIZE];
    uv_os_fd_t fd;
    if (uv_fileno((uv_handle_t *)&agent->link.input, &fd) < 0 ||
        !end_of_connection(getpeername, fd, client) ||
        !end_of_connection(getsockname, fd, server) || !use_address(agent, here, server))
        return false;
    snprintf(agent->environment.caller, sizeof agent->environment.caller, "%s", client);
    snprintf(agent->environment.address, sizeof agent->environment.address, "%s", server);
    return true;
}

/* Without --network-interfaces: lo if it leads to every rank, else the interface of hvdrun's
 * connection, else the first that leads out. On hvdrun's own host, START may name a better one. */
int agent_environment_choose_network(struct agent *agent, struct err *err)
{
    struct interfaces here = { 1, { { .name = "lo", .kind = INTERFACE_LOOPBACK } } };
    const char *wish = agent->setup.host.interfaces;
    if ((*wish || !agent->setup.job.one_machine) && interfaces_read(&here, err) < 0)
        return STATUS_RESOURCE;
    bool leads_out = here.count > 0 && here.at[0].kind == INTERFACE_REAL;
    snprintf(agent->environment.interface, sizeof agent->environment.interface, "%s",
             leads_out ? here.at[0].name : "lo");
    if (!ask_link(agent, &here))
        ask_login(agent, &here);
    if (!*wish)
        return 0;
    agent->environment.interface[0] = '\0';
    if (interfaces_choose(&here, wish, err) < 0)
        return STATUS_USAGE;
    string_list_take(&agent->environment.common, xasprintf(ENV_NETWORK_INTERFACES "=%s", wish));
    add_names(agent, &here);
    interface_address(&here.at[0], agent->environment.address, sizeof agent->environment.address);
    return 0;
}

void agent_environment_name_network(struct agent *agent, const char *address)
{
    struct interfaces here;
    if (!*agent->environment.interface)
        return;
    if (*address && interfaces_read(&here, NULL) == HVD_OK)
        use_address(agent, &here, address);
    add_unless_there(agent, ENV_GLOO_IFACE, agent->environment.interface);
    add_unless_there(agent, ENV_NCCL_SOCKET_IFNAME, agent->environment.interface);
}

int agent_environment_python(struct agent *agent, struct err *err)
{
    const char *directory = agent->setup.job.python_path;
    const char *old = string_list_variable(&agent->environment.common, ENV_PYTHONPATH);
    if (!*directory)
        return 0;
    char *package = xasprintf("%s/horovod/__init__.py", directory);
    int error = access(package, R_OK) == 0 ? 0 : errno;
    if (error)
        fail_errno(err, HVD_ERR_SYSTEM, error, "--horovod libhvd: no Python package of libhvd: %s",
                   package);
    else
        string_list_take(
            &agent->environment.common,
            xasprintf(ENV_PYTHONPATH "=%s%s%s", directory, old && *old ? ":" : "", old ? old : ""));
    free(package);
    return error ? STATUS_NOT_FOUND : 0;
}

int agent_environment_finish(struct agent *agent, struct err *err)
{
    struct string_list *common = &agent->environment.common;
    struct exec_limits limits;
    string_list_take(common, xstrdup(ENV_RENDEZVOUS_ADDR "=127.0.0.1"));
    string_list_take(common, xasprintf(ENV_RENDEZVOUS_PORT "=%d", agent->relay.port));
    if (binding_of(agent->setup.job.attributes.bind_to).kind != BIND_NONE)
        string_list_take(common, xasprintf(ENV_PROCESSORS "=%d", cpu_mask_count_own()));
    worker_environment_finish(common);
    char **envp =
        worker_environment_over(common, &agent->ranks.list[agent->ranks.count - 1]->environment);
    exec_limits_read(&limits);
    int rc =
        exec_limits_check(&limits, agent->setup.program, agent->setup.arguments.items, envp, err);
    free(envp);
    return rc < 0 ? STATUS_USAGE : 0;
}

/* While ranks run, the limit is much less than hvdrun's heartbeat timeout. Before that, hvdrun
 * waits for READY. */
static uint32_t loader_timeout_ms(const struct agent *agent)
{
    enum { LOADER_MS = 2000 };
    uint32_t most_ms = agent->setup.job.answer_ms / 3;
    return agent->phase >= AGENT_RUNNING && most_ms < LOADER_MS ? most_ms : LOADER_MS;
}

bool agent_library_missing(struct agent *agent, char *text, size_t size)
{
    struct program_libraries libraries;
    char **envp = worker_environment_over(&agent->environment.common,
                                          &agent->ranks.list[agent->ranks.count - 1]->environment);
    program_libraries_look(&libraries, agent->setup.program, envp, loader_timeout_ms(agent));
    free(envp);
    return program_libraries_tell(&libraries, agent->setup.arguments.items[0], text, size);
}

void agent_environment_fini(struct agent *agent)
{
    string_list_fini(&agent->environment.common);
}
