/* SPDX-License-Identifier: Apache-2.0 */
/* The transport by srun: inside an allocation of Slurm, one srun starts the agents of all hosts.
 *
 *   hosts of one iteration of the loop gather -> srun starts a shell on each, which runs hvdagent
 *       -> hvdagent reads an invitation from srun's stdin and connects to us (dial_listener.h)
 *       -> the connection is the host's stream
 *   a shell that finds no hvdagent says so on srun's stdout; such hosts gather for an srun of their
 *   own, whose stdin begins with a copy of ours
 *
 * The connections do not pass through srun, whose stdin is one for all tasks: one that does not
 * read would stop all others (doc/decisions/srun.md). What srun writes to stderr is the cause of
 * the end of a host, or of all of them (srun_line.h).
 *
 * Fails when srun is not found or cannot be executed, when there is no port, and for each host
 * whose agent has not connected when srun ends. A host that has connected does not need srun any
 * more. When the last host is closed srun should end by itself; it is told to after SRUN_END_MS,
 * and earlier if some agent has never come. */
#include "launcher/connect/srun_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "launcher/process/program_find.h"
#include "launcher/protocol/tcp_acknowledged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* How long hosts gather that need a copy of hvdagent, which they say one after the other. */
enum { SRUN_COPIES_MS = 300 };

/* The most bytes of names on the command line of one srun, whose arguments have 128 KiB each. */
enum { SRUN_NAMES_MAX = 96 * 1024 };

/* ---- the hosts of an srun ---- */

struct srun_host *srun_find_node(const struct srun *srun, const char *node)
{
    for (struct srun_host *host = srun->first; host; host = host->next)
        if (strcasecmp(host->job->target->host, node) == 0)
            return host;
    return NULL;
}

static void on_gathered(uv_timer_t *timer);

static struct srun *srun_create(const struct host_transport_job *job, struct srun_pool *pool,
                                bool has_copy)
{
    struct srun *srun = xcalloc(1, sizeof *srun);
    *srun = (struct srun){ .pool = pool,
                           .loop = job->loop,
                           .settings = job->settings,
                           .children = job->children,
                           .has_copy = has_copy,
                           .fds = { -1, -1 } };
    srun->end_of_hosts = &srun->first;
    uv_must(uv_timer_init(srun->loop, &srun->timer), "timers");
    srun->timer.data = srun;
    srun->open_handles = 1;
    uv_timer_start(&srun->timer, on_gathered, has_copy ? SRUN_COPIES_MS : 0, 0);
    return srun;
}

/* Adds a host to the srun that is gathering. An elastic job may want a second agent for a host;
 * each srun has one task for each. */
static void srun_gather(struct srun_pool *pool, struct srun_host *host, bool has_copy)
{
    const char *name = host->job->target->host;
    struct srun **gathering = &pool->gathering[has_copy];
    if (*gathering &&
        (srun_find_node(*gathering, name) || (*gathering)->nnames + strlen(name) > SRUN_NAMES_MAX))
        *gathering = NULL; /* it is about to start */
    if (!*gathering)
        *gathering = srun_create(host->job, pool, has_copy);
    struct srun *srun = *gathering;
    host->srun = srun;
    host->next = NULL;
    *srun->end_of_hosts = host;
    srun->end_of_hosts = &host->next;
    srun->nhosts++;
    srun->nnames += strlen(name) + 1;
}

static void srun_unlink(struct srun_host *host)
{
    struct srun *srun = host->srun;
    for (struct srun_host **at = &srun->first; *at; at = &(*at)->next) {
        if (*at != host)
            continue;
        *at = host->next;
        if (!*at)
            srun->end_of_hosts = at;
        break;
    }
}

void srun_fail_host(struct srun_host *host, int exit_status, const char *text)
{
    if (host->phase != SRUN_HOST_OPENING)
        return;
    host->phase = SRUN_HOST_FAILED;
    host_transport_failed(host->job->connect, exit_status, text);
}

static void srun_fail_all(struct srun *srun, int exit_status, const char *text)
{
    for (struct srun_host *host = srun->first; host; host = host->next)
        srun_fail_host(host, exit_status, text);
}

static bool srun_has_all(const struct srun *srun)
{
    for (const struct srun_host *host = srun->first; host; host = host->next)
        if (host->phase == SRUN_HOST_OPENING)
            return false;
    return true;
}

/* The port is open only as long as somebody is to come. */
void srun_close_port(struct srun *srun)
{
    if (!srun->listener || !srun_has_all(srun))
        return;
    dial_listener_close(srun->listener);
    srun->listener = NULL;
    job_key_wipe(&srun->key);
}

/* ---- the end of a host ---- */

static void on_srun_host_closed(uv_handle_t *handle)
{
    struct srun_host *host = handle->data;
    struct host_connect *connect = host->job->connect;
    free(host);
    host_transport_closed(connect);
}

/* Waits for the end of the process. */
static void srun_leave_last(struct srun *srun, struct srun_host *host)
{
    srun->last = host;
    dial_listener_close(srun->listener);
    srun->listener = NULL;
    if (!srun->told)
        uv_timer_start(&srun->timer, srun_process_late, srun->incomplete ? 0 : SRUN_END_MS, 0);
}

void srun_leave(struct srun_host *host)
{
    while (host->srun) {
        struct srun *srun = host->srun;
        host->srun = host->former;
        host->former = NULL;
        if (--srun->nhosts > 0) {
            srun_close_port(srun);
        } else if (srun_process_lives(srun)) {
            srun_leave_last(srun, host);
            return;
        } else {
            srun_process_release(srun);
        }
    }
    uv_close((uv_handle_t *)&host->later, on_srun_host_closed);
}

static void close_srun_host(void *transport)
{
    struct srun_host *host = transport;
    host->srun->incomplete |= host->phase != SRUN_HOST_CONNECTED;
    host->phase = SRUN_HOST_CLOSING;
    srun_unlink(host);
    srun_leave(host);
}

void srun_send_copy(struct srun_host *host)
{
    struct srun *srun = host->srun;
    srun_unlink(host);
    host->former = srun;
    srun_gather(srun->pool, host, true);
    srun_close_port(srun);
    if (!srun->first && srun_process_lives(srun)) /* it has nothing left to do */
        uv_timer_start(&srun->timer, srun_process_late, SRUN_END_MS, 0);
}

/* ---- an agent has come ---- */

static void srun_on_agent(void *context, const struct dial_hello *hello, int fd)
{
    struct srun *srun = context;
    struct srun_host *host = srun_find_node(srun, hello->node);
    if (!host || host->phase != SRUN_HOST_OPENING) {
        close(fd);
        return;
    }
    struct host_stream stream = { .input = fd, .output = fd, .agent = true, .srun = true };
    host->phase = SRUN_HOST_CONNECTED;
    host->stream = fd;
    host->task = (int)hello->task;
    if (*host->why)
        host_transport_explain(host->job->connect, host->why, host->explained >= SRUN_ABORTED);
    host_transport_opened(host->job->connect, &stream);
    srun_close_port(srun);
}

/* ---- the beginning ---- */

/* Everything up to the running process. 0, or an exit status and `err`. */
static int srun_prepare(struct srun *srun, struct err *err)
{
    const struct srun_settings *settings = srun->settings->srun;
    struct string_list words = { 0 };
    char *path = NULL;
    size_t copy_size = 0;
    int errnum = srun->has_copy ? srun_command_put_copy(srun, &copy_size) : 0;
    if (errnum != 0) {
        fail_errno(err, HVD_ERR_SYSTEM, errnum, "%s", srun->settings->agent);
        return STATUS_RESOURCE;
    }
    if (program_find("srun", getenv("PATH"), &path, err) != 0)
        return STATUS_UNREACHABLE;
    job_key_generate(&srun->key);
    srun->listener = dial_listener_open(srun->loop, &srun->key, settings->port_low,
                                        settings->port_high, srun_on_agent, srun, err);
    int rc = HVD_ERR_SYSTEM;
    if (srun->listener) {
        agent_bootstrap_nonce(srun->nonce);
        srun_command_put_invitation(srun);
        char *script = agent_bootstrap_task_script(srun->nonce, srun->settings->agent, copy_size);
        srun_command_words(&words, srun, script);
        rc = srun_process_start(srun, path, words.items, err);
        free(script);
    }
    string_list_fini(&words);
    free(path);
    return rc == HVD_OK ? 0 : STATUS_RESOURCE;
}

static void on_gathered(uv_timer_t *timer)
{
    struct srun *srun = timer->data;
    struct err err = { 0 };
    if (srun->pool->gathering[srun->has_copy] == srun)
        srun->pool->gathering[srun->has_copy] = NULL;
    for (struct srun_host *host = srun->first; host; host = host->next)
        host_transport_step(host->job->connect, STEP_CONNECT);
    int failed = srun->first ? srun_prepare(srun, &err) : 0;
    if (failed)
        srun_fail_all(srun, failed, err.text);
}

static void *open_srun_host(const struct host_transport_job *job)
{
    void **shared = host_transport_shared(job->connect);
    if (!*shared)
        *shared = xcalloc(1, sizeof(struct srun_pool));
    struct srun_host *host = xcalloc(1, sizeof *host);
    host->job = job;
    host->stream = host->task = -1;
    uv_must(uv_timer_init(job->loop, &host->later), "timers");
    host->later.data = host;
    srun_gather(*shared, host, false);
    return host;
}

/* Asked only while the owner of the stream has it open. */
static uint64_t srun_acknowledged(const void *transport)
{
    const struct srun_host *host = transport;
    return host->stream >= 0 ? tcp_acknowledged(host->stream) : 0;
}

const struct host_transport transport_srun = { "srun", open_srun_host, close_srun_host,
                                               srun_acknowledged };
