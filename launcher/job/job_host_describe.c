/* SPDX-License-Identifier: Apache-2.0 */
/* Describing the job to an agent, up to PREPARE; see agent_protocol.h. */
#include "launcher/job/job_host_impl.h"

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
    for (int i = 0; i < host->where.local_size; i++) {
        struct agent_worker worker = { .worker = host->where.ranks[i] };
        worker.place = host->plan->ranks[worker.worker].rank_info;
        worker_key_derive(&worker.key, options->key, worker.worker);
        struct wire_writer *body = frame_link_begin(&host->link, AGENT_RANK);
        body->secret = true;
        agent_worker_encode(body, &worker);
        frame_link_send(&host->link);
        job_key_wipe(&worker.key);
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
    snprintf(job.id, sizeof job.id, "%s", options->id);
    agent_job_encode(frame_link_begin(&host->link, AGENT_JOB), &job);
    frame_link_send(&host->link);
    send_texts(host, AGENT_ARGUMENTS, options->command[0] ? options->command : any_command);
    if (host->local && options->own_environment)
        send_texts(host, AGENT_ENVIRONMENT, options->own_environment);
    send_texts(host, AGENT_ENVIRONMENT, options->environment);
}

static void send_host(struct job_host *host)
{
    struct agent_host own = { .index = host->index, .nhosts = host->plan->host_count };
    snprintf(own.name, sizeof own.name, "%s", host->where.host->name);
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
