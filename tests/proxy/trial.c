/* SPDX-License-Identifier: Apache-2.0 */
/* A trial and its verdict; see trial.h.
 *
 * The processes have so long to end; whatever descends from them has to be gone soon after, which
 * shows since this process is the one that orphans come to. A job that fails must say who or what
 * was lost; one that succeeds must have said that every result is right. */
#include "tests/proxy/trial.h"

#include <errno.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BOUND_MS = 60000, STARTER_MS = 15000, LEFT_MS = 15000, STEP_MS = 5 };
enum { STATUS_WRONG = 3, STATUS_NOT_RUN = 126 };

/* Who or what a failure names. */
static const char names[] = "rank [01]|host|far|rendezvous|launcher|hvdrun|join [0-9.]+:[0-9]+";

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- running ---- */

/* A byte that was changed may be a 0, and what comes behind it is to be read too. */
static void keep_text(char *text, ssize_t nbytes)
{
    for (ssize_t i = 0; i < nbytes; i++)
        text[i] = text[i] ? text[i] : '?';
}

static void hear(struct trial_process *process)
{
    char waste[TRIAL_TEXT];
    while (process->output >= 0) {
        size_t room = sizeof process->text - 1 - process->length;
        ssize_t nbytes = room ? read(process->output, process->text + process->length, room)
                              : read(process->output, waste, sizeof waste);
        if (nbytes < 0)
            return;
        if (room)
            keep_text(process->text + process->length, nbytes);
        process->length += room ? (size_t)nbytes : 0;
        if (nbytes == 0) {
            close(process->output);
            process->output = -1;
        }
    }
}

static bool reap(struct trial_process *process)
{
    if (process->pid > 0 && waitpid(process->pid, &process->status, WNOHANG) == process->pid)
        process->pid = 0;
    return process->pid == 0;
}

/* True when all have ended. What has ended is heard after that: it may have spoken last. */
static bool move(struct trial_job *job)
{
    bool all = true;
    relay_step(&job->relay, STEP_MS);
    for (int i = 0; i < job->count; i++) {
        all &= reap(&job->processes[i]);
        hear(&job->processes[i]);
    }
    return all;
}

static bool has_one_failed(const struct trial_job *job)
{
    bool failed = false;
    for (int i = 0; i < job->count; i++)
        failed |= job->processes[i].pid == 0 && job->processes[i].status != 0;
    return failed;
}

static void end_others(struct trial_job *job)
{
    for (int i = 0; i < job->count; i++) {
        struct trial_process *process = &job->processes[i];
        if (process->pid > 0)
            kill(process->pid, SIGTERM);
        process->may_end_any_how |= process->pid > 0;
    }
}

/* A rank waits for its place for as long as the rendezvous likes. If that has given it, and it is
 * lost on the way while the connection stands, the others fail, and whoever has started the ranks
 * ends this one: hvdrun does, and so does what starts ranks for hvdrendezvousd. */
static bool has_starter(const struct trial *trial)
{
    return trial->kind == TRIAL_RENDEZVOUS && trial->fault.act == WIRE_STALL;
}

static bool wait_for_end(struct trial_job *job, const struct trial *trial)
{
    uint64_t until = now_ms() + BOUND_MS, end_ms = UINT64_MAX;
    while (!move(job)) {
        uint64_t now = now_ms();
        if (now >= until)
            return false;
        if (end_ms == UINT64_MAX && has_starter(trial) && has_one_failed(job))
            end_ms = now + STARTER_MS;
        if (now >= end_ms)
            end_others(job);
    }
    return true;
}

static void kill_all(struct trial_job *job)
{
    for (int i = 0; i < job->count; i++)
        if (job->processes[i].pid > 0)
            kill(job->processes[i].pid, SIGKILL);
    while (!move(job))
        ;
}

/* Orphans come to this process. */
static bool is_nobody_left(void)
{
    uint64_t until = now_ms() + LEFT_MS;
    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0 && errno == ECHILD)
            return true;
        if (pid == 0 && now_ms() >= until)
            return false;
        if (pid == 0)
            usleep(STEP_MS * 1000);
    }
}

/* ---- judging ---- */

static int count_right(const struct trial_process *process)
{
    int count = 0;
    for (const char *at = process->text; (at = strstr(at, "right\n")); at++)
        count++;
    return count;
}

/* Copies the first line that matches, or the first. False if none does. */
static bool quote_line(const char *text, const regex_t *pattern, char *line, size_t size)
{
    bool first = true;
    while (*text) {
        size_t length = strcspn(text, "\n");
        char copy[400];
        snprintf(copy, sizeof copy, "%.*s", (int)length, text);
        bool matches = regexec(pattern, copy, 0, NULL, 0) == 0;
        if (matches || first)
            snprintf(line, size, "%s", copy);
        if (matches)
            return true;
        first = false;
        text += length + (text[length] == '\n');
    }
    return false;
}

static enum trial_end bad(struct trial_result *result, const char *why, int process,
                          const char *text)
{
    snprintf(result->said, sizeof result->said, "%s (process %d): %.300s", why, process, text);
    return TRIAL_BAD;
}

static enum trial_end judge_process(const struct trial_process *process, int index,
                                    const regex_t *pattern, struct trial_result *result)
{
    if (process->may_end_any_how)
        return TRIAL_ENDED;
    if (WIFSIGNALED(process->status))
        return bad(result, "died of a signal", index, process->text);
    if (strstr(process->text, "Sanitizer") || strstr(process->text, "runtime error"))
        return bad(result, "a sanitizer's report", index, process->text);
    int status = WEXITSTATUS(process->status);
    if (status == STATUS_WRONG || strstr(process->text, "a wrong result"))
        return TRIAL_FALSE;
    if (status == STATUS_NOT_RUN)
        return bad(result, "did not run", index, process->text);
    if (status == 0)
        return TRIAL_WELL;
    if (!quote_line(process->text, pattern, result->said, sizeof result->said))
        return bad(result, "names nobody", index, process->text);
    return TRIAL_ENDED;
}

static enum trial_end judge(const struct trial_job *job, struct trial_result *result)
{
    regex_t pattern;
    int right = 0;
    enum trial_end worst = TRIAL_WELL;
    regcomp(&pattern, names, REG_EXTENDED | REG_NOSUB);
    for (int i = 0; i < job->count && worst != TRIAL_BAD; i++) {
        enum trial_end end = judge_process(&job->processes[i], i, &pattern, result);
        worst = end > worst ? end : worst;
        right += count_right(&job->processes[i]);
    }
    regfree(&pattern);
    if (worst == TRIAL_WELL && right != 2) {
        bad(result, "output is not what it was", 0, job->processes[0].text);
        return TRIAL_FALSE;
    }
    return worst;
}

/* The relay of an agent's link is in another process, which says it if it is told to; but hvdrun
 * may have ended before that. */
static void read_count(const char *text, uint64_t moved[RELAY_WAYS])
{
    enum { USUALLY_THERE = 4400, USUALLY_BACK = 1030 };
    unsigned long long there, back;
    const char *said = strstr(text, "proxy: ");
    bool is_there = said && sscanf(said, "proxy: %llu there, %llu back", &there, &back) == 2;
    moved[RELAY_THERE] = is_there ? there : USUALLY_THERE;
    moved[RELAY_BACK] = is_there ? back : USUALLY_BACK;
}

void trial_run(const struct trial *trial, const struct trial_programs *programs,
               struct trial_result *result)
{
    static struct trial_job job;
    uint64_t began = now_ms();
    *result = (struct trial_result){ .end = TRIAL_BAD };
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGPIPE, SIG_IGN);
    if (!trial_start(&job, trial, programs)) {
        snprintf(result->said, sizeof result->said, "cannot be started");
        kill_all(&job);
        trial_finish(&job);
        return;
    }
    bool ended = wait_for_end(&job, trial);
    result->elapsed_ms = (unsigned)(now_ms() - began);
    if (!ended)
        kill_all(&job);
    memcpy(result->moved, job.relay.moved, sizeof result->moved);
    if (trial->kind == TRIAL_AGENT)
        read_count(job.processes[0].text, result->moved);
    trial_finish(&job);
    result->end = ended ? judge(&job, result) : bad(result, "hangs", 0, job.processes[0].text);
    if (!is_nobody_left())
        result->end = bad(result, "somebody is left", 0, job.processes[0].text);
}
