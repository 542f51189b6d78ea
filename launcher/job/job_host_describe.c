/* SPDX-License-Identifier: Apache-2.0 */
/* Describing the job to an agent, up to PREPARE; see agent_protocol.h. */
#include "launcher/job/job_host_impl.h"

#include "launcher/base/xalloc.h"
#include "launcher/process/torch_environment.h"
#include "launcher/process/worker_environment.h"
#include "lib/base/env_names.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Texts are gathered into frames of about this size; one text may be as long as execve() allows,
 * 128 KiB. */
enum { TEXTS_PER_FRAME = 16 * 1024 };

/* The agent has nothing to send before PREPARE, which may take long over a slow link: so each piece
 * is followed by a heartbeat, which the agent echoes. */
static void send_texts(struct job_host *host, uint16_t type, char *const *texts)
{
    while (*texts) {
        struct wire_writer *body = frame_link_begin(&host->link, type);
        size_t begin = body->length;
        do
            wire_put_string(body, *texts++);
        while (*texts && body->length - begin + strlen(*texts) < TEXTS_PER_FRAME);
        frame_link_send(&host->link);
        job_host_send_heartbeat(host);
    }
}

static void send_ranks(struct job_host *host, const struct job_options *options)
{
    const struct rank_plan *plan = host->plan;
    for (int i = 0; i < host->where.local_size; i++) {
        int worker = host->where.ranks[i];
        const struct rank_info *rank_info = &plan->ranks[worker].rank_info;
        struct string_list own = { 0 };
        struct job_key key;
        worker_key_derive(&key, options->key, worker);
        worker_environment_rank(&own, rank_info, host->where.host->name, options->id, &key, worker);
        job_key_wipe(&key);
        if (options->elastic)
            worker_environment_elastic(&own, worker, host->index);
        if (options->attributes.stack_traces)
            string_list_take(&own, xstrdup(ENV_STACK_TRACES "=1"));
        if (options->attributes.torch_env)
            torch_environment_rank(&own, rank_info, host->index, plan->host_count);
        struct wire_writer *body = frame_link_begin(&host->link, AGENT_RANK);
        body->secret = true; /* the variables have the key of the worker */
        wire_put_i32(body, worker);
        for (size_t n = 0; n < own.count; n++)
            wire_put_string(body, own.items[n]);
        frame_link_send(&host->link);
        string_list_wipe(&own);
    }
}

/* The program that --check-hosts looks for when the user gives no command. */
static char *const any_command[] = { (char *)(uintptr_t) "/bin/sh", NULL };

/* What is the same for all hosts but ours. */
static void send_common(struct job_host *host, const struct job_options *options)
{
    struct agent_job job = { .version = AGENT_VERSION };
    job.own_environment = !host->local;
    job.one_machine = options->elastic ? options->elastic->one_machine
                                       : host->where.local_size == host->plan->size;
    job.elastic = options->elastic;
    job.heartbeat_timeout_ms = host->local ? 0 : options->heartbeat_timeout_ms;
    job.answer_ms = options->heartbeat_timeout_ms;
    job.attributes = options->attributes;
    job.check_libraries = options->check_libraries;
    job.check_cuda = options->check_cuda;
    snprintf(job.python_path, sizeof job.python_path, "%s",
             options->python_path ? options->python_path : "");
    snprintf(job.cwd, sizeof job.cwd, "%s", options->cwd);
    agent_job_encode(frame_link_begin(&host->link, AGENT_JOB), &job);
    frame_link_send(&host->link);
    send_texts(host, AGENT_ARGUMENTS, options->command[0] ? options->command : any_command);
    if (host->local && options->own_environment)
        send_texts(host, AGENT_ENVIRONMENT, options->own_environment);
    send_texts(host, AGENT_ENVIRONMENT, options->environment);
}

static void send_host(struct job_host *host)
{
    struct agent_host own;
    snprintf(own.interfaces, sizeof own.interfaces, "%s", host->interfaces);
    agent_host_encode(frame_link_begin(&host->link, AGENT_HOST), &own);
    frame_link_send(&host->link);
    job_host_send_heartbeat(host);
}

/* The agent above has what is the same for all hosts, and passes it on: it need not come from here
 * for each host. It comes first, because hvdagent has not been sent anything else yet, and what the
 * shell before it got has been read. */
void job_host_describe(struct job_host *host, const struct job_options *options,
                       struct tunnel *tunnel)
{
    if (tunnel && host->like_parent)
        tunnel_describe(tunnel);
    else
        send_common(host, options);
    send_host(host);
    send_ranks(host, options);
    job_host_send_empty(host, AGENT_PREPARE);
}
