/* SPDX-License-Identifier: Apache-2.0 */
/* The description of the job, and the checks before anything runs: working directory, program,
 * descriptors, rendezvous, network interfaces, environment, processors to bind to. Fails, as one
 * FAILED frame for the host, when the working directory cannot be entered, the program is not found
 * (127) or cannot be executed (126), too few descriptors are allowed or the rendezvous cannot be
 * offered (71), an interface does not exist, execve() would not take the arguments and the
 * environment, or there are more ranks than can be bound (2); and, if requested, when a shared
 * library of the program is not found (127). */
#include "launcher/agent/agent_impl.h"

#include "launcher/base/cpu_mask.h"
#include "launcher/base/descriptors.h"
#include "launcher/base/exit_status.h"
#include "launcher/process/cuda_info.h"
#include "launcher/process/program_find.h"
#include "launcher/process/worker_environment.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

void agent_keep_description(struct agent *agent, int type, const struct wire_reader *body)
{
    frame_put(&agent->setup.description, (uint16_t)type, body->at, body->left);
}

/* From a message of another version only the number is read. The agent reports this in a FAILED
 * frame, which every version can read. */
int agent_on_job(struct agent *agent, struct wire_reader *body, struct err *err)
{
    if (agent->setup.job.version)
        return fail(err, HVD_ERR_PROTOCOL, "a second JOB");
    agent_keep_description(agent, AGENT_JOB, body);
    int rc = agent_job_decode(&agent->setup.job, body, err);
    if (rc < 0 && !body->failed && agent->setup.job.version != AGENT_VERSION) {
        agent->phase = AGENT_REFUSED;
        agent_send_failed(agent, -1, STEP_AGENT, STATUS_UNREACHABLE, err->text);
        return HVD_OK;
    }
    if (rc < 0)
        return rc;
    agent_watch_start(agent);
    return HVD_OK;
}

int agent_take_texts(struct string_list *list, struct wire_reader *body, int type, struct err *err)
{
    while (body->left > 0 && !body->failed) {
        struct wire_text text = wire_get_text(body);
        if (memchr(text.data, 0, text.length))
            body->failed = true;
        if (!body->failed)
            string_list_add(list, text.data, text.length);
    }
    return agent_frame_finished(body, type, err);
}

int agent_on_arguments(struct agent *agent, struct wire_reader *body, struct err *err)
{
    agent_keep_description(agent, AGENT_ARGUMENTS, body);
    return agent_take_texts(&agent->setup.arguments, body, AGENT_ARGUMENTS, err);
}

int agent_on_host(struct agent *agent, struct wire_reader *body, struct err *err)
{
    int rc = agent_host_decode(&agent->setup.host, body, err);
    if (rc == HVD_OK && agent->setup.host.nhosts < 1)
        rc = fail(err, HVD_ERR_PROTOCOL, "HOST in a job of %d hosts", agent->setup.host.nhosts);
    return rc;
}

static int enter_directory(struct agent *agent, struct err *err)
{
    if (chdir(agent->setup.job.cwd) == 0)
        return 0;
    fail_errno(err, HVD_ERR_SYSTEM, errno, "working directory '%s'", agent->setup.job.cwd);
    return STATUS_NOT_FOUND;
}

static int check_command(struct agent *agent, struct err *err)
{
    agent_environment_inherit(agent);
    return program_find(agent->setup.arguments.items[0],
                        string_list_variable(&agent->environment.common, "PATH"),
                        &agent->setup.program, err);
}

static int check_libraries(struct agent *agent, struct err *err)
{
    char text[256];
    if (!agent->setup.job.check_libraries || !agent_library_missing(agent, text, sizeof text))
        return 0;
    fail(err, HVD_ERR_SYSTEM, "command %s", text);
    return STATUS_NOT_FOUND;
}

static int take_resources(struct agent *agent, struct err *err)
{
    unsigned long needed = descriptors_of_agent(agent->ranks.count);
    unsigned long wanted = needed + 2 * (unsigned long)agent_relay_limit(agent);
    if (descriptors_allow(wanted, &agent->setup.nofile, NULL) < 0 &&
        descriptors_allow(needed, &agent->setup.nofile, err) < 0)
        return STATUS_RESOURCE;
    return agent_relay_open(agent, err) < 0 ? STATUS_RESOURCE : 0;
}

/* The checks, in this order, which is not that of enum host_step: `step` only names the check that
 * fails. Each returns 0, or the exit status with which the job fails on this host. */
static const struct {
    int (*look)(struct agent *agent, struct err *err);
    enum host_step step;
} looks[] = {
    { enter_directory, STEP_DIRECTORY },        { check_command, STEP_COMMAND },
    { take_resources, STEP_RESOURCES },         { agent_environment_choose_network, STEP_NETWORK },
    { agent_torch_reserve, STEP_NETWORK },      { agent_environment_python, STEP_COMMAND },
    { agent_environment_finish, STEP_COMMAND }, { check_libraries, STEP_COMMAND },
    { agent_binding_plan, STEP_BINDING },
};

/* The folder in which this program is installed; "" for a sent copy. That has removed itself and
 * its folder, and somebody else may have made a folder of that name since. */
static void find_own_folder(char folder[PATH_MAX])
{
    static const char exe[] = "/proc/self/exe";
    struct stat running, found;
    ssize_t length = readlink(exe, folder, PATH_MAX - 1);
    folder[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash && stat(exe, &running) == 0 && stat(folder, &found) == 0 &&
        running.st_dev == found.st_dev && running.st_ino == found.st_ino)
        *slash = '\0';
    else
        *folder = '\0';
}

/* Asked in the environment of the ranks. */
static void describe_cuda(struct agent *agent, char text[AGENT_CUDA_SIZE])
{
    char own[PATH_MAX];
    find_own_folder(own);
    char **envp = worker_environment_over(&agent->environment.common,
                                          &agent->ranks.list[agent->ranks.count - 1]->environment);
    char *line = cuda_info_line(own, envp);
    snprintf(text, AGENT_CUDA_SIZE, "%s", line);
    free(line);
    free(envp);
}

static void send_ready(struct agent *agent)
{
    struct agent_ready ready = { .ncpus = (uint32_t)cpu_mask_count_own(),
                                 .relay_port = (uint16_t)agent->relay.port };
    struct timespec clock;
    struct utsname name;
    if (agent->setup.job.check_cuda) /* takes seconds, so the clock is read afterwards */
        describe_cuda(agent, ready.cuda);
    clock_gettime(CLOCK_REALTIME, &clock);
    ready.clock_ms = (uint64_t)clock.tv_sec * 1000 + (uint64_t)clock.tv_nsec / 1000000;
    snprintf(ready.caller, sizeof ready.caller, "%s", agent->environment.caller);
    snprintf(ready.address, sizeof ready.address, "%s", agent->environment.address);
    ready.torch_port = agent->torch.port;
    if (uname(&name) == 0)
        snprintf(ready.machine, sizeof ready.machine, "%.24s %.32s", name.sysname, name.machine);
    agent_ready_encode(frame_link_begin(&agent->link, AGENT_READY), &ready);
    frame_link_send(&agent->link);
}

int agent_on_prepare(struct agent *agent, struct wire_reader *body, struct err *err)
{
    int rc = agent_frame_finished(body, AGENT_PREPARE, err);
    if (rc < 0)
        return rc;
    if (agent->setup.arguments.count == 0 || agent->ranks.count == 0 || !agent->setup.job.version)
        return fail(err, HVD_ERR_PROTOCOL, "PREPARE before the job is described");
    if (agent->setup.program || agent->relay.table)
        return fail(err, HVD_ERR_PROTOCOL, "a second PREPARE");
    struct err reason = { 0 };
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        int exit_status = looks[i].look(agent, &reason);
        if (exit_status == 0)
            continue;
        agent_send_failed(agent, -1, looks[i].step, exit_status, reason.text);
        return HVD_OK;
    }
    agent->phase = AGENT_IS_READY;
    send_ready(agent);
    agent_ranks_prepare(agent);
    return HVD_OK;
}

void agent_setup_fini(struct agent *agent)
{
    agent_torch_release(agent);
    free(agent->setup.program);
    string_list_fini(&agent->setup.arguments);
    wire_writer_fini(&agent->setup.description);
}
