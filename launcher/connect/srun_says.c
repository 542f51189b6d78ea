/* SPDX-License-Identifier: Apache-2.0 */
/* What srun and its tasks write. A line of srun's is the cause of the end of a host, or of all
 * (srun_line.h); a line of a task belongs to its host. A shell that finds no hvdagent says so on
 * stdout, with a nonce: its host goes to an srun that has a copy, if that can run there. */
#include "launcher/connect/srun_impl.h"

#include "launcher/base/exit_status.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* The cause of a host's end: the line that explains most, and of these the first. */
static void srun_says_explain_host(struct srun_host *host, enum srun_line_kind kind,
                                   const char *text)
{
    if (kind <= host->explained && *host->why)
        return;
    host->explained = kind;
    snprintf(host->why, sizeof host->why, "Slurm: %s", text);
    if (host->phase == SRUN_HOST_CONNECTED)
        host_transport_explain(host->job->connect, host->why, host->explained >= SRUN_ABORTED);
}

static void srun_says_explain_all(struct srun *srun, enum srun_line_kind kind, const char *text)
{
    if (kind == SRUN_SAYS) { /* the last such line, if srun fails */
        snprintf(srun->why, sizeof srun->why, "%s", text);
        return;
    }
    for (struct srun_host *host = srun->first; host; host = host->next)
        srun_says_explain_host(host, kind, text);
}

void srun_says_task_ended(struct srun_host *host)
{
    if (host->ended || host->phase != SRUN_HOST_CONNECTED)
        return;
    host->ended = true;
    host_transport_process_end(host->job->connect, 0);
}

/* A task that has ended before its agent has come. Slurm names its exit status; the cause is in the
 * last line that such a task has written, as when hvdagent cannot connect to us. */
static void srun_says_fail_early(struct srun_host *host)
{
    char text[900];
    const char *said = host->srun->why;
    snprintf(text, sizeof text, "hvdagent was not started: %s%s%s", host->why, *said ? ": " : "",
             said);
    srun_fail_host(host, STATUS_UNREACHABLE, text);
}

static void srun_says_take_slurm(struct srun *srun, const struct srun_line *line)
{
    char text[400];
    snprintf(text, sizeof text, "%.*s", line->length, line->text);
    if (line->hosts.count == 0)
        srun_says_explain_all(srun, line->kind, text);
    for (int i = 0; i < line->hosts.count; i++) {
        struct srun_host *host = srun_find_node(srun, line->hosts.hosts[i].name);
        if (!host)
            continue;
        srun_says_explain_host(host, line->kind, text);
        srun_says_fail_early(host);
        srun_says_task_ended(host);
    }
    if (srun->first) /* once, for all hosts */
        host_transport_note(srun->first->job->connect, false, text);
}

static struct srun_host *srun_says_find_task(const struct srun *srun, int task)
{
    for (struct srun_host *host = srun->first; host; host = host->next)
        if (host->task == task)
            return host;
    return NULL;
}

/* A line of hvdagent's stderr belongs to its host. Before the agent has connected nobody knows
 * which host that is. */
static void srun_says_take_task(struct srun *srun, const struct srun_line *line)
{
    struct srun_host *host = srun_says_find_task(srun, line->task);
    if (!host) {
        srun_says_explain_all(srun, SRUN_SAYS, line->text);
        return;
    }
    host_transport_stderr(host->job->connect, line->text, (size_t)line->length);
    host_transport_stderr(host->job->connect, "\n", 1);
}

void srun_says_error_line(void *context, const char *text)
{
    struct srun *srun = context;
    struct srun_line line;
    srun_line_read(&line, text);
    if (line.kind == SRUN_TASK_WROTE)
        srun_says_take_task(srun, &line);
    else
        srun_says_take_slurm(srun, &line);
    srun_line_fini(&line);
}

/* ---- marks of the script ---- */

/* Takes the next word of `rest`. */
static char *srun_says_next_word(char **rest)
{
    char *word = *rest, *end = word + strcspn(word, " ");
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

static void srun_says_missing(struct srun_host *host, const char *machine)
{
    struct utsname here;
    char own[2 * sizeof here.sysname] = "", text[300];
    if (uname(&here) == 0)
        snprintf(own, sizeof own, "%s %s", here.sysname, here.machine);
    if (strcmp(own, machine) == 0) {
        srun_send_copy(host);
        return;
    }
    snprintf(text, sizeof text,
             "hvdagent is not installed there, and a copy of ours, for %.80s, cannot run on %.80s",
             own, machine);
    srun_fail_host(host, STATUS_UNREACHABLE, text);
}

/* A mark of the script (agent_bootstrap.h), behind "hvd-NONCE ". */
static void srun_says_take_mark(struct srun *srun, char *rest)
{
    char text[400];
    const char *word = srun_says_next_word(&rest), *node = srun_says_next_word(&rest);
    struct srun_host *host = srun_find_node(srun, node);
    if (!host || host->phase != SRUN_HOST_OPENING)
        return;
    if (strcmp(word, "missing") == 0 && !srun->has_copy) {
        srun_says_missing(host, rest);
    } else if (strcmp(word, "fail") == 0) {
        snprintf(text, sizeof text, "hvdagent is not installed there, and cannot be sent: %s",
                 rest);
        srun_fail_host(host, STATUS_UNREACHABLE, text);
    }
}

void srun_says_output_line(void *context, const char *text)
{
    struct srun *srun = context;
    struct srun_line line;
    char mark[500], prefix[32];
    srun_line_read(&line, text);
    size_t length = (size_t)snprintf(prefix, sizeof prefix, "hvd-%s ", srun->nonce);
    if (strncmp(line.text, prefix, length) == 0) {
        snprintf(mark, sizeof mark, "%s", line.text + length);
        srun_says_take_mark(srun, mark);
    }
    srun_line_fini(&line);
}
