/* SPDX-License-Identifier: Apache-2.0 */
/* An elastic job: batches of workers come and go while it runs, and worlds follow each other.
 *
 *   job_add_batch -> the host is connected -> its workers run -> each ends -> the agent ends -> closed
 *
 * Each batch has an agent of its own, so the workers of a job_host never change. A batch whose
 * workers do not all run within --start-timeout is given up. The end of a worker is reported to the
 * owner of the job, and stops nothing. So is a host that is to be left. A host is closed once its
 * agent has ended; its row in the report stays. Fails, as the job, when more workers are started
 * than there are numbers. */
#include "launcher/job/job_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Workers of one host that job_say_world() names. */
enum { WORKERS_NAMED = 16 };

void job_elastic_init(struct job *job)
{
    uv_timer_init(job->loop, &job->growth.cleanup_timer);
    job->growth.cleanup_timer.data = job;
    if (job->options->elastic)
        job_state_init_elastic(&job->state);
}

void job_elastic_close(struct job *job)
{
    job_close_handle(job, (uv_handle_t *)&job->growth.cleanup_timer);
}

void job_elastic_fini(struct job *job)
{
    struct rank_plan *plan = &job->growth.plan;
    for (int i = 0; i < plan->host_count; i++) {
        struct host_slots *host = (struct host_slots *)plan->hosts[i].host;
        free(host->name);
        free(host->user);
        free(host);
        free((int *)plan->hosts[i].ranks);
    }
    free(plan->hosts);
    free(plan->ranks);
}

/* ---- batches ---- */

static void plan_batch(struct rank_plan *plan, const struct job_batch *batch)
{
    struct host_slots *host = xcalloc(1, sizeof *host);
    int *workers = xcalloc((size_t)batch->count, sizeof *workers);
    *host = (struct host_slots){ .name = xstrdup(batch->host),
                                 .user = xstrdup(batch->user),
                                 .slots = batch->count };
    plan->hosts = xreallocarray(plan->hosts, (size_t)plan->host_count + 1, sizeof *plan->hosts);
    plan->ranks =
        xreallocarray(plan->ranks, (size_t)(plan->size + batch->count), sizeof *plan->ranks);
    for (int i = 0; i < batch->count; i++) {
        workers[i] = plan->size;
        plan->ranks[plan->size++] = (struct rank_slot){ batch->places[i], plan->host_count };
    }
    plan->hosts[plan->host_count++] = (struct rank_host){ host, workers, batch->count };
}

bool job_is_stopping(const struct job *job)
{
    return job->state.phase >= JOB_STOPPING;
}

void job_add_batch(struct job *job, const struct job_batch *batch)
{
    struct rank_plan *plan = &job->growth.plan;
    int index = plan->host_count;
    if (job_is_stopping(job))
        return;
    if (batch->count > WORLD_SIZE_MAX - plan->size) {
        job_fail(job, STATUS_RESOURCE, "the job has started as many workers as it can number");
        return;
    }
    assert(batch->worker == plan->size && batch->count > 0);
    plan_batch(plan, batch);
    job_report_add(&job->report, plan->hosts[index].host->name, batch->count);
    for (int i = 0; i < batch->count; i++) {
        struct report_rank *record = &job->report.ranks[batch->worker + i];
        record->rank = record->rank_before = batch->places[i].rank;
        job_output_add(job->output, batch->worker + i, batch->places[i].rank);
    }
    job->hosts = xreallocarray(job->hosts, (size_t)index + 1, sizeof *job->hosts);
    job_state_on_host_added(&job->state, batch->count);
    job_open_host(job, index, batch->interfaces);
    job->hosts[index]->start_by_ms = job->check.ran_ms + job->options->start_timeout_ms;
    job->hosts[index]->suspended = job->suspension.since_us > 0;
}

static void close_over(struct job *job, int index)
{
    struct job_host *host = job->hosts[index];
    job_record_host(job, host);
    for (int i = 0; i < host->where.local_size; i++) {
        job_record_said(job, host->where.ranks[i]);
        job_output_forget(job->output, host->where.ranks[i]);
    }
    job->hosts[index] = NULL;
    job->growth.nclosing++;
    job_host_close(host, job_on_host_closed, host);
}

/* Ends a host whose workers do not run in time. */
static void check_start(struct job *job, struct job_host *host)
{
    static const char text[] = "not ready in time (--start-timeout)";
    bool starts = host->phase < HOST_RUNNING || job_host_is_starting(host);
    if (!starts || host->over || job->check.ran_ms < host->start_by_ms || *host->lost_reason ||
        job->state.phase >= JOB_STOPPING)
        return;
    char where[200];
    snprintf(where, sizeof where, "%s, at step '%s'", text, host_step_name(host->step));
    job_report_reason(&job->report, host->index, where);
    job->report.hosts[host->index].status = STATUS_TIMEOUT;
    job_output_say(job->output, "%s: %s", job_host_name(job, host->index), where);
    snprintf(host->lost_reason, sizeof host->lost_reason, "%s", where);
    if (host->phase == HOST_CONNECTING)
        job_host_stop(host, SIGKILL, 0, CAST_TO_HOST);
    else
        job_host_end_agent(host);
}

void job_elastic_check(struct job *job)
{
    for (int i = 0; job->options->elastic && i < job->state.nhosts; i++) {
        if (job->hosts[i])
            check_start(job, job->hosts[i]);
        if (job->hosts[i] && job->hosts[i]->over && job->state.phase < JOB_FINISHED)
            close_over(job, i);
    }
}

void job_on_drain(void *context, int index)
{
    static const char why[] = "drained, because SIGTERM has asked its agent to end";
    struct job *job = context;
    struct report_host *record = &job->report.hosts[index];
    const struct job_host *host = job->hosts[index];
    int count = 0;
    if (record->drained || job_is_stopping(job))
        return;
    record->drained = true;
    job_report_reason(&job->report, index, why);
    for (int i = 0; i < host->where.local_size; i++)
        count += host->ranks[i].phase != RANK_ENDED;
    job_output_say(job->output, "%s: %s: %d worker%s to leave it", job_host_name(job, index), why,
                   count, count == 1 ? " is" : "s are");
    if (job->callbacks.on_drained)
        job->callbacks.on_drained(job->context, host->where.ranks[0]);
}

static void on_cleanup_timer(uv_timer_t *timer)
{
    struct job *job = timer->data;
    if (!job_check_orphans(job))
        uv_timer_stop(timer);
}

void job_elastic_clean(struct job *job)
{
    job->growth.cleans = true;
    cleanup_start(&job->processes.cleanup, CLEANUP_LOCAL_AGENT, uv_now(job->loop));
    uv_timer_start(&job->growth.cleanup_timer, on_cleanup_timer, 0, CLEANUP_CHECK_MS);
}

/* ---- workers ---- */

static struct job_host *elastic_host_of(const struct job *job, int worker)
{
    return job->hosts[job->plan->ranks[worker].host];
}

void job_worker_removed(struct job *job, int worker)
{
    job->report.ranks[worker].removed = true;
}

void job_stop_worker(struct job *job, int worker)
{
    struct job_host *host = elastic_host_of(job, worker);
    job_worker_removed(job, worker);
    if (host)
        job_host_stop_rank(host, worker, SIGTERM, job->options->grace_ms);
}

void job_exchange(struct job *job, int worker, uint32_t id, uint32_t ip, uint16_t port,
                  const void *request, size_t length)
{
    struct job_host *host = elastic_host_of(job, worker);
    if (host)
        job_host_exchange(host, id, ip, port, request, length);
}

const char *job_worker_host(const struct job *job, int worker)
{
    return job_host_name(job, job->plan->ranks[worker].host);
}

int job_worker_rank(const struct job *job, int worker)
{
    return job->options->elastic ? job->report.ranks[worker].rank : worker;
}

const char *job_worker_before(const struct job *job, int worker, char text[WORKER_BEFORE_SIZE])
{
    const struct report_rank *record = &job->report.ranks[worker];
    text[0] = '\0';
    if (record->rank != record->rank_before)
        snprintf(text, WORKER_BEFORE_SIZE, ", rank %d before", record->rank_before);
    return text;
}

void job_worker_name(const struct job *job, int worker, char *text, size_t size)
{
    char before[WORKER_BEFORE_SIZE];
    int used = snprintf(text, size, "rank %d on %s", job_worker_rank(job, worker),
                        job_worker_host(job, worker));
    if (job->options->elastic && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, " (worker %d%s)", worker,
                 job_worker_before(job, worker, before));
}

struct children *job_children(struct job *job)
{
    return job->processes.children;
}

/* ---- worlds ---- */

int job_world_size(const struct job *job)
{
    const struct report_world *world = job_report_world(&job->report);
    if (!job->options->elastic)
        return job->state.nranks;
    return world ? world->size : 0;
}

int job_world_worker(const struct job *job, int rank)
{
    return job->options->elastic ? job_report_world(&job->report)->workers[rank] : rank;
}

static bool is_no_member(int worker, const int *in, int nin)
{
    for (int i = 0; i < nin; i++)
        if (in[i] == worker)
            return false;
    return true;
}

static int count_missing(const int *of, int nof, const int *in, int nin)
{
    int missing = 0;
    for (int i = 0; i < nof; i++)
        missing += is_no_member(of[i], in, nin);
    return missing;
}

/* Appends the first host that members have left because it is drained. */
static void add_drained_host(const struct job *job, const struct report_world *world,
                             const int *workers, int size, char *text, size_t nbytes)
{
    size_t length = strlen(text);
    for (int rank = 0; rank < world->size; rank++) {
        int worker = world->workers[rank];
        const struct report_host *host = &job->report.hosts[job->report.ranks[worker].host];
        if (!host->drained || !is_no_member(worker, workers, size))
            continue;
        snprintf(text + length, nbytes - length, ", %s is drained", host->name);
        return;
    }
}

/* How the members of a world differ from those of the present one. */
static void change_text(const struct report_world *world, const int *workers, int size, char *text,
                        size_t nbytes)
{
    int came = count_missing(workers, size, world->workers, world->size);
    int gone = count_missing(world->workers, world->size, workers, size);
    if (came == 0 && gone == 0)
        snprintf(text, nbytes, "the same workers came again");
    else if (gone == 0)
        snprintf(text, nbytes, "%d worker%s came", came, came == 1 ? "" : "s");
    else if (came == 0)
        snprintf(text, nbytes, "%d worker%s left", gone, gone == 1 ? "" : "s");
    else
        snprintf(text, nbytes, "%d worker%s came, %d left", came, came == 1 ? "" : "s", gone);
}

void job_world_made(struct job *job, int epoch, const int *workers, int size)
{
    const struct report_world *before = job_report_world(&job->report);
    char change[400] = "";
    if (before) {
        change_text(before, workers, size, change, sizeof change);
        add_drained_host(job, before, workers, size, change, sizeof change);
    }
    job_report_end_world(&job->report, change, job_now_ms());
    job_report_add_world(&job->report, epoch, workers, size, job_now_ms());
    for (int rank = 0; rank < size; rank++) {
        struct report_rank *record = &job->report.ranks[workers[rank]];
        record->rank_before = record->rank;
        record->rank = rank;
        job_output_set_rank(job->output, workers[rank], rank);
    }
    if (before)
        job_output_say(job->output, "world %d has %d rank%s: %s", epoch, size, size == 1 ? "" : "s",
                       change);
    else
        job_note(job, "world %d has %d rank%s", epoch, size, size == 1 ? "" : "s");
}

/* The workers of the world on the host of `rank`, from that rank on. Returns the next rank, whose
 * worker is on another host. */
static int put_host(const struct job *job, const struct report_world *world, int rank,
                    struct text_buffer *line)
{
    const char *host = job_worker_host(job, world->workers[rank]);
    int first = rank;
    text_buffer_printf(line, "%s%s", rank == 0 ? "" : "; ", host);
    for (; rank < world->size && strcmp(job_worker_host(job, world->workers[rank]), host) == 0;
         rank++)
        if (rank - first < WORKERS_NAMED)
            text_buffer_printf(line, "%s%d", rank == first ? ": " : ", ", world->workers[rank]);
    if (rank - first > WORKERS_NAMED)
        text_buffer_printf(line, " and %d others", rank - first - WORKERS_NAMED);
    return rank;
}

static void say_present_world(struct job *job, const struct report_world *world)
{
    struct text_buffer line = { 0 };
    text_buffer_printf(&line, "world %d, for %.1f s, %s%d rank%s; workers in order of rank: ",
                       world->epoch, (double)(job_now_ms() - world->began_ms) / 1000,
                       *world->why ? "ended, " : "", world->size, world->size == 1 ? "" : "s");
    for (int rank = 0; rank < world->size;)
        rank = put_host(job, world, rank, &line);
    char *text = text_buffer_take(&line);
    job_say(job, text);
    free(text);
}

/* What a worker outside of the world is about to do; NULL: it does not run. */
static const char *outside_text(const struct report_rank *record)
{
    if (record->end != END_LEFT)
        return NULL;
    if (record->removed)
        return "is to end";
    return record->met ? "waits for the next world" : "has not called hvd_init";
}

void job_say_world(struct job *job)
{
    const struct report_world *world = job_report_world(&job->report);
    if (world)
        say_present_world(job, world);
    else
        job_output_say(job->output, "no world yet, %d worker%s run", job->state.ranks_running,
                       job->state.ranks_running == 1 ? "" : "s");
    for (int worker = 0; worker < job->report.nranks; worker++) {
        const char *text = outside_text(&job->report.ranks[worker]);
        if (text && (!world || is_no_member(worker, world->workers, world->size)))
            job_output_say(job->output, "worker %d on %s: %s", worker, job_worker_host(job, worker),
                           text);
    }
}

/* ---- the end ---- */

void job_end(struct job *job)
{
    job_act(job, job_state_on_end(&job->state));
}

void job_fail_worker(struct job *job, int worker, const char *text)
{
    const struct report_rank *record = &job->report.ranks[worker];
    int status = record->loss_status > 0 ? record->loss_status : STATUS_PROTOCOL;
    char name[320], whole[1500];
    job_worker_name(job, worker, name, sizeof name);
    snprintf(whole, sizeof whole, "%s; the last loss was %s: %s", text, name,
             record->loss ? record->loss : "");
    job_fail(job, status, record->loss ? whole : text);
}
