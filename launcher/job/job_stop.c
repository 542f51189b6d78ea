/* SPDX-License-Identifier: Apache-2.0 */
/* Bringing a job to an end: stop the ranks, write or drop the output, print the verdict. Nothing
 * here waits without a limit, with one exception: a job that was not told to stop waits for a slow
 * reader of its output. */
#include "launcher/job/job_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/process/stop_plan.h"
#include "launcher/verdict/job_judge.h"
#include "launcher/verdict/job_verdict_text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How long the remaining output of a job that was told to stop may take to be written, once its
 * ranks have ended; how much longer than planned an agent may take to stop its ranks. */
enum { DISCARD_MS = 1000, STOP_SLACK_MS = 750 };

/* How long after Ctrl-C the ranks that still run are named. */
enum { STUBBORN_MS = 1000 };

void job_stop_init(struct job *job)
{
    uv_timer_init(job->loop, &job->stop.discard_timer);
    job->stop.discard_timer.data = job;
    uv_timer_init(job->loop, &job->stop.cleanup_timer);
    job->stop.cleanup_timer.data = job;
}

void job_stop_close(struct job *job)
{
    job_close_handle(job, (uv_handle_t *)&job->stop.discard_timer);
    job_close_handle(job, (uv_handle_t *)&job->stop.cleanup_timer);
}

/* Makes a job that went well fail because its output or its report was lost. */
static void lose_output(struct job *job, char *text, size_t size, const char *what)
{
    job->state.verdict.exit_status = STATUS_OUTPUT_LOST;
    snprintf(text, size, "FAILED: %s was lost; all ranks exited with status 0", what);
}

/* Omitted if the last line of output is this line already. */
static void say_last_line(struct job *job)
{
    const struct job_verdict *verdict = &job->state.verdict;
    int rank = -1;
    if (verdict->cause == CAUSE_RANK || verdict->wrote)
        rank = verdict->rank;
    else if (verdict->cause == CAUSE_LEFT)
        rank = verdict->reporter;
    const char *last = rank >= 0 ? job_output_last_line(job->output, rank) : "";
    if (*last && !job_output_shows_last_line(job->output, rank))
        job_output_say(job->output, "rank %d last wrote to stderr: %s", rank, last);
}

/* Hands the report over before the verdict, which must be the last line. If the report goes to the
 * same stream as output of ranks, it begins on a new line. */
static void hand_over_report(struct job *job, char *text, size_t size)
{
    struct err err = { 0 };
    int fd = job->options->report_fd;
    enum output_stream stream = fd == STDOUT_FILENO ? STREAM_STDOUT : STREAM_STDERR;
    job_record_verdict(job, text);
    job_record_finish(job);
    if (!job->callbacks.on_report)
        return;
    if (fd > 0)
        job->report.amid_line = job_output_is_amid_line(job->output, stream);
    if (job->callbacks.on_report(job->context, &job->report, &err) == HVD_OK) {
        if (fd > 0)
            job_output_line_ended(job->output, stream);
        return;
    }
    job_output_say(job->output, "warning: %s", err.text);
    if (job->state.verdict.exit_status != 0)
        return;
    lose_output(job, text, size, "the report");
    job_record_verdict(job, text);
}

/* True for ends that a batch system may have caused. */
static bool may_be_ended_from_outside(const struct job_verdict *verdict)
{
    const struct rank_end_how *how = &verdict->how;
    return verdict->cause == CAUSE_HOST ||
           (verdict->cause == CAUSE_SIGNAL && verdict->exit_status == STATUS_SIGNAL + SIGTERM) ||
           (verdict->cause == CAUSE_RANK && how->kind == RANK_END_KILLED &&
            (how->code == SIGTERM || how->code == SIGKILL));
}

/* A batch system that ends the job, because of a time limit or of another host, ends agents and
 * ranks everywhere at once. Its own words are the cause. */
static void explain_verdict(struct job *job)
{
    struct job_verdict *verdict = &job->state.verdict;
    const char *why = "";
    for (int i = 0; i < job->state.nhosts && !*why; i++)
        if (job->hosts[i] && job->hosts[i]->connect)
            why = host_connect_job_end_text(job->hosts[i]->connect);
    bool told = verdict->cause == CAUSE_HOST && job->hosts[verdict->host] &&
                job->hosts[verdict->host]->phase == HOST_LOST; /* it has the words of its end */
    if (!*why || told || !may_be_ended_from_outside(verdict))
        return;
    size_t length = strlen(verdict->text);
    snprintf(verdict->text + length, sizeof verdict->text - length, "%s%s", length > 0 ? "; " : "",
             why);
}

/* Chooses the rank to blame, hands over the report, and prints the verdict as the last line, after
 * the last line that the rank has written to stderr. A job that went well has no verdict. */
static void say_verdict(struct job *job)
{
    const struct job_verdict *verdict = &job->state.verdict;
    char text[1024] = "";
    job_judge(&job->state, &job->report);
    explain_verdict(job);
    if (verdict->cause != CAUSE_NONE)
        job_verdict_text(text, sizeof text, &job->state, job->plan,
                         verdict->rank >= 0 ? job->report.ranks[verdict->rank].pid : 0,
                         job_now_ms() -
                             (job->start.started_ms ? job->start.started_ms : job->created_ms));
    else if (job_output_lost(job->output))
        lose_output(job, text, sizeof text, "output");
    job_say_losses(job);
    hand_over_report(job, text, sizeof text);
    job->rendezvous.on_over(job->rendezvous.context, &job->report);
    say_last_line(job);
    /* All verdicts begin with this word, except that of a job that a person has stopped. */
    int red = job->options->colour && verdict->cause != CAUSE_SIGNAL ? sizeof "FAILED" - 1 : 0;
    if (*text)
        job_output_say(job->output, "%s%.*s%s%s", red ? "\033[1;31m" : "", red, text,
                       red ? "\033[0m" : "", text + red);
}

/* All output is written: prints the verdict, then waits until it is written too. */
void job_on_output_finished(void *context)
{
    struct job *job = context;
    if (!job->stop.said) {
        job->stop.said = true;
        say_verdict(job);
        job_output_finish(job->output);
    } else if (!job->stop.over) {
        job->stop.over = true;
        job->callbacks.on_finished(job->context, job->state.verdict.exit_status);
    }
}

static void on_cleanup(uv_timer_t *timer)
{
    struct job *job = timer->data;
    if (job_check_orphans(job))
        return;
    uv_timer_stop(timer);
    job_state_on_left(&job->state, job->processes.cleanup.left);
    job_output_finish(job->output);
}

void job_stop_finish(struct job *job)
{
    job_end_status_line(job);
    job->stop.kill_by_ms = 0;
    bool lost = job->growth.cleans;
    for (int i = 0; i < job->state.nhosts; i++)
        lost |= job->hosts[i] && job->hosts[i]->local && job->hosts[i]->phase == HOST_LOST;
    if (!lost) {
        job_output_finish(job->output);
        return;
    }
    /* first, so that no process is left when the verdict is printed */
    cleanup_start(&job->processes.cleanup, CLEANUP_LOCAL_AGENT, uv_now(job->loop));
    uv_timer_start(&job->stop.cleanup_timer, on_cleanup, 0, CLEANUP_CHECK_MS);
}

static void on_discard(uv_timer_t *timer)
{
    struct job *job = timer->data;
    job_output_discard(job->output);
}

/* Queued output has DISCARD_MS, however many signals come; the verdict, when it comes, has the
 * same. */
void job_stop_discard(struct job *job)
{
    if (uv_is_active((uv_handle_t *)&job->stop.discard_timer))
        return;
    job_output_discard(job->output);
    uv_timer_start(&job->stop.discard_timer, on_discard, DISCARD_MS, DISCARD_MS);
}

/* A job that was told to stop does not wait for a reader that does not read, least of all after a
 * second signal. */
void job_stop_watch(struct job *job)
{
    const struct job_state *state = &job->state;
    if (state->told_to_stop && (state->ranks_running == 0 || state->stop_signal == SIGKILL))
        job_stop_discard(job);
}

static void check_stubborn(struct job *job)
{
    char ranks[300];
    if (job->stop.stubborn_by_ms == 0 || job->check.ran_ms < job->stop.stubborn_by_ms)
        return;
    job->stop.stubborn_by_ms = 0;
    if (job->stop.kill_by_ms > 0 && job_running_ranks(job, ranks, sizeof ranks) > 0)
        job_output_say(job->output, "stopping %s; Ctrl-C again kills", ranks);
}

/* Kills agents that are stopped or hang after their time limit; their ranks end with them. */
void job_stop_check(struct job *job)
{
    check_stubborn(job);
    if (job->stop.kill_by_ms == 0 || job->check.ran_ms < job->stop.kill_by_ms)
        return;
    bool waits = job_kill_agents(job, HOST_DESCRIBING, HOST_RUNNING);
    job->stop.kill_by_ms = waits ? job->check.ran_ms + STOP_SLACK_MS : 0;
}

/* If Slurm may be the cause, srun's words are waited for, which come when its tasks have ended. */
static void stop_host(struct job *job, struct job_host *host, bool from_outside)
{
    host->awaits_cause |= host->srun && from_outside;
    job_host_stop(host, job->state.stop_signal, job->options->grace_ms,
                  job_tree_cast(job, host->index));
}

void job_stop_hosts(struct job *job)
{
    job_note(job, "stopping with signal %d", job->state.stop_signal);
    if (job->stop.since_ms == 0)
        job->stop.since_ms = uv_now(job->loop);
    job_tree_plan_casts(job);
    for (int i = job->state.nhosts - 1; i >= 0; i--) /* hosts that wait for their turn get none */
        if (job->hosts[i])
            stop_host(job, job->hosts[i], may_be_ended_from_outside(&job->state.verdict));
    job_tree_ask(job);
    uint64_t asking_ms =
        job->state.stop_signal == SIGKILL ? 0 : job->options->grace_ms + STOP_INSIST_MS;
    job->stop.kill_by_ms = job->check.ran_ms + asking_ms + STOP_KILL_MS + STOP_SLACK_MS;
    job->stop.stubborn_by_ms =
        job->state.stop_signal == SIGINT ? job->check.ran_ms + STUBBORN_MS : 0;
}
