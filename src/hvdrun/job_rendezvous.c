/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between the launcher and the rendezvous of its job; see job_rendezvous.h. The bytes of
 * the workers' connections do not pass here: they go from launcher/job/job_host_relay.c directly to
 * the rendezvous. */
#include "src/hvdrun/job_rendezvous.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/shell_words.h"
#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"
#include "launcher/verdict/job_report.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job_rendezvous {
    struct job *job;
    const struct job_options *options;
    const struct job_rendezvous_events *events; /* of an elastic job; NULL until it is known */
    void *context;
    struct rendezvous *rendezvous;
};

static void on_rank_started(void *context, int rank, int pid)
{
    struct job_rendezvous *self = context;
    rendezvous_rank_started(self->rendezvous, rank, pid);
}

static void on_rank_ended(void *context, int rank, const struct job_rank_end *end)
{
    struct job_rendezvous *self = context;
    const struct rendezvous_end told = { end->how, end->told };
    rendezvous_tell_end(self->rendezvous, rank, &told);
    rendezvous_rank_ended(self->rendezvous, rank, &end->how);
}

/* Tells clients of the status page about ranks whose end was not reported. */
static void tell_missing_ends(struct job_rendezvous *self, const struct job_report *report)
{
    static const enum rank_end_kind kinds[REPORT_ENDS] = {
        [END_NOT_STARTED] = RANK_END_NOT_STARTED, [END_LEFT] = RANK_END_NOT_KILLED
    };
    for (int rank = 0; rank < report->nranks; rank++) {
        const struct rendezvous_end end = { { .kind = kinds[report->ranks[rank].end] }, true };
        if (end.how.kind != RANK_END_NONE)
            rendezvous_tell_end(self->rendezvous, rank, &end);
    }
}

static void on_over(void *context, const struct job_report *report)
{
    struct job_rendezvous *self = context;
    const struct rendezvous_verdict verdict = { *report->text ? report->text
                                                              : "all ranks exited with status 0",
                                                report->exit_status, report->rank };
    tell_missing_ends(self, report);
    rendezvous_tell_verdict(self->rendezvous, &verdict);
}

static char *on_job_rendezvous_output(void *context, int rank, bool of_stderr, size_t nbytes)
{
    struct job_rendezvous *self = context;
    return job_last_lines(self->job, rank, of_stderr, nbytes);
}

static void on_complete(void *context)
{
    struct job_rendezvous *self = context;
    job_note(self->job, "every rank has called hvd_init");
}

static void on_timed_out(void *context, const char *text)
{
    struct job_rendezvous *self = context;
    job_fail(self->job, STATUS_TIMEOUT, text);
}

static void on_missing(void *context, const char *text)
{
    struct job_rendezvous *self = context;
    job_say(self->job, text);
}

static void on_met_gloo(void *context, int worker)
{
    struct job_rendezvous *self = context;
    if (self->events)
        self->events->on_gloo(self->context, worker);
}

static void on_listens(void *context, int worker, const char *text, size_t length)
{
    struct job_rendezvous *self = context;
    if (self->events)
        self->events->on_listens(self->context, worker, text, length);
}

static void on_hosts_updated(void *context, int worker)
{
    struct job_rendezvous *self = context;
    if (self->events)
        self->events->on_update(self->context, worker);
}

static void on_met(void *context, int rank)
{
    struct job_rendezvous *self = context;
    job_rank_met(self->job, rank);
    if (self->events)
        self->events->on_waiting(self->context, rank);
}

static void on_world(void *context, int epoch, const int *workers, int size)
{
    struct job_rendezvous *self = context;
    if (!self->events)
        return;
    job_world_made(self->job, epoch, workers, size);
    self->events->on_world(self->context, epoch, workers, size);
}

static void on_left(void *context, int rank, const struct rank_end *said)
{
    struct job_rendezvous *self = context;
    job_rank_left(self->job, rank, said);
    if (self->events && said->late.count > 0)
        self->events->on_late(self->context, said->late.rank, said->late.count, said->words);
}

static void on_origin(void *context, const struct rank_end *end)
{
    struct job_rendezvous *self = context;
    job_world_failed(self->job, end);
}

static void on_disconnected(void *context, int rank)
{
    struct job_rendezvous *self = context;
    job_rank_disconnected(self->job, rank);
}

static void say_line(struct job_rendezvous *self, int rank, const char *text, size_t length)
{
    struct text_buffer line = { 0 };
    const struct rank_plan *plan = self->options->plan;
    const char *host = self->options->elastic ? job_worker_host(self->job, rank)
                                              : plan->hosts[plan->ranks[rank].host].host->name;
    if (self->options->elastic)
        rank = job_worker_rank(self->job, rank);
    text_buffer_printf(&line, "rank %d on %s: %.*s", rank, host, (int)length, text);
    char *terminated = text_buffer_take(&line);
    job_say(self->job, terminated);
    free(terminated);
}

static void on_job_rendezvous_report(void *context, int rank, enum rank_waits_for waits_for,
                                     const char *text)
{
    struct job_rendezvous *self = context;
    if (job_rank_told(self->job, rank, waits_for, text))
        return;
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (length > 0)
            say_line(self, rank, text, length);
        text += length + (text[length] == '\n');
    }
}

static void on_question(void *context)
{
    job_rendezvous_ask(context);
}

void job_rendezvous_ask(struct job_rendezvous *self)
{
    struct err err;
    if (rendezvous_ask(self->rendezvous, &err) != HVD_OK)
        job_say(self->job, err.text);
}

/* The user's name, or number if the user has no name. */
static char *user_name(void)
{
    const struct passwd *user = getpwuid(geteuid());
    return user ? xstrdup(user->pw_name) : xasprintf("%u", (unsigned)geteuid());
}

struct job_rendezvous *job_rendezvous_create(uv_loop_t *loop, const struct job_options *job,
                                             const struct job_key *key, struct err *err)
{
    struct job_rendezvous *self = xcalloc(1, sizeof *self);
    const struct rank_plan *plan = job->plan;
    int size = job->elastic ? 0 : plan->size;
    struct rendezvous_slot *slots = xcalloc((size_t)size + 1, sizeof *slots);
    for (int i = 0; i < size; i++)
        slots[i] = (struct rendezvous_slot){ plan->ranks[i].rank_info,
                                             plan->hosts[plan->ranks[i].host].host->name };
    char *command = shell_words(job->command), *user = user_name();
    struct rendezvous_options options = {
        .id = job->id,
        .slots = slots,
        .size = size,
        .elastic = job->elastic,
        .key = key,
        .start_timeout_ms = job->start_timeout_ms,
        .events = { .complete = on_complete,
                    .world = on_world,
                    .timed_out = on_timed_out,
                    .missing = on_missing,
                    .report = on_job_rendezvous_report,
                    .met = on_met,
                    .met_gloo = on_met_gloo,
                    .listens = on_listens,
                    .hosts_updated = on_hosts_updated,
                    .left = on_left,
                    .origin = on_origin,
                    .disconnected = on_disconnected,
                    .output = on_job_rendezvous_output },
        .context = self,
        .command = command,
        .user = user,
        .started_ms = job->epoch_ms,
    };
    self->options = job;
    self->rendezvous = rendezvous_create(loop, &options, err);
    free(slots);
    free(command);
    free(user);
    if (!self->rendezvous) {
        free(self);
        return NULL;
    }
    return self;
}

void job_rendezvous_attach(struct job_rendezvous *self, struct job *job)
{
    self->job = job;
}

void job_rendezvous_listen(struct job_rendezvous *self, const struct job_rendezvous_events *events,
                           void *context)
{
    self->events = events;
    self->context = context;
}

struct rendezvous *job_rendezvous_itself(struct job_rendezvous *self)
{
    return self->rendezvous;
}

struct job_rendezvous_interface job_rendezvous_interface(struct job_rendezvous *self)
{
    return (struct job_rendezvous_interface){ rendezvous_server(self->rendezvous),
                                              on_rank_started,
                                              on_rank_ended,
                                              on_question,
                                              on_over,
                                              self };
}

void job_rendezvous_destroy(struct job_rendezvous *self)
{
    if (!self)
        return;
    rendezvous_destroy(self->rendezvous);
    free(self);
}
